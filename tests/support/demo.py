"""The demonstration: three agents on a private ZooKeeper, a handoff, a graceful stop and a crash."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time

from tenuretest import TENURECTL, Agent, Oracle, Server, Timeline

MEMBERS = ("db-a", "db-b", "db-c")
TICK_MS = 1000
SESSION_MS = 6000
SLACK_S = 0.5


class Demo:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="tenure-demo-")
        os.chmod(self.directory, 0o755)
        self.timeline = Timeline(os.path.join(self.directory, "timeline"))
        self.server = Server(os.path.join(self.directory, "zookeeper"), tick_time=TICK_MS)
        self.agents = {member: self.make_agent(member) for member in MEMBERS}
        self.marks = []  # (instant, what was done)
        self.ends = {}  # member -> what ended its last term

    def make_agent(self, member):
        agent = Agent(
            self.directory, member, self.server.address, self.timeline,
            session_timeout=SESSION_MS, tick_time=TICK_MS, elections=("pg",),
            hook_options={"gain_timeout": 10000, "lose_timeout": 1500, "handoff_timeout": 10000},
            zookeeper={"ping_slack": 300},
        )  # fmt: skip
        # As long as a small service may take.
        agent.behave("gain", "sleep=120")
        agent.behave("lose", "sleep=80")
        return agent

    def play(self):
        """The scenes, in order. Returns when the last leader is in office."""
        say(f"a private ZooKeeper on {self.server.address} (tick {TICK_MS} ms)")
        self.server.start()
        say(f"three agents, one election, a lease of {SESSION_MS} ms: {', '.join(MEMBERS)}")
        a, b, c = self.agents.values()
        a.start().wait_state("active")
        for place, agent in ((2, b), (3, c)):
            agent.start().wait_queued(place)
        say("a handoff: tenurectl resign on db-a")
        self.mark("tenurectl resign on db-a", "db-a", "resigned")
        done = a.ctl("resign", "pg")
        if done.returncode != 0:
            raise AssertionError(f"tenurectl resign: {done.stderr or done.stdout}")
        b.wait_state("active")
        a.wait_queued(3)
        say("a graceful stop: SIGTERM to db-b")
        self.mark("SIGTERM to db-b", "db-b", "stopped")
        b.stop()
        c.wait_state("active")
        b.start().wait_queued(3)
        say("a crash: kill -9 of the whole agent db-c; its lease has to run out")
        self.mark("kill -9 of all of db-c", "db-c", "killed")
        self.killed_ns = c.kill9()
        a.wait_state("active", timeout=SESSION_MS / 1000 + TICK_MS / 1000 + 5)
        c.start().wait_queued(3)

    def mark(self, what, member, end):
        self.marks.append((time.clock_gettime_ns(time.CLOCK_BOOTTIME), what))
        self.ends[member] = end

    def stop(self):
        """Everything ends in order, the leader last so that nothing moves meanwhile."""
        for agent in sorted(self.agents.values(), key=lambda agent: agent.running and agent.state() == "active"):
            if agent.stop() not in (None, 0):
                raise AssertionError(f"{agent.member} did not stop in order")

    def sweep(self):
        for agent in self.agents.values():
            if agent.process is not None:
                agent.kill9()
        self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    # What happened

    def show_timeline(self):
        events = self.timeline.events()
        zero = events[0].at_ns
        rows = [(event.at_ns, event) for event in events if event.kind != "killed"] + self.marks
        print(f"\n{'ms':>9}  {'member':7} {'hook':6} {'':7} {'token':>12}  what")
        for at_ns, what in sorted(rows, key=lambda row: row[0]):
            ms = f"{(at_ns - zero) / 1e6:9.1f}"
            if isinstance(what, str):
                print(f"{ms}  -- {what}")
                continue
            word = {"start": "begins", "end": "ends"}[what.kind]
            note = f"reason {what.reason}" if what.kind == "start" else f"exit {what.fields.get('exit', 'by signal')}"
            print(f"{ms}  {what.member:7} {what.hook:6} {word:7} {what.token or '-':>12}  {note}")

    def terms(self):
        """Of each term: member, token, its first and last instant. A crash ends it at the kill."""
        events = self.timeline.events()
        terms = []
        for event in events:
            if event.kind == "start" and event.hook == "gain":
                terms.append([event.member, event.token, event.at_ns, None])
            elif terms and event.member == terms[-1][0] and terms[-1][3] is None:
                if event.kind == "killed" or (event.kind == "end" and event.hook == "lose"):
                    terms[-1][3] = event.at_ns
        return terms

    def show_terms(self):
        terms = self.terms()
        zero = self.timeline.events()[0].at_ns
        ends = [self.ends.get(member, "the end") for member, *_ in terms]
        ends[-1] = "in office" if terms[-1][3] is None else "the end"
        print(f"\n{'leader':7} {'token':>12} {'from ms':>10} {'until ms':>10}  {'ended by':10} next leader after")
        for number, (member, token, begin_ns, end_ns) in enumerate(terms):
            until = f"{(end_ns - zero) / 1e6:10.1f}" if end_ns else f"{'':10}"
            gap = f"{(terms[number + 1][2] - end_ns) / 1e6:.1f} ms" if number + 1 < len(terms) and end_ns else "-"
            print(f"{member:7} {token:>12} {(begin_ns - zero) / 1e6:10.1f} {until}  {ends[number]:10} {gap}")

    def check(self, running=False):
        """The demonstration judges itself."""
        promises = ("S1", "S2", "S3", "DEADLINE") if running else ("S1", "S2", "S3", "DEADLINE", "CLOSED")
        faults = Oracle(promises).check(self.timeline.events())
        members = [term[0] for term in self.terms()]
        if members != ["db-a", "db-b", "db-c", "db-a"]:
            faults.append(f"the leaders were {' '.join(members)}")
        else:
            limit_s = (SESSION_MS + TICK_MS) / 1000 + SLACK_S
            after_s = (self.terms()[3][2] - self.killed_ns) / 1e9
            if after_s > limit_s:
                faults.append(f"after the crash {after_s:.1f} s went by, more than {limit_s:.1f} s")
        if faults:
            raise AssertionError("\n".join(faults))
        print("\nNever two in office at once, every token above the one before, no hook over another: checked.")

    def show_logs(self):
        for agent in self.agents.values():
            print(f"----- log of {agent.member}\n{agent.log()[-6000:]}", file=sys.stderr)

    def keep(self):
        """Leaves all of it running, with a script that ends it."""
        pids = [agent.pid for agent in self.agents.values()]
        script = os.path.join(self.directory, "stop")
        with open(script, "w", encoding="ascii") as file:
            file.write(
                "#!/bin/sh\n# Ends the demonstration: agents, then ZooKeeper, then this directory.\n"
                "end() {\n\tkill \"$@\"\n\tfor pid; do\n"
                '\t\twhile kill -0 "$pid" 2>/dev/null; do sleep 0.1; done\n\tdone\n}\n'
                f"end {' '.join(map(str, pids))}\nend {self.server.process.pid}\nrm -rf {self.directory}\n"
            )
        os.chmod(script, 0o755)
        print(f"\nAll of it goes on running in {self.directory} (ZooKeeper on {self.server.address}). To look:")
        for agent in self.agents.values():
            print(f"  {TENURECTL} -s {agent.control} status")
        print(f"  {TENURECTL} -z {self.server.address} list pg")
        print(f"  {TENURECTL} -z {self.server.address} history pg")
        print(f"  tail -f {self.timeline.path} {self.directory}/db-?/log")
        print(f"To hand over:\n  {TENURECTL} -s {self.agents['db-a'].control} resign pg")
        print(f"To stop it and remove everything:\n  {script}")


def say(text):
    print(f"== {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="tests/demo")
    parser.add_argument("--keep", action="store_true", help="leave everything running")
    keep = parser.parse_args().keep
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    demo = Demo()
    kept = False
    try:
        demo.play()
        if not keep:
            demo.stop()
        demo.show_timeline()
        demo.show_terms()
        demo.check(running=keep)
        if keep:
            demo.keep()
            kept = True
    except AssertionError as failure:
        demo.show_logs()
        print(f"tests/demo: {failure}", file=sys.stderr)
        return 1
    finally:
        if not kept:
            demo.sweep()
    return 0


if __name__ == "__main__":
    sys.exit(main())
