"""
The supervisor alone is killed, and started again as a service manager does: what becomes of its term.
TENURE_TEST_SEED picks the moments; TENURE_TEST_LONG makes it fifty rounds.
"""

import os
import random
import re
import statistics
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402
from tenuretest.oracle import PROMISES  # noqa: E402

SEED = int(os.environ.get("TENURE_TEST_SEED") or 20)
ROUNDS = 50 if os.environ.get("TENURE_TEST_LONG") else 5
T_MS = 4000
TICK_MS = 250
SOON_S = 2.5  # well below the lease: nobody may wait for the old session's end


class SupervisorKilled(LiveCase):
    tick_time = TICK_MS

    def setUp(self):
        print(f"seed {SEED}: TENURE_TEST_SEED={SEED} runs it again", flush=True)
        self.random = random.Random(SEED)
        self.server = self.start_server()

    def pair(self, **options):
        return self.start_queue("ab", self.server, **({"session_timeout": T_MS, "tick_time": TICK_MS} | options))

    def state_file(self, agent, name):
        return os.path.join(agent.top["state_dir"], name)

    def warnings(self, agent):
        return re.findall(r"a file of state_dir is ignored.*", agent.log())

    def wait_proven(self, agent):
        """Waits until the lease is proven anew; its status."""
        return wait_for(
            lambda: (status := agent.election_status()).get("lease_ms") and status.get("position") and status,
            SOON_S, "a lease",
        )  # fmt: skip

    def lost_first(self, agent, after_ns, token):
        """The first hook after AFTER_NS is a lose that ends the term of TOKEN; its end."""
        start = self.timeline.wait("start", "lose", agent.member, after_ns=after_ns)
        first = [event for event in self.timeline.events("start", after_ns=after_ns) if event.member == agent.member][0]
        self.assertEqual((first.hook, first.reason, first.token), ("lose", "restart", int(token)))
        return self.timeline.wait("end", "lose", agent.member, after_ns=start.at_ns)

    # The term goes on

    def test_adopted(self):
        """Restarted within the lease: same token, no hook, same place; and how long until the lease is proven again."""
        a, b = self.pair()
        token, runs, took_ms = a.election_status()["token"], self.hook_runs(), []
        for _ in range(ROUNDS):
            time.sleep(self.random.uniform(0, 0.3))
            killed_ns = a.kill_supervisor()
            a.start()
            a.wait_state("active", timeout=SOON_S)
            status = self.wait_proven(a)
            took_ms.append((now_ns() - killed_ns) / 1e6)
            self.assertEqual((status["state"], status["token"], status["position"]), ("active", token, 1))
            self.assertEqual(b.state(), "standby")
        self.assertEqual(self.hook_runs(), runs)
        print(f"adopted {ROUNDS} times: until the lease is proven again median "
              f"{statistics.median(took_ms):.0f} ms, most {max(took_ms):.0f} ms", flush=True)  # fmt: skip

    def test_standby(self):
        """A standby that is restarted is back behind the leader well before its old session would have ended."""
        a, b = self.pair()
        client = self.client(self.server)
        gains = len(self.timeline.events("start", "gain"))
        for _ in range(ROUNDS):
            b.kill_supervisor()
            b.start()
            b.wait_queued(2, timeout=SOON_S)
            self.wait_candidates(client, 2, timeout=SOON_S)
        self.assertEqual(a.state(), "active")
        self.assertEqual(len(self.timeline.events("start", "gain")), gains)

    def test_adopted_then_leaves(self):
        """A term that was adopted ends as any other: with its token, cleanly, and the next leader follows at once."""
        a, b = self.pair()
        token = a.election_status()["token"]
        a.kill_supervisor()
        a.start()
        a.wait_state("active", timeout=SOON_S)
        self.wait_proven(a)
        at_ns = now_ns()
        self.assertEqual(a.ctl("resign").returncode, 0)
        lose = self.timeline.wait("start", "lose", "a", after_ns=at_ns)
        self.assertEqual((lose.token, lose.reason), (int(token), "resign"))
        gain = self.timeline.wait("start", "gain", "b", after_ns=at_ns, timeout=SOON_S)
        self.assertEqual(gain.fields["previous_clean"], "yes")

    def test_cut_off_meanwhile(self):
        """Adopted while cut off from the ensemble, the term ends by the deadline that the dead supervisor knew."""
        proxy = self.start_proxy(self.server)
        a = self.start_agent("a", proxy, session_timeout=T_MS, tick_time=TICK_MS)
        a.wait_state("active")
        self.wait_proven(a)
        at_ns = now_ns()
        proxy.stall()
        a.kill_supervisor()
        a.start()
        lose = self.timeline.wait("start", "lose", "a", after_ns=at_ns)
        self.assertEqual(lose.reason, "lease")
        self.assertLess(lose.deadline_ns, at_ns + T_MS * 1_000_000)
        self.timeline.wait("end", "lose", "a", after_ns=at_ns)
        proxy.resume()

    # Lose first

    def test_during_gain(self):
        """Killed while gain runs: the hook and its children are dead before lose runs, and b need not wait for T."""
        a, b = self.agent("a", self.server, session_timeout=T_MS), self.agent("b", self.server, session_timeout=T_MS)
        a.behave("gain", "sleep=20000 fork-grandchild")
        a.start()
        gain = self.timeline.wait("start", "gain", "a")
        child = self.timeline.wait("grandchild", "gain", "a")
        b.start().wait_queued(2)
        killed_ns = a.kill_supervisor()
        a.behave("gain", "")
        a.start()
        lose = self.lost_first(a, killed_ns, gain.token)
        for pid in (gain.pid, child.pid):
            self.assertFalse(is_alive(pid), "what the dead supervisor has started")
        self.assertIn("ended what an earlier agent had left running", a.log())
        other = self.timeline.wait("start", "gain", "b", after_ns=lose.at_ns, timeout=SOON_S)
        self.assertEqual(other.fields["previous_clean"], "yes")
        a.wait_queued(2, timeout=SOON_S)

    def test_during_lose(self):
        """Killed while lose runs: it runs again, for the same token; again when that one is cut short as well."""
        a, b = self.pair()
        token = a.election_status()["token"]
        a.behave("lose", "sleep=20000")
        at_ns = now_ns()
        a.request(timeout=0.1, command="resign")
        self.timeline.wait("start", "lose", "a", after_ns=at_ns)
        for _ in range(2):
            killed_ns = a.kill_supervisor()
            a.start()
            start = self.timeline.wait("start", "lose", "a", after_ns=killed_ns)
            self.assertEqual((start.reason, start.token), ("restart", int(token)))
        killed_ns = a.kill_supervisor()
        a.behave("lose", "")
        a.start()
        lose = self.lost_first(a, killed_ns, token)
        gain = self.timeline.wait("start", "gain", "b", after_ns=lose.at_ns, timeout=SOON_S)
        self.assertEqual(gain.fields["previous_clean"], "yes")

    def test_slow_lose(self):
        """The lose hook takes longer than the session: the new elector keeps it alive, and nobody takes office before."""
        a, b = self.pair(session_timeout=2000, hook_options={"handoff_timeout": 10000})
        token = a.election_status()["token"]
        a.behave("gain", "sleep=20000")
        a.request(timeout=0.1, command="resign", force=True)
        b.wait_state("active")
        a.wait_queued(2)
        b.ctl("resign")
        gain = self.timeline.wait("start", "gain", "a", count=2)
        self.assertGreater(gain.token, int(token))
        b.wait_queued(2)
        a.behave("lose", "sleep=4500")
        killed_ns = a.kill_supervisor()
        a.start()
        lose = self.lost_first(a, killed_ns, gain.token)
        other = self.timeline.wait("start", "gain", "b", after_ns=killed_ns, timeout=SOON_S)
        self.assertGreater(other.at_ns, lose.at_ns)
        a.behave("gain", "")
        a.behave("lose", "")

    def test_held_back_past_the_lease(self):
        """Nobody restarts it for longer than the lease: the orphan holds the place; then lose comes first."""
        a, b = self.pair()
        token = a.election_status()["token"]
        killed_ns = a.kill_supervisor()
        holds_for(lambda: b.state() == "standby", T_MS / 1000 * 1.5, "the orphaned elector keeps others away")
        a.start()
        lose = self.lost_first(a, killed_ns, token)
        gain = self.timeline.wait("start", "gain", "b", after_ns=killed_ns, timeout=SOON_S)
        self.assertGreater(gain.at_ns, lose.at_ns)
        a.wait_queued(2, timeout=SOON_S)

    def test_held_back_past_orphan_limit(self):
        """Nobody restarts it for so long that the orphan has left and another leads: lose comes first all the same."""
        a, b = self.pair(top={"orphan_limit": 500})
        token = a.election_status()["token"]
        killed_ns = a.kill_supervisor()
        self.timeline.mark_killed("a")  # promised only within orphan_limit
        b.wait_state("active", timeout=T_MS / 1000 * 2 + 2)
        a.start()
        self.lost_first(a, killed_ns, token)
        a.wait_queued(2, timeout=10)
        self.assertEqual(b.state(), "active")

    # State files that cannot be used

    def check_ignored(self, spoil, warnings=1):
        """SPOIL has changed the files of a dead leader: lose runs first, and nobody takes office before it has."""
        a, b = self.pair(session_timeout=2000)
        self.oracle.promises = tuple(promise for promise in PROMISES if promise != "S2")  # the token is forgotten
        token = int(a.election_status()["token"])
        killed_ns = a.kill_supervisor()
        spoil(a)
        a.behave("lose", "sleep=3000")
        a.start()
        lose = self.timeline.wait("end", "lose", "a", after_ns=killed_ns, timeout=15)
        gain = self.timeline.wait("start", "gain", "b", after_ns=killed_ns, timeout=15)
        self.assertGreater(gain.at_ns, lose.at_ns)
        self.assertGreater(gain.token, token)
        self.assertEqual(len(self.warnings(a)), warnings, self.warnings(a))
        a.behave("lose", "")
        a.wait_queued(2, timeout=15)

    def edit(self, name, change):
        def spoil(agent):
            path = self.state_file(agent, name)
            with open(path, "rb") as file:
                text = file.read()
            with open(path, "wb") as file:
                file.write(change(text))
        return spoil

    def test_term_truncated(self):
        self.check_ignored(self.edit("term.demo", lambda text: text[: len(text) // 2]))

    def test_term_changed(self):
        """One digit, which only the checksum can tell."""
        self.check_ignored(self.edit("term.demo", lambda text: re.sub(rb"role.state \d", b"role.state 8", text)))

    def test_session_empty(self):
        self.check_ignored(self.edit("session", lambda text: b""))

    def test_session_garbled(self):
        self.check_ignored(self.edit("session", lambda text: text.replace(b"session.id ", b"session.id f")))

    def test_term_gone(self):
        """As when it could not be written: the session is not taken up without knowing what rests on it."""
        self.check_ignored(lambda agent: os.unlink(self.state_file(agent, "term.demo")), warnings=0)

    def test_term_of_others(self):
        """A file that others could have written says nothing."""
        self.check_ignored(lambda agent: os.chmod(self.state_file(agent, "term.demo"), 0o666))

    def test_term_is_a_link(self):
        def spoil(agent):
            path = self.state_file(agent, "term.demo")
            real = os.path.join(os.path.dirname(path), "real")
            os.rename(path, real)
            os.symlink(real, path)
        self.check_ignored(spoil)

    def test_other_boot(self):
        """Written before a boot: no session, no term, and one warning. (Both files, their checksums right.)"""
        def spoil(agent):
            for name in ("session", "term.demo"):
                self.edit(name, lambda text: seal(re.sub(rb"boot \S+", b"boot " + b"0" * 36, text)))(agent)
        self.check_ignored(spoil)

    def test_election_changed(self):
        """Another address in the configuration: the term is not that election's any more."""
        a, b = self.pair()
        token = a.election_status()["token"]
        killed_ns = a.kill_supervisor()
        a.election["address"] = "elsewhere:5432"
        a.start()
        lose = self.lost_first(a, killed_ns, token)
        self.timeline.wait("start", "gain", "b", after_ns=lose.at_ns, timeout=SOON_S)

    def test_election_removed(self):
        """Said as an error: nobody is there to put its service out of office."""
        a = self.start_agent("a", self.server, elections=("one", "two"), session_timeout=T_MS)
        for name in a.elections:
            a.wait_state("active", election=name)
        killed_ns = a.kill_supervisor()
        a.elections = ["one"]
        a.start()
        a.wait_log("an election that is no longer configured may be in office")
        self.timeline.wait("start", "lose", "a", after_ns=killed_ns)
        self.timeline.mark_killed("a")
        a.wait_state("active", timeout=15)

    def test_clean_stop_leaves_nothing(self):
        a, _ = self.pair()
        self.assertEqual(a.stop(), 0)
        self.assertEqual([name for name in os.listdir(self.state_file(a, "")) if "term" in name or "session" in name], [])

    def test_modes(self):
        """The session's password is in there: for the owner's eyes alone."""
        a, _ = self.pair()
        for name in ("session", "term.demo"):
            self.assertEqual(os.stat(self.state_file(a, name)).st_mode & 0o777, 0o600, name)


def is_alive(pid):
    """Whether it runs: whoever reaps the dead may take his time."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def seal(text):
    """TEXT with the checksum that belongs to it: FNV-1a, 64 bit."""
    body = text[: text.rindex(b"checksum ")]
    digest = 0xCBF29CE484222325
    for byte in body:
        digest = ((digest ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return body + b"checksum %016x\n" % digest


if __name__ == "__main__":
    unittest.main()
