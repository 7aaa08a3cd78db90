"""Lose and fence fail: what is killed, what on_panic does, and how an operator gets out of it."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

NAMESPACE = "/proc/self/ns/pid"


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Panic(LiveCase):
    def in_panic(self, on_panic, wrapper=(), hooks=("gain", "lose")):
        """An agent in office that is cut off and whose lose hook fails. Returns it and its proxy."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.agent("a", proxy, hooks=hooks, election={"on_panic": on_panic})
        a.wrapper = wrapper
        a.start().wait_state("active")
        a.behave("lose", "exit=1")
        a.behave("fence", "exit=1")
        proxy.stall()
        a.wait_log("state=panic")
        return a, proxy

    def deadline_ns(self):
        return [event.deadline_ns for event in self.timeline.events("start", "lose") if event.deadline_ns][-1]

    def test_log(self):
        """Said once, when the lease is over and not before; the agent goes on, and recover brings it back."""
        a, proxy = self.in_panic("log")
        a.wait_log("in panic without a lease")
        self.assertGreaterEqual(now_ns(), self.deadline_ns())
        holds_for(lambda: a.log().count("in panic without a lease") == 1 and a.state() == "panic", 1, "it stays there")
        failed = a.ctl("recover", "demo")
        self.assertNotEqual(failed.returncode, 0)
        a.behave("lose", "exit=0")
        self.assertEqual(a.ctl("recover", "demo").returncode, 0)
        proxy.resume()
        a.wait_state("active", timeout=15)
        self.oracle.late_reasons = ("lease", "stop", "recover")

    def test_exit(self):
        """The agent ends with status 1; its session is not ended, so that nobody takes over before its time."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.agent("a", proxy, election={"on_panic": "exit"}, elections=("demo", "other"))
        a.start().wait_state("active")
        a.wait_state("active", election="other")
        client = self.client(server)
        elector = a.elector()
        a.behave("lose", "exit=1")
        proxy.stall("up")
        self.assertEqual(a.process.wait(15), 1)
        a.process = None
        ended_ns = now_ns()
        self.timeline.mark_killed("a")
        self.assertGreaterEqual(ended_ns, self.deadline_ns())
        self.assertFalse(is_alive(elector))
        self.assertIn("on_panic=exit", a.log())
        self.wait_candidates(client, 0)

    def test_session_lost(self):
        """In panic no new elector takes office by a new session; after recover the member leads as ever."""
        a, proxy = self.in_panic("log")
        client = self.client(self.servers[0])
        self.wait_candidates(client, 0)
        proxy.resume()
        a.wait_log("session has expired", timeout=20)
        elector = a.elector()
        os.kill(elector, signal.SIGKILL)
        wait_for(lambda: a.elector() not in (None, elector), 10, "a new elector")
        holds_for(lambda: a.election_status().get("position") in (None, 0), 2, "no candidate stands")
        a.behave("lose", "exit=0")
        self.assertEqual(a.ctl("recover", "demo").returncode, 0)
        a.wait_state("active", timeout=15)
        self.oracle.late_reasons = ("lease", "stop", "recover")

    def test_reboot(self):
        """reboot(2) is called at once. In a pid namespace of its own it ends that one alone."""
        if os.geteuid() != 0:
            self.skipTest("needs a pid namespace")
        outside = os.readlink(NAMESPACE)
        # Nothing but the first process of another namespace may get as far as the agent.
        guard = f'[ $$ = 1 ] && [ "$(readlink {NAMESPACE})" != "{outside}" ] && exec "$@"'
        wrapper = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c", guard, "sh")
        a, _ = self.in_panic("reboot", wrapper)
        status = a.process.wait(15)
        a.process = None
        self.timeline.mark_killed("a")
        self.assertNotEqual(status, 0)
        self.assertIn("rebooting", a.log())
        self.assertNotIn("cannot reboot", a.log())
        self.assertLess(now_ns() - self.deadline_ns(), 2_000_000_000)

    def test_everything_is_killed_before_fence(self):
        """What gain has left running is dead when fence starts; other elections' processes live on."""
        server = self.start_server()
        a = self.agent("a", server, hooks=("gain", "lose", "fence"), hook_options={"fence_timeout": 300})
        a.behave("gain", "fork-grandchild")
        a.start().wait_state("active")
        (left,) = self.timeline.events("grandchild", "gain")
        self.assertTrue(is_alive(left.pid))
        a.behave("lose", "exit=1")
        a.behave("gain", "sleep=0")
        a.ctl("resign", "demo", "--force")
        self.timeline.wait("start", "fence", "a")
        self.assertFalse(is_alive(left.pid))
        a.wait_log("killed everything of the election")
        a.behave("lose", "exit=0")
        wait_for(lambda: a.state() == "active", 10, "it leads again")


if __name__ == "__main__":
    unittest.main()
