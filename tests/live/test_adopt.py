"""`tenured --adopt ELECTION`: a first installation beside a service that already runs as the leader's."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

NOBODY_LISTENS = "127.0.0.1:1"


class Adopt(LiveCase):
    def hooks_of(self, member, after_ns=0):
        return [(e.hook, e.reason) for e in self.timeline.events("start", after_ns=after_ns) if e.member == member]

    def test_first_installation(self):
        """No record exists: no lose hook runs, and gain does, with reason adopt; the other election starts as ever."""
        server = self.start_server()
        a = self.agent("a", server, elections=("one", "two"))
        a.start("--adopt", "one")
        a.wait_state("active", election="one")
        a.wait_state("active", election="two")
        self.assertEqual([(e.hook, e.reason) for e in self.timeline.events("start") if e.election == "one"],
                         [("gain", "adopt")])  # fmt: skip
        self.assertEqual([e.hook for e in self.timeline.events("start") if e.election == "two"], ["lose", "gain"])

    def test_own_record(self):
        """The record names this member: it may be adopted."""
        server = self.start_server()
        a = self.start_agent("a", server)
        a.wait_state("active")
        self.assertEqual(a.stop(), 0)
        at_ns = now_ns()
        a.start("--adopt", "demo").wait_state("active")
        self.assertEqual(self.hooks_of("a", at_ns), [("gain", "adopt")])

    def test_another_leads(self):
        """Another member is or was the leader: the service is put out of office, and nothing is adopted."""
        server = self.start_server()
        b = self.start_agent("b", server)
        b.wait_state("active")
        a = self.agent("a", server)
        a.start("--adopt", "demo")
        self.timeline.wait("start", "lose", "a")
        a.wait_queued(2)
        self.assertEqual([hook for hook, _ in self.hooks_of("a")], ["lose"])
        self.assertEqual(b.state(), "active")

    def test_not_in_office_in_time(self):
        """Without an ensemble nobody is in office within T: lose runs."""
        a = self.agent("a", NOBODY_LISTENS)
        at_ns = now_ns()
        a.start("--adopt", "demo")
        lose = self.timeline.wait("start", "lose", "a")
        self.assertGreater(lose.at_ns - at_ns, 1_500_000_000)
        self.assertLess(lose.at_ns - at_ns, 4_000_000_000)
        self.assertEqual([hook for hook, _ in self.hooks_of("a")], ["lose"])

    def test_once(self):
        """Left in the command line: an agent that was killed in office has a term of its own, and goes on with that."""
        server = self.start_server()
        (a,) = self.start_queue("a", server, session_timeout=4000)
        token, runs = a.election_status()["token"], self.hook_runs()
        a.kill_supervisor()
        a.start("--adopt", "demo").wait_state("active")
        wait_for(lambda: a.election_status().get("position") == 1, 3, "its place")
        self.assertEqual((a.election_status()["token"], self.hook_runs()), (token, runs))

    def test_command_line(self):
        """An election that is not configured is refused before anything happens, also with -t."""
        a = self.agent("a", NOBODY_LISTENS)
        for extra in ((), ("-t",)):
            result = a.run("--adopt", "demmo", *extra)
            self.assertEqual(result.returncode, 64)
            self.assertIn('--adopt: no election "demmo" is configured', result.stdout)
        self.assertEqual(a.run("--adopt", "demo", "-t").returncode, 0)
        self.assertEqual(a.run("--adopt", "demo", "--demote-stale").returncode, 64)
        self.assertEqual(a.run("--adopt", "demo", "--adopt", "demo").returncode, 64)
        self.assertEqual(self.timeline.events(), [])


class DemoteStale(LiveCase):
    def stale(self, agent, after_ns):
        return [e for e in self.timeline.events("start", after_ns=after_ns) if e.member == agent.member]

    def test_leader(self):
        """A dead leader: lose runs for its term, its session ends, and the next one need not wait; b is undisturbed."""
        server = self.start_server()
        a, b = self.start_queue("ab", server, session_timeout=4000)
        token = int(a.election_status()["token"])
        killed_ns = a.kill_supervisor()
        result = a.run("--demote-stale", timeout=20)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertEqual([(e.hook, e.reason, e.token) for e in self.stale(a, killed_ns)], [("lose", "restart", token)])
        gain = self.timeline.wait("start", "gain", "b", after_ns=killed_ns, timeout=2)
        self.assertEqual(gain.fields["previous_clean"], "yes")
        self.assertEqual(a.run("--demote-stale").returncode, 0, "nothing is left")
        self.assertEqual(len(self.stale(a, killed_ns)), 1)
        self.wait_candidates(self.client(server), 1)

    def test_configuration_not_valid(self):
        """The file has become one that no agent can be started with: what the dead one ran with is gone by."""
        server = self.start_server()
        a, b = self.start_queue("ab", server, session_timeout=4000)
        token, bad = int(a.election_status()["token"]), "nonsense = 1\n"
        a.hook_options["gain_timeout"] = 4000  # a reload: the copy has to be the newest
        a.write_config()
        a.signal(signal.SIGHUP)
        a.wait_log("configuration reloaded")
        killed_ns = a.kill_supervisor()
        self.assertEqual(a.run(config=bad).returncode, 78)
        self.assertEqual(a.run("--demote-stale", "-o", "state_dir=/nonexistent", config=bad).returncode, 78)
        state = a.top["state_dir"]
        with open(os.path.join(state, "configuration"), encoding="utf-8") as file:
            self.assertIn("gain_timeout = 4000", file.read())
        result = a.run("--demote-stale", "-o", f"state_dir={state}", config=bad, timeout=20)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("nonsense: unknown option", result.stdout)
        self.assertIn("going by the configuration that the agent ran with", result.stdout)
        self.assertEqual([(e.hook, e.reason, e.token) for e in self.stale(a, killed_ns)], [("lose", "restart", token)])
        self.timeline.wait("start", "gain", "b", after_ns=killed_ns, timeout=2)
        self.assertFalse(os.path.exists(os.path.join(state, "configuration")))

    def test_several(self):
        """Two elections in office, one standby: lose runs for the two."""
        server = self.start_server()
        b = self.start_agent("b", server, elections=("three",))
        b.wait_state("active")
        a = self.start_agent("a", server, elections=("one", "two", "three"), session_timeout=4000)
        for name in ("one", "two"):
            a.wait_state("active", election=name)
        a.wait_queued(2, election="three")
        killed_ns = a.kill_supervisor()
        self.assertEqual(a.run("--demote-stale", timeout=20).returncode, 0)
        self.assertEqual(sorted((e.hook, e.election) for e in self.stale(a, killed_ns)), [("lose", "one"), ("lose", "two")])
        self.wait_candidates(self.client(server), 1, path="/tenure/three")

    def test_hook_fails(self):
        """Lose fails: fence; that fails as well: exit status 1, the session is kept by an orphan, and a second try succeeds."""
        server = self.start_server()
        hooks = {"hooks": ("gain", "lose", "fence"), "hook_options": {"fence_timeout": 300}}
        a, b = self.start_queue("ab", server, session_timeout=4000, **hooks)
        a.behave("lose", "exit=1")
        a.behave("fence", "exit=1")
        killed_ns = a.kill_supervisor()
        a.start("--demote-stale")
        self.assertEqual(a.process.wait(20), 1)
        a.process = None
        self.assertIn("a stale service may still be in office", a.log())
        self.assertEqual([e.hook for e in self.stale(a, killed_ns)], ["lose", "fence"])
        holds_for(lambda: b.state() == "standby", 6, "nobody takes over")
        a.behave("fence", "")
        self.assertEqual(a.run("--demote-stale", timeout=20).returncode, 0)
        self.assertEqual([e.hook for e in self.stale(a, killed_ns)], ["lose", "fence"] * 2)
        b.wait_state("active", timeout=3)
        a.behave("lose", "")

    def test_nothing_to_do(self):
        """Never run, or stopped as it should be: nothing happens, not even with an ensemble that is not there."""
        a = self.agent("a", NOBODY_LISTENS)
        self.assertEqual(a.run("--demote-stale").returncode, 0)
        server = self.start_server()
        a.zookeeper["servers"] = server.address
        a.start().wait_state("active")
        self.assertEqual(a.stop(), 0)
        at_ns = now_ns()
        self.assertEqual(a.run("--demote-stale").returncode, 0)
        self.assertEqual(self.timeline.events(after_ns=at_ns), [])

    def test_agent_runs(self):
        """Beside an agent that runs it does nothing: exit status 77."""
        server = self.start_server()
        a = self.start_agent("a", server)
        a.wait_state("active")
        runs = self.hook_runs()
        self.assertEqual(a.run("--demote-stale").returncode, 77)
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))

    def test_no_ensemble(self):
        """The ensemble is away: the service is out of office all the same, and the session runs out by itself."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        token = int(a.election_status()["token"])
        killed_ns = a.kill_supervisor()
        proxy.stall()
        self.assertEqual(a.run("--demote-stale", timeout=30).returncode, 0)
        self.assertEqual([(e.hook, e.token) for e in self.stale(a, killed_ns)], [("lose", token)])


if __name__ == "__main__":
    unittest.main()
