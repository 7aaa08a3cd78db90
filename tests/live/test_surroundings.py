"""What surrounds the agent, and what it makes of that for its elector, its hooks and its clients."""

import contextlib
import fcntl
import glob
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import SOURCE_DIR, TENURECTL, TENURED, LiveCase, holds_for, sanitizer, wait_for  # noqa: E402

HOOKS = ("gain", "lose", "fence", "follow", "notify")
VARIABLES = {
    f"TENURE_{name}"
    for name in (
        "EVENT", "ELECTION", "MEMBER", "ADDRESS", "STATE", "OLD_STATE", "TOKEN", "REASON", "PLANNED", "LEADER",
        "LEADER_ADDRESS", "PREVIOUS", "PREVIOUS_ADDRESS", "PREVIOUS_TOKEN", "PREVIOUS_CLEAN", "DEADLINE_MS",
        "LEASE_MS", "TIMEOUT_MS", "TRANSITION",
    )
} | {"PATH", "HOME", "USER", "LOGNAME", "SHELL"}  # fmt: skip
CAP_SYS_RESOURCE = 24
F_SETPIPE_SZ = 1031
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Notes what it finds; what the shell itself adds to its environment is not in /proc.
SCRIPT = """#!/bin/sh
out={directory}/$1.{member}
cat /proc/$$/environ >$out.environ
ls /proc/$$/fd >$out.fds
{{
	echo "id $(id -u) $(id -g)"
	echo "groups $(id -G)"
	echo "umask $(umask)"
	echo "cwd $(readlink /proc/$$/cwd)"
	echo "stdin $(readlink /proc/$$/fd/0)"
	echo "fds" $(cat $out.fds)
	echo "session" $(cut -d' ' -f1,5,6 /proc/$$/stat)
	# Not by another program: while it starts one, the shell blocks all signals.
	while read -r key value; do case $key in SigBlk:|SigIgn:) echo "$key $value" ;; esac; done </proc/$$/status
}} >$out.facts
mv $out.environ $out.environ.done
echo "args $#:$2" >>$out.facts
mv $out.facts $out.facts.done
test $1 != lose || exit {lose_status}
"""


class Surroundings(LiveCase):
    def noting(self, member, server, lose_status=0, **options):
        """An agent of which every hook notes what it finds."""
        notes = os.path.join(self.directory, "notes")
        os.makedirs(notes, exist_ok=True)
        os.chmod(notes, 0o777)
        script = os.path.join(self.directory, f"{member}.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write(SCRIPT.format(directory=notes, member=member, lose_status=lose_status))
        os.chmod(script, 0o755)
        agent = self.agent(member, server, hooks=HOOKS, hook_options={"fence_timeout": 200, "lose_timeout": 400},
                           **options)  # fmt: skip
        for hook in HOOKS:
            agent.hook_words[hook] = (script, hook, "two  words")
        # Nothing of this may reach a hook, nor TENURE_ variables that were there before.
        agent.environment = {"NOTIFY_SOCKET": "/nonexistent", "WATCHDOG_USEC": "1000000", "TENURE_LEADER": "forged",
                             "IFS": "x", "LD_BIND_NOW": "1", "PWD": "/tmp"}  # fmt: skip
        return agent

    def note(self, hook, member, kind):
        name = os.path.join(self.directory, "notes", f"{hook}.{member}.{kind}.done")
        wait_for(lambda: os.path.exists(name), 10, name)
        with open(name, encoding="utf-8") as file:
            return file.read()

    def environ(self, hook, member):
        entries = self.note(hook, member, "environ").split("\0")
        self.assertEqual(entries.pop(), "")
        self.assertEqual(len(entries), len({entry.split("=")[0] for entry in entries}), "each variable once")
        return dict(entry.split("=", 1) for entry in entries)

    def facts(self, hook, member):
        return dict(line.split(None, 1) for line in self.note(hook, member, "facts").splitlines())

    def test_environment(self):
        """Every hook, fence included, finds exactly the promised variables, and what `env` adds."""
        server = self.start_server()
        a = self.noting("a", server, lose_status=1, election={"env": ["PGDATA=/x y", "SHELL=/bin/zsh"]}).start()
        a.wait_state("active")
        for hook in HOOKS:
            found = self.environ(hook, "a")
            self.assertEqual(set(found), VARIABLES | {"PGDATA"}, hook)
            self.assertEqual(
                (found["TENURE_EVENT"], found["TENURE_ELECTION"], found["TENURE_MEMBER"], found["TENURE_ADDRESS"]),
                (hook, "demo", "a", "a.example:5432"),
            )
            self.assertEqual((found["PATH"], found["PGDATA"], found["SHELL"]), (SEARCH_PATH, "/x y", "/bin/zsh"))
            self.assertEqual(found["HOME"], pwd.getpwuid(os.geteuid()).pw_dir)
            self.assertIn(found["TENURE_PLANNED"], ("yes", "no"))
            self.assertIn(found["TENURE_PREVIOUS_CLEAN"], ("yes", "no", "unknown"))
        gain = self.environ("gain", "a")
        self.assertEqual((gain["TENURE_STATE"], gain["TENURE_OLD_STATE"]), ("promoting", "standby"))
        self.assertEqual((gain["TENURE_REASON"], gain["TENURE_TIMEOUT_MS"]), ("election", "5000"))
        self.assertEqual(gain["TENURE_TOKEN"], a.election_status()["token"])
        self.assertTrue(0 < int(gain["TENURE_LEASE_MS"]) <= 2000)
        lose = self.environ("lose", "a")
        self.assertEqual((lose["TENURE_REASON"], lose["TENURE_TOKEN"], lose["TENURE_STATE"]), ("startup", "", "starting"))
        self.assertEqual(self.environ("fence", "a")["TENURE_STATE"], "fencing")

    def check_process(self, facts):
        self.assertEqual((facts["umask"], facts["cwd"], facts["stdin"]), ("0022", "/", "/dev/null"))
        # The shell has opened its script above the first three.
        self.assertEqual([fd for fd in facts["fds"].split() if int(fd) < 10], ["0", "1", "2"])
        pid, group, session = facts["session"].split()
        self.assertEqual((group, session), (pid, pid))
        self.assertEqual((int(facts["SigBlk:"], 16), int(facts["SigIgn:"], 16)), (0, 0))
        self.assertEqual(facts["args"], "2:two  words")

    def test_process(self):
        """Session, group, directory, umask, descriptors, signals: as promised, whatever the agent was started with."""
        server = self.start_server()
        a = self.noting("a", server)
        a.wrapper = ("sh", "-c", "umask 077; trap '' HUP PIPE USR1; exec 7</dev/null; cd /tmp; exec \"$@\"", "sh")
        a.start()
        a.wait_state("active")
        for hook in ("gain", "lose", "follow", "notify"):
            self.check_process(self.facts(hook, "a"))

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_user(self):
        """Hooks run as their user with that user's groups, and with none that the agent had."""
        server = self.start_server()
        nobody = pwd.getpwnam("nobody")
        groups = os.path.join(self.directory, "group")
        shutil.copy("/etc/group", groups)
        with open(groups, "a", encoding="ascii") as file:
            file.write("tenure-test-one:x:54321:nobody\ntenure-test-two:x:54322:someone,nobody\n")
        a = self.noting("a", server, election={"user": "nobody"})
        a.wrapper = ("unshare", "-m", "setpriv", "--groups", "0,4242", "sh", "-c",
                     f"mount --bind {groups} /etc/group && exec \"$@\"", "sh")  # fmt: skip
        a.start()
        a.wait_state("active")
        for hook in ("gain", "lose", "follow", "notify"):
            facts = self.facts(hook, "a")
            self.check_process(facts)
            self.assertEqual(facts["id"], f"{nobody.pw_uid} {nobody.pw_gid}")
            self.assertEqual({int(g) for g in facts["groups"].split()}, {nobody.pw_gid, 54321, 54322})
            found = self.environ(hook, "a")
            self.assertEqual((found["USER"], found["LOGNAME"], found["HOME"], found["SHELL"]),
                             ("nobody", "nobody", nobody.pw_dir, nobody.pw_shell))  # fmt: skip


@unittest.skipIf(os.geteuid() != 0, "needs root")
class ControlSocket(LiveCase):
    LOOKERS, CHANGERS, NEITHER = 45001, 45002, 45003

    def as_user(self, uid, groups, *words):
        done = subprocess.run(
            ["setpriv", "--reuid", str(uid), "--regid", str(groups[0]), "--groups", ",".join(map(str, groups)),
             self.tenurectl, "-s", self.agents[0].control, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
        )  # fmt: skip
        return done.returncode

    def start(self):
        server = self.start_server()
        groups = os.path.join(self.directory, "group")
        shutil.copy("/etc/group", groups)
        with open(groups, "a", encoding="ascii") as file:
            file.write(f"lookers:x:{self.LOOKERS}:\nchangers:x:{self.CHANGERS}:\n")
        agents = [self.agent(member, server) for member in "ab"]
        for agent in agents:
            agent.sections["control"] = {"group": "lookers", "admin_group": "changers"}
            agent.wrapper = ("unshare", "-m", "sh", "-c", f"mount --bind {groups} /etc/group && exec \"$@\"", "sh")
            agent.start()
            agent.wait_queued()
        agents[0].wait_state("active")
        # The program itself may lie where others cannot reach it.
        self.tenurectl = shutil.copy(TENURECTL, os.path.join(self.directory, "tenurectl"))
        return agents

    def test_permissions(self):
        """Who is not of the group is kept out; the group may look; root and the admin group may change something."""
        a, b = self.start()
        mode = os.stat(a.control)
        self.assertEqual((mode.st_mode & 0o777, mode.st_uid, mode.st_gid), (0o660, 0, self.LOOKERS))
        for uid in (1, pwd.getpwnam("nobody").pw_uid):  # the elector's own user has no more rights than others
            with self.subTest(uid=uid):
                for command in ("status", "is-leader", "resign"):
                    self.assertIn(self.as_user(uid, [self.NEITHER], command), (2, 69), command)
                    self.assertIn(self.as_user(uid, [self.CHANGERS], command), (2, 69), command)
                for groups in ([self.LOOKERS], [self.NEITHER, self.LOOKERS]):
                    self.assertEqual(self.as_user(uid, groups, "status"), 0)
                    self.assertEqual(self.as_user(uid, groups, "is-leader"), 0)
                    self.assertEqual(self.as_user(uid, groups, "resign"), 77)
        self.assertEqual(len(self.timeline.events("start", "gain")), 1)
        self.assertEqual(self.as_user(1, [self.LOOKERS, self.CHANGERS], "resign"), 0)
        b.wait_state("active")
        a.wait_queued(2)
        self.assertEqual(b.ctl("resign").returncode, 0)
        a.wait_state("active")
        b.wait_queued(2)
        self.assertEqual(self.as_user(1, [self.CHANGERS, self.LOOKERS], "resign"), 0)
        b.wait_state("active")


def facts(pid):
    """Of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def limits_of(pid):
    """Soft and hard ones by their names in /proc/PID/limits."""
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        return {line[:25].strip(): line[25:].split()[:2] for line in file}


def oom_of(pid):
    with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
        return int(file.read())


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class StateDirectory(LiveCase):
    def test_on_a_disk(self):
        """What keeps state_dir may be slow: said once where it is not a tmpfs, and only there."""
        server = self.start_server()
        a = self.start_agent("a", server)
        b = self.start_agent("b", server, top={"state_dir": os.path.join(self.directory, "state")})
        for agent in (a, b):
            agent.wait_state("active", "standby")
            path = agent.top["state_dir"]
            kind = subprocess.run(("stat", "-f", "-c", "%T", path), capture_output=True, text=True, check=True).stdout
            count = agent.log().count("state_dir is not on a tmpfs")
            self.assertEqual(count, 0 if kind.strip() in ("tmpfs", "ramfs") else 1, kind)


class Confinement(LiveCase):
    def check(self, agent, uid=None):
        pid = agent.elector()
        found = facts(pid)
        for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            self.assertEqual(int(found[name], 16), 0, name)
        self.assertEqual(found["NoNewPrivs"], "1")
        if uid is not None:
            self.assertEqual(set(found["Uid"].split()), {str(uid)})
            self.assertNotIn("0", found["Groups"].split())
        limits = limits_of(pid)
        self.assertEqual(limits["Max core file size"], ["0", "0"])
        self.assertLessEqual(max(map(int, limits["Max open files"])), 1024)
        # Not dumpable: its files in /proc are root's, and nobody of its user may look into it.
        self.assertEqual(os.stat(f"/proc/{pid}/environ").st_uid, 0)
        return found

    def check_life(self, agent):
        """Takes office, and again after a crash of the elector."""
        agent.wait_state("active")
        token, old = agent.election_status()["token"], agent.elector()
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: agent.election_status().get("position") == 1, 5, "another elector at its place")
        self.assertEqual(agent.election_status()["token"], token)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_root(self):
        """Started as root: another user, no capability in any set, the bounding set included."""
        a = self.start_agent("a", self.start_server())
        self.check_life(a)
        found = self.check(a, pwd.getpwnam("nobody").pw_uid)
        self.assertEqual(int(found["CapBnd"], 16), 0)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_user_with_capabilities(self):
        """Started as a user whom a service manager has given capabilities: the supervisor keeps them, alone."""
        server = self.start_server()
        a = self.agent("a", server)
        shutil.chown(a.directory, "nobody")
        for path in (self.timeline.path, self.directory, self.memory):
            os.chmod(path, 0o777)
        a.wrapper = ("setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "--inh-caps", "+sys_nice",
                     "--ambient-caps", "+sys_nice")  # fmt: skip
        # The program itself may lie where others cannot reach it.
        a.program = shutil.copy(TENURED, os.path.join(self.directory, "tenured"))
        hook = shutil.copy(a.hook_command("gain")[0], os.path.join(self.directory, "hook"))
        a.hook_words = {name: (hook, *a.hook_command(name)[1:]) for name in a.hooks}
        a.start()
        self.check_life(a)
        self.check(a, pwd.getpwnam("nobody").pw_uid)
        self.assertNotEqual(int(facts(a.pid)["CapEff"], 16), 0)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_process_1(self):
        """As process 1 of a container that may do little: it works, and its elector may do nothing."""
        server = self.start_server()
        a = self.agent("a", server)
        a.wrapper = ("unshare", "--pid", "--fork", "--kill-child=SIGTERM", "--mount-proc", "setpriv", "--bounding-set",
                     "-all,+setuid,+setgid,+kill,+chown,+dac_override")  # fmt: skip
        a.start()
        a.wait_state("active")
        (inner,) = a.children()
        electors = wait_for(lambda: open_children(inner), 5, "an elector")
        found = facts(electors[0])
        self.assertEqual((int(found["CapEff"], 16), found["NoNewPrivs"]), (0, "1"))
        self.assertEqual(found["NSpid"].split()[-1] != "1", True)
        os.kill(inner, signal.SIGTERM)
        self.assertEqual(a.process.wait(15), 0)
        a.process = None


def open_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


@unittest.skipIf(os.geteuid() != 0, "needs root")
class Realtime(LiveCase):
    def agent_with(self, **realtime):
        a = self.agent("a", self.start_server(), hooks=("gain", "lose", "notify"))
        a.sections["realtime"] = realtime
        return a

    def test_both(self):
        """Memory locked and SCHED_RR for the supervisor; its elector and its hooks run as usual."""
        a = self.agent_with(lock_memory=True, priority=5)
        a.behave("gain", "sleep=1000")
        a.start()
        gain = self.timeline.wait("start", "gain", "a")
        self.assertEqual(os.sched_getscheduler(a.pid) & ~os.SCHED_RESET_ON_FORK, os.SCHED_RR)
        self.assertEqual(os.sched_getparam(a.pid).sched_priority, 5)
        # Sanitizers make mlockall do nothing: too much would be locked.
        if not sanitizer():
            self.assertGreater(int(facts(a.pid)["VmLck"].split()[0]), 0)
        for pid in (a.elector(), gain.pid):
            self.assertEqual(os.sched_getscheduler(pid), os.SCHED_OTHER)
            self.assertEqual(facts(pid)["VmLck"].split()[0], "0")
        a.wait_state("active")

    def refused(self, text, *wrapper, **realtime):
        a = self.agent_with(**realtime)
        a.wrapper = wrapper
        a.start()
        self.assertEqual(a.process.wait(10), 70)
        a.process = None
        self.assertIn(text, a.log())
        self.assertEqual(self.hook_runs(), 0)

    def test_limit_too_low(self):
        """What would fail later, when memory is needed, fails at the start, and says what is missing."""
        self.refused("the limit of locked memory", "prlimit", "--memlock=65536", "setpriv", "--bounding-set", "-ipc_lock",
                     lock_memory=True)  # fmt: skip

    def test_priority_refused(self):
        self.refused("realtime.priority", "prlimit", "--rtprio=0", "setpriv", "--bounding-set", "-sys_nice", priority=5)

    def test_out_of_memory_score(self):
        """The supervisor is among the last whom the kernel kills; what it starts is judged as it was itself."""
        a = self.agent("a", self.start_server(), election={"user": "nobody"})
        os.chmod(self.timeline.path, 0o666)
        os.chmod(a.directory, 0o777)
        a.wrapper = ("choom", "-n", "100", "--")
        a.behave("gain", "sleep=1000")
        a.start()
        gain = self.timeline.wait("start", "gain", "a")
        privileged = int(facts(a.pid)["CapEff"], 16) & 1 << CAP_SYS_RESOURCE
        self.assertEqual((oom_of(a.pid), oom_of(a.elector()), oom_of(gain.pid)), (-900 if privileged else 0, 100, 100))
        a.wait_state("active")

    def test_score_that_may_not_be_changed(self):
        """In a container: it stays as it is, and nothing is said."""
        a = self.agent("a", self.start_server())
        a.wrapper = ("choom", "-n", "0", "--", "setpriv", "--bounding-set", "-sys_resource")
        a.start()
        a.wait_state("active")
        self.assertEqual((oom_of(a.pid), oom_of(a.elector())), (0, 0))


@unittest.skipIf(os.geteuid() != 0, "needs root")
class Shortage(LiveCase):
    """Descriptors run out while it runs; then there are some again."""

    def limit(self, pid, soft):
        """As PID's own user, who may always do so."""
        found = facts(pid)
        subprocess.run(
            ["setpriv", "--reuid", found["Uid"].split()[0], "--regid", found["Gid"].split()[0], "--clear-groups",
             "prlimit", f"--pid={pid}", f"--nofile={soft}:"], check=True,
        )  # fmt: skip

    def starve(self, pid):
        """What PID has open stays so, and it can open nothing more. Returns the limit that it had."""
        before = limits_of(pid)["Max open files"][0]
        self.limit(pid, 3)
        return before

    def check_idle(self, pid, seconds):
        before = cpu_s(pid)
        holds_for(lambda: os.path.exists(f"/proc/{pid}"), seconds, "it lives")
        self.assertLess(cpu_s(pid) - before, 0.3 * seconds, "it spins")

    def test_supervisor(self):
        """No new elector can be had: it is tried with back-off, and the term goes on if one comes in time."""
        server = self.start_server()
        a, b = self.start_queue("ab", server, session_timeout=5000, tick_time=200)
        runs, token = self.hook_runs(), a.election_status()["token"]
        before = self.starve(a.pid)
        os.kill(a.elector(), signal.SIGKILL)
        a.wait_log("cannot start the elector")
        self.check_idle(a.pid, 1)
        self.limit(a.pid, before)
        wait_for(lambda: a.election_status().get("position") == 1, 5, "an elector")
        self.assertEqual((self.hook_runs(), a.election_status()["token"]), (runs, token))
        self.assertLess(a.log().count("cannot start the elector"), 10)

    def test_hooks(self):
        """A hook that cannot be started has failed, and is dealt with as usual; office is taken up again later."""
        server = self.start_server()
        a = self.start_agent("a", server)
        a.wait_state("active")
        b = self.agent("b", server)
        b.start().wait_queued(2)
        before = self.starve(b.pid)
        self.assertEqual(a.ctl("resign", "--force").returncode, 0)
        b.wait_log("cannot start")
        self.limit(b.pid, before)
        self.assertTrue(b.running)
        if b.state() == "panic":  # lose could not be started either
            self.assertEqual(b.ctl("recover", "--wait", "10").returncode, 0)
        a.wait_state("active", "standby")
        wait_for(lambda: "active" in (a.state(), b.state()), 10, "a leader")

    def test_elector(self):
        """Clients wait until there is a descriptor for them; the lease goes on, and nothing spins."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        runs, elector = self.hook_runs(), a.elector()
        before = self.starve(elector)
        with contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(8)]
            for client in waiting:
                client.connect(a.control)
                client.sendall(b'{"command":"status"}\n')
            self.check_idle(elector, 3)
            self.assertEqual((a.elector(), self.hook_runs()), (elector, runs))
            self.limit(elector, before)
            for client in waiting:
                client.settimeout(5)
                self.assertIn(b'"ok"', client.recv(65536))
        self.assertEqual((a.state(), b.state()), ("active", "standby"))


class LogSinks(LiveCase):
    """Whatever stderr is: a leader loses lines, and nothing else."""

    def lead(self, stderr):
        """A life with plenty to log, its stderr being what the words lead it to."""
        a = self.agent("a", self.start_server(), log_level="debug")
        a.wrapper = ("sh", "-c", f"exec \"$@\" {stderr}", "sh")
        a.start()
        a.wait_state("active")
        runs, old = self.hook_runs(), a.elector()
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: a.election_status().get("position") == 1, 5, "another elector at its place")
        holds_for(lambda: self.hook_runs() == runs, 2.5, "no hook runs")
        self.assertEqual(a.stop(), 0)

    def test_full_disk(self):
        self.lead("2>/dev/full")

    def test_closed(self):
        self.lead("2>&-")

    def test_reader_gone(self):
        self.lead_pipe(close=True)

    def test_reader_asleep(self):
        self.lead_pipe(close=False)

    def open_reader(self):
        reader = os.open(self.fifo, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(reader, F_SETPIPE_SZ, 4096)
        return reader

    def lead_pipe(self, close):
        self.fifo = os.path.join(self.directory, "fifo")
        os.mkfifo(self.fifo)
        reader = self.open_reader()
        a = self.agent("a", self.start_server(), log_level="debug")
        a.wrapper = ("sh", "-c", f"exec \"$@\" 2>{self.fifo}", "sh")
        a.start()
        a.wait_state("active")
        if close:
            os.close(reader)
        runs, old = self.hook_runs(), a.elector()
        os.kill(old, signal.SIGKILL)
        for _ in range(40):  # each says a few lines
            a.signal(signal.SIGHUP)
            holds_for(lambda: self.hook_runs() == runs, 0.05, "no hook runs")
        self.assertEqual(a.election_status()["position"], 1)
        if close:
            reader = self.open_reader()
        self.addCleanup(os.close, reader)
        text = b""

        def told():
            nonlocal text
            with contextlib.suppress(BlockingIOError):
                text += os.read(reader, 65536)
            a.signal(signal.SIGHUP)
            return b"log lines dropped total=" in text

        wait_for(told, 10, "the count of lost lines")
        self.assertEqual(self.hook_runs(), runs)
        self.assertEqual(a.stop(), 0)


class WallClock(unittest.TestCase):
    """The wall clock is for people: it may jump by an hour at any time."""

    USES = {
        "agent/common/log.c": 3,  # the time of a line, twice, and syslog's
        "agent/supervisor/clock.h": 2,
        "agent/supervisor/supervisor.c": 1,  # started_ms, for the status
        "agent/supervisor/unit.c": 2,  # since_ms, for the status
        "agent/supervisor/unit_hooks.c": 1,  # when the last hook ended, for the status
        "agent/elector/instant.h": 1,
        "agent/elector/instant.c": 2,
        "agent/elector/operations.c": 1,  # since and at of the record
    }
    WORDS = re.compile(
        r"CLOCK_REALTIME|CLOCK_TAI|TIME_UTC|\b(time|gettimeofday|ftime|localtime_r|clock_wall_ms|instant_wall_ms)\("
    )

    def test_uses(self):
        """Every use of it in the sources is known, and says when something was, never whether it is time."""
        found = {}
        for folder in ("lib", "agent"):
            for path in glob.glob(os.path.join(SOURCE_DIR, folder, "**", "*.[ch]"), recursive=True):
                with open(path, encoding="utf-8") as file:
                    text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
                if self.WORDS.search(text):
                    found[os.path.relpath(path, SOURCE_DIR)] = len(self.WORDS.findall(text))
        self.assertEqual(found, self.USES)


if __name__ == "__main__":
    unittest.main()
