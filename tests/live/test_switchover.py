"""An operator names the successor."""

import json
import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402


class Switchover(LiveCase):
    def switch(self, agent, to, *words, status=0):
        done = agent.ctl("switchover", "demo", "--to", to, *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def record(self, client):
        return json.loads(client.get("/tenure/demo")[0])

    def gains(self, member):
        return [event for event in self.timeline.events("start", "gain", member)]

    def test_to_the_last_of_five(self):
        """Those between step back: the last one takes office, with reason switchover, and back again."""
        server = self.start_server()
        client = self.client(server)
        agents = self.start_queue("abcde", server)
        a, e = agents[0], agents[4]
        done = self.switch(a, "e", "--json")
        self.assertEqual(json.loads(done.stdout)["leader"], "e")
        self.assertEqual((e.state(), self.gains("e")[0].reason), ("active", "switchover"))
        self.assertEqual(json.loads(done.stdout)["token"], e.election_status()["token"])
        for member in "bcd":
            self.assertEqual(self.gains(member), [])
        self.assertEqual(self.record(client)["successor"], "")
        wait_for(lambda: a.state() == "standby" and a.election_status()["position"], 5, "the former leader to stand")
        self.assertIn("a leads with token", self.switch(e, "a").stdout)
        self.assertEqual(a.state(), "active")

    def test_refusals(self):
        """Not the leader, itself, nobody of that name, not healthy, not eligible, paused: 77 or 1, and nothing moves."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        ill = self.agent("ill", server)
        ill.blocks["check"] = {"interval": 100, "timeout": 500, "rise": 1, "fall": 2}
        ill.behave("check", "exit=1")
        ill.start()
        wait_for(lambda: ill.election_status().get("healthy") is False, 5, "ill health")
        before, token = self.hook_runs(), a.election_status()["token"]
        self.assertIn("that is a", self.switch(b, "b", status=1).stderr)
        self.assertIn("leads already", self.switch(a, "a", status=77).stderr)
        self.assertIn("not a member", self.switch(a, "nobody", status=77).stderr)
        self.assertIn("not a healthy standby", self.switch(a, "ill", status=77).stderr)
        self.assertEqual(a.ctl("switchover", "demo").returncode, 64)
        self.assertEqual(a.ctl("resign", "demo", "--to", "b").returncode, 64)
        self.assertEqual(a.ctl("switchover", "demo", "--to", "a/b").returncode, 64)
        self.assertEqual(a.ctl("eligible", "--set", "a").returncode, 0)
        self.assertIn("not on the eligible list", self.switch(a, "b", status=77).stderr)
        self.assertEqual(a.ctl("eligible", "--clear").returncode, 0)
        self.assertEqual(b.ctl("pause").returncode, 0)
        wait_for(lambda: a.election_status()["paused"], 5, "the leader to know")
        self.assertIn("paused", self.switch(a, "b", status=77).stderr)
        self.assertEqual(self.record(client)["successor"], "")
        checks = len(self.timeline.events("start", "check"))
        self.assertEqual(self.hook_runs() - len(self.timeline.events("start", "check")) + checks, self.hook_runs())
        self.assertEqual((a.state(), a.election_status()["token"]), ("active", token))
        self.assertGreaterEqual(self.hook_runs(), before)
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])

    def test_target_does_not_answer(self):
        """A member that is there no more but whose session still lasts: the leader stays, and the name is void."""
        server = self.start_server()
        client = self.client(server)
        a, b, c = self.start_queue("abc", server, session_timeout=4000)
        self.assertEqual((b.state(), c.state()), ("standby", "standby"))
        token = a.election_status()["token"]
        c.kill9()
        self.switch(a, "c", status=75)
        self.assertEqual((a.state(), a.election_status()["token"]), ("active", token))
        wait_for(lambda: self.record(client)["successor"] == "", 5, "the name to be void")
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])

    def test_target_dies_on_the_way(self):
        """It had answered and dies while the leader runs its lose hook: the next one in the queue leads."""
        server = self.start_server()
        a, b, c = self.start_queue("abc", server)
        a.behave("lose", "sleep=1500")
        gain = self.timeline.wait("end", "gain", "a")
        self.assertEqual(a.ctl("switchover", "demo", "--to", "c", "--wait", "0.7").returncode, 75)
        self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        c.kill9()
        b.wait_state("active", timeout=20)
        self.assertEqual(self.timeline.events("start", "gain", "c"), [])

    def test_operator_hangs_up(self):
        """Before the leader leaves office: the switchover is off."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server, session_timeout=4000)
        os.kill(b.elector(), signal.SIGSTOP)
        self.assertEqual(a.ctl("switchover", "demo", "--to", "b", "--wait", "0.3").returncode, 75)
        wait_for(lambda: self.record(client)["successor"] == "", 10, "the name to be void")
        os.kill(b.elector(), signal.SIGCONT)
        holds_for(lambda: a.state() == "active", 2, "the leader stays")

    def test_elector_dies_on_the_way(self):
        """The next elector finds a name that nobody is busy with: void."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        record = self.record(client) | {"successor": "b", "request": 7}
        client.set("/tenure/demo", json.dumps(record).encode())
        wait_for(lambda: self.record(client)["successor"] == "", 5, "the name to be void")
        self.assertEqual(self.record(client)["request"], 7)
        self.assertEqual((a.state(), b.state()), ("active", "standby"))


if __name__ == "__main__":
    unittest.main()
