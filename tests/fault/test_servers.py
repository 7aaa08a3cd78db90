"""Servers killed, stopped and restarted: what the ensemble's own changes cost a leader."""

import signal
import unittest

from pair import PairCase
from tenuretest import holds_for, now_ns, wait_for


class Servers:
    """The scenes, for two sizes of tick. LONG is a session that outlasts them."""

    def wait_another_leader(self, old):
        """Waits until the ensemble has one beside OLD, which is not asked: it may hang."""
        leads = lambda server: "Mode: leader" in server.word("srvr")  # noqa: E731
        wait_for(lambda: any(map(leads, self.others(old))), 60, "another leader of the ensemble")

    def test_leader_killed(self):
        """The ensemble's leader dies, and the leading agent was on it: the lease is ridden out."""
        a, b = self.start(self.long)
        victim = self.put_on(a, lambda server: server is self.leader())
        at_ns = now_ns()
        victim.kill()
        self.wait_another_leader(victim)
        print(f"{self.id()}: another leader {(now_ns() - at_ns) / 1e6:.0f} ms after the kill", flush=True)
        self.wait_proven(a)
        self.check_kept(a)
        victim.start()
        self.wait_all_serve()
        self.wait_proven(a)
        self.check_kept(a)
        b.wait_queued(2)

    def test_leader_stopped(self):
        """
        The ensemble's leader hangs: its followers find out after syncLimit ticks. Later it goes on, as if it still
        led and had the sessions. The leading agent was on it, and goes on with another one.
        """
        a, b = self.start(self.long)
        victim = self.put_on(a, lambda server: server is self.leader())
        at_ns = now_ns()
        victim.signal(signal.SIGSTOP)
        try:
            self.wait_another_leader(victim)
            print(f"{self.id()}: another leader {(now_ns() - at_ns) / 1e6:.0f} ms after the stop", flush=True)
            self.wait_proven(a)
            self.check_kept(a)
        finally:
            victim.signal(signal.SIGCONT)
        self.wait_all_serve()
        self.wait_proven(a)
        self.check_kept(a)
        b.wait_queued(2)


class FastTick(Servers, PairCase):
    long = 10000

    def check_outage(self, begin, end):
        """Past the lease for both: out of office in time, and then there is a leader again, the same or not."""
        a, b = self.start()
        at_ns = now_ns()
        begin(a)
        self.timeline.wait("end", "lose", a.member, after_ns=at_ns, timeout=10)
        end()
        gain = self.timeline.wait("start", "gain", after_ns=at_ns, timeout=30)
        print(f"{self.id()}: {gain.member} leads {(gain.at_ns - at_ns) / 1e6:.0f} ms after the fault", flush=True)
        self.wait_all_serve()
        self.wait_one_leader()
        self.assertEqual(len(self.timeline.events("start", "lose", after_ns=at_ns)), 1)
        self.assertEqual(len(self.timeline.events("start", "gain", after_ns=at_ns)), 1)

    def test_leader_stopped_past_the_lease(self):
        """The ensemble needs longer to find out than the lease lasts."""
        victims = []

        def begin(a):
            victims.append(self.put_on(a, lambda server: server is self.leader()))
            victims[0].signal(signal.SIGSTOP)

        self.check_outage(begin, lambda: victims[0].signal(signal.SIGCONT))

    def test_no_quorum(self):
        """The leader and one more die at once, as two hosts that lose power; both come back after the lease."""

        def end():
            for server in victims:
                server.launch()
            for server in victims:
                server.wait_serving()

        def begin(_):
            victims.extend((self.leader(), self.follower()))
            self.hosts.cut([self.host_of(server) for server in victims], [host.host_name for host in self.hosts])
            for server in victims:
                server.kill()
            self.hosts.heal()

        victims = []
        self.check_outage(begin, end)


class RealTick(Servers, PairCase):
    """The tick that ZooKeeper's sample file has; tenure's default lease."""

    tick_time = 2000
    ping_slack = 500
    long = 20000

    def test_rolling_restart(self):
        """Each server in turn, each back before the next goes: no hook runs, and the token stays."""
        a, b = self.start(self.long)
        for server in sorted(self.ensemble.servers, key=lambda server: server is self.leader()):
            at_ns = now_ns()
            server.stop()
            server.start()
            self.wait_all_serve()
            for agent in (a, b):
                wait_for(lambda agent=agent: self.connected(agent), 15, f"{agent.member} to be connected")
            self.wait_proven(a)
            print(f"{self.id()}: {self.host_of(server)} restarted in {(now_ns() - at_ns) / 1e6:.0f} ms", flush=True)
        holds_for(self.kept, 1, "no hook runs")
        self.check_kept(a)
        b.wait_queued(2)


if __name__ == "__main__":
    unittest.main()
