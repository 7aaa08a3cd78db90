"""The hook for a virtual address alone, in a network namespace, under each shell."""

import subprocess
import time
import unittest

from addresses import ADDRESSES, ENV, add_ipv6, has_address, ip, link_address_of
from tenuretest import Hosts, Script, ScriptChecks, wait_for


class Events(ScriptChecks):
    shell = ""

    def setUp(self):
        self.hosts = Hosts(("a", "b", "client"))
        self.addCleanup(self.hosts.close)
        add_ipv6(self.hosts)
        self.script = self.hook("a")

    def hook(self, name, **env):
        return Script("vip", self.shell, ENV | env, self.hosts[name].wrap)

    def has(self, name="a"):
        return [has_address(self.hosts[name], family) for family in (4, 6)]

    def test_twice(self):
        """Each event, from the other state and from its own: no message, and the host's own addresses stay."""
        before = ip(self.hosts["a"], "-o", "address")
        for event, expected in (("lose", False), ("gain", True), ("lose", False), ("gain", True), ("fence", False)):
            for _ in range(2):
                done = self.succeeds(event)
                self.assertEqual((done.stdout, done.stderr), ("", ""))
                self.assertEqual(self.has(), [expected] * 2, event)
        self.assertEqual(ip(self.hosts["a"], "-o", "address"), before)

    def test_neighbours_learn(self):
        """A neighbour that knew the old holder knows the new one at once, in both families, without having asked."""
        client = self.hosts["client"]
        self.succeeds("gain")
        for family, address in ADDRESSES.items():
            wait_for(lambda a=address: self.pings(client, a), 10, f"an answer of {address}")
            self.assertEqual(link_address_of(client, family), self.hosts["a"].link_address)
        self.succeeds("lose")
        self.script = self.hook("b")
        self.succeeds("gain")
        for family in ADDRESSES:
            self.assertEqual(link_address_of(client, family), self.hosts["b"].link_address)

    def pings(self, host, address):
        words = [*host.wrap, "ping", "-q", "-c", "1", "-W", "1", address]
        return subprocess.run(words, stdout=subprocess.DEVNULL, timeout=20, check=False).returncode == 0

    def test_not_a_source(self):
        """What the host itself sends does not come from the virtual address, which may go at any time."""
        self.succeeds("gain")
        for target, own in (("10.77.0.3", "10.77.0.1"), ("fd77::3", "fd77::1")):
            self.assertIn(f"src {own} ", ip(self.hosts["a"], "route", "get", target) + " ")

    def test_other_prefix(self):
        """Somebody has put the address there with another prefix: it goes all the same."""
        ip(self.hosts["a"], "address", "add", ADDRESSES[4] + "/24", "dev", "eth0")
        ip(self.hosts["a"], "address", "add", ADDRESSES[6] + "/64", "dev", "eth0", "nodad")
        self.assertEqual(self.has(), [True, True])
        self.succeeds("lose")
        self.assertEqual(self.has(), [False, False])

    def test_similar_addresses(self):
        """An address that begins alike is another."""
        ip(self.hosts["a"], "address", "add", "10.77.0.25/32", "dev", "eth0")
        self.script = self.hook("a", VIP_ADDRESSES="10.77.0.2/32")
        self.succeeds("lose")
        self.fails("check", "10.77.0.2/32 is not on eth0", state="active")
        self.assertIn("10.77.0.25/32", ip(self.hosts["a"], "-o", "address"))

    def test_cannot_remove(self):
        """A removal that the kernel refuses, here for want of rights, is a failure, and no endless loop."""
        self.succeeds("gain")
        wrapper = (*self.hosts["a"].wrap, "setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all")
        self.script = Script("vip", self.shell, ENV, wrapper)
        began = time.monotonic()
        done = self.script.run("lose")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Operation not permitted", done.stderr)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(self.has(), [True, True])

    def test_killed_half_way(self):
        self.survives_kills("gain", lambda: self.succeeds("lose"), lambda: self.has() == [True, True], count=4)
        self.survives_kills("lose", lambda: self.succeeds("gain"), lambda: self.has() == [False, False], count=4)

    def test_check(self):
        self.succeeds("check", state="standby")
        self.fails("check", f"{ADDRESSES[4]}/32 is not on eth0 while the member is active", state="active")
        self.succeeds("gain")
        self.succeeds("check", state="active")
        self.fails("check", f"{ADDRESSES[4]}/32 is on eth0 while the member is standby", state="standby")
        self.succeeds("check", state="demoting")
        ip(self.hosts["a"], "link", "set", "dev", "eth0", "down")
        self.fails("check", "the interface eth0 is down", state="active")

    def test_no_interface(self):
        """It holds no address, so it has left office; it cannot take it."""
        self.script = self.hook("a", VIP_INTERFACE="eth7")
        self.succeeds("lose")
        self.fails("gain", "no interface eth7")
        self.fails("check", "no interface eth7")

    def test_usage(self):
        self.fails("follow", "usage: vip gain|lose|fence|check", status=64)
        self.script = self.hook("a", VIP_ADDRESSES="")
        self.fails("gain", "VIP_INTERFACE and VIP_ADDRESSES have to be set")
        self.script = self.hook("a", VIP_ADDRESSES="10.0.0.300/32")
        self.fails("gain", "10.0.0.300")
        self.fails("lose", "10.0.0.300")


class Dash(Events, unittest.TestCase):
    shell = "dash"


class Busybox(Events, unittest.TestCase):
    shell = "busybox"


if __name__ == "__main__":
    unittest.main()
