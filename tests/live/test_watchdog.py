"""The watchdog device, with a FIFO in its place: what it gets while all is well, cut off, stopped, and in panic."""

import os
import select
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

W_NS = 1_000_000_000  # of a lease of 2 s: 2 - (0.15 + 0.05 + 3 * 0.1), in whole seconds
MARGIN_NS = 250_000_000
LATE_NS = 200_000_000  # of our own reading


class Device:
    """The reading end of the FIFO. It notes when each byte came."""

    def __init__(self, path):
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self._stop = threading.Event()
        self.fed = []  # of (ns, byte)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        while not self._stop.is_set():
            if select.select([self._fd], [], [], 0.05)[0]:
                self.fed.extend((now_ns(), byte) for byte in os.read(self._fd, 4096))

    def close(self):
        self._stop.set()
        self._thread.join()
        os.close(self._fd)

    def times(self, after_ns=0, before_ns=1 << 63):
        return [at_ns for at_ns, _ in list(self.fed) if after_ns < at_ns < before_ns]

    def would_have_fired(self, since_ns):
        """Whether there was a gap as long as the device's timeout since SINCE_NS."""
        times = [since_ns, *self.times(since_ns), now_ns()]
        return any(b - a > W_NS + LATE_NS for a, b in zip(times, times[1:], strict=False))


class Watchdog(LiveCase):
    def setUp(self):
        path = os.path.join(self.directory, "device")
        self.device = Device(path)
        self.addCleanup(self.device.close)
        self.path = path

    def watched(self, member, servers, **options):
        agent = self.agent(member, servers, **options)
        agent.sections["watchdog"] = {"device": self.path}
        return agent

    def test_fed_while_all_is_well(self):
        """Before, during and after a term it is fed in time; on a clean exit it is switched off."""
        server = self.start_server()
        a = self.watched("a", server)
        started_ns = now_ns()
        a.start().wait_state("active")
        holds_for(lambda: not self.device.would_have_fired(started_ns), 3, "it is fed in office")
        self.assertIn("timeout_ms=1000", a.log())
        self.assertEqual(a.stop(), 0)
        wait_for(lambda: self.device.fed[-1][1] == ord("V"), 2, "the magic character")
        self.assertNotIn("is not fed", a.log())

    def test_cut_off(self):
        """Cut off, it is not fed any more once it would fire after the deadline; a demotion in time brings the feeding back."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.watched("a", proxy)
        a.behave("lose", "sleep=300")
        a.start().wait_state("active")
        gain = self.timeline.wait("end", "gain", "a")
        started_ns = now_ns()
        proxy.stall()
        lose = self.timeline.wait("end", "lose", "a", after_ns=gain.at_ns)
        deadline_ns = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns).deadline_ns
        wait_for(lambda: self.device.times(lose.at_ns), 2, "it is fed again")
        self.assertEqual(self.device.times(deadline_ns - W_NS + LATE_NS, lose.at_ns - 10_000_000), [])
        last_ns = self.device.times(before_ns=lose.at_ns)[-1]
        self.assertLess(last_ns + W_NS, deadline_ns + LATE_NS)
        self.assertGreater(last_ns + W_NS, deadline_ns - MARGIN_NS - LATE_NS)
        self.assertFalse(self.device.would_have_fired(started_ns))
        a.wait_log("the watchdog is fed again")
        self.assertEqual(a.log().count("the watchdog is not fed"), 1)
        proxy.resume()

    def test_panic(self):
        """In panic it is not fed after the lease, and not switched off at the end either."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.watched("a", proxy, election={"on_panic": "exit"})
        a.start().wait_state("active")
        a.behave("lose", "exit=1")
        proxy.stall()
        self.assertEqual(a.process.wait(10), 1)
        a.process = None
        self.timeline.mark_killed("a")
        deadline_ns = [event for event in self.timeline.events("start", "lose") if event.deadline_ns][-1].deadline_ns
        self.assertLess(self.device.times()[-1], deadline_ns - W_NS + LATE_NS)
        self.assertNotIn(ord("V"), [byte for _, byte in self.device.fed])

    def test_supervisor_frozen(self):
        """Frozen past the deadline, it fires before."""
        server = self.start_server()
        a = self.watched("a", server)
        a.start().wait_state("active")
        a.signal(19)
        frozen_ns = now_ns()
        lease_ns = 2_000_000_000
        wait_for(lambda: now_ns() > frozen_ns + lease_ns, 5, "the lease to be over")
        self.assertTrue(self.device.would_have_fired(frozen_ns))
        a.kill9()  # as the device does to the host

    def test_killed(self):
        """A crash leaves it running."""
        server = self.start_server()
        a = self.watched("a", server)
        a.start().wait_state("active")
        a.kill9()
        self.assertNotIn(ord("V"), [byte for _, byte in self.device.fed])

    def test_unusable(self):
        """What is no watchdog is refused at the start, with the reason, and a lease too short for one too."""
        for device, options, what in (
            ("/dev/null", {}, "takes no timeout"),
            ("/nonexistent", {}, "cannot open the watchdog device"),
            (self.path, {"session_timeout": 1200}, "a lease of 1.2 s"),
        ):
            with self.subTest(device=device):
                a = self.agent(f"a{len(self.agents)}", "127.0.0.1:1", hook_options={"lose_timeout": 10}, **options)
                a.sections["watchdog"] = {"device": device}
                done = a.run()
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(what, done.stdout)

    def test_device_cannot_change(self):
        """A reload with another device is refused."""
        server = self.start_server()
        a = self.watched("a", server)
        a.start().wait_state("active")
        a.sections["watchdog"] = {"device": ""}
        a.write_config()
        a.signal(1)
        a.wait_log("watchdog.device cannot change while the agent runs")


if __name__ == "__main__":
    unittest.main()
