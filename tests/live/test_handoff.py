"""Leadership handed over in order: a resignation, a graceful stop, a stop in every state."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

HANDOFF_S = 1.0


class Handoff(LiveCase):
    def gap_s(self, loser, winner, after_ns=0):
        """From the end of the loser's hook to the start of the winner's."""
        lose = self.timeline.wait("end", "lose", loser, after_ns=after_ns)
        gain = self.timeline.wait("start", "gain", winner, after_ns=lose.at_ns)
        return (gain.at_ns - lose.at_ns) / 1e9

    def test_resign(self):
        """The leader resigns: lose, then the next in the queue gains at once; the former leader queues again."""
        server = self.start_server()
        a, b, c = self.start_queue("abc", server)
        first = self.timeline.wait("end", "gain", "a")
        done = a.ctl("resign", "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(self.gap_s("a", "b", first.at_ns), HANDOFF_S)
        b.wait_state("active")
        a.wait_queued(3)
        self.assertEqual(c.state(), "standby")
        lose = self.timeline.events("start", "lose", "a", after_ns=first.at_ns)[0]
        gain = self.timeline.wait("start", "gain", "b")
        self.assertEqual((lose.planned, lose.reason), (True, "resign"))
        self.assertEqual(gain.fields["previous"], "a")
        self.assertEqual(gain.fields["previous_clean"], "yes")
        self.assertEqual(gain.fields["previous_token"], str(first.token))

    def test_resign_round(self):
        """Resigned again and again, leadership goes round in the queue's order, with growing tokens."""
        server = self.start_server()
        agents = self.start_queue("abc", server)
        for turn in range(6):
            leader, successor = agents[turn % 3], agents[(turn + 1) % 3]
            self.assertEqual(leader.ctl("resign", "demo").returncode, 0)
            successor.wait_state("active")
            leader.wait_queued(3)
        members = [event.member for event in self.timeline.events("start", "gain")]
        self.assertEqual("".join(members), "abcabca")

    def test_every_successor_is_ready(self):
        """
        Who moves up to second place proves its lease there, so that each handoff is as fast as the first. A
        proof from nothing would take 0.7 s here, and a connection's own first proof has run out.
        """
        server = self.start_server()
        agents = self.start_queue("abcd", server, session_timeout=4000, zookeeper={"ping_slack": 300})
        holds_for(lambda: agents[0].running, 4.5, "more than a lease since all have connected")
        for loser, winner in zip(agents, agents[1:]):
            resigned_ns = now_ns()
            self.assertEqual(loser.ctl("resign", "demo").returncode, 0)
            self.assertLess(self.gap_s(loser.member, winner.member, resigned_ns), 0.4)
            winner.wait_state("active")
            # Time for the next one to prove its lease.
            holds_for(lambda winner=winner: winner.state() == "active", 1.2, "the new leader stays")

    def test_stop(self):
        """SIGTERM to the leader: lose, the session ended, exit 0, and the next gains without waiting."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        gain = self.timeline.wait("end", "gain", "a")
        self.assertEqual(a.stop(), 0)
        self.assertLess(self.gap_s("a", "b", gain.at_ns), HANDOFF_S)
        lose = self.timeline.events("start", "lose", "a", after_ns=gain.at_ns)[0]
        self.assertEqual((lose.planned, lose.reason, lose.token), (True, "stop", gain.token))
        b.wait_state("active")
        self.wait_candidates(self.client(server), 1)

    def test_stop_of_a_standby(self):
        """A standby that stops leaves the queue; no hook runs anywhere."""
        server = self.start_server()
        client = self.client(server)
        a, b, c = self.start_queue("abc", server)
        runs = self.hook_runs()
        self.assertEqual(b.stop(), 0)
        self.wait_candidates(client, 2)
        c.wait_queued(2)
        self.assertEqual((a.state(), c.state()), ("active", "standby"))
        self.assertEqual(self.hook_runs(), runs)

    def test_slow_lose_keeps_the_successor_waiting(self):
        """A lose hook longer than the lease, in a planned demotion: heartbeats go on, nobody gains before its end."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        a.behave("lose", "sleep=3000")
        a.signal(15)
        self.timeline.wait("start", "gain", "b", timeout=10)
        lose = self.timeline.events("end", "lose", "a")[-1]
        self.assertTrue(lose.ok, "the lose hook ran to its end")
        self.assertEqual(a.process.wait(5), 0)
        b.wait_state("active")

    def test_stop_while_gaining(self):
        """SIGTERM while the gain hook runs: gain is ended, lose runs, the next one leads."""
        server = self.start_server()
        a = self.agent("a", server)
        a.behave("gain", "sleep=1000")
        a.start()
        self.timeline.wait("start", "gain", "a")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        self.assertEqual(a.stop(), 0)
        b.wait_state("active")
        self.assertTrue(self.timeline.events("end", "lose", "a")[-1].ok)

    def test_environment(self):
        """Every hook has every promised variable."""
        server = self.start_server()
        hooks = ("gain", "lose", "follow", "notify")
        a, b = self.start_queue("ab", server, hooks=hooks)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        self.timeline.wait("end", "follow", "a", count=2)
        self.timeline.wait("end", "notify", "b")
        events = self.timeline.events("start")
        self.assertEqual({event.hook for event in events}, set(hooks))
        for event in events:
            self.assertEqual(event.fields["missing"], "", str(event))
            self.assertEqual(event.fields["event"], event.hook, str(event))
        gain = self.timeline.events("start", "gain", "b")[0]
        self.assertEqual(gain.fields["reason"], "handoff")
        self.assertEqual(gain.fields["previous_address"], "a.example:5432")

    def test_refused_without_a_successor(self):
        """Nobody waits: resign is refused and nothing happens; forced, the member leads again by a new token."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        runs = self.hook_runs()
        self.assertEqual(a.ctl("resign", "demo").returncode, 77)
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))
        forced = a.ctl("resign", "demo", "--force")
        self.assertEqual(forced.returncode, 0, forced.stderr)
        self.timeline.wait("end", "gain", "a", count=2)
        a.wait_state("active")

    def test_grandchild_delays_nothing(self):
        """A hook that leaves a process behind which holds its pipes: the hook is over when its own process is."""
        server = self.start_server()
        a = self.agent("a", server)
        a.behave("gain", "fork-grandchild")
        a.start()
        self.timeline.wait("grandchild", "gain", "a")
        a.wait_state("active", timeout=2)


class Idle(LiveCase):
    def test_nothing_moves(self):
        """Over several leases nothing happens: no hook, no change of state."""
        server = self.start_server()
        agents = self.start_queue("ab", server)
        runs = self.hook_runs()
        holds_for(lambda: self.hook_runs() == runs, 5, "no hook runs while all is well")
        self.assertEqual([agent.state() for agent in agents], ["active", "standby"])
        wait_for(lambda: agents[0].election_status().get("lease_ms"), 1, "a lease in the status")


if __name__ == "__main__":
    unittest.main()
