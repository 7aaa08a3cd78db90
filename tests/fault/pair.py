"""The base of the outages: two agents beside three servers. The first leads, the second waits."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import FaultCase, now_ns, wait_for  # noqa: E402

MEMBERS = ("a1", "a2")


class PairCase(FaultCase):
    """Fast ticks. With the T of 4 s a leader rides out 2.2 s, with 10 s (the longest that the servers grant) 7.3 s."""

    tick_time = 500
    session_timeout = 4000
    ping_slack = 100

    def start(self, session_timeout=None, servers=None, **options):
        """SERVERS: what the leading agent connects to, the ensemble by default."""
        options = {
            "session_timeout": session_timeout or self.session_timeout, "zookeeper": {"ping_slack": self.ping_slack},
            "hook_options": {"lose_timeout": 500},
        } | options  # fmt: skip
        a = self.start_agent("a1", servers or self.ensemble, **options)
        a.wait_state("active", timeout=30)
        b = self.start_agent("a2", self.ensemble, **options)
        b.wait_queued(2, timeout=30)
        # Leaving office is to take its time.
        for agent in (a, b):
            agent.behave("lose", "sleep=300")
        self.runs, self.token = self.hook_runs(), a.election_status()["token"]
        return a, b

    # The leading agent and the servers

    def server_of(self, agent):
        session = agent.status().get("zookeeper", {}).get("session")
        return self.ensemble.server_of(int(session, 16)) if session else None

    def put_on(self, agent, wanted):
        """Each process of the elector begins with another server: until it is on one for which WANTED is true."""

        def arrived():
            server = wait_for(lambda: self.server_of(agent), 15, f"{agent.member} to be connected")
            if wanted(server):
                return server
            elector = agent.elector()
            os.kill(elector, signal.SIGKILL)
            wait_for(lambda: agent.elector() not in (None, elector), 15, "another elector")
            return None

        server = wait_for(arrived, 60, f"{agent.member} to be on the wanted server")
        self.wait_proven(agent)
        return server

    def connected(self, agent):
        return agent.status().get("zookeeper", {}).get("state") == "connected"

    def wait_proven(self, agent, timeout=30):
        """Waits for a lease that begins after now: whatever was done to the agent before costs it nothing any more."""
        since_ns = now_ns()
        timeout_ns = agent.zookeeper["session_timeout"] * 1_000_000
        last = None

        def proven():
            nonlocal last
            at_ns = now_ns()
            last = agent.election_status().get("lease_ms")
            return last and at_ns + last * 1_000_000 - timeout_ns > since_ns

        wait_for(proven, timeout, lambda: f"a lease of {agent.member} that is proven anew; last seen: {last} ms")

    def wait_all_serve(self):
        wait_for(
            lambda: len(self.ensemble.with_mode("leader")) == 1 and len(self.ensemble.with_mode("follower")) == 2, 60,
            "three servers in one ensemble",
        )  # fmt: skip

    # What came of it

    def kept(self):
        """No hook has run since the start."""
        return self.hook_runs() == self.runs

    def check_kept(self, agent):
        self.assertEqual(self.hook_runs(), self.runs, "hooks that have run")
        self.assertEqual((agent.state(), agent.election_status()["token"]), ("active", self.token))

    def wait_handed_over(self, a, b, at_ns, reason="lease", timeout=30):
        """
        After AT_NS office goes from A to B: lose has run once, for REASON, and ended before gain starts. (That it
        ends before the deadline is the oracle's to say.) Returns the gain's start.
        """
        gain = self.timeline.wait("start", "gain", b.member, after_ns=at_ns, timeout=timeout)
        begun = self.timeline.events("start", "lose", a.member, after_ns=at_ns)
        ended = self.timeline.events("end", "lose", a.member, after_ns=at_ns)
        self.assertEqual([(event.reason, event.planned) for event in begun], [(reason, False)])
        self.assertEqual([event.ok for event in ended], [True])
        self.assertLess(ended[0].at_ns, gain.at_ns)
        self.assertEqual(len(self.timeline.events("start", "gain", after_ns=at_ns)), 1)
        self.assertGreater(gain.token, begun[0].token)
        print(
            f"{self._testMethodName}: {a.member} out {(ended[0].at_ns - at_ns) / 1e6:.0f} ms after the fault, "
            f"{(begun[0].deadline_ns - ended[0].at_ns) / 1e6:.0f} ms before its deadline and "
            f"{(gain.at_ns - ended[0].at_ns) / 1e6:.0f} ms before the gain of {b.member}", flush=True,
        )  # fmt: skip
        b.wait_state("active")
        return gain

    def wait_one_leader(self, timeout=30):
        states = lambda: sorted(agent.state() or "" for agent in self.agents)  # noqa: E731
        wait_for(lambda: states() == ["active", "standby"], timeout, lambda: f"one leader; seen: {states()}")
