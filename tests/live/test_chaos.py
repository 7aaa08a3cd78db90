"""Three agents under random faults. The seed is printed and taken from TENURE_TEST_SEED; TENURE_TEST_LONG=1 runs long."""

import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, Timeline, now_ns, sanitizer, wait_for  # noqa: E402

SEED = int(os.environ.get("TENURE_TEST_SEED") or 20)
LONG = bool(os.environ.get("TENURE_TEST_LONG"))
CALM_S = 30  # in which there must be a leader once the faults have ended
T_MS = 2500
MEMBERS = "abc"
WORKERS = 3
# Shorter than what a demotion leaves of its time: a supervisor that sleeps past its deadline is outside the promises.
NAP_S = 0.25
ANSWER_LAG_NS = 100_000_000  # from the start of a lose hook until the elector has heard of it
LOG_RATE_LIMIT = 1000  # bytes a second of one agent's log: a tenth of it is usual
CPU_LIMIT = 0.2  # of its lifetime: whatever spins takes far more
PSS_GROWTH_KB = 1024  # of a process, beyond what it had when it was young


class Asker(threading.Thread):
    """Asks every agent all the time whether it leads, and keeps each yes."""

    def __init__(self, agents):
        super().__init__(daemon=True)
        self.agents = agents
        self.ended = threading.Event()
        self.yes = []  # (asked at, answered at, member, token)

    def run(self):
        while not self.ended.is_set():
            for agent in self.agents:
                asked_ns = now_ns()
                reply = agent.request(timeout=0.5, command="is-leader", election="demo")
                if reply and reply.get("leader"):
                    self.yes.append((asked_ns, now_ns(), agent.member, int(reply["token"])))
            self.ended.wait(0.02)

    def stop(self):
        self.ended.set()
        self.join()

    def faults(self, timeline):
        """Every yes that cannot have been true at any moment between question and answer."""
        found = []
        for asked_ns, answered_ns, member, token in self.yes:
            gained = timeline.events("end", "gain", member)
            lost = timeline.events("start", "lose", member)
            begins = [event.at_ns for event in gained if event.token == token]
            ends = [event.at_ns for event in lost if event.token == token]
            if not begins or answered_ns < begins[0]:
                found.append(f"{answered_ns}: {member} says that it leads with {token} before it does")
            elif ends and asked_ns > ends[0] + ANSWER_LAG_NS:
                late_ms = (asked_ns - ends[0]) / 1e6
                found.append(f"{asked_ns}: {member} says that it leads with {token} {late_ms:.0f} ms after its end")
        return found


class AskerFaults(unittest.TestCase):
    """The check itself, with planted answers."""

    def faults(self, *yes):
        with tempfile.TemporaryDirectory() as directory:
            timeline = Timeline(os.path.join(directory, "timeline"))
            with open(timeline.path, "w", encoding="ascii") as file:
                for at_s, kind, hook in ((1, "start", "gain"), (2, "end", "gain"), (9, "start", "lose")):
                    file.write(f"{at_s}000000000 {kind} hook={hook} election=demo member=a pid=7 token=5 exit=0\n")
            asker = Asker([])
            asker.yes = [(asked * 10**9, answered * 10**9, "a", token) for asked, answered, token in yes]
            return len(asker.faults(timeline))

    def test_true_answers(self):
        self.assertEqual(self.faults((1, 3, 5), (4, 5, 5), (8, 11, 5)), 0)

    def test_false_answers(self):
        """Before the gain hook has ended, after the lose hook has begun, with a token of nobody."""
        self.assertEqual([self.faults((0, 1, 5)), self.faults((10, 11, 5)), self.faults((4, 5, 6))], [1, 1, 1])


class Chaos(LiveCase):
    members = MEMBERS
    run_s = 240 if LONG else 25

    def setUp(self):
        print(f"seed {SEED}: TENURE_TEST_SEED={SEED} runs it again", flush=True)
        self.random = random.Random(SEED)
        self.steps = []
        self.broken = []
        self.locks = {}

    def make(self, servers):
        """Each agent reaches each server through a proxy of its own."""
        self.links = {}
        for member in self.members:
            self.links[member] = [self.start_proxy(server) for server in servers]
            self.agent(
                member, ",".join(link.address for link in self.links[member]), session_timeout=T_MS,
                hooks=("gain", "lose", "fence"), hook_options={"lose_timeout": 500, "fence_timeout": 400},
            )  # fmt: skip
        for agent in self.agents:
            self.start_again(agent)
        wait_for(lambda: any(agent.state() == "active" for agent in self.agents), 15, "a leader")

    # Faults: each does its harm, and undoes it, in a bounded time.

    def nap(self, longest_s):
        time.sleep(self.random.uniform(0, longest_s))

    def freeze(self, pids, longest_s):
        for pid in pids:
            self.send(pid, signal.SIGSTOP)
        self.nap(longest_s)
        for pid in pids:
            self.send(pid, signal.SIGCONT)

    def send(self, pid, number):
        try:
            if pid is not None:
                os.kill(pid, number)
        except ProcessLookupError:
            pass

    def stall_links(self, agent):
        for link in self.links[agent.member]:
            link.stall(*self.random.choice((("up",), ("down",), ("up", "down"))))
        self.nap(1.3 * T_MS / 1000)
        self.heal(agent)

    def refuse_links(self, agent):
        for link in self.links[agent.member]:
            link.refuse()
        self.nap(1.3 * T_MS / 1000)
        self.heal(agent)

    def delay_links(self, agent):
        for link in self.links[agent.member]:
            link.delay(self.random.choice((0.02, 0.1, 0.4)))
        self.nap(T_MS / 1000)
        self.heal(agent)

    def cut_links(self, agent):
        for _ in range(self.random.randint(1, 4)):
            for link in self.links[agent.member]:
                link.cut()
            self.nap(0.5)

    def cut_messages(self, agent):
        for link in self.links[agent.member]:
            link.cut_after(self.random.randint(0, 400))
        self.nap(1.0)

    def heal(self, agent):
        for link in self.links[agent.member]:
            link.resume()
            if self.random.random() < 0.5:
                link.cut()

    def kill_elector(self, agent):
        self.send(agent.elector(), signal.SIGKILL)

    def freeze_elector(self, agent):
        self.freeze([agent.elector()], 1.3 * T_MS / 1000)

    def freeze_supervisor(self, agent):
        self.freeze([agent.pid], NAP_S)

    def freeze_both(self, agent):
        self.freeze([agent.pid, agent.elector()], NAP_S)

    def kill_agent(self, agent):
        agent.kill9()
        self.nap(T_MS / 1000)
        self.start_again(agent)

    def stop_agent(self, agent):
        self.assertEqual(agent.stop(), 0)
        self.nap(1.0)
        self.start_again(agent)

    def kill_supervisor(self, agent):
        agent.kill_supervisor()
        self.nap(self.random.choice((0.05, 0.3, 1.3 * T_MS / 1000)))
        self.start_again(agent)

    def restart_in_place(self, agent):
        agent.signal(signal.SIGUSR2)

    def start_again(self, agent):
        """Until it has an elector it is not set up for signals, and ends by them."""
        agent.start()
        wait_for(agent.children, 10, f"{agent.member} to be set up")

    def resign(self, agent):
        agent.request(timeout=1, command="resign", election="demo")

    def reload(self, agent):
        agent.signal(signal.SIGHUP)

    def change_hooks(self, agent):
        agent.behave("gain", self.random.choice(("", "sleep=50", "sleep=400", "exit=1", "exit=75", "sleep=300 exit=1")))
        agent.behave("lose", self.random.choice(("", "sleep=50", "sleep=250", "exit=1", "hang ignore-term")))

    def restart_server(self, server):
        server.kill()
        self.nap(0.5 * T_MS / 1000)
        server.start()

    def freeze_server(self, server):
        self.freeze([server.process.pid], 0.8 * T_MS / 1000)

    def pick_agent(self):
        """The one in office every other time."""
        leaders = [agent for agent in self.agents if agent.process and agent.state() == "active"]
        return self.random.choice(leaders if leaders and self.random.random() < 0.5 else self.agents)

    def work(self, end):
        """One fault after the other; no two at once on one agent, nor two servers at once."""
        on_agents = (
            self.stall_links, self.refuse_links, self.delay_links, self.cut_links, self.cut_messages,
            self.kill_elector, self.kill_elector, self.freeze_elector, self.freeze_supervisor, self.freeze_both,
            self.kill_agent, self.kill_supervisor, self.restart_in_place, self.stop_agent, self.resign, self.resign, self.reload, self.change_hooks,
        )  # fmt: skip
        on_servers = (self.restart_server, self.freeze_server)
        try:
            while time.monotonic() < end and not self.broken:
                fault = self.random.choice(on_agents + on_servers)
                victim = self.random.choice(self.shaken) if fault in on_servers else self.pick_agent()
                with self.locks["servers" if fault in on_servers else victim]:
                    name = getattr(victim, "member", "") or getattr(victim, "port", "")
                    self.steps.append(f"{now_ns()} {fault.__name__} {name}")
                    fault(victim)
                self.nap(0.5)
        except BaseException as error:  # noqa: BLE001
            self.broken.append(error)

    # The end

    def cpu_share(self, pid):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks = os.sysconf("SC_CLK_TCK")
        age_s = now_ns() / 1e9 - int(fields[19]) / ticks
        return (int(fields[11]) + int(fields[12])) / ticks / max(age_s, 5)

    def calm(self):
        for agent in self.agents:
            for link in self.links[agent.member]:
                link.resume()
            agent.behave("gain", "")
            agent.behave("lose", "")
        states = lambda: sorted(agent.state() or "" for agent in self.agents)  # noqa: E731
        wanted = ["active"] + ["standby"] * (len(self.members) - 1)
        wait_for(lambda: states() == wanted, CALM_S, lambda: f"one leader; seen: {states()}")

    def check_leftovers(self, server):
        client = self.client(server)
        self.wait_candidates(client, len(self.members))
        members = lambda: len(client.get_children("/tenure/demo/members"))  # noqa: E731
        wait_for(lambda: members() == len(self.members), 10, lambda: f"a record for each member; seen: {members()}")
        for agent in self.agents:
            elector = wait_for(agent.elector, 5, "an elector")
            wait_for(lambda agent=agent: len(agent.children()) == 1, 3, f"only the elector below {agent.member}")
            for pid in (agent.pid, elector):
                self.assertLess(len(os.listdir(f"/proc/{pid}/fd")), 32, f"descriptors of {agent.member}")
                self.assertLess(self.cpu_share(pid), CPU_LIMIT, f"processor time of {agent.member}")
            self.assertLess(len(agent.log()), LOG_RATE_LIMIT * self.run_s, f"the log of {agent.member}")

    def shake(self, servers, shaken):
        self.make(servers)
        self.shaken = shaken
        self.locks = {each: threading.Lock() for each in ("servers", *self.agents)}
        asker = Asker(self.agents)
        asker.start()
        workers = [threading.Thread(target=self.work, args=(time.monotonic() + self.run_s,)) for _ in range(WORKERS)]
        try:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            if self.broken:
                raise self.broken[0]
            self.calm()
            self.check_leftovers(servers[0])
        except BaseException:
            print("\n".join(self.steps), flush=True)
            raise
        finally:
            asker.stop()
        self.assertEqual(asker.faults(self.timeline), [], "\n".join(self.steps))
        print(f"{len(self.steps)} faults, {len(self.timeline.events('start', 'gain'))} terms", flush=True)

    def test_one_server(self):
        """One server, whose sessions survive its restarts."""
        server = self.start_server()
        self.shake([server], [server])

    def test_ensemble(self):
        """Three servers, one of which at a time is restarted or frozen."""
        ensemble = self.start_ensemble()
        self.shake(ensemble.servers, ensemble.servers)


def pss_kb(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:"))


class Soak(Chaos):
    """Five agents on three servers; in the long form for ten minutes. Who has lived through it has not grown."""

    members = "abcde"
    run_s = 600 if LONG else 25
    test_one_server = None

    def holdings(self):
        """Of the two processes of each agent: descriptors and memory."""
        pids = [pid for agent in self.agents for pid in (agent.pid, agent.elector())]
        return max(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids), max(pss_kb(pid) for pid in pids)

    def make(self, servers):
        super().make(servers)
        for agent in self.agents:
            agent.wait_state("active", "standby", timeout=20)
        self.young = self.holdings()

    def check_leftovers(self, server):
        super().check_leftovers(server)
        old = self.holdings()
        print(f"descriptors {self.young[0]} then {old[0]}, memory {self.young[1]} kB then {old[1]} kB", flush=True)
        self.assertLessEqual(old[0], self.young[0] + 4, "descriptors")
        # A sanitizer keeps what was freed.
        if not sanitizer():
            self.assertLess(old[1], self.young[1] + PSS_GROWTH_KB, "memory")


class Frozen(LiveCase):
    """A whole agent that is stopped past its expiry: outside of S1, but it must find its way, and never claim to lead."""

    def test_past_expiry(self):
        self.oracle.promises = ("S2", "S3", "CLOSED")
        server = self.start_server()
        agents = self.start_queue(MEMBERS, server)
        rand = random.Random(SEED)
        for _ in range(3):
            victim = next(agent for agent in agents if agent.state() == "active")
            pids = [victim.pid, victim.elector()]
            at_ns = now_ns()
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            try:
                gain = self.timeline.wait("end", "gain", after_ns=at_ns)
                asked = socket.socket(socket.AF_UNIX)
                asked.connect(victim.control)
                asked.sendall(b'{"command":"is-leader","election":"demo"}\n')
            finally:
                rand.shuffle(pids)
                for pid in pids:
                    os.kill(pid, signal.SIGCONT)
            with asked:
                asked.settimeout(5)
                self.assertNotIn(b'"leader": true', asked.recv(4096).replace(b'":t', b'": t'))
            lose = self.timeline.wait("start", "lose", victim.member, after_ns=at_ns)
            self.assertEqual((lose.reason, lose.planned), ("pause", False))
            self.assertGreater(gain.token, lose.token)
            victim.wait_queued(3)


if __name__ == "__main__":
    unittest.main()
