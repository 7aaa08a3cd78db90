"""A virtual address between two hosts, with a client in a third that pings it: never two holders."""

import functools
import os
import signal
import unittest

from addresses import ADDRESSES, ENV, Pinger, add_ipv6, has_address, link_address_of
from tenuretest import Hosts, LiveCase, Lookout, hook_path, now_ns, wait_for

HOOKS = ("gain", "lose", "fence")
LEASE_MS = 4000


class Pair(LiveCase):
    def setUp(self):
        self.hosts = Hosts(("a", "b", "client", "zookeeper"))
        self.addCleanup(self.hosts.close)
        add_ipv6(self.hosts)
        self.zookeeper = self.start_server(host=self.hosts["zookeeper"])
        self.a = self.start_vip_agent("a")
        self.a.wait_state("active", timeout=20)
        self.b = self.start_vip_agent("b")
        self.b.wait_queued(2, timeout=20)
        self.lookout = Lookout({
            (name, family): functools.partial(has_address, self.hosts[name], family)
            for name in "ab" for family in ADDRESSES
        })  # fmt: skip
        self.lookout.start()
        self.addCleanup(self.lookout.done.set)
        self.pingers = [Pinger(self.hosts["client"], family) for family in ADDRESSES]
        for pinger in self.pingers:
            self.addCleanup(pinger.close)
        self.wait_answers()

    def start_vip_agent(self, member):
        agent = self.agent(
            member, self.zookeeper, session_timeout=LEASE_MS, hooks=HOOKS,
            hook_options={"lose_timeout": 1000, "fence_timeout": 500},
            election={"env": [f"{name}={value}" for name, value in ENV.items()]},
        )  # fmt: skip
        agent.wrapper = self.hosts[member].wrap
        agent.hook_words = {hook: (hook_path("vip"), hook) for hook in (*HOOKS, "check")}
        agent.blocks = {"check": {"interval": 300, "timeout": 1000, "rise": 1, "fall": 2}}
        return agent.start()

    def wait_answers(self, count=20, timeout=30):
        for pinger in self.pingers:
            wanted = pinger.count() + count
            wait_for(lambda p=pinger, w=wanted: p.count() >= w, timeout, "the client to get answers")

    def two(self):
        """The moments at which both had an address; each family on its own."""
        return [found for found in self.lookout.overlaps() if found[0][1] == found[1][1]]

    def finish(self, holder):
        """The client gets answers, from HOLDER, and never were there two."""
        self.wait_answers()
        self.lookout.finish()
        for pinger in self.pingers:
            pinger.close()
        gaps = ", ".join(f"{pinger.longest_gap() * 1000:.0f} ms" for pinger in self.pingers)
        print(
            f"{self._testMethodName}: longest time without an answer: {gaps}; lease {LEASE_MS} ms; "
            f"looked {sum(self.lookout.asked.values())} times, two holders: {len(self.two())}", flush=True,
        )  # fmt: skip
        self.assertEqual(self.two(), [])
        self.assertGreater(min(self.lookout.asked.values()), 50)
        for family in ADDRESSES:
            self.assertEqual(link_address_of(self.hosts["client"], family), self.hosts[holder].link_address)

    def test_handoff(self):
        """There and back. The client misses the time between the hooks, and not what a neighbour's cache lasts."""
        self.assertEqual(self.a.ctl("resign", "demo").returncode, 0)
        self.b.wait_state("active", timeout=20)
        self.wait_answers()
        self.a.wait_queued(2, timeout=20)
        self.assertEqual(self.b.ctl("resign", "demo").returncode, 0)
        self.a.wait_state("active", timeout=20)
        self.finish("a")
        for pinger in self.pingers:
            self.assertLess(pinger.longest_gap(), 3)

    def test_failover(self):
        """The leader's host is cut off from everybody: its address goes before the other's comes."""
        self.hosts.cut("a", ["b", "client", "zookeeper"])
        self.b.wait_state("active", timeout=20)
        self.wait_answers()
        self.assertEqual([has_address(self.hosts["a"], family) for family in ADDRESSES], [False, False])
        self.hosts.heal()
        self.a.wait_queued(2, timeout=20)
        self.finish("b")

    def test_link_down(self):
        """The interface of the leader goes down, and the check sees it."""
        self.addCleanup(self.link, "up")
        self.link("down")
        self.b.wait_state("active", timeout=20)
        self.finish("b")

    def link(self, state):
        self.hosts["a"].call(os.spawnvp, os.P_WAIT, "ip", ["ip", "link", "set", "dev", "eth0", state])

    def test_taken_away(self):
        """Somebody removes the address: the check sees it, and the other has it next."""
        self.hosts["a"].call(
            os.spawnvp, os.P_WAIT, "ip", ["ip", "address", "delete", ADDRESSES[4] + "/32", "dev", "eth0"]
        )
        self.b.wait_state("active", timeout=20)
        self.finish("b")

    def test_agent_killed(self):
        """All of it, and started again at once as a service manager does: the address stays, the client misses nothing."""
        self.a.kill9()
        self.a.start().wait_state("active", timeout=20)
        self.finish("a")
        for pinger in self.pingers:
            self.assertLess(pinger.longest_gap(), 1)

    def test_the_lookout(self):
        """Two holders would have been seen: here the one's agent is frozen, all of it, for longer than its lease."""
        frozen = [self.a.pid, self.a.elector()]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            since_ns = now_ns()
            wait_for(self.two, 20, "two holders")
            self.assertGreater(now_ns() - since_ns, 10**9)
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        self.a.wait_queued(2, timeout=20)
        self.lookout.finish()


if __name__ == "__main__":
    unittest.main()
