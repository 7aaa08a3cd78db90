"""The token gate: many processes that die at random, and the command `tenurectl gate`."""

import collections
import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import BIN_DIR, TENURECTL, holds_for, wait_for  # noqa: E402

USAGE, FAILED, TRY_AGAIN, REFUSED, NOT_EXECUTABLE, NOT_FOUND = 64, 70, 75, 77, 126, 127
WORKER = os.path.join(BIN_DIR, "gate_worker")
WORKERS = 8
ADMISSIONS = 100_000
MAX_TOKEN = 2**63 - 1
SEED = int(os.environ.get("TENURE_TEST_SEED") or time.time_ns() % 2**32)


def check_log(log, kills, test):
    """
    The log's order is the order in which the gate was passed. Returns how often each thing happened. A refusal
    says that a higher token was admitted: by a line before it, or by a worker that was killed before it wrote one.
    """
    count = collections.Counter()
    highest = 0
    for number, line in enumerate(log.splitlines(), 1):
        kind, token = line.split(maxsplit=1)
        test.assertIn(kind, ("A", "R"), f"line {number}: {line}")
        count[kind] += 1
        if kind == "A":
            test.assertGreaterEqual(int(token), highest, f"line {number}: admitted below one admitted earlier")
            count["higher"] += int(token) > highest
            highest = int(token)
        elif int(token) >= highest:
            count["unsaid"] += 1
            highest = int(token) + 1
    test.assertLessEqual(count["unsaid"], kills, "tokens refused that are not below any admitted")
    count["highest"] = highest
    return count


class Storm(unittest.TestCase):
    def setUp(self):
        # In memory, where a sync costs nothing: what is tried here are kills, and they spare the page cache.
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.directory = tempfile.mkdtemp(prefix="tenure-gate-", dir=memory)
        self.addCleanup(shutil.rmtree, self.directory)
        self.gate = os.path.join(self.directory, "gate")
        self.log = os.path.join(self.directory, "log")
        self.workers = []
        self.addCleanup(self.end)

    def end(self):
        for worker in self.workers:
            worker.kill()
            worker.wait()

    def start(self):
        return subprocess.Popen([WORKER, self.gate, self.log, str(self.random.getrandbits(31))])

    def test_storm(self):
        """Eight processes, 100,000 admissions, killed all the while: none below one admitted earlier."""
        print(f"TENURE_TEST_SEED={SEED}", flush=True)
        self.random = random.Random(SEED)
        admitted = kills = 0
        end = time.monotonic() + 240
        with open(self.log, "w+", encoding="ascii") as log:
            self.workers = [self.start() for _ in range(WORKERS)]
            while admitted < ADMISSIONS:
                self.assertLess(time.monotonic(), end, f"{admitted} admissions, {kills} kills")
                time.sleep(self.random.uniform(0.001, 0.01))
                place = self.random.randrange(WORKERS)
                self.assertIsNone(self.workers[place].poll(), "a worker ended by itself; the log says why")
                self.workers[place].kill()
                self.workers[place].wait()
                self.workers[place] = self.start()
                kills += 1
                admitted += sum(line.startswith("A") for line in log)
        self.end()
        with open(self.log, encoding="ascii") as file:
            count = check_log(file.read(), kills, self)
        print(f"{count['A']} admitted, {count['higher']} of them higher; {count['R']} refused; {kills} kills")
        self.assertGreaterEqual(count["A"], ADMISSIONS)
        self.assertGreater(count["R"], ADMISSIONS // 20)
        self.assertGreater(count["higher"], ADMISSIONS // 20)
        self.assertGreater(kills, 100)
        done = subprocess.run([TENURECTL, "gate", self.gate, str(count["highest"] - 1)], stderr=subprocess.DEVNULL,
                              timeout=10, check=False)  # fmt: skip
        self.assertEqual(done.returncode, REFUSED)

    def test_the_check(self):
        """What the storm would show of a gate without a lock is found."""
        check_log("A 1\nA 1\nR 0\nA 3\nR 3\nA 4\n", 1, self)
        for log in ("A 2\nA 1\n", "A 2\nR 2\nA 2\n", "A 2\nR 2\nA 3\nR 3\n", "A 1\nX read -74\n"):
            with self.assertRaises(AssertionError):
                check_log(log, 1, self)


class Command(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tenure-gate-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.gate = os.path.join(self.directory, "gate")

    def path(self, name):
        return os.path.join(self.directory, name)

    def ctl(self, *words, **options):
        return subprocess.run([TENURECTL, *words], **{
            "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
            "timeout": 20, "check": False, "env": {"PATH": os.environ["PATH"]}} | options)  # fmt: skip

    def admit(self, token, *words, **options):
        return self.ctl("gate", self.gate, str(token), *words, **options)

    def expect(self, done, status, out="", err=""):
        self.assertEqual((done.returncode, done.stdout), (status, out), done.stderr)
        if err:
            self.assertIn(err, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        else:
            self.assertEqual(done.stderr, "")

    def is_locked(self):
        with open(self.gate, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def hold(self, *words):
        """A gate that runs a command which says when it runs, and goes on until its input ends."""
        holder = subprocess.Popen(
            [TENURECTL, "gate", self.gate, "5", "--", "sh", "-c", "echo ready; " + " ".join(words or ["read line"])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.addCleanup(holder.__exit__, None, None, None)
        self.addCleanup(holder.kill)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        return holder

    def test_statuses(self):
        """0 for a token no lower than the highest, 77 for a lower one, which names the highest."""
        self.expect(self.admit(7), 0)
        self.expect(self.admit(7), 0)
        self.expect(self.admit(6), REFUSED, err="token 6 is refused: the highest admitted is 7")
        self.expect(self.admit(MAX_TOKEN), 0)
        self.expect(self.admit(MAX_TOKEN - 1), REFUSED, err=f"the highest admitted is {MAX_TOKEN}")
        self.assertEqual(stat.S_IMODE(os.stat(self.gate).st_mode), 0o600)
        self.assertEqual(os.listdir(self.directory), ["gate"])

    def test_json(self):
        """The same for machines."""
        done = self.admit(2**60 + 1, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        token = str(2**60 + 1)
        self.assertEqual(json.loads(done.stdout), {"admitted": True, "token": token, "highest": token})
        done = self.ctl("--json", "gate", self.gate, "007")
        self.assertEqual(done.returncode, REFUSED)
        self.assertEqual(json.loads(done.stdout), {"admitted": False, "token": "7", "highest": token})
        self.assertIn("refused", done.stderr)

    def test_usage(self):
        """64, and neither a file nor a command run."""
        ran = self.path("ran")
        for token in ("", "0", "-1", "+1", " 1", "1 ", "1x", "0x10", "1.5", str(MAX_TOKEN + 1), "9" * 40, "token"):
            with self.subTest(token=token):
                done = self.admit(token, "--", "touch", ran)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                self.assertNotEqual(done.stderr, "")
        for words in ([], [self.gate], [self.gate, "1", "--"], [self.gate, "1", "touch", ran], ["--", self.gate, "1"],
                      [self.gate, "--", "1", "touch", ran], [self.gate, "1", "--wait", "soon"],
                      [self.gate, "1", "--force"]):  # fmt: skip
            with self.subTest(words=words):
                self.expect(self.ctl("gate", *words), USAGE, err="tenurectl: ")
        self.assertEqual(os.listdir(self.directory), [])

    def test_no_gate(self):
        """70 with the file's name and the cause; the file stays as it is and no command runs."""
        for name, data in (("empty", b""), ("foreign", b"important\n"), ("zeros", bytes(8192))):
            with open(self.path(name), "wb") as file:
                file.write(data)
            done = self.ctl("gate", self.path(name), "1", "--", "touch", self.path("ran"))
            self.expect(done, FAILED, err=f"{self.path(name)}: no token gate, or a damaged one")
            with open(self.path(name), "rb") as file:
                self.assertEqual(file.read(), data)
        os.symlink("gate", self.path("link"))
        self.expect(self.ctl("gate", self.path("link"), "1"), FAILED, err="link: Too many levels of symbolic links")
        self.expect(self.ctl("gate", self.directory, "1"), FAILED, err="Is a directory")
        self.expect(self.ctl("gate", self.path("no/gate"), "1"), FAILED, err="No such file or directory")
        self.expect(self.ctl("gate", "/dev/null", "1"), FAILED, err="/dev/null: no token gate")
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_full_disk(self):
        """A file-size limit stands in for it: no half gate is left, and a gate that is there goes on."""
        limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 8; exec "$@"', "sh", TENURECTL, "gate", self.gate]
        done = subprocess.run([*limited, "1"], stderr=subprocess.PIPE, text=True, timeout=10, check=False)
        self.assertEqual(done.returncode, FAILED, done.stderr)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(os.listdir(self.directory), [])
        self.expect(self.admit(5), 0)
        # The second slot is beyond the limit, the first is not: one of two writes fails, and nothing is forgotten.
        statuses = [subprocess.run([*limited, token], stderr=subprocess.DEVNULL, timeout=10, check=False).returncode
                    for token in ("6", "7")]  # fmt: skip
        self.assertEqual(sorted(statuses), [0, FAILED])
        self.expect(self.admit(4), REFUSED, err="refused")
        self.expect(self.admit(8), 0)

    def test_command(self):
        """Words, environment, input, output and status are the command's own."""
        words = ["-s", "--json", "--wait", "x", "-z", "--", "", "a  b", "$HOME", "*", "-h", "--version"]
        done = self.admit(5, "--wait", "2s", "--json", "--", "printf", "[%s]", *words)
        self.expect(done, 0, "".join(f"[{word}]" for word in words))
        done = self.admit(5, "--", "sh", "-c", 'read line; echo "$line $MINE"; echo no >&2; exit 3', stdin=None,
                          input="hello\n", env={"PATH": os.environ["PATH"], "MINE": "mine"})  # fmt: skip
        self.expect(done, 3, "hello mine\n", "no")
        for status in (1, REFUSED, 255):
            self.expect(self.admit(5, "--", "sh", "-c", f"exit {status}"), status)
        self.assertEqual(self.admit(5, "--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)

    def test_command_refused(self):
        """A command whose token is refused never runs."""
        self.expect(self.admit(9), 0)
        self.expect(self.admit(8, "--", "touch", self.path("ran")), REFUSED, err="refused")
        self.assertFalse(os.path.exists(self.path("ran")))
        self.expect(self.admit(9, "--", "touch", self.path("ran")), 0)
        self.assertTrue(os.path.exists(self.path("ran")))

    def test_command_not_run(self):
        """127 when there is none, 126 when it cannot be executed; the token counts as admitted."""
        self.expect(self.admit(5, "--", self.path("nothing")), NOT_FOUND, err="No such file or directory")
        self.expect(self.admit(6, "--", "tenure-no-such-command"), NOT_FOUND, err="tenure-no-such-command: ")
        self.expect(self.admit(7, "--", self.directory), NOT_EXECUTABLE, err="Permission denied")
        self.expect(self.admit(6), REFUSED, err="is 7")
        self.assertFalse(self.is_locked())

    def test_locked_while_it_runs(self):
        """Others wait, or give up in time, until the command ends; it has the process of the gate."""
        holder = self.hold("read line")
        self.assertEqual(os.readlink(f"/proc/{holder.pid}/exe"), os.path.realpath("/bin/sh"))
        self.assertTrue(self.is_locked())
        began = time.monotonic()
        self.expect(self.admit(6, "--wait", "200ms", "--", "touch", self.path("ran")), TRY_AGAIN, err="somebody else")
        self.assertTrue(0.2 <= time.monotonic() - began < 5)
        self.assertFalse(os.path.exists(self.path("ran")))
        waiter = subprocess.Popen([TENURECTL, "gate", self.gate, "6"])
        self.addCleanup(waiter.wait)
        self.addCleanup(waiter.kill)
        holds_for(lambda: waiter.poll() is None, 0.2, "waiting for the lock")
        holder.communicate("\n", timeout=10)
        self.assertEqual(holder.returncode, 0)
        self.assertEqual(waiter.wait(10), 0)
        self.expect(self.admit(5), REFUSED, err="is 6")

    def test_killed(self):
        """The lock ends with the command that is killed, and not before what it left behind."""
        holder = self.hold("read line")
        holder.kill()
        holder.wait(10)
        wait_for(lambda: not self.is_locked(), 10, "the lock to end with the command")
        pid_file = self.path("pid")
        holder = self.hold(f"sleep 60 & echo $! > {pid_file}; echo on; read line")
        self.assertEqual(holder.stdout.readline(), "on\n")
        with open(pid_file, encoding="ascii") as file:
            left = int(file.read())
        try:
            holder.kill()
            holder.wait(10)
            holds_for(self.is_locked, 0.2, "the lock of what is left")
        finally:
            os.kill(left, signal.SIGKILL)
        wait_for(lambda: not self.is_locked(), 10, "the lock to end")

    def test_parent_killed(self):
        """Whoever started the gate may die: command and lock go on."""
        read_end, write_end = os.pipe()
        # A shell gives what it starts in the background no input, so it comes by another descriptor.
        script = 'exec 3<&0; "$0" gate "$1" 5 -- sh -c "echo \\$\\$; read line" <&3 & wait'
        shell = subprocess.Popen(["sh", "-c", script, TENURECTL, self.gate], stdin=read_end, stdout=subprocess.PIPE,
                                 text=True)  # fmt: skip
        os.close(read_end)
        try:
            pid = int(shell.stdout.readline())
            shell.kill()
            shell.wait(10)
            holds_for(lambda: self.is_locked() and os.path.exists(f"/proc/{pid}"), 0.2, "command and lock")
        finally:
            os.close(write_end)
            shell.stdout.close()
        wait_for(lambda: not self.is_locked(), 10, "the lock to end with the command")

    def test_closed_output(self):
        """What the command prints never lands in the gate, whatever descriptors it is started without."""
        self.expect(self.admit(5), 0)
        for closed in ("<&-", ">&-", "<&- >&- 2>&-"):
            script = f'exec "$0" gate "$1" 6 -- sh -c "echo x; echo y >&2" {closed}'
            subprocess.run(["sh", "-c", script, TENURECTL, self.gate], capture_output=True, timeout=10, check=False)
            self.expect(self.admit(5), REFUSED, err="is 6")

    def test_needs_nothing(self):
        """No configuration and no root."""
        done = self.admit(5, "-c", "/nonexistent")
        self.expect(done, 0)
        if os.getuid() == 0:
            os.chmod(self.directory, 0o777)
            os.unlink(self.gate)
            with contextlib.suppress(PermissionError):
                self.expect(self.admit(5, user=65534, group=65534, extra_groups=[]), 0)
                self.assertEqual(os.stat(self.gate).st_uid, 65534)


if __name__ == "__main__":
    unittest.main()
