"""One agent: a `tenured` with its own configuration, state directory, hooks and log."""

import json
import os
import signal
import socket
import subprocess

from .wait import now_ns, wait_for

SOURCE_DIR = os.environ.get("TENURE_SOURCE_DIR") or os.path.realpath(
    os.path.join(os.path.dirname(__file__), "..", "..", "..")
)
BIN_DIR = os.environ.get("TENURE_BIN_DIR") or os.path.join(SOURCE_DIR, "build", "bin")
TENURED = os.path.join(BIN_DIR, "tenured")
TENURECTL = os.path.join(BIN_DIR, "tenurectl")
HOOK = os.path.join(BIN_DIR, "test_hook")
HOOKS = ("gain", "lose")
STOP_S = 15


def sanitizer():
    """"asan" or "tsan" where the agent is built with one, else None. Such a build holds memory of its own."""
    symbols = subprocess.run(["nm", "-D", TENURED], stdout=subprocess.PIPE, text=True, check=True).stdout
    return next((name for name in ("asan", "tsan") if f"__{name}_init" in symbols), None)


def quote(value):
    """A value as the configuration file wants it."""
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(quote, value)) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def block(name, options, indent="\t"):
    lines = [f"{indent}{key} = {quote(value)}\n" for key, value in options.items()]
    return f"{indent[1:]}{name} {{\n{''.join(lines)}{indent[1:]}}}\n"


class Agent:
    def __init__(
        self, directory, member, servers, timeline, session_timeout=2000, tick_time=200, elections=("demo",),
        hooks=HOOKS, hook_options=None, election=None, zookeeper=None, top=None, log_level="info",
    ):  # fmt: skip
        """
        Short times by default: a lease of 2 s on ticks of 200 ms. HOOKS names the hooks that are
        configured; HOOK_OPTIONS (limits), ELECTION, ZOOKEEPER and TOP add options to those sections.
        """
        self.directory = os.path.join(directory, member)
        self.member = member
        self.timeline = timeline
        self.elections = list(elections)
        self.hooks = list(hooks)
        self.hook_options = {"gain_timeout": 5000, "lose_timeout": 500, "handoff_timeout": 5000} | (hook_options or {})
        self.hook_words = {}  # hook -> whole command, instead of the usual one
        self.election = {"address": f"{member}.example:5432", "backoff": 200, "backoff_max": 2000} | (election or {})
        self.election_paths = {}
        self.zookeeper = {
            "servers": servers, "session_timeout": session_timeout, "tick_time": tick_time, "ping_slack": 50,
        } | (zookeeper or {})  # fmt: skip
        self.top = {
            "member": member, "state_dir": os.path.join(self.directory, "state"),
            "data_dir": os.path.join(self.directory, "data"),
        } | (top or {})  # fmt: skip
        self.log_level = log_level
        self.sections = {}  # section -> further options of it
        self.blocks = {}  # block of each election (check, score, service) -> its options
        self.environment = {}  # what the agent itself finds there
        self.program = TENURED
        self.cwd = None  # where it is started
        self.wrapper = ()  # words before the program's name: a command that ends by executing it
        self.control = os.path.join(self.directory, "control.sock")
        self.config_file = os.path.join(self.directory, "tenured.conf")
        self.behaviour_file = os.path.join(self.directory, "behaviour")
        self.log_file = os.path.join(self.directory, "log")
        self.process = None
        self.orphans = []  # electors of supervisors that were killed
        self._behaviour = {}
        os.makedirs(self.directory, exist_ok=True)

    # Configuration

    def hook_command(self, hook):
        return self.hook_words.get(hook) or (HOOK, hook, self.timeline.path, self.behaviour_file)

    def config_text(self):
        text = "".join(f"{key} = {quote(value)}\n" for key, value in self.top.items())
        text += block("zookeeper", self.zookeeper)
        text += block("control", {"socket": self.control} | self.sections.get("control", {}))
        text += block("log", {"level": self.log_level} | self.sections.get("log", {}))
        for name in self.sections.keys() - {"control", "log"}:
            text += block(name, self.sections[name])
        for name in self.elections:
            options = self.election | ({"path": self.election_paths[name]} if name in self.election_paths else {})
            hooks = {hook: self.hook_command(hook) for hook in self.hooks} | self.hook_options
            text += block(f"election {quote(name)}", options)[:-2] + block("hooks", hooks, "\t\t")
            for inner, settings in self.blocks.items():
                text += block(inner, {"command": self.hook_command(inner)} | settings, "\t\t")
            text += "}\n"
        return text

    def write_config(self, text=None):
        with open(self.config_file, "w", encoding="utf-8") as file:
            file.write(text if text is not None else self.config_text())

    def behave(self, hook, words):
        """From now on HOOK does as WORDS say: sleep=MS exit=N hang ignore-term fork-grandchild fork-daemon say=TEXT."""
        self._behaviour[hook] = words
        temporary = self.behaviour_file + ".new"
        with open(temporary, "w", encoding="ascii") as file:
            file.writelines(f"{name} {text}\n" for name, text in self._behaviour.items())
        os.rename(temporary, self.behaviour_file)

    # Life

    def start(self, *arguments, config=None):
        """Starts it with a configuration written afresh. Does not wait for anything."""
        self.write_config(config)
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*self.wrapper, self.program, "-c", os.path.relpath(self.config_file, self.cwd) if self.cwd
                 else self.config_file, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=os.environ | self.environment, cwd=self.cwd,
            )  # fmt: skip
        return self

    def run(self, *arguments, config=None, timeout=10):
        """Runs it to its end: for what must fail at once. Returns the finished process."""
        self.write_config(config)
        return subprocess.run(
            [TENURED, "-c", self.config_file, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=timeout, check=False,
        )  # fmt: skip

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def children(self):
        """Pids of the children: the elector and whatever hooks run."""
        return _children(self.pid)

    def elector(self):
        """Pid of the elector, None when there is none."""
        for pid in self.children():
            if "--elector" in _command_line(pid):
                return pid
        return None

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, timeout=STOP_S):
        """SIGTERM, then waits. Returns the exit status."""
        if self.process is None:
            return None
        if self.running:
            self.signal(signal.SIGTERM)
        try:
            status = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise AssertionError(f"agent {self.member} did not stop within {timeout} s of SIGTERM") from None
        self.process = None
        return status

    def kill9(self):
        """
        SIGKILL to the supervisor, then to everything below it, as if the host had lost power.
        Returns the instant at which all of it was dead.
        """
        pids = _tree(self.pid)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait(10)
        self.process = None
        wait_for(lambda: not any(map(_alive, pids)), 10, f"all of agent {self.member} to be dead")
        at_ns = now_ns()
        self.timeline.mark_killed(self.member, at_ns)
        return at_ns

    def kill_supervisor(self):
        """SIGKILL to the supervisor alone: its elector goes on as an orphan. Returns the instant of its death."""
        self.orphans.append(self.elector())
        self.process.kill()
        self.process.wait(10)
        self.process = None
        return now_ns()

    def kill_orphans(self):
        for pid in filter(None, self.orphans):
            if self.config_file in _command_line(pid):
                os.kill(pid, signal.SIGKILL)
        self.orphans = []

    # Observation

    def log(self):
        try:
            with open(self.log_file, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_log(self, text, timeout=10):
        wait_for(lambda: text in self.log(), timeout, f"{text!r} in the log of {self.member}")

    def request(self, timeout=10, **request):
        """One request on the control socket: the last reply, None when the agent cannot be reached."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(timeout)
                connection.connect(self.control)
                connection.sendall(json.dumps(request).encode() + b"\n")
                for line in connection.makefile("rb"):
                    reply = json.loads(line)
                    if "ok" in reply:
                        return reply
        except OSError:
            pass
        return None

    def status(self):
        """The status object, {} when the agent cannot be reached."""
        reply = self.request(command="status")
        return reply.get("status", {}) if reply else {}

    def election_status(self, election=None):
        return self.status().get("elections", {}).get(election or self.elections[0], {})

    def state(self, election=None):
        return self.election_status(election).get("state")

    def wait_state(self, *states, election=None, timeout=10):
        """Waits until the election is in one of STATES and returns its status."""
        last = {}

        def reached():
            nonlocal last
            last = self.election_status(election)
            return last if last.get("state") in states else None

        return wait_for(reached, timeout, lambda: f"{self.member} to be {' or '.join(states)}; last seen: {last}")

    def wait_queued(self, position=None, election=None, timeout=10):
        """Waits until the member stands in the queue, at POSITION if given."""
        last = {}

        def reached():
            nonlocal last
            last = self.election_status(election)
            place = last.get("position")
            return last if place and position in (None, place) else None

        return wait_for(reached, timeout, lambda: f"{self.member} in place {position or 'any'}; last seen: {last}")

    def ctl(self, *arguments, timeout=30):
        """Runs tenurectl against this agent. Returns the finished process."""
        return subprocess.run(
            [TENURECTL, "-s", self.control, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace", timeout=timeout, check=False,
        )  # fmt: skip


def _children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _tree(pid):
    """PID and all below it, parents first."""
    pids = [pid]
    for each in pids:
        pids.extend(_children(each))
    return pids


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _command_line(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []
