"""The elector dies at random moments of taking office, holding and leaving it. TENURE_TEST_SEED picks the moments."""

import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, now_ns, wait_for  # noqa: E402

SEED = int(os.environ.get("TENURE_TEST_SEED") or 20)
ROUNDS = 40 if os.environ.get("TENURE_TEST_LONG") else 8
SOON_S = 3.0  # well below the lease: nobody may wait for the old session's end
T_MS = 5000  # no lease ends because the elector was away for a moment
TICK_MS = 250


class ElectorKilled(LiveCase):
    tick_time = TICK_MS

    def setUp(self):
        print(f"seed {SEED}: TENURE_TEST_SEED={SEED} runs it again", flush=True)
        self.random = random.Random(SEED)
        self.server = self.start_server()

    def kill_elector(self, agent, within_s):
        """Kills it, unless there is none just now, after a random time."""
        time.sleep(self.random.uniform(0, within_s))
        pid = agent.elector()
        if pid is not None:
            os.kill(pid, signal.SIGKILL)

    def fresh(self, members):
        """Agents of an election of their own, so that no round pays for the crashes of another."""
        self.round = getattr(self, "round", 0) + 1
        name = f"demo{self.round}"
        return [
            self.agent(
                f"{member}{self.round}", self.server, session_timeout=T_MS, tick_time=TICK_MS, elections=[name],
                election={"path": f"/tenure/{name}"},
            )
            for member in members
        ]  # fmt: skip

    def hooks_of(self, agent, hook, reason_not="startup"):
        return [event for event in self.timeline.events("start", hook, agent.member) if event.reason != reason_not]

    def test_taking_office(self):
        """From the start until the gain hook has ended: one term, one gain, no lose, no wait behind its own ghost."""
        for _ in range(ROUNDS):
            (a,) = self.fresh("a")
            a.behave("gain", f"sleep={self.random.choice((0, 100, 400))}")
            a.start()
            self.timeline.wait("end", "lose", a.member)
            self.kill_elector(a, 0.6)
            a.wait_state("active", timeout=SOON_S)
            self.assertEqual(len(self.hooks_of(a, "gain")), 1)
            self.assertEqual(self.hooks_of(a, "lose"), [])
            wait_for(lambda a=a: a.election_status().get("phase") == "active", SOON_S, "the record to say so")
            self.assertEqual(a.stop(), 0)

    def test_twice(self):
        """The next elector dies too, perhaps before it has said hello."""
        for _ in range(ROUNDS):
            (a,) = self.fresh("a")
            a.start()
            a.wait_state("active")
            token = a.election_status()["token"]
            self.kill_elector(a, 0)
            self.kill_elector(a, 0.3)
            wait_for(lambda a=a, token=token: a.election_status().get("position") == 1, SOON_S, "its place")
            self.assertEqual((a.state(), a.election_status()["token"]), ("active", token))
            self.assertEqual(len(self.hooks_of(a, "gain")), 1)
            self.assertEqual(self.hooks_of(a, "lose"), [])
            self.assertEqual(a.stop(), 0)

    def test_leaving_office(self):
        """From the request until the queue has been left: one lose, and the successor soon knows that it was clean."""
        for _ in range(ROUNDS):
            a, b = self.fresh("ab")
            a.start().wait_state("active")
            b.start().wait_queued(2)
            a.behave("lose", f"sleep={self.random.choice((0, 100, 300))}")
            at_ns = now_ns()
            a.request(command="resign", election=a.elections[0])
            self.kill_elector(a, 0.4)
            gain = self.timeline.wait("start", "gain", b.member, after_ns=at_ns, timeout=SOON_S)
            self.assertEqual(gain.fields["previous_clean"], "yes")
            self.assertEqual(len(self.hooks_of(a, "lose")), 1)
            a.wait_queued(2, timeout=SOON_S)
            b.wait_state("active")
            self.assertEqual((a.stop(), b.stop()), (0, 0))

    def test_stopping(self):
        """While the agent stops: the successor does not wait for the session's end."""
        for _ in range(ROUNDS):
            a, b = self.fresh("ab")
            a.start().wait_state("active")
            b.start().wait_queued(2)
            a.behave("lose", f"sleep={self.random.choice((0, 100, 300))}")
            at_ns = now_ns()
            a.signal(signal.SIGTERM)
            self.kill_elector(a, 0.4)
            self.timeline.wait("start", "gain", b.member, after_ns=at_ns, timeout=SOON_S)
            self.assertEqual((a.stop(), b.stop()), (0, 0))


if __name__ == "__main__":
    unittest.main()
