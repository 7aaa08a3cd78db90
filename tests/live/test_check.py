"""The check hook: who is not healthy does not stand, and leaves office."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402


class Check(LiveCase):
    def check_agent(self, member, server, words="", **options):
        agent = self.agent(member, server)
        agent.blocks["check"] = {"interval": 100, "timeout": 1000, "rise": 2, "fall": 3} | options
        agent.behave("check", words)
        return agent

    def checks(self, member="a", after_ns=0):
        return self.timeline.events("start", "check", member, after_ns=after_ns)

    def pause(self, client, paused):
        text, stat = client.get("/tenure/demo")
        client.set("/tenure/demo", json.dumps(json.loads(text) | {"paused": paused}).encode(), stat.version)

    def test_joins_after_rise(self):
        """Not in the queue while the check fails; once it has passed so many times, it is."""
        server = self.start_server()
        a = self.check_agent("a", server, "exit=1", rise=4).start()
        wait_for(lambda: len(self.checks()) >= 5, 5, "some checks")
        client = self.client(server)
        self.assertEqual(self.queue(client), [])
        self.assertIs(a.election_status()["healthy"], False)
        self.assertEqual(a.log().count("hook fails"), 1)
        a.behave("check", "")
        gain = self.timeline.wait("start", "gain", "a")
        passed = [event for event in self.timeline.events("end", "check", "a") if event.ok and event.at_ns < gain.at_ns]
        self.assertGreaterEqual(len(passed), 4)
        a.wait_state("active")
        self.assertIs(a.election_status()["healthy"], True)
        first = self.timeline.events("start", "check", "a")[0]
        self.assertGreater(first.at_ns, self.timeline.wait("end", "lose", "a").at_ns)
        self.assertEqual(first.fields["event"], "check")
        self.assertEqual(first.fields["timeout_ms"], "1000")

    def test_leaves_after_fall(self):
        """A leader whose check fails so many times leaves office with reason health, and is back when it passes."""
        server = self.start_server()
        a = self.check_agent("a", server).start()
        a.wait_state("active")
        b = self.check_agent("b", server).start()
        b.wait_queued(2)
        a.behave("check", "exit=1")
        b.wait_state("active")
        lose = self.timeline.events("start", "lose", "a")[-1]
        self.assertEqual(lose.reason, "health")
        self.assertTrue(lose.planned)
        failed = [event for event in self.timeline.events("end", "check", "a") if event.fields.get("exit") == "1"]
        self.assertEqual(len([event for event in failed if event.at_ns < lose.at_ns]), 3)
        a.wait_state("out")
        holds_for(lambda: a.election_status().get("position") is None, 0.5, "a to stay out of the queue")
        a.behave("check", "")
        a.wait_queued(2)

    def test_few_failures(self):
        """Failures fewer than `fall` in a row cost nothing."""
        server = self.start_server()
        a = self.check_agent("a", server, fall=50).start()
        a.wait_state("active")
        hooks = self.hook_runs() - len(self.checks())
        for words in ("exit=1", "", "exit=1", ""):
            a.behave("check", words)
            last = self.checks()[-1].at_ns
            wait_for(lambda last=last: len(self.checks(after_ns=last)) >= 3, 5, "three more checks")
        self.assertEqual(a.state(), "active")
        self.assertIs(a.election_status()["healthy"], True)
        self.assertEqual(self.hook_runs() - len(self.checks()), hooks)

    def test_hanging(self):
        """A check that hangs is killed at its limit, and has failed."""
        server = self.start_server()
        a = self.check_agent("a", server, timeout=200, fall=2).start()
        a.wait_state("active")
        a.behave("check", "hang ignore-term")
        lose = wait_for(lambda: [e for e in self.timeline.events("start", "lose", "a") if e.reason == "health"], 10,
                        "a to leave for its health")  # fmt: skip
        self.assertTrue(lose)
        a.behave("check", "")
        a.wait_state("active")

    def test_paused(self):
        """While paused nobody leaves for its health; after the resume it does."""
        server = self.start_server()
        client = self.client(server)
        a = self.check_agent("a", server).start()
        a.wait_state("active")
        self.pause(client, True)
        wait_for(lambda: a.election_status()["paused"], 5, "the pause to be known")
        a.behave("check", "exit=1")
        wait_for(lambda: a.election_status()["healthy"] is False, 5, "a not to be healthy")
        holds_for(lambda: a.state() == "active", 1, "the leader stays")
        self.pause(client, False)
        a.wait_state("out")
        self.assertEqual(self.timeline.events("start", "lose", "a")[-1].reason, "health")

    def test_not_beside_hooks(self):
        """While gain and lose run no check starts."""
        server = self.start_server()
        a = self.check_agent("a", server, "sleep=700", interval=100, timeout=2000, rise=1, fall=1)
        a.behave("gain", "sleep=1000")
        a.behave("lose", "sleep=300")
        a.start()
        a.wait_state("active")
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
        self.timeline.wait("end", "gain", "a", count=2)
        spans = []
        for hook in ("gain", "lose"):
            for end in self.timeline.events("end", hook, "a"):
                start = [e for e in self.timeline.events("start", hook, "a") if e.pid == end.pid][-1]
                spans.append((start.at_ns, end.at_ns))
        self.assertEqual(len(spans), 4)
        for check in self.checks():
            self.assertFalse([span for span in spans if span[0] < check.at_ns < span[1]], check)

    def test_overlapped(self):
        """A check that ran as another hook began says what it likes: it counts for nothing."""
        server = self.start_server()
        a = self.check_agent("a", server, rise=1, fall=1).start()
        a.wait_state("active")
        a.behave("lose", "sleep=400")
        a.behave("gain", "sleep=1000")
        a.behave("check", "sleep=800 exit=1")

        def under_way():
            check, ended = self.checks()[-1], {event.pid for event in self.timeline.events("end", "check")}
            return check if check.pid not in ended and now_ns() - check.at_ns > 200_000_000 else None

        check = wait_for(under_way, 5, "a check that takes long")
        a.behave("check", "")
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
        a.wait_state("active")
        end = [event for event in self.timeline.events("end", "check") if event.pid == check.pid]
        self.assertEqual([event.fields["exit"] for event in end], ["1"])
        self.assertNotIn("not healthy", a.log())


if __name__ == "__main__":
    unittest.main()
