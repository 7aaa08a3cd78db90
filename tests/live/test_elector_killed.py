"""
The elector dies at random moments of taking office, holding and leaving it, and in the queue. TENURE_TEST_SEED picks the
moments, TENURE_TEST_LONG makes them many.
"""

import os
import random
import signal
import statistics
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, now_ns, wait_for  # noqa: E402

SEED = int(os.environ.get("TENURE_TEST_SEED") or 20)
ROUNDS = 40 if os.environ.get("TENURE_TEST_LONG") else 8
KILLS = 100 if os.environ.get("TENURE_TEST_LONG") else 10
OWN_MS = 50  # goal, in the median: from the death of an elector to a lease that is proven anew
SOON_S = 3.0  # well below the lease: nobody may wait for the old session's end
T_MS = 5000  # no lease ends because the elector was away for a moment
TICK_MS = 250


class KilledCase(LiveCase):
    tick_time = TICK_MS

    def setUp(self):
        print(f"seed {SEED}: TENURE_TEST_SEED={SEED} runs it again", flush=True)
        self.random = random.Random(SEED)
        self.server = self.start_server()


class ElectorKilled(KilledCase):
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


class Campaign(KilledCase):
    """Killed again and again, at any moment between two heartbeats, once it has served for a second."""

    LOSE_MS = 500
    DEMOTION_MS = LOSE_MS + 250  # before the lease's end: the lose hook's limit and the margin

    def setUp(self):
        super().setUp()
        self.a, self.b = (
            self.agent(member, self.server, session_timeout=T_MS, tick_time=TICK_MS,
                       hook_options={"lose_timeout": self.LOSE_MS})
            for member in "ab"
        )  # fmt: skip
        self.a.start().wait_state("active")
        self.b.start().wait_queued(2)
        self.runs, self.token = self.hook_runs(), self.a.election_status()["token"]

    def back(self, agent, killed_ns, deadline_ns):
        """Whether AGENT has proven a lease since then. Until it has, the old one must not reach its demotion point."""
        asked_ns = now_ns()
        status = agent.election_status()
        left_ms = status.get("lease_ms")
        if left_ms is None:
            left_ms = (deadline_ns - now_ns()) / 1e6
        self.assertGreater(left_ms, self.DEMOTION_MS)
        return status.get("position") and asked_ns + (left_ms - T_MS) * 1_000_000 > killed_ns

    def campaign(self, agent):
        took_ms = []
        for _ in range(KILLS):
            time.sleep(self.random.uniform(1.0, 1.5))
            asked_ns, status = now_ns(), agent.election_status()
            deadline_ns = asked_ns + status["lease_ms"] * 1_000_000
            elector = agent.elector()
            killed_ns = now_ns()
            os.kill(elector, signal.SIGKILL)
            while not self.back(agent, killed_ns, deadline_ns):
                time.sleep(0.001)
            took_ms.append((now_ns() - killed_ns) / 1e6)
            self.assertEqual(self.hook_runs(), self.runs)
        self.assertEqual((self.a.state(), self.a.election_status()["token"]), ("active", self.token))
        self.assertEqual((self.b.state(), self.b.election_status()["position"]), ("standby", 2))
        print(f"{self.id()}: {KILLS} kills, proven again after {statistics.median(took_ms):.1f} ms in the median, "
              f"{max(took_ms):.1f} ms at most", flush=True)  # fmt: skip
        return took_ms

    def test_leader(self):
        """Under a leader: no hook runs, the same token, and the lease is soon proven again."""
        took_ms = self.campaign(self.a)
        self.assertLess(statistics.median(took_ms), 2 * OWN_MS)

    def test_standby(self):
        """Under the second in the queue: it keeps its place, and its proof."""
        took_ms = self.campaign(self.b)
        self.assertLess(statistics.median(took_ms), 2 * OWN_MS)


if __name__ == "__main__":
    unittest.main()
