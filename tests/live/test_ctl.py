"""tenurectl with real agents: what it shows is what is, and what it starts is done when it says so."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURECTL, LiveCase, wait_for  # noqa: E402


class Ctl(LiveCase):
    def json(self, agent, *words):
        done = agent.ctl(*words, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_status(self):
        """The leader and a standby agree on who leads and by which token; people see the same as machines."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        gain = self.timeline.wait("end", "gain", "a")
        b.wait_queued(2)
        wait_for(lambda: b.election_status().get("leader") == "a", 10, "the standby to know the leader")
        mine, theirs = self.json(a, "status"), self.json(b, "status")
        self.assertEqual((mine["member"], theirs["member"]), ("a", "b"))
        self.assertEqual((mine["pid"], mine["elector_pid"]), (a.pid, a.elector()))
        self.assertEqual(mine["zookeeper"]["state"], "connected")
        demo = mine["elections"]["demo"]
        self.assertEqual((demo["state"], demo["leader"], demo["position"]), ("active", "a", 1))
        self.assertEqual(demo["token"], str(gain.token))
        self.assertTrue(0 < demo["lease_ms"] <= 2000, demo)
        self.assertEqual(theirs["elections"]["demo"]["state"], "standby")
        self.assertEqual(theirs["elections"]["demo"]["token"], str(gain.token))
        text = a.ctl("status", "demo").stdout
        self.assertRegex(text, r"(?m)^  state +active  since ")
        self.assertRegex(text, rf"(?m)^  token +{gain.token}$")
        self.assertRegex(text, rf"(?m)^  zookeeper +connected  {re.escape(server.address)}$")
        self.assertRegex(text, r"(?m)^  last hook +gain  exit 0  ")

    def test_is_leader(self):
        """0 with the token and the time left for the leader, 1 for a standby."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        gain = self.timeline.wait("end", "gain", "a")
        done = a.ctl("is-leader", "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        token, left = map(int, done.stdout.split())
        self.assertEqual(token, gain.token)
        self.assertTrue(0 < left <= 2000, left)
        done = b.ctl("is-leader")
        self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_is_leader_never_says_yes_too_long(self):
        """The server goes away: not a single yes after the lose hook has begun."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        began = self.timeline.wait("end", "gain", "a")
        server.signal(signal.SIGSTOP)
        try:
            asked_ns = []  # when the calls began that said yes
            end = time.monotonic() + 10
            while time.monotonic() < end:
                now_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                if a.ctl("is-leader", "demo").returncode == 0:
                    asked_ns.append(now_ns)
                elif self.timeline.events("start", "lose", "a", after_ns=began.at_ns):
                    break
            lose = self.timeline.wait("start", "lose", "a", after_ns=began.at_ns)
            self.assertIn(a.ctl("is-leader", "demo").returncode, (1, 2))
            self.assertGreater(len(asked_ns), 3)
            self.assertLess(asked_ns[-1], lose.at_ns)
        finally:
            server.signal(signal.SIGCONT)
        a.wait_state("active", timeout=20)

    def test_resign(self):
        """When resign returns, the hook has run, the znode is gone, and the token is the one of that term."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        first = self.timeline.wait("end", "gain", "a")
        answer = self.json(a, "resign", "demo")
        self.assertEqual(answer["token"], str(first.token))
        self.assertTrue(0 <= answer["took_ms"] < 5000, answer)
        self.assertTrue(self.timeline.events("end", "lose", "a", after_ns=first.at_ns))
        self.assertNotIn(first.token, [stat.czxid for _, stat in self.queue(client)])
        b.wait_state("active")

    def test_resign_refused(self):
        """A leader whom nobody follows is refused, unless forced; one that does not lead has nothing to give up."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        done = a.ctl("resign", "demo")
        self.assertEqual((done.returncode, done.stdout), (77, ""), done.stderr)
        self.assertIn("--force", done.stderr)
        self.assertEqual(a.state(), "active")
        done = a.ctl("resign", "demo", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^gave up token \d+ after ")
        a.wait_state("active")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        done = b.ctl("resign", "demo")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("not the leader", done.stderr)

    def test_resign_out_of_time(self):
        """A slow lose hook: 75 when the time is over, and the agent goes on to the end."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        a.behave("lose", "sleep=1500")
        done = a.ctl("resign", "demo", "--wait", "300ms")
        self.assertEqual((done.returncode, done.stdout), (75, ""), done.stderr)
        self.assertIn("goes on", done.stderr)
        b.wait_state("active")

    def test_wrong_election(self):
        """An election that the agent does not have; none named where it has two."""
        server = self.start_server()
        a = self.start_agent("a", server, elections=("demo", "other"))
        a.wait_state("active")
        for words in (["status", "nowhere"], ["is-leader", "nowhere"], ["resign", "nowhere"], ["is-leader"], ["resign"]):
            with self.subTest(words=words):
                done = a.ctl(*words)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(set(self.json(a, "status")["elections"]), {"demo", "other"})
        self.assertEqual(set(self.json(a, "status", "other")["elections"]), {"other"})

    def test_no_agent(self):
        """The agent has stopped: 69, and 2 for is-leader."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        self.assertEqual(a.stop(), 0)
        self.assertEqual(a.ctl("status").returncode, 69)
        self.assertEqual(a.ctl("is-leader", "demo").returncode, 2)

    def test_list_and_history(self):
        """Both by the agents' configuration: the queue as it stands, the terms as they were."""
        server = self.start_server()
        agents = self.start_queue("abc", server)
        a, b, _ = agents
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        a.wait_queued(3)

        def ask(command):
            done = subprocess.run(
                [TENURECTL, "-c", a.config_file, command, "--json"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
            )  # fmt: skip
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return json.loads(done.stdout)

        def states():
            return [(row["member"], row["leader"], row["state"]) for row in ask("list")["candidates"]]

        expected = [("b", True, "active"), ("c", False, "standby"), ("a", False, "standby")]
        wait_for(lambda: states() == expected, 10, lambda: f"{expected}; last seen: {states()}")
        gains = self.timeline.events("start", "gain")
        terms = ask("history")
        self.assertEqual([term["member"] for term in terms], ["a", "b"])
        self.assertEqual([term["token"] for term in terms], [str(gain.token) for gain in gains])


if __name__ == "__main__":
    unittest.main()
