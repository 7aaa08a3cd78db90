"""Packets between agents and servers dropped, lost and late."""

import time
import unittest

from pair import MEMBERS, PairCase
from tenuretest import holds_for, now_ns

LOSS_S = 12
LOSS_PERCENT = 30
LAG_S = 0.2


class Links(PairCase):
    def test_cut(self):
        """
        Nothing passes between the leading agent and the servers until its lease is over: it is out of office before
        the other one is in. Healed, it waits in the queue again.
        """
        a, b = self.start()
        at_ns = self.hosts.cut(a.member, self.server_hosts)
        self.wait_handed_over(a, b, at_ns)
        self.hosts.heal()
        a.wait_queued(2, timeout=20)
        self.assertEqual((a.state(), b.state()), ("standby", "active"))

    def test_one_direction(self):
        """What the servers say is lost, then what the agent says, to the one in office each time."""
        a, b = self.start()
        at_ns = self.hosts.drop(self.server_hosts, a.member)
        self.wait_handed_over(a, b, at_ns)
        self.hosts.heal()
        a.wait_queued(2, timeout=20)
        self.wait_proven(b)
        at_ns = self.hosts.drop(b.member, self.server_hosts)
        self.wait_handed_over(b, a, at_ns)
        self.hosts.heal()
        b.wait_queued(2, timeout=20)

    def test_loss(self):
        """Nearly every third packet is lost, either way, for all agents. The promises hold; leadership may move."""
        self.start(6000)
        at_ns = self.hosts.lose(MEMBERS, self.server_hosts, LOSS_PERCENT)
        states = set()
        end = time.monotonic() + LOSS_S
        while time.monotonic() < end:
            states.add(tuple(agent.state() for agent in self.agents))
            time.sleep(0.1)
        self.hosts.heal()
        self.wait_one_leader()
        self.assertNotIn(("active", "active"), states)
        lost = self.timeline.events("start", "lose", after_ns=at_ns)
        print(
            f"{self.id()}: {LOSS_S} s of {LOSS_PERCENT} % loss: "
            + ("leadership stayed" if not lost else f"{len(lost)} demotions ({[event.reason for event in lost]})")
            + f", {[agent.status()['zookeeper']['reconnects'] for agent in self.agents]} reconnects", flush=True,
        )  # fmt: skip


class Late(PairCase):
    """The leading agent reaches every server by a proxy on its own host."""

    session_timeout = 10000

    def start_late(self):
        self.links = [self.start_proxy(server, "a1") for server in self.ensemble.servers]
        self.go_on()
        return self.start(servers=",".join(link.address for link in self.links))

    def stall(self):
        for link in self.links:
            link.stall()

    def go_on(self):
        for link in self.links:
            link.resume()
            link.lag(LAG_S)

    def test_lag_and_stalls(self):
        """
        Round trips of 0.4 s, nearly the heartbeat's interval: office is taken, and kept over stalls that the lease
        has time for. A longer one ends it in time. (The longest of the short ones lets the elector try another
        connection, and it takes several round trips until there is proof on that.)
        """
        a, b = self.start_late()
        self.wait_proven(a)
        for stall_s in (0.5, 1.0, 2.0):
            self.stall()
            holds_for(self.kept, stall_s, "no hook runs")
            self.go_on()
            self.wait_proven(a)
        self.check_kept(a)
        at_ns = now_ns()
        self.stall()
        self.wait_handed_over(a, b, at_ns)
        self.go_on()
        a.wait_queued(2, timeout=20)


if __name__ == "__main__":
    unittest.main()
