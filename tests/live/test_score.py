"""The score hook: after an unclean end the best replica goes first."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, wait_for  # noqa: E402


class Score(LiveCase):
    def score_agent(self, member, server, score, slack=100):
        agent = self.agent(member, server, election={"score_slack": slack})
        agent.blocks["score"] = {"interval": 100, "timeout": 500}
        agent.behave("score", f"say={score}")
        return agent.start()

    def start_three(self, a, b, c, slack=100):
        server = self.start_server()
        agents = []
        for place, (member, score) in enumerate((("a", a), ("b", b), ("c", c)), 1):
            agent = self.score_agent(member, server, score, slack)
            if place == 1:
                agent.wait_state("active")
            agent.wait_queued(place)
            agents.append(agent)
        for agent, score in zip(agents[1:], (b, c)):
            wait_for(lambda agent=agent, score=score: agent.election_status()["score"] == score, 5, "the score")
        return agents

    def test_best_goes_first(self):
        """The leader dies: the one behind the next in the queue is far ahead and leads."""
        a, b, c = self.start_three(0, 1000, 5000)
        a.kill9()
        c.wait_state("active", timeout=15)
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])
        b.wait_state("standby")

    def test_within_the_slack(self):
        """It is ahead, but by no more than the slack: the queue's order."""
        a, b, _ = self.start_three(0, 1000, 1100)
        a.kill9()
        b.wait_state("active", timeout=15)

    def test_clean_end(self):
        """The leader leaves cleanly: the queue's order, and no delay."""
        a, b, _ = self.start_three(0, 1000, 5000)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")

    def test_not_known(self):
        """A score that cannot be read is null, is said once, and is lower than any."""
        a, b, c = self.start_three(0, 1000, -5000)
        b.behave("score", "say=12x")
        wait_for(lambda: b.election_status()["score"] is None, 5, "the score to be unknown")
        self.assertIsNone(a.election_status()["score"])
        count = len(self.timeline.events("start", "score", "b"))
        wait_for(lambda: len(self.timeline.events("start", "score", "b")) > count + 3, 5, "further scores")
        self.assertEqual(b.log().count("hook fails"), 1)
        a.kill9()
        c.wait_state("active", timeout=15)
        self.assertEqual(self.timeline.events("start", "score", "a")[0].fields["event"], "score")


if __name__ == "__main__":
    unittest.main()
