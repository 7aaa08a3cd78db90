"""SIGTERM and SIGHUP in every state."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

HOOKS = ("gain", "lose", "fence", "follow")
LIMITS = {"lose_timeout": 400, "fence_timeout": 300, "handoff_timeout": 2500}


class States(LiveCase):
    """Brings an agent into each state, in which `act` then does what the test is about."""

    def make(self, servers, hooks=HOOKS, **options):
        return self.agent("a", servers, hooks=hooks, hook_options=LIMITS, **options)

    def starting(self):
        a = self.make("127.0.0.1:1")
        a.behave("lose", "sleep=700")
        a.start()
        self.timeline.wait("start", "lose")
        return a

    def starting_again(self):
        """The startup state cannot be established: tried again and again."""
        a = self.make("127.0.0.1:1")
        a.behave("lose", "exit=1")
        a.behave("fence", "exit=1")
        a.start()
        self.timeline.wait("end", "fence")
        a.behave("lose", "exit=0")
        return a

    def following(self):
        a = self.make(self.start_server())
        a.behave("follow", "sleep=700")
        a.start()
        self.timeline.wait("start", "follow")
        return a

    def follow_failed(self):
        a = self.make(self.start_server())
        a.behave("follow", "exit=1")
        a.start()
        self.timeline.wait("end", "follow", count=2)
        a.wait_state("following")
        a.behave("follow", "exit=0")
        return a

    def standby_unconnected(self):
        a = self.make("127.0.0.1:1").start()
        a.wait_state("following", "standby")
        return a

    def standby(self):
        server = self.start_server()
        self.start_agent("leader", server).wait_state("active")
        a = self.make(server).start()
        a.wait_queued(2)
        a.wait_state("standby")
        return a

    def promoting(self):
        a = self.make(self.start_server())
        a.behave("gain", "sleep=900")
        a.start()
        self.timeline.wait("start", "gain", "a")
        return a

    def active(self):
        a = self.make(self.start_server()).start()
        a.wait_state("active")
        return a

    def demoting(self):
        """A planned demotion under way: a resignation with a slow lose hook."""
        server = self.start_server()
        a = self.make(server).start()
        gain = self.timeline.wait("end", "gain", "a")
        a.wait_state("active")
        self.start_agent("other", server).wait_queued(2)
        a.behave("lose", "sleep=900")
        self.assertEqual(a.ctl("resign", "demo", "--wait", "0.1").returncode, 75)
        self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        a.wait_state("demoting")
        return a

    def fencing(self):
        server = self.start_server()
        a = self.make(server).start()
        a.wait_state("active")
        self.start_agent("other", server).wait_queued(2)
        a.behave("lose", "exit=1")
        a.behave("fence", "sleep=250")
        a.ctl("resign", "demo", "--wait", "0.1")
        self.timeline.wait("start", "fence", "a")
        return a

    def backing_off(self):
        a = self.make(self.start_server(), election={"backoff": 1500})
        a.behave("gain", "exit=1")
        a.start()
        gain = self.timeline.wait("end", "gain", "a")
        self.timeline.wait("end", "lose", "a", after_ns=gain.at_ns)
        a.behave("gain", "exit=0")
        return a

    def observer(self):
        """candidate = false: follows, never leads."""
        server = self.start_server()
        self.start_agent("leader", server).wait_state("active")
        a = self.make(server, election={"candidate": False}).start()
        wait_for(lambda: [e for e in self.timeline.events("start", "follow", "a") if e.fields["leader"]], 5, "follow")
        a.wait_state("out")
        return a

    ALL = ("starting", "starting_again", "following", "follow_failed", "standby_unconnected", "standby", "promoting",
           "active", "demoting", "fencing", "backing_off", "observer")  # fmt: skip


class Terminate(States):
    """SIGTERM: out of office, exit 0, in bounded time; nothing of the agent is left behind."""

    def check(self, bring):
        a = bring()
        began_ns = now_ns()
        below = a.children()
        self.assertEqual(a.stop(6), 0)
        self.assertLess((now_ns() - began_ns) / 1e9, 4)
        for pid in below:
            # A writer of the floor that the end has met is killed, and gone a moment later.
            wait_for(lambda pid=pid: not os.path.exists(f"/proc/{pid}"), 2, f"{pid} to be gone with its agent")
        gains = self.timeline.events("start", "gain", "a")
        if gains:
            ends = self.timeline.events("end", "lose", "a", after_ns=gains[-1].at_ns)
            ends += self.timeline.events("end", "fence", "a", after_ns=gains[-1].at_ns)
            self.assertTrue(any(event.ok for event in ends), "out of office")
        self.assertFalse(os.path.exists(a.control), "the control socket")

    def test_panic(self):
        """In PANIC the lose hook is tried once more: it fails again, so exit 1, and the session is left to expire."""
        a = self.panicking()
        runs = len(self.timeline.events("start", "lose", "a"))
        a.signal(signal.SIGTERM)
        self.assertEqual(a.process.wait(8), 1)
        a.process = None
        self.assertGreater(len(self.timeline.events("start", "lose", "a")), runs)
        self.timeline.mark_killed("a")

    def test_panic_over(self):
        """In PANIC the lose hook is tried once more: it succeeds, so exit 0."""
        a = self.panicking()
        a.behave("lose", "exit=0")
        self.assertEqual(a.stop(8), 0)

    def panicking(self):
        server = self.start_server()
        a = self.make(server, hooks=("gain", "lose")).start()
        a.wait_state("active")
        self.start_agent("other", server).wait_queued(2)
        a.behave("lose", "exit=1")
        a.ctl("resign", "demo", "--wait", "0.1")
        a.wait_state("panic")
        return a

    def test_twice(self):
        """A second SIGTERM leaves a planned lose hook lose_timeout only; fence ends it."""
        a = self.active()
        a.behave("lose", "hang ignore-term")
        a.signal(signal.SIGTERM)
        gain = self.timeline.wait("end", "gain", "a")
        self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        again_ns = now_ns()
        a.signal(signal.SIGTERM)
        fence = self.timeline.wait("start", "fence", "a", timeout=3)
        self.assertLess((fence.at_ns - again_ns) / 1e9, 1.5)
        self.assertEqual(a.process.wait(5), 0)

    def test_interrupt(self):
        """SIGINT, as from a terminal, is the same."""
        a = self.active()
        a.signal(signal.SIGINT)
        self.assertEqual(a.process.wait(5), 0)
        self.assertEqual(self.timeline.events("start", "lose", "a")[-1].reason, "stop")


class Reload(States):
    """SIGHUP disturbs nothing that has not changed, and is not lost, whatever goes on."""

    def check(self, bring):
        a = bring()
        gains = len(self.timeline.events("start", "gain", "a"))
        loses = len(self.timeline.events("start", "lose", "a"))
        state, began_ns = a.state(), now_ns()
        a.write_config(a.config_text() + "nonsense = 1\n")
        a.signal(signal.SIGHUP)
        a.wait_log("not reloaded")
        if state == "active":
            holds_for(lambda: a.state() == "active", 0.5, "still in office")
        a.hook_options["gain_timeout"] = 4321
        a.write_config()
        a.signal(signal.SIGHUP)
        a.wait_log("configuration reloaded")
        if state in ("active", "standby"):
            a.wait_state(state)
            self.assertEqual(len(self.timeline.events("start", "gain", "a")), gains)
            self.assertEqual(len(self.timeline.events("start", "lose", "a")), loses)
        if state in ("starting", "following", "promoting") and "127.0.0.1:1" != a.zookeeper["servers"]:
            a.wait_state("active")
        if state == "promoting":
            self.assertEqual(len(self.timeline.events("start", "gain", "a", after_ns=began_ns)), 0)
        self.assertEqual(a.stop(8), 0)

    def test_new_limits_are_used(self):
        """Changed limits need no demotion and hold from the next hook on."""
        a = self.active()
        gain = self.timeline.wait("end", "gain", "a")
        a.hook_options["handoff_timeout"] = 3210
        a.write_config()
        a.signal(signal.SIGHUP)
        a.wait_log("configuration reloaded")
        self.assertEqual(a.stop(), 0)
        lose = self.timeline.events("start", "lose", "a", after_ns=gain.at_ns)
        self.assertEqual([(event.fields["timeout_ms"], event.token) for event in lose], [("3210", gain.token)])

    def test_added_and_removed(self):
        """An election that comes is joined, one that goes is left, and the one beside them notices nothing."""
        a = self.active()
        token = a.election_status()["token"]
        a.elections.append("more")
        a.write_config()
        a.signal(signal.SIGHUP)
        a.wait_state("active", election="more")
        a.elections.remove("more")
        a.write_config()
        a.signal(signal.SIGHUP)
        self.timeline.wait("end", "lose", "a", election="more", count=2)
        wait_for(lambda: list(a.status().get("elections", {})) == ["demo"], 5, "one election")
        a.wait_state("active")
        self.assertEqual((a.election_status()["token"], len(self.timeline.events("start", election="demo", hook="gain"))),
                         (token, 1))  # fmt: skip

    def test_other_servers(self):
        """Other addresses of the same ensemble: the session is taken along, and no hook runs."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.make(server).start()
        a.wait_state("active")
        session, token = a.status()["zookeeper"]["session"], a.election_status()["token"]
        runs = self.hook_runs()
        a.zookeeper["servers"] = proxy.address
        a.write_config()
        a.signal(signal.SIGHUP)
        wait_for(lambda: a.status().get("zookeeper", {}).get("server") == proxy.address, 5, "the other server")
        a.wait_state("active")
        wait_for(lambda: a.election_status().get("token") == token, 5, "the token")
        self.assertEqual((a.status()["zookeeper"]["session"], self.hook_runs()), (session, runs))

    def test_other_timeout(self):
        """Another session_timeout takes a new session: lose, then gain by a new token."""
        a = self.active()
        session = a.status()["zookeeper"]["session"]
        gain = self.timeline.wait("end", "gain", "a")
        a.zookeeper["session_timeout"] = 3000
        a.write_config()
        a.signal(signal.SIGHUP)
        again = self.timeline.wait("end", "gain", "a", after_ns=gain.at_ns)
        self.assertGreater(again.token, gain.token)
        a.wait_state("active")
        wait_for(lambda: a.status()["zookeeper"].get("session_timeout_ms") == 3000, 5, "the new timeout")
        self.assertNotEqual(a.status()["zookeeper"]["session"], session)

    def test_state_dir_stays(self):
        """What cannot change is refused as a whole; the old configuration stays."""
        a = self.active()
        a.write_config(a.config_text().replace(a.top["state_dir"], a.top["state_dir"] + "-other"))
        a.signal(signal.SIGHUP)
        a.wait_log("state_dir cannot change")
        self.assertEqual(a.state(), "active")
        self.assertFalse(os.path.exists(a.top["state_dir"] + "-other"))

    def test_many(self):
        """A burst of them is taken together and leaves nothing behind."""
        a = self.active()
        runs = self.hook_runs()
        for _ in range(50):
            a.signal(signal.SIGHUP)
        a.wait_log("configuration unchanged")
        holds_for(lambda: a.state() == "active" and self.hook_runs() == runs, 1, "nothing happens")
        self.assertLessEqual(a.log().count("reading the configuration again"), 25)
        self.assertEqual(len(a.children()), 1, "the elector alone")


def add_tests(case):
    """A test for each state."""
    for name in States.ALL:
        def test(self, name=name):
            self.check(getattr(self, name))
        test.__doc__ = f"{case.__name__}, {name}"
        setattr(case, f"test_{name}", test)


add_tests(Terminate)
add_tests(Reload)

if __name__ == "__main__":
    unittest.main()
