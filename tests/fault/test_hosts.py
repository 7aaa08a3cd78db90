"""The hosts that the other fault tests rest on: a cut is whole, at once and silent; nothing remains of them."""

import os
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import Hosts, wait_for  # noqa: E402
from tenuretest.hosts import NETNS_DIR  # noqa: E402
from tenuretest.wait import now_ns  # noqa: E402

PORT = 7000


class Cuts(unittest.TestCase):
    def setUp(self):
        self.hosts = Hosts(("a", "b", "c"))
        self.addCleanup(self.hosts.close)

    def socket_of(self, name):
        found = self.hosts[name].call(socket.socket, type=socket.SOCK_DGRAM)
        self.addCleanup(found.close)
        found.bind((self.hosts[name].address, PORT))
        found.settimeout(0.2)
        return found

    def arrived(self, source, target, count=20):
        """How many of COUNT packets arrive."""
        found = 0
        for _ in range(count):
            source.sendto(b"x", target.getsockname())
        try:
            while target.recv(10):
                found += 1
        except TimeoutError:
            return found

    def check(self, **expected):
        """ab=20: 20 of 20 packets from a to b."""
        found = {pair: self.arrived(self.sockets[pair[0]], self.sockets[pair[1]]) for pair in expected}
        self.assertEqual(found, expected)

    def test_each_fault(self):
        self.sockets = {name: self.socket_of(name) for name in "abc"}
        self.check(ab=20, ba=20, ac=20)
        self.hosts.cut("a", ["b", "c"])
        self.check(ab=0, ba=0, ac=0, ca=0, bc=20)
        self.hosts.heal("a", "c")
        self.check(ab=0, ba=0, ac=20, ca=20)
        self.hosts.heal()
        self.hosts.drop("a", "b")
        self.check(ab=0, ba=20)
        self.hosts.heal()
        self.hosts.lose("a", "b", 30)
        lossy = [self.arrived(self.sockets[a], self.sockets[b], 200) for a, b in ("ab", "ba")]
        # 140 of 200 with a standard deviation of 6.5
        for found in lossy:
            self.assertTrue(105 < found < 175, lossy)
        self.hosts.heal()
        self.check(ab=20, ba=20)

    def test_a_connection_survives(self):
        """What was sent during a cut arrives after it: there was no reset and no unreachable host."""
        listener = self.hosts["a"].call(socket.create_server, (self.hosts["a"].address, PORT))
        self.addCleanup(listener.close)
        here = self.hosts["b"].call(socket.create_connection, listener.getsockname(), 5)
        there, _ = listener.accept()
        self.addCleanup(here.close)
        self.addCleanup(there.close)
        self.hosts.cut("a", "b")
        here.sendall(b"x")
        there.settimeout(0.5)
        self.assertRaises(TimeoutError, there.recv, 1)
        self.hosts.heal()
        there.settimeout(5)
        self.assertEqual(there.recv(1), b"x")

    def test_at_once(self):
        """From the call of a cut to the last packet that passes: less than 10 ms, in the median of ten."""
        source, target = self.socket_of("a"), self.socket_of("b")
        last = [0]
        ended = threading.Event()

        def send():
            while not ended.is_set():
                source.sendto(b"x", target.getsockname())
                time.sleep(0.0003)

        def receive():
            while not ended.is_set():
                try:
                    target.recv(10)
                    last[0] = now_ns()
                except TimeoutError:
                    pass

        threads = [threading.Thread(target=each) for each in (send, receive)]
        for thread in threads:
            thread.start()
        taken_ms = []
        for _ in range(10):
            heard = last[0]
            wait_for(lambda heard=heard: last[0] > heard, 5, "packets")
            at_ns = self.hosts.cut("a", "b")
            wait_for(lambda: now_ns() - last[0] > 50_000_000, 5, "silence")
            taken_ms.append((last[0] - at_ns) / 1e6)
            self.hosts.heal()
        ended.set()
        for thread in threads:
            thread.join()
        print(f"a cut takes {min(taken_ms):.1f} to {max(taken_ms):.1f} ms")
        self.assertLess(sorted(taken_ms)[5], 10)

    def test_nothing_remains(self):
        names = {host.name for host in self.hosts}
        self.assertEqual(names - set(os.listdir(NETNS_DIR)), set())
        self.hosts.close()
        self.assertEqual(names & set(os.listdir(NETNS_DIR)), set())

    def test_of_a_killed_test(self):
        """Its namespaces go when the next one makes its own."""
        pid = os.fork()
        if pid == 0:
            Hosts(("a",))
            os._exit(0)
        os.waitpid(pid, 0)
        left = [name for name in os.listdir(NETNS_DIR) if name.startswith(f"tnr{pid}-")]
        self.assertEqual(len(left), 2)
        Hosts(("a",)).close()
        self.assertEqual(set(left) & set(os.listdir(NETNS_DIR)), set())


if __name__ == "__main__":
    unittest.main()
