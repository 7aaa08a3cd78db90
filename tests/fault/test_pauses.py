"""Processes of the leading agent stopped past the lease: the supervisor, the elector, and both."""

import json
import os
import signal
import socket
import threading
import unittest

from pair import PairCase
from tenuretest import holds_for, now_ns, wait_for
from tenuretest.plague import Plague

# What begins late, because nothing of the agent ran, may end late.
LATE = ("pause",)


class Asker(threading.Thread):
    """Asks an agent all the time whether it leads. A stopped one answers the question that it holds when it goes on."""

    def __init__(self, agent):
        super().__init__(daemon=True)
        self.agent = agent
        self.ended = threading.Event()
        self.answers = []  # (answered at, whether it leads, what it said)

    def run(self):
        while not self.ended.is_set():
            reply = self.agent.request(timeout=20, command="is-leader", election="demo") or {}
            self.answers.append((now_ns(), bool(reply.get("leader")), reply))
            status = self.agent.election_status()
            # The supervisor may not have run yet. A state without a lease claims nothing.
            leads = status.get("state") in ("promoting", "active") and (status.get("lease_ms") or 0) > 0
            self.answers.append((now_ns(), leads, status))
            self.ended.wait(0.005)

    def stop(self):
        self.ended.set()
        self.join()

    def yes_after(self, at_ns):
        return [answer for answered_ns, leads, answer in self.answers if leads and answered_ns > at_ns]

    def count_after(self, at_ns):
        return len([None for answered_ns, _, _ in self.answers if answered_ns > at_ns])


class Pauses(PairCase):
    def freeze(self, *pids):
        """Stops them now; continued, at the latest, at the end."""
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
            self.addCleanup(self.go, pid)
        return now_ns()

    def go(self, pid):
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            pass

    def test_supervisor(self):
        """
        The elector renews the lease meanwhile, so nobody takes over. When the supervisor goes on it has seen no proof
        for longer than its lease, so the first that it does is to leave office; only then the other one leads.
        """
        self.oracle.late_reasons = LATE
        a, b = self.start()
        at_ns = self.freeze(a.pid)
        holds_for(self.kept, 1.5 * self.session_timeout / 1000, "nobody's hooks run")
        self.assertEqual(b.election_status()["position"], 2)
        at_ns = now_ns()
        self.go(a.pid)
        self.wait_handed_over(a, b, at_ns, reason="pause")
        a.wait_queued(2, timeout=20)

    def test_elector(self):
        """It is replaced after a third of the lease, and the next one proves the lease in time: no hook runs."""
        a, b = self.start()
        elector = a.elector()
        at_ns = self.freeze(elector)
        wait_for(lambda: a.elector() not in (None, elector), self.session_timeout / 3000 + 2, "another elector")
        replaced_ms = (now_ns() - at_ns) / 1e6
        self.wait_proven(a)
        print(f"{self.id()}: replaced after {replaced_ms:.0f} ms", flush=True)
        self.assertFalse(os.path.exists(f"/proc/{elector}"))
        holds_for(self.kept, self.session_timeout / 1000, "nobody's hooks run")
        self.check_kept(a)
        self.assertEqual(b.election_status()["position"], 2)

    def test_every_elector(self):
        """The next ones hang as well: the supervisor's clock ends the term in time."""
        a, b = self.start()
        elector = a.elector()
        plague = Plague(a, signal.SIGSTOP)
        self.addCleanup(plague.stop)
        at_ns = now_ns()
        plague.start()
        self.wait_handed_over(a, b, at_ns)
        self.assertGreater(len(plague.hit), 1)
        plague.stop()
        a.wait_queued(2, timeout=20)
        self.assertFalse(os.path.exists(f"/proc/{elector}"))

    def check_both(self, first_hook, elector_first=False, **options):
        """
        The exception of S1: nobody can act, another one leads, and then both go on. What is left of the promises: the
        term ends at once, before anything is believed that was said meanwhile; nobody is told that it leads.
        """
        self.oracle.promises = ("S2", "S3", "DEADLINE", "CLOSED")
        self.oracle.late_reasons = LATE
        a, b = self.start(**options)
        elector = a.elector()
        asker = Asker(a)
        at_ns = self.freeze(a.pid, elector)
        asker.start()
        try:
            gain = self.timeline.wait("end", "gain", b.member, after_ns=at_ns, timeout=20)
            self.assertGreater(gain.token, int(self.token))
            with socket.socket(socket.AF_UNIX) as waiting:
                waiting.connect(a.control)
                waiting.sendall(b'{"command":"is-leader","election":"demo"}\n')
                back_ns = now_ns()
                if elector_first:
                    # It learns of everything, and says so to a supervisor that does not listen yet.
                    self.go(elector)
                    a.wait_log("the ZooKeeper session has expired")
                    waiting.settimeout(10)
                    self.assertFalse(json.loads(waiting.makefile("rb").readline())["leader"])
                    back_ns = now_ns()
                self.go(a.pid)
                self.go(elector)
            first = self.timeline.wait("start", first_hook, a.member, after_ns=at_ns)
            self.assertEqual(self.timeline.events("start", member=a.member, after_ns=at_ns)[0], first)
            self.assertEqual((first.reason, first.planned, first.token), ("pause", False, int(self.token)))
            late_ms = (first.at_ns - back_ns) / 1e6
            print(f"{self.id()}: {first_hook} {late_ms:.1f} ms after the end of the pause", flush=True)
            a.wait_queued(2, timeout=20)
            wait_for(lambda: asker.count_after(back_ns) > 20, 10, "answers")
        finally:
            self.go(elector)
            asker.stop()
        self.assertEqual(asker.yes_after(gain.at_ns), [])
        self.assertEqual((a.state(), b.state()), ("standby", "active"))
        self.assertEqual(len(self.timeline.events("start", "gain", after_ns=at_ns)), 1)
        self.assertEqual(len(self.timeline.events("start", first_hook, a.member, after_ns=at_ns)), 1)

    def test_both(self):
        self.check_both("lose")

    def test_both_elector_first(self):
        self.check_both("lose", elector_first=True)

    def test_both_with_fence(self):
        """The time of the lose hook is over: the latest point passed is the fence hook's."""
        self.check_both(
            "fence", elector_first=True, session_timeout=5000, hooks=("gain", "lose", "fence"),
            hook_options={"lose_timeout": 500, "fence_timeout": 500},
        )  # fmt: skip


if __name__ == "__main__":
    unittest.main()
