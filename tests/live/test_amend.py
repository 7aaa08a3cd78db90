"""What operators change in the election record: pause, resume, eligible."""

import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import HOOK, TENURECTL, LiveCase, holds_for, wait_for  # noqa: E402


class Amend(LiveCase):
    def ctl(self, agent, *words, status=0):
        done = agent.ctl(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def record(self, client):
        return json.loads(client.get("/tenure/demo")[0])


class Pause(Amend):
    def test_nobody_takes_office(self):
        """The leader dies under a pause: nobody follows; after resume, which any member takes, the next one does."""
        server = self.start_server()
        client = self.client(server)
        a, b, c = self.start_queue("abc", server)
        self.assertIn("paused", self.ctl(b, "pause", "demo").stdout)
        self.assertIn("already", self.ctl(c, "pause").stdout)
        self.assertTrue(self.record(client)["paused"])
        wait_for(lambda: a.election_status()["paused"], 5, "the leader to know")
        gains = len(self.timeline.events("start", "gain"))
        a.kill9()
        self.wait_candidates(client, 2)
        wait_for(lambda: "paused" in (b.election_status()["blocked"] or ""), 10, "the reason in the status")
        holds_for(lambda: len(self.timeline.events("start", "gain")) == gains, 2, "nobody takes office")
        self.assertEqual(json.loads(self.ctl(c, "resume", "--json").stdout), {"changed": True, "paused": False, "eligible": []})
        b.wait_state("active")
        self.assertIn("not paused", self.ctl(c, "resume").stdout)

    def test_health(self):
        """Nobody leaves office for its health under a pause, and does so after it."""
        server = self.start_server()
        agents = []
        for member in "ab":
            agent = self.agent(member, server)
            agent.blocks["check"] = {"interval": 100, "timeout": 500, "rise": 1, "fall": 2}
            agents.append(agent.start())
            agent.wait_state("active" if member == "a" else "standby")
            agent.wait_queued(len(agents))
        a, b = agents
        self.ctl(a, "pause")
        wait_for(lambda: a.election_status()["paused"], 5, "the leader to know")
        a.behave("check", "exit=1")
        wait_for(lambda: a.election_status()["healthy"] is False, 5, "ill health")
        holds_for(lambda: a.state() == "active", 1, "in office all the same")
        self.ctl(b, "resume")
        b.wait_state("active")

    def test_before_anybody_stands(self):
        """An election may be paused before it has ever had a leader."""
        server = self.start_server()
        a = self.agent("a", server)
        a.behave("gain", "exit=1")
        a.start()
        self.timeline.wait("start", "gain", "a")
        self.ctl(a, "pause")
        gains = len(self.timeline.events("start", "gain"))
        a.behave("gain", "")
        holds_for(lambda: len(self.timeline.events("start", "gain")) <= gains + 1, 2, "paused")
        self.ctl(a, "resume")
        a.wait_state("active")

    def test_unreadable(self):
        """A record that cannot be read is not replaced: the operator is told of forget."""
        server = self.start_server()
        client = self.client(server)
        a = self.start_agent("a", server)
        a.wait_state("active")
        client.set("/tenure/demo", b"not json")
        done = self.ctl(a, "pause", status=77)
        self.assertIn("forget", done.stderr)
        self.assertEqual(client.get("/tenure/demo")[0], b"not json")


class Eligible(Amend):
    def test_leader_sets_it(self):
        """Who is not on the list never takes office, though it is next."""
        server = self.start_server()
        a, b, c = self.start_queue("abc", server)
        self.assertIn("everybody", self.ctl(b, "eligible").stdout)
        self.assertEqual(self.ctl(a, "eligible", "demo", "--set", "a,c").stdout, "a\nc\n")
        self.assertEqual(self.ctl(b, "eligible", "demo").stdout, "a\nc\n")
        a.kill9()
        c.wait_state("active", timeout=15)
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])
        self.assertEqual(self.ctl(c, "eligible", "--clear").stdout, "everybody is eligible\n")

    def test_refusals(self):
        """Others than the leader, a list without the leader, an empty name: refused, and nothing changes."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        self.ctl(a, "eligible", "--set", "a,b")
        self.assertIn("that is a", self.ctl(b, "eligible", "--set", "b", status=77).stderr)
        self.assertIn("that is a", self.ctl(b, "eligible", "--clear", status=77).stderr)
        self.assertIn("not on that list", self.ctl(a, "eligible", "--set", "b", status=77).stderr)
        for words in (("--set", "a,,b"), ("--set", "a,a"), ("--set", "a b"), ("--set", "x" * 65), ("--set", "a", "--clear")):
            self.ctl(a, "eligible", *words, status=64)
        self.ctl(a, "pause", "--set", "a", status=64)
        self.assertEqual(self.record(client)["eligible"], ["a", "b"])

    def test_unknown_members(self):
        """Who is not there may be on the list, but is named in a warning."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        done = self.ctl(a, "eligible", "--set", "a,b,c")
        self.assertEqual(done.stdout, "a\nb\nc\n")
        self.assertRegex(done.stderr, r"warning: no member c\b")
        self.assertNotRegex(done.stderr, r"member [ab]\b")
        self.assertEqual(json.loads(self.ctl(a, "eligible", "--set", "a,d,c", "--json").stdout)["unknown"], ["d", "c"])
        self.assertEqual(self.ctl(a, "eligible", "--set", "b,a").stderr, "")
        self.assertEqual(self.ctl(b, "eligible").stdout, "b\na\n")

    def test_while_a_resume_waits(self):
        """The hooks of who rode out a pause may change the list, though the resume waits for that very member."""
        server = self.start_server()
        client = self.client(server)
        a = self.start_agent("a", server)
        a.wait_state("active")
        client.set("/tenure/demo", json.dumps(self.record(client) | {"paused": True, "held": "1"}).encode())
        resume = subprocess.Popen((TENURECTL, "-s", a.control, "resume", "demo"), stdout=subprocess.PIPE, text=True)
        self.addCleanup(resume.kill)
        wait_for(lambda: not self.record(client)["paused"], 10, "the resume to be written")
        self.ctl(a, "eligible", "--set", "a")
        self.assertEqual(self.record(client)["eligible"], ["a"])
        self.assertIsNone(resume.poll())
        client.set("/tenure/demo", json.dumps(self.record(client) | {"held": ""}).encode())
        self.assertEqual((resume.communicate(timeout=20)[0], resume.returncode), ("resumed\n", 0))

    def test_nobody_eligible(self):
        """The only one on the list is gone: no leader, until the list is cleared by whoever is left."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        self.ctl(a, "eligible", "--set", "a")
        a.kill9()
        wait_for(lambda: "eligible" in (b.election_status()["blocked"] or ""), 15, "the reason in the status")
        holds_for(lambda: b.state() == "standby", 2, "no leader")
        self.assertIn("nobody leads", self.ctl(b, "eligible", "--set", "b", status=77).stderr)
        self.ctl(b, "eligible", "--clear")
        b.wait_state("active")

    def test_from_the_hooks(self):
        """The gain and the lose hook of a term may change it: the member leads then already, and still."""
        server = self.start_server()
        client = self.client(server)
        a = self.agent("a", server)
        script = os.path.join(self.directory, "hook.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write(
                f'#!/bin/sh -e\n[ "$1" != gain ] || {TENURECTL} -s {a.control} eligible demo --set a,b\n'
                f'[ "$1$TENURE_REASON" != loseresign ] || {TENURECTL} -s {a.control} eligible demo --set a,c\n'
                f'exec {HOOK} "$@"\n'
            )
        os.chmod(script, 0o755)
        for hook in ("gain", "lose"):
            a.hook_words[hook] = (script, *a.hook_command(hook)[1:])
        a.start()
        a.wait_state("active")
        self.assertEqual(self.record(client)["eligible"], ["a", "b"])
        b, c = (self.start_agent(member, server) for member in "bc")
        b.wait_queued(2)
        c.wait_queued(3)
        self.ctl(a, "resign")
        c.wait_state("active", timeout=15)
        self.assertEqual(self.record(client)["eligible"], ["a", "c"])
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])


if __name__ == "__main__":
    unittest.main()
