"""An elector that hangs, or cannot begin, is replaced; a supervisor that was paused itself judges nobody."""

import os
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402
from tenuretest.plague import Plague, send  # noqa: E402

T_MS = 5000
TICK_MS = 250
LIMIT_MS = T_MS / 3  # how long an elector may say nothing


class ElectorHangs(LiveCase):
    tick_time = TICK_MS

    def start(self, members="ab", **options):
        self.server = self.start_server()
        agents = self.start_queue(members, self.server, session_timeout=T_MS, tick_time=TICK_MS, **options)
        self.before = self.facts(agents)
        return agents

    def facts(self, agents):
        """What a fault that costs nothing leaves as it is."""
        return self.hook_runs(), [(a.state(), a.election_status().get("token")) for a in agents]

    def plague(self, agent, number, **options):
        plague = Plague(agent, number, **options)
        self.addCleanup(plague.stop)
        plague.start()
        return plague

    def freeze(self, pid):
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(send, pid, signal.SIGCONT)
        return now_ns()

    def proven_since(self, agent, at_ns):
        asked_ns = now_ns()
        left_ms = agent.election_status().get("lease_ms")
        return left_ms and asked_ns + (left_ms - T_MS) * 1_000_000 > at_ns

    def wait_proven(self, agent, at_ns, timeout=10):
        wait_for(lambda: self.proven_since(agent, at_ns), timeout, f"a lease of {agent.member} that is proven anew")
        return (now_ns() - at_ns) / 1e6

    def test_leader(self):
        """Stopped under a leader: killed after a third of the lease, replaced; no hook, same token."""
        a, b = self.start()
        old = a.elector()
        at_ns = self.freeze(old)
        wait_for(lambda: a.elector() not in (None, old), LIMIT_MS / 1000 + 1, "another elector")
        replaced_ms = (now_ns() - at_ns) / 1e6
        took_ms = self.wait_proven(a, at_ns)
        print(f"hung leader: replaced after {replaced_ms:.0f} ms, proven again after {took_ms:.0f} ms", flush=True)
        self.assertGreater(replaced_ms, LIMIT_MS * 0.7)
        self.assertIn("it hangs", a.log())
        self.assertFalse(os.path.exists(f"/proc/{old}"))
        self.assertEqual(self.facts((a, b)), self.before)

    def test_standby(self):
        """Stopped under a standby, that says little: replaced likewise, at its place in the queue."""
        a, b = self.start()
        old = b.elector()
        self.freeze(old)
        wait_for(lambda: b.elector() not in (None, old), LIMIT_MS / 1000 + 1, "another elector")
        b.wait_queued(2)
        self.assertEqual(self.facts((a, b)), self.before)

    def test_living_one(self):
        """Nobody is taken for hung who has nothing to say: a third in the queue, and without servers at all."""
        a, b, c = self.start("abc")
        electors = [agent.elector() for agent in (a, b, c)]
        lonely = self.start_agent("d", "127.0.0.1:1", session_timeout=T_MS, tick_time=TICK_MS)
        elector = wait_for(lonely.elector, 5, "an elector")
        lonely.wait_state("standby")
        holds_for(lambda: lonely.elector() == elector, 3 * LIMIT_MS / 1000, "an elector without servers lives")
        self.assertEqual([agent.elector() for agent in (a, b, c)], electors)
        self.assertEqual(self.facts((a, b, c))[1], self.before[1])

    def test_every_new_one_hangs(self):
        """The schedule ends the term in time; the member comes back when the plague is over."""
        a, b = self.start()
        plague = self.plague(a, signal.SIGSTOP)
        at_ns = now_ns()
        gain = self.timeline.wait("start", "gain", "b", timeout=20)
        lose = self.timeline.events("start", "lose", "a", after_ns=at_ns)
        self.assertEqual([(event.reason, event.planned) for event in lose], [("lease", False)])
        self.assertGreater(gain.token, lose[0].token)
        self.assertGreater(len(plague.hit), 1)
        plague.stop()
        a.wait_queued(2, timeout=20)

    def test_every_new_one_crashes(self):
        """Starts are spaced out, and by the end of the schedule the role is demoted as usual."""
        a, b = self.start()
        holds_for(lambda: self.facts((a, b)) == self.before, 1.1, "it serves for a second")
        plague = self.plague(a, signal.SIGKILL)
        at_ns = now_ns()
        gain = self.timeline.wait("start", "gain", "b", timeout=20)
        lose = self.timeline.events("start", "lose", "a", after_ns=at_ns)
        self.assertEqual([(event.reason, event.planned) for event in lose], [("lease", False)])
        self.assertGreater(gain.token, lose[0].token)
        starts = list(plague.hit.values())
        self.assertLess(len(starts), 10, "they spin")
        gaps = [(after - before) / 1e6 for before, after in zip(starts, starts[1:])]
        # The first one had served, so that the second came at once; then 100 ms, doubling.
        self.assertLess(gaps[0], 90, gaps)
        for i, gap in enumerate(gaps[1:]):
            self.assertGreater(gap, 0.9 * 100 * 2**i, gaps)
        self.assertGreaterEqual(len(gaps), 4)
        plague.stop()
        a.wait_queued(2, timeout=20)

    def test_slow_machine(self):
        """Where none begins in time the time is doubled, until one has begun."""
        server = self.start_server()
        a = self.agent("a", server, session_timeout=T_MS, tick_time=TICK_MS)
        a.write_config()
        plague = Plague(a, signal.SIGSTOP, forth_ms=2500)
        self.addCleanup(plague.stop)
        a.start()
        plague.start()
        a.wait_state("active", timeout=20)
        self.assertIn("it does not begin", a.log())
        self.assertLess(a.log().count("elector started"), 5)
        plague.stop()

    def test_paused_supervisor(self):
        """It reads what has been said to it before it judges."""
        a, b = self.start()
        elector = a.elector()
        self.freeze(a.pid)
        holds_for(lambda: True, 1.2 * LIMIT_MS / 1000, "a pause")
        os.kill(a.pid, signal.SIGCONT)
        at_ns = now_ns()
        self.wait_proven(a, at_ns)
        holds_for(lambda: a.elector() == elector, 1, "the elector lives")
        self.assertEqual(self.facts((a, b)), self.before)
        self.assertNotIn("killing the elector", a.log())

    def test_paused_both(self):
        """After a pause of all of it, the elector that wakes up last gets the time to speak."""
        a, b = self.start()
        elector = a.elector()
        self.freeze(a.pid)
        self.freeze(elector)
        holds_for(lambda: True, 1.1 * LIMIT_MS / 1000, "a pause")
        os.kill(a.pid, signal.SIGCONT)
        holds_for(lambda: a.elector() == elector, 0.2, "the elector lives")
        os.kill(elector, signal.SIGCONT)
        at_ns = now_ns()
        self.wait_proven(a, at_ns)
        self.assertEqual(a.elector(), elector)
        self.assertEqual(self.facts((a, b)), self.before)
        self.assertNotIn("killing the elector", a.log())


@unittest.skipIf(os.geteuid() != 0, "needs root")
class NamesHang(LiveCase):
    """The databases of a host, one after the other, become FIFOs that nobody writes to: to read them is to hang."""

    tick_time = TICK_MS

    def start(self, servers=None):
        server = self.start_server()
        self.hosts = os.path.join(self.directory, "hosts")
        with open(self.hosts, "w", encoding="ascii") as file:
            file.write("127.0.0.1 localhost\n127.0.0.1 zk.example\n")
        agents = []
        for member in "ab":
            a = self.agent(
                member, (servers or "{}:{}").format("127.0.0.1", server.port), session_timeout=T_MS, tick_time=TICK_MS,
                election={"user": "nobody"},
            )  # fmt: skip
            a.wrapper = ("unshare", "-m", "sh", "-c", f"mount --bind {self.hosts} /etc/hosts && exec \"$@\"", "sh")
            os.chmod(a.directory, 0o777)
            a.start()
            a.wait_state("active" if member == "a" else "standby")
            agents.append(a)
        os.chmod(self.timeline.path, 0o666)
        agents[1].wait_queued(2)
        return agents

    def inside(self, agent, *words, check=True):
        return subprocess.run(["nsenter", "-t", str(agent.pid), "-m", *words], check=check, stdout=subprocess.DEVNULL)

    def hang(self, agent, *files):
        fifo = os.path.join(self.directory, "fifo")
        if not os.path.exists(fifo):
            os.mkfifo(fifo)
        for file in files:
            self.inside(agent, "mount", "--bind", fifo, file)
        return fifo

    def test_users(self):
        """A new elector asks for no user and no group; nor do hooks, nor who else acts while the lease runs."""
        a, b = self.start()
        runs, token = self.hook_runs(), a.election_status()["token"]
        self.hang(a, "/etc/passwd", "/etc/group")
        found = self.inside(a, "timeout", "1", "getent", "passwd", "nobody", check=False)
        self.assertEqual(found.returncode, 124, "the name service is to hang")
        old = a.elector()
        os.kill(old, signal.SIGKILL)
        wait_for(lambda: a.election_status().get("position") == 1, 2, "another elector at its place")
        self.assertEqual((self.hook_runs(), a.election_status()["token"]), (runs, token))
        with open(f"/proc/{a.elector()}/status", encoding="ascii") as file:
            self.assertNotIn("Uid:\t0", file.read())
        self.assertEqual(a.ctl("resign").returncode, 0)
        b.wait_state("active")
        a.wait_queued(2)

    def test_servers(self):
        """
        The names of servers hang: a leader that is connected notices nothing; a new elector waits for them alone. It
        answers its clients, is not taken for hung, and is back as soon as a name resolves.
        """
        a, b = self.start("zk.example:{1}")
        runs, token = self.hook_runs(), a.election_status()["token"]
        fifo = self.hang(a, "/etc/hosts")
        holds_for(lambda: self.hook_runs() == runs, 1.5, "no hook runs")
        self.assertEqual(a.election_status()["token"], token)
        at_ns = now_ns()
        old = a.elector()
        os.kill(old, signal.SIGKILL)
        new = wait_for(lambda: a.elector() if a.elector() != old else None, 2, "another elector")
        self.timeline.wait("start", "gain", "b", timeout=20)
        lose = self.timeline.events("start", "lose", "a", after_ns=at_ns)
        self.assertEqual([(event.reason, event.planned) for event in lose], [("lease", False)])
        asked_ns = now_ns()
        self.assertEqual(a.ctl("status").returncode, 0)
        self.assertLess((now_ns() - asked_ns) / 1e9, 1)
        self.assertEqual(a.elector(), new)
        self.inside(a, "umount", "-l", "/etc/hosts")
        with open(fifo, "wb"):
            pass  # whoever hangs reads an empty file
        a.wait_queued(2, timeout=20)
        self.assertEqual(a.elector(), new)


if __name__ == "__main__":
    unittest.main()
