"""
The scene of the promise: leaders are on a follower that is then cut off from the rest of the ensemble.

The follower goes on answering its clients until syncLimit ticks have passed, while the ensemble's leader counts the
sessions down. One cut serves several leases at once, each an election of its own.
"""

import os
import re
import subprocess
from dataclasses import dataclass

from tenuretest import FaultCase, now_ns, wait_for

HERE = os.path.dirname(os.path.realpath(__file__))
JARS = (
    "curator-recipes", "curator-framework", "curator-client", "zookeeper", "zookeeper-jute", "guava", "slf4j-api",
    "slf4j-simple", "netty-all", "snappy-java", "metrics-core", "commons-cli", "commons-io",
)  # fmt: skip
CLASSPATH = ":".join(f"/usr/share/java/{jar}.jar" for jar in JARS)
SILENCE = 0.2  # of T: after so long without an answer an elector tries another connection
_SPAWN_MS = 150  # what of a hook's limit is left for starting and ending its process
_JITTER_MS = 120  # by which a stall may last longer than told, until connections are made anew


@dataclass
class Plan:
    """A lease and its limits in ms: the hooks get all that the arithmetic leaves."""

    timeout: int  # T
    tick: int
    stall: float = 0  # part of T for which the agent's packets are held up before the cut; the hold window outlasts it
    fenced: bool = False  # lose hangs and is killed, and fence does the work
    ping_slack: int = 500
    heartbeat: int = 0  # 0: T/20

    def __post_init__(self):
        self.heartbeat = self.heartbeat or self.timeout // 20
        self.margin = max(self.timeout // 50, 250)
        self.stall_ms = int(self.stall * self.timeout)
        self.ride_out = self.stall_ms + _JITTER_MS + self.heartbeat if self.stall else self.timeout // 5
        self.unproven = self.tick // 2 + 2 * self.ping_slack + 3 * self.heartbeat
        self.hooks_ms = self.timeout - self.unproven - self.margin - self.ride_out
        # Less than a third of a second for each is a matter of how busy the machine is.
        self.fenced = self.fenced and self.hooks_ms >= 700
        self.fence_ms = self.hooks_ms * 2 // 5 if self.fenced else 0
        self.lose_ms = self.hooks_ms - self.fence_ms

    def options(self, election, extra_ms=0):
        """What an Agent takes. EXTRA_MS more for lose does not fit any more."""
        return {
            "elections": (election,),
            "hooks": ("gain", "lose", "fence") if self.fenced else ("gain", "lose"),
            "hook_options": {"lose_timeout": self.lose_ms + extra_ms}
            | ({"fence_timeout": self.fence_ms} if self.fenced else {}),
            "election": {"ride_out": self.ride_out},
            "zookeeper": {"heartbeat": self.heartbeat, "ping_slack": self.ping_slack},
            "session_timeout": self.timeout,
            "tick_time": self.tick,
        }

    def slow_down(self, agent):
        """From now on its demotion takes nearly all of its limits."""
        if self.fenced:
            agent.behave("lose", "hang ignore-term")
            agent.behave("fence", f"sleep={max(self.fence_ms - _SPAWN_MS, self.fence_ms // 2)}")
        else:
            agent.behave("lose", f"sleep={max(self.lose_ms - _SPAWN_MS, self.lose_ms // 2)}")


class Witness:
    """Candidates of another library, one for each T, that write down when they lead and when they have stopped."""

    def __init__(self, host, directory, name, command):
        self.name = name
        self.path = os.path.join(directory, name)
        with open(self.path, "wb") as out, open(self.path + ".log", "wb") as log:
            self.process = subprocess.Popen(
                [*host.wrap, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True
            )

    def at_ns(self, what, timeout_ms, after_ns=0):
        """When it first said so after AFTER_NS, None when it has not."""
        with open(self.path, encoding="ascii") as file:
            for line in file:
                at, said, whose = line.split() if line.endswith("\n") else (0, "", 0)
                if said == what and int(whose) == timeout_ms and int(at) > after_ns:
                    return int(at)
        return None

    def wait(self, what, timeout_ms, after_ns=0, timeout=30):
        what_for = lambda: self.failure(what, timeout_ms)  # noqa: E731
        return wait_for(lambda: self.at_ns(what, timeout_ms, after_ns), timeout, what_for)

    def failure(self, what, timeout_ms):
        with open(self.path + ".log", encoding="utf-8", errors="replace") as log:
            return f"{self.name} (T = {timeout_ms} ms) to say {what!r}; its log ends:\n{log.read()[-3000:]}"

    def end(self):
        self.process.kill()
        self.process.wait(10)


def kazoo_command(servers, path, timeouts):
    return ["/usr/bin/python3", "-B", os.path.join(HERE, "kazoo_leader.py"), servers, path, *map(str, timeouts)]


def curator_command(servers, path, timeouts):
    options = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
    program = os.path.join(HERE, "LatchLeader.java")
    return ["java", *options, "-cp", CLASSPATH, program, servers, path, *map(str, timeouts)]


LIBRARIES = {"kazoo": kazoo_command, "Curator": curator_command}


@dataclass
class Outcome:
    plan: Plan
    out_ms: float  # after the cut: the old leader is out of office
    in_ms: float  # the new one begins to take it
    early_ms: float  # by how much the old one was out before its lease's deadline
    in_office: bool  # when the cut came

    @property
    def gap_ms(self):
        return self.in_ms - self.out_ms

    def __str__(self):
        before = f"stall of {self.plan.stall:g} T, " if self.plan.stall else ""
        after = (", fence acts" if self.plan.fenced else "") + ("" if self.in_office else " (left before it)")
        return (
            f"T = {self.plan.timeout / 1000:g} s, {before}cut{after}: "
            f"out {self.out_ms:.0f} ms after the cut ({self.early_ms:.0f} ms before the deadline), "
            f"the other in at {self.in_ms:.0f} ms; margin {self.gap_ms:.0f} ms"
        )


class CutOff(FaultCase):
    runs = 0

    def check_refused(self, plan):
        """The limits are the longest ones: with a little more, the configuration is refused and a longer T named."""
        agent = self.agent("refused", self.ensemble.servers[0], host="a3", **plan.options("demo", extra_ms=1))
        self.agents.remove(agent)
        done = agent.run("-t")
        self.assertEqual(done.returncode, 78, done.stdout)
        smallest = re.search(r"smallest session_timeout that would do is (\d+)", done.stdout)
        self.assertGreater(int(smallest[1]), plan.timeout)

    def check_cut(self, plans, libraries=()):
        """One cut. Returns the outcomes, and for each of LIBRARIES its overlaps in ms by T."""
        CutOff.runs += 1
        follower, leader = self.follower(), self.leader()
        pairs = self.start_pairs(plans, follower, leader)
        witnesses = {name: self.start_witnesses(name, plans, follower, leader) for name in libraries}
        for plan, a, _ in pairs:
            plan.slow_down(a)
            self.wait_proven(plan, a)
        since_ns = now_ns()
        self.stall(pairs)
        at_ns = self.hosts.cut(self.host_of(follower), [self.host_of(server) for server in self.others(follower)])
        outcomes = [self.outcome(plan, a, b, since_ns, at_ns) for plan, a, b in pairs]
        overlaps = {name: self.overlaps(plans, *pair, at_ns) for name, pair in witnesses.items()}
        self.hosts.heal()
        self.leave(pairs)
        wait_for(lambda: len(self.ensemble.with_mode("follower")) == 2, 30, "the follower to be back")
        return outcomes, overlaps

    # Before the cut

    def start_pairs(self, plans, follower, leader):
        """(plan, leading agent on the follower, agent on the healthy side); with a stall, the first through a proxy."""
        pairs = []
        for plan in plans:
            name = f"{plan.timeout}-{self.runs}"
            server = self.start_proxy(follower, host="a1") if plan.stall else follower
            a = self.start_agent(f"a{name}", server, host="a1", **plan.options(f"demo{name}"))
            b = self.agent(f"b{name}", leader, host="a2", **plan.options(f"demo{name}"))
            a.proxy = server
            pairs.append((plan, a, b))
        for _, a, b in pairs:
            a.wait_state("active", timeout=30)
            b.start()
        for _, _, b in pairs:
            b.wait_queued(2, timeout=30)
        return pairs

    def start_witnesses(self, name, plans, follower, leader):
        """The leading one on the follower and the one that waits, on the healthy side."""
        path, timeouts = f"/{name.lower()}{self.runs}", [plan.timeout for plan in plans]
        started = []
        for place, (host, server) in enumerate((("a1", follower), ("a2", leader)), 1):
            command = LIBRARIES[name](server.address, path, timeouts)
            witness = Witness(self.hosts[host], self.directory, f"{name}-{host}-{self.runs}", command)
            self.addCleanup(witness.end)
            started.append(witness)
            for timeout in timeouts:
                wait_for(
                    lambda timeout=timeout: self.count(leader, f"{path}/{timeout}") == place,
                    30, lambda: witness.failure("leads" if place == 1 else "nothing, but queue", timeout),
                )  # fmt: skip
        for timeout in timeouts:
            started[0].wait("leads", timeout)
        return started

    def count(self, server, path):
        if not self.clients:
            self.client(server)
        return len(self.clients[0].get_children(path)) if self.clients[0].exists(path) else 0

    def wait_proven(self, plan, agent):
        least_ms = plan.timeout - plan.unproven
        wait_for(lambda: (agent.election_status()["lease_ms"] or 0) >= least_ms, 30, f"a lease of {least_ms} ms")

    def stall(self, pairs):
        """Holds the packets up, so that all stalls end together, and waits until the heartbeats have been answered."""
        stalled = sorted((pair for pair in pairs if pair[0].stall), key=lambda pair: -pair[0].stall_ms)
        if not stalled:
            return
        electors = [a.elector() for _, a, _ in stalled]
        end_ns = now_ns() + stalled[0][0].stall_ms * 1_000_000
        for plan, a, _ in stalled:
            begin_ns = end_ns - plan.stall_ms * 1_000_000
            wait_for(lambda begin_ns=begin_ns: now_ns() >= begin_ns, 60, "the next stall")
            a.proxy.stall()
        wait_for(lambda: now_ns() >= end_ns, 60, "the end of the stalls")
        for _, a, _ in stalled:
            a.proxy.resume()
        for _, a, _ in stalled:
            wait_for(lambda a=a: self.answered(a, end_ns), 5, f"a heartbeat's answer for {a.member}")
        if all(plan.stall < SILENCE for plan, _, _ in stalled):
            self.assertEqual([a.elector() for _, a, _ in stalled], electors, "another connection was made")

    def answered(self, agent, since_ns):
        """Whether a heartbeat has been committed since then."""
        age_ms = agent.status().get("zookeeper", {}).get("last_commit_age_ms")
        return age_ms is not None and now_ns() - age_ms * 1_000_000 > since_ns

    # After it

    def outcome(self, plan, a, b, since_ns, at_ns):
        gain = self.timeline.wait("start", "gain", b.member, after_ns=since_ns, timeout=plan.timeout / 1000 + 15)
        hook = "fence" if plan.fenced else "lose"
        ends = [event for event in self.timeline.events("end", hook, a.member, after_ns=since_ns) if event.ok]
        self.assertTrue(ends, f"{b.member} takes office before {hook} of {a.member} has ended: {gain}")
        lose = self.timeline.events("start", "lose", a.member, after_ns=since_ns)[0]
        self.assertEqual((lose.reason, lose.planned), ("lease", False))
        outcome = Outcome(
            plan=plan,
            out_ms=(ends[0].at_ns - at_ns) / 1e6,
            in_ms=(gain.at_ns - at_ns) / 1e6,
            early_ms=(lose.deadline_ns - ends[0].at_ns) / 1e6,
            in_office=lose.at_ns > at_ns,
        )
        print(outcome, flush=True)
        self.assertGreater(outcome.gap_ms, 0, "two in office")
        self.assertGreater(outcome.early_ms, 0, "out of office after the deadline")
        self.assertLess(outcome.in_ms, plan.timeout + 2 * plan.tick + 1000, "the other takes office too late")
        return outcome

    def overlaps(self, plans, old, new, at_ns):
        """T -> for how many ms both led; negative: a gap."""
        found = {}
        for plan in plans:
            stopped = old.wait("stopped", plan.timeout, at_ns)
            found[plan.timeout] = (stopped - new.wait("leads", plan.timeout, at_ns, 40)) / 1e6
        for witness in (old, new):
            witness.end()
        return found

    def leave(self, pairs):
        for _, a, b in pairs:
            for agent in (a, b):
                agent.behave("lose", "")
                agent.behave("fence", "")
                self.assertEqual(agent.stop(), 0)


def table(outcomes, overlaps):
    """Markdown. A gap is written as a negative overlap."""
    names = list(overlaps)
    lines = [
        "| session | " + " | ".join(["tenure", *names]) + " |",
        "| --- |" + " ---: |" * (1 + len(names)),
    ]
    for outcome in outcomes:
        figures = [-outcome.gap_ms, *(overlaps[name][outcome.plan.timeout] for name in names)]
        lines.append(f"| {outcome.plan.timeout / 1000:g} s | " + " | ".join(f"{ms:+.0f} ms" for ms in figures) + " |")
    return "\n".join(lines)
