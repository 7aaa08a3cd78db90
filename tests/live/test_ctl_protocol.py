"""
tenurectl against control sockets that a test holds: the command line, the exit statuses, what is printed, and
agents that refuse, hang, close, or send what no agent would.
"""

import json
import os
import pty
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURECTL, wait_for  # noqa: E402

LEADER = {"ok": True, "leader": True, "token": "4294967338", "lease_ms": 13210}
STATUS = {
    "schema": 1, "member": "db-a", "version": "0.1.0", "pid": 100, "elector_pid": 101,
    "zookeeper": {
        "state": "connected", "server": "10.0.0.9:2181", "session": "0x100000000000001",
        "session_timeout_ms": 20000, "last_commit_age_ms": 412, "reconnects": 3,
    },
    "elections": {
        "pg": {
            "state": "active", "reason": "election", "since": "2025-06-01T10:00:00Z", "candidate": True,
            "leader": "db-a", "leader_address": "10.0.0.1:5432", "phase": "active", "token": "4294967338",
            "lease_ms": 13210, "hold_ms": 8100, "position": 1, "members": 3, "paused": False, "eligible": True,
            "healthy": True, "ready": True, "score": None, "record_age_ms": None, "transitions": 12,
            "last_hook": {"name": "gain", "exit": 0, "signal": None, "timed_out": False, "ms": 812,
                          "at": "2025-06-01T10:00:00Z"},
        },
        "redis": {"state": "standby", "leader": None, "token": None, "lease_ms": None, "position": 2},
    },
}  # fmt: skip


class FakeAgent:
    """Listens as an agent does. ANSWER(connection, request) is called for every request, on a thread."""

    def __init__(self, path, answer):
        self.requests = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                line = connection.makefile("rb").readline()
                self.requests.append(json.loads(line))
                try:
                    self._answer(connection, self.requests[-1])
                except OSError:
                    pass

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)


def reply(*objects):
    """An agent that answers every request with OBJECTS, a line each."""
    data = b"".join(json.dumps(each).encode() + b"\n" for each in objects)
    return lambda connection, request: connection.sendall(data)


def hang(connection, _request):
    """Never answers, and ends when the other side has gone."""
    connection.recv(1)


class Ctl(unittest.TestCase):
    longMessage = True

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="tenure-test-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.socket = os.path.join(self.directory, "control.sock")

    def agent(self, answer):
        agent = FakeAgent(self.socket, answer)
        self.addCleanup(agent.close)
        return agent

    def run_ctl(self, *arguments, env=None, stdout=subprocess.PIPE):
        return subprocess.run(
            [TENURECTL, *arguments], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
            timeout=30, check=False, env=os.environ | (env or {}),
        )  # fmt: skip

    def ctl(self, *arguments, **options):
        return self.run_ctl("-s", self.socket, *arguments, **options)

    def check(self, done, status, stdout=None, error=None):
        """The exit status; the whole output; a part of the one line of error, or no error at all."""
        self.assertEqual(done.returncode, status, done.stderr)
        if stdout is not None:
            self.assertEqual(done.stdout, stdout)
        if error is None:
            self.assertEqual(done.stderr, "")
        else:
            self.assertIn(error, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertTrue(done.stderr.startswith("tenurectl: "), done.stderr)


class CommandLine(Ctl):
    def test_options_stand_anywhere(self):
        """The same answer, wherever the options are; "--" ends them; POSIXLY_CORRECT changes nothing."""
        agent = self.agent(reply({"ok": True, "token": "7", "took_ms": 812}))
        expected = {"token": "7", "took_ms": 812}
        for words in (
            ["-s", self.socket, "--json", "resign", "pg"], ["resign", "-s", self.socket, "pg", "--json"],
            ["resign", "pg", "--json", "-s" + self.socket], ["--json", "-s", self.socket, "--", "resign", "pg"],
            ["--wait=5", "resign", "--json", "pg", "--force", "-s", self.socket],
        ):  # fmt: skip
            for env in ({}, {"POSIXLY_CORRECT": "1"}):
                done = self.run_ctl(*words, env=env)
                self.check(done, 0)
                self.assertEqual(json.loads(done.stdout), expected)
                self.assertEqual(
                    agent.requests[-1], {"command": "resign", "election": "pg", "force": "--force" in words}
                )

    def test_a_name_that_looks_like_an_option(self):
        """After "--" a word with a dash is the election's name."""
        agent = self.agent(reply(LEADER))
        self.assertEqual(self.ctl("is-leader", "--", "--json").returncode, 0)
        self.assertEqual(agent.requests, [{"command": "is-leader", "election": "--json"}])

    def test_unknown_command(self):
        """One line with the nearest names, exit 64, and nothing is asked."""
        for word, text in (
            ("stauts", "did you mean status?"), ("is-leadr", "did you mean is-leader?"), ("hist", "did you mean history?"),
            ("frobnicate", "see tenurectl help"), ("\x1b[2J", "unknown command '\\x1b[2J'"), ("", "unknown command ''"),
        ):  # fmt: skip
            self.check(self.ctl(word), 64, "", text)

    def test_wrong_usage(self):
        """Each fault is one line and exit 64."""
        for words, text in (
            ([], "no command given"), (["status", "--frob"], "--frob"), (["status", "-q"], "'-q'"),
            (["status", "a", "b"], "at most 1"), (["status", "--force"], "no --force"),
            (["status", "--wait"], "--wait"), (["status", "--wait", "0"], "--wait 0"),
            (["status", "--wait", "-1"], "--wait -1"), (["status", "--wait", "soon"], "--wait soon"),
            (["status", "--wait", "1e9"], "--wait 1e9"), (["status", "--json=1"], "--json"),
            (["status", "x" * 65], "not the name of an election"), (["status", b"\xff"], "not the name of an election"),
        ):  # fmt: skip
            with self.subTest(words=words):
                self.check(self.ctl(*words), 64, "", text)

    def test_help_and_version(self):
        """Both need no agent; help names every command."""
        for words in (["help"], ["--help"], ["status", "-h"]):
            done = self.run_ctl(*words)
            self.check(done, 0)
            for name in ("status", "is-leader", "resign", "list", "history", "help"):
                self.assertRegex(done.stdout, rf"(?m)^  {name}\b")
        for word in ("--version", "-V"):
            self.assertRegex(self.run_ctl(word).stdout, r"^tenurectl \d+\.\d+\.\d+\n$")

    def test_output_that_cannot_be_written(self):
        """A full disk behind stdout is an error, not a success."""
        self.agent(reply({"ok": True, "status": STATUS}))
        with open("/dev/full", "w", encoding="ascii") as full:
            done = self.ctl("status", stdout=full)
        self.check(done, 70, error="cannot write")


class Socket(Ctl):
    def config(self, text):
        path = os.path.join(self.directory, "tenured.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_of_the_configuration(self):
        """Without -s the configuration's socket is asked."""
        agent = self.agent(reply(LEADER))
        config = self.config(
            f'control {{ socket = "{self.socket}" }}\nzookeeper {{ servers = "127.0.0.1:2181" }}\n'
            'election "pg" { hooks { gain = {"/nowhere"} lose = {"/nowhere"} lose_timeout = 1s } }\n'
        )
        self.check(self.run_ctl("-c", config, "is-leader"), 0)
        self.assertEqual(agent.requests, [{"command": "is-leader"}])

    def test_configuration_of_no_use(self):
        """A named configuration must be right, exit 78, unless -s makes it unnecessary."""
        self.agent(reply(LEADER))
        broken = self.config("member = \n")
        missing = os.path.join(self.directory, "missing")
        for path in (broken, missing, self.directory):
            done = self.run_ctl("-c", path, "status")
            self.assertEqual(done.returncode, 78, done.stderr)
            self.assertIn(path, done.stderr)
            self.check(self.ctl("-c", path, "is-leader"), 0)

    def test_no_agent(self):
        """Nobody listens, or there is no socket: 69, is-leader 2, and the socket is named."""
        refused = socket.socket(socket.AF_UNIX)
        refused.bind(self.socket)
        refused.close()
        missing = os.path.join(self.directory, "missing.sock")
        for path, why in ((self.socket, "Connection refused"), (missing, "No such file or directory")):
            text = f"no agent answers at {path}: {why}"
            self.check(self.run_ctl("-s", path, "status"), 69, "", text)
            self.check(self.run_ctl("-s", path, "resign"), 69, "", text)
            self.check(self.run_ctl("-s", path, "is-leader", "pg"), 2, "", text)
        self.check(self.run_ctl("-s", "/" + "x" * 200, "status"), 64, "", "too long")

    def test_full_backlog(self):
        """An agent that accepts nobody: the wait for the connection is bounded too."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.socket)
        listener.listen(0)
        self.addCleanup(listener.close)
        waiting = socket.socket(socket.AF_UNIX)
        self.addCleanup(waiting.close)
        waiting.connect(self.socket)
        began = time.monotonic()
        self.check(self.ctl("status", "--wait", "500ms"), 69, "", "no agent answers")
        self.assertLess(time.monotonic() - began, 5)


class Status(Ctl):
    def test_for_people(self):
        """Every part of the status is there, in aligned lines; what is null or missing is "-"."""
        self.agent(reply({"ok": True, "status": STATUS}))
        done = self.ctl("status")
        self.check(done, 0)
        for line in (
            "db-a", "  agent        version 0.1.0  pid 100  elector 101", "  zookeeper    connected  10.0.0.9:2181",
            "  session      0x100000000000001  timeout 20.0 s", "  last commit  412 ms ago", "  reconnects   3",
            "pg", "  state        active  since 2025-06-01T10:00:00Z  election", "  leader       db-a  10.0.0.1:5432",
            "  token        4294967338", "  lease left   13.2 s", "  hold left    8.1 s", "  position     1 of 3",
            "  health       healthy", "  last hook    gain  exit 0  812 ms  at 2025-06-01T10:00:00Z",
            "redis", "  leader       -  -", "  lease left   -", "  last hook    -",
        ):  # fmt: skip
            self.assertIn(line, done.stdout.split("\n"))

    def test_json(self):
        """The status object as it came, indented by two."""
        self.agent(reply({"ok": True, "status": STATUS}))
        done = self.ctl("status", "--json")
        self.check(done, 0, json.dumps(STATUS, indent=2) + "\n")

    def test_of_one_election(self):
        agent = self.agent(reply({"ok": True, "status": STATUS}))
        self.check(self.ctl("status", "pg"), 0)
        self.assertEqual(agent.requests, [{"command": "status", "election": "pg"}])

    def test_hostile_text(self):
        """Whatever a peer puts into a name, no control character, invisible one or change of direction comes out."""
        evil = "a\x1b[2J\r\n\x07\x7f\x9b31m\u202e\u200b\u0085\\é"
        status = json.loads(json.dumps(STATUS))
        status["member"] = status["zookeeper"]["server"] = evil
        status["elections"] = {evil: {"state": evil, "leader": evil, "last_hook": {"name": evil, "exit": evil}}}
        self.agent(reply({"ok": True, "status": status}))
        for words in (["status"], ["status", "--json"]):
            done = self.ctl(*words)
            self.check(done, 0)
            for character in done.stdout.replace("\n", ""):
                self.assertTrue(character.isprintable(), repr(character))
        self.assertEqual(json.loads(done.stdout), status)
        self.assertIn("a\\x1b[2J\\x0d\\x0a\\x07\\x7f\\xc2\\x9b31m\\xe2\\x80\\xae", self.ctl("status").stdout)

    def test_hostile_error(self):
        """The same for an error's text."""
        self.agent(reply({"ok": False, "exit": 77, "error": "no\x1b[2J\nway"}))
        self.check(self.ctl("status"), 77, "", "no\\x1b[2J\\x0away")

    def test_values_of_other_kinds(self):
        """A newer agent's status must not break the printing."""
        odd = {"member": 5, "zookeeper": [], "elections": {"a": 1, "b": {"lease_ms": "x", "last_hook": []}}}
        for status in (odd, {}, {"elections": []}):
            with self.subTest(status=status):
                path = os.path.join(self.directory, f"{len(json.dumps(status))}.sock")
                agent = FakeAgent(path, reply({"ok": True, "status": status}))
                self.addCleanup(agent.close)
                self.check(self.run_ctl("-s", path, "status"), 0)


class IsLeader(Ctl):
    def test_yes(self):
        """0, the token, and what is surely left of the lease."""
        self.agent(reply(LEADER))
        done = self.ctl("is-leader", "pg")
        self.check(done, 0)
        token, left = done.stdout.split()
        self.assertEqual(token, "4294967338")
        self.assertTrue(12000 < int(left) <= 13210, left)
        answer = json.loads(self.ctl("is-leader", "--json").stdout)
        self.assertEqual((answer["leader"], answer["token"]), (True, "4294967338"))
        self.assertTrue(12000 < answer["lease_ms"] <= 13210, answer)

    def test_no(self):
        self.agent(reply({"ok": True, "leader": False, "token": None, "lease_ms": None}))
        self.check(self.ctl("is-leader", "pg"), 1, "")
        done = self.ctl("is-leader", "pg", "--json")
        self.check(done, 1)
        self.assertEqual(json.loads(done.stdout), {"leader": False, "token": None, "lease_ms": None})

    def test_unknown(self):
        """Whatever is not a clear yes or no is 2, an agent's error included; a wrong election's name stays 64."""
        for number, (answer, status) in enumerate((
            ({"ok": True, "leader": None}, 2), ({"ok": True}, 2), ({"ok": True, "leader": True, "lease_ms": 5}, 2),
            ({"ok": True, "leader": True, "token": "1", "lease_ms": None}, 2),
            ({"ok": True, "leader": True, "token": "1", "lease_ms": 0}, 2), ({"ok": False, "exit": 1, "error": "x"}, 2),
            ({"ok": False, "exit": 0, "error": "x"}, 2), ({"ok": False}, 2), ({"ok": False, "exit": 64, "error": "x"}, 64),
        )):  # fmt: skip
            with self.subTest(answer=answer):
                path = os.path.join(self.directory, f"{number}.sock")
                agent = FakeAgent(path, reply(answer))
                self.addCleanup(agent.close)
                done = self.run_ctl("-s", path, "is-leader", "--json")
                self.check(done, status, "", "tenurectl: ")

    def test_an_answer_older_than_its_lease(self):
        """A lease that may have run out while the answer was on its way is no lease."""

        def slow(connection, _request):
            time.sleep(0.3)
            connection.sendall(json.dumps(LEADER | {"lease_ms": 100}).encode() + b"\n")

        self.agent(slow)
        self.check(self.ctl("is-leader"), 2, "", "older than the lease")


class Resign(Ctl):
    def test_done(self):
        """Steps are for a terminal only; the last line has the token and the time."""
        agent = self.agent(
            reply({"progress": "running the lose hook"}, {"progress": "x"}, {"ok": True, "token": "7", "took_ms": 812})
        )
        self.check(self.ctl("resign"), 0, "gave up token 7 after 812 ms\n")
        self.assertEqual(agent.requests, [{"command": "resign", "force": False}])

    def test_refused(self):
        self.agent(reply({"ok": False, "exit": 77, "error": "nobody eligible waits behind"}))
        self.check(self.ctl("resign", "pg"), 77, "", "tenurectl: nobody eligible waits behind")

    def test_exit_status_of_an_error(self):
        """A status the commands do not have, 0 above all, becomes 70."""
        for status, expected in ((75, 75), (69, 69), (0, 70), (99, 70), (None, 70)):
            path = os.path.join(self.directory, f"{status}.sock")
            agent = FakeAgent(path, reply({"ok": False, "exit": status}))
            self.addCleanup(agent.close)
            self.check(self.run_ctl("-s", path, "resign"), expected, "", "did not say why")

    def test_out_of_time(self):
        """--wait bounds the whole wait, steps or not; 75, since the agent goes on."""

        def dawdle(connection, _request):
            while True:
                connection.sendall(b'{"progress":"still at it"}\n')
                time.sleep(0.05)

        self.agent(dawdle)
        began = time.monotonic()
        done = self.ctl("resign", "--wait", "0.6")
        self.assertEqual(done.returncode, 75, done.stderr)
        self.assertIn("has not answered within 0.6 s", done.stderr)
        self.assertIn("goes on", done.stderr)
        self.assertTrue(0.5 < time.monotonic() - began < 5)

    def test_progress_on_a_terminal(self):
        """On a terminal the steps appear with the time elapsed, escaped, and the result stays on stdout."""
        proceed = threading.Event()

        def answer(connection, _request):
            connection.sendall(b'{"progress":"running the lose \\u001b[2J hook"}\n')
            proceed.wait(10)
            connection.sendall(b'{"ok":true,"token":"7","took_ms":812}\n')

        self.agent(answer)
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with subprocess.Popen([TENURECTL, "-s", self.socket, "resign"], stdout=subprocess.PIPE, stderr=slave) as process:
            os.close(slave)
            seen = bytearray()

            def has_ticked():
                seen.extend(os.read(master, 4096))
                return seen.count(b"running the lose \\x1b[2J hook") >= 3

            wait_for(has_ticked, 10, "three updates of the progress")
            proceed.set()
            self.assertEqual(process.stdout.read(), b"gave up token 7 after 812 ms\n")
            self.assertEqual(process.wait(10), 0)
        self.assertNotIn(b"\x1b", seen)
        self.assertRegex(bytes(seen), rb"\r +\d+\.\d s  running the lose")


class BadAgent(Ctl):
    def expect(self, answer, text, resign=69):
        self.agent(answer)
        for command, status in (("status", 69), ("is-leader", 2), ("resign", resign)):
            with self.subTest(command=command):
                done = self.ctl(command, "pg", "--wait", "5")
                self.check(done, status, "", text)

    def test_hangs(self):
        """No answer at all ends with the wait."""
        self.agent(hang)
        began = time.monotonic()
        self.check(self.ctl("status", "--wait", "300ms"), 69, "", "has not answered within 0.3 s")
        self.check(self.ctl("is-leader", "--wait", "300ms"), 2, "", "has not answered")
        self.assertLess(time.monotonic() - began, 5)

    def test_closes(self):
        self.expect(lambda connection, request: None, "closed the connection before it had answered")

    def test_closes_in_the_middle(self):
        self.expect(lambda connection, request: connection.sendall(b'{"ok":true'), "closed the connection")

    def test_rubbish(self):
        self.expect(lambda connection, request: connection.sendall(b"\x00\xff\x1b[2J\n"), "not one of tenured")

    def test_json_of_another_kind(self):
        self.expect(lambda connection, request: connection.sendall(b'["ok"]\n'), "not one of tenured")

    def test_deep_json(self):
        self.expect(lambda connection, request: connection.sendall(b"[" * 1000000 + b"\n"), "not one of tenured")

    def test_a_line_without_an_end(self):
        """5 MB without a newline: given up at the bound, without waiting for the end."""
        self.expect(lambda connection, request: connection.sendall(b"x" * 5_000_000), "longer than")

    def test_a_long_answer(self):
        """A long answer below the bound is taken, in whatever pieces it comes."""
        status = STATUS | {"elections": {f"e{i}": STATUS["elections"]["pg"] for i in range(1000)}}
        data = json.dumps({"ok": True, "status": status}).encode() + b"\n"

        def answer(connection, _request):
            for start in range(0, len(data), 7001):
                connection.sendall(data[start : start + 7001])

        self.agent(answer)
        done = self.ctl("status", "--json")
        self.check(done, 0)
        self.assertEqual(json.loads(done.stdout), status)


if __name__ == "__main__":
    unittest.main()
