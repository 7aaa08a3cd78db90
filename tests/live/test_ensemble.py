"""A real ensemble of three servers: what a change of its leader, a rolling restart or a frozen server costs."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, Proxy, holds_for, now_ns, wait_for  # noqa: E402


class Quorum(LiveCase):
    tick_time = 500

    def start(self, session_timeout):
        ensemble = self.start_ensemble()
        a, b = self.start_queue("ab", ensemble, session_timeout=session_timeout, tick_time=self.tick_time)
        return ensemble, a, b

    def session(self, ensemble, member_place=0):
        return self.queue(self.client(ensemble))[member_place][1].ephemeralOwner

    def connected(self, agent):
        return agent.status().get("zookeeper", {}).get("state") == "connected"

    def check_kept(self, agent, token, runs):
        self.assertEqual((agent.state(), agent.election_status()["token"]), ("active", token))
        self.assertEqual(self.hook_runs(), runs)

    def test_leader_of_the_ensemble_restarts(self):
        """The ensemble elects another leader, twice: no hook runs, the token stays, and the queue still works."""
        ensemble, a, b = self.start(8000)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        for _ in range(2):
            ensemble.leader().restart()
            for agent in (a, b):
                wait_for(lambda agent=agent: self.connected(agent), 6, f"{agent.member} to be connected")
            wait_for(lambda: a.election_status()["lease_ms"] > 6000, 6, "a lease that is proven anew")
        holds_for(lambda: self.hook_runs() == runs, 8, "no hook runs for as long as a lease")
        self.check_kept(a, token, runs)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")

    def test_rolling_restart(self):
        """Each server restarts in turn."""
        ensemble, a, b = self.start(8000)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        for server in ensemble.servers:
            server.restart()
            ensemble.leader()
            for agent in (a, b):
                wait_for(lambda agent=agent: self.connected(agent), 6, f"{agent.member} to be connected")
            wait_for(lambda: a.election_status()["lease_ms"] > 6000, 6, "a lease that is proven anew")
        self.check_kept(a, token, runs)
        self.assertEqual(b.state(), "standby")

    def server_to_freeze(self, ensemble, session, leads):
        """The server to which the leading agent is connected, once that is, or is not, the ensemble's leader."""

        def found():
            server = ensemble.server_of(session)
            if server is not None and (server is ensemble.leader()) == leads:
                return server
            if server is not None:
                (server if not leads else ensemble.leader()).restart()
            return None

        return wait_for(found, 60, "the agent and the ensemble's leader to be where they are wanted")

    def check_frozen(self, session_timeout, count, leads):
        """The server of the leading agent freezes, COUNT times: the agent goes on with another one."""
        ensemble, a, _ = self.start(session_timeout)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        session = self.session(ensemble)
        for _ in range(count):
            server = self.server_to_freeze(ensemble, session, leads)
            proven = lambda: a.election_status()["lease_ms"] > 0.75 * session_timeout  # noqa: E731
            wait_for(proven, 6, "a lease that is proven anew")
            server.signal(signal.SIGSTOP)
            try:
                holds_for(lambda: self.hook_runs() == runs, 1.2 * session_timeout / 1000, "no hook runs")
                self.check_kept(a, token, runs)
            finally:
                server.signal(signal.SIGCONT)
            wait_for(lambda: len(ensemble.with_mode("follower")) == 2, 10, "all three")

    def test_frozen_follower(self):
        self.check_frozen(6000, 3, leads=False)

    def test_frozen_leader_of_the_ensemble(self):
        """The others need syncLimit ticks and an election before any of them answers."""
        self.check_frozen(10000, 1, leads=True)


class CutOff(LiveCase):
    """
    A follower cut off from the ensemble's leader goes on answering its clients' pings until syncLimit ticks have
    passed. The leading agent is on it: it must be out of office before its session expires.
    """

    tick_time = 1000  # syncLimit 5: the follower goes on for up to 5 s
    session_timeout = 4000

    def route(self, n, m, port):
        link = Proxy(port, framed=False)
        self.proxies.append(link)
        self.quorum_links[(n, m)] = link
        return link.port

    def agent_of(self, member, server):
        return self.start_agent(
            member, server, session_timeout=self.session_timeout, tick_time=self.tick_time,
            hook_options={"lose_timeout": 300}, election={"ride_out": 100},
        )  # fmt: skip

    def check(self, *directions):
        self.quorum_links = {}  # (from, to) -> the proxy between two servers
        ensemble = self.start_ensemble(route=self.route)
        leader, follower = ensemble.leader(), ensemble.with_mode("follower")[0]
        link = self.quorum_links[(ensemble.servers.index(follower), ensemble.servers.index(leader))]
        a = self.agent_of("a", follower)
        a.wait_state("active")
        b = self.agent_of("b", leader)
        b.wait_queued(2)
        a.behave("lose", "sleep=200")
        at_ns = now_ns()
        link.stall(*directions)
        gain = self.timeline.wait("start", "gain", "b", after_ns=at_ns, timeout=12)
        lose = self.timeline.events("end", "lose", "a", after_ns=at_ns)[-1]
        print(f"out {(lose.at_ns - at_ns) / 1e6:.0f} ms and in again {(gain.at_ns - at_ns) / 1e6:.0f} ms after the cut")
        self.assertLess(lose.at_ns, gain.at_ns)
        b.wait_state("active")
        link.resume()
        link.cut()

    def test_both_ways(self):
        self.check()

    def test_to_the_leader(self):
        self.check("up")

    def test_from_the_leader(self):
        self.check("down")


if __name__ == "__main__":
    unittest.main()
