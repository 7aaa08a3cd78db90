"""Hooks that fail, hang and recover."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402


class Gain(LiveCase):
    def test_failure(self):
        """gain fails on a: lose runs, b takes over, and a is back in the queue after its back-off."""
        server = self.start_server()
        a = self.agent("a", server)
        a.behave("gain", "exit=1")
        a.start()
        self.timeline.wait("start", "gain", "a")
        b = self.start_agent("b", server)
        b.wait_state("active")
        lose = [event for event in self.timeline.events("start", "lose", "a") if event.token]
        self.assertEqual(lose[0].reason, "gain-failed")
        a.wait_queued(2)

    def gaps(self, words, count):
        """Seconds from each failed gain of a lone member to the next one."""
        server = self.start_server()
        a = self.agent("a", server, election={"backoff": 300, "backoff_max": 1200})
        a.behave("gain", words)
        a.start()
        self.timeline.wait("start", "gain", "a", count=count + 1, timeout=20)
        starts = [event.at_ns for event in self.timeline.events("start", "gain", "a")]
        a.behave("gain", "exit=0")
        a.wait_state("active")
        return [(later - earlier) / 1e9 for earlier, later in zip(starts, starts[1:])][:count]

    def test_failures_back_off(self):
        """It fails always: the back-off doubles up to its limit."""
        gaps = self.gaps("exit=1", 4)
        for gap, least in zip(gaps, (0.3, 0.6, 1.2, 1.2)):
            self.assertGreaterEqual(gap, least * 0.95, gaps)
        self.assertLess(gaps[3], 3, gaps)

    def test_not_now(self):
        """Exit status 75: tried again after the back-off, which does not grow."""
        gaps = self.gaps("exit=75", 4)
        for gap in gaps:
            self.assertGreaterEqual(gap, 0.28, gaps)
            self.assertLess(gap, 1.0, gaps)

    def test_hanging(self):
        """gain hangs and ignores SIGTERM: killed at its limit, lose runs, the other one leads."""
        server = self.start_server()
        a = self.agent("a", server, hook_options={"gain_timeout": 600})
        a.behave("gain", "hang ignore-term")
        a.start()
        gain = self.timeline.wait("start", "gain", "a")
        b = self.start_agent("b", server)
        b.wait_state("active")
        lose = self.timeline.events("start", "lose", "a", after_ns=gain.at_ns)[0]
        self.assertGreaterEqual((lose.at_ns - gain.at_ns) / 1e9, 0.59)
        self.assertEqual(int(gain.fields["timeout_ms"]), 600)
        self.assertLess((lose.at_ns - gain.at_ns) / 1e9, 4)

    def test_missing_interpreter(self):
        """A gain hook that cannot be executed is a failure that the log names."""
        server = self.start_server()
        script = os.path.join(self.directory, "gain.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/nonexistent/interpreter\n")
        os.chmod(script, 0o755)
        a = self.agent("a", server)
        a.hook_words["gain"] = (script,)
        a.start()
        wait_for(lambda: "127" in a.log() or "126" in a.log(), 5, "the exit status in the log")
        # This gain leaves no trace of its own in the timeline.
        self.assertEqual(self.timeline.events("start", "gain"), [])


class Lose(LiveCase):
    def test_hanging_past_the_lease(self):
        """lose hangs while the server is away: it is killed before the deadline; then the member panics."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        a.behave("lose", "hang ignore-term")
        gain = self.timeline.wait("end", "gain", "a")
        server.kill()
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns, timeout=5)
        wait_for(lambda: not os.path.exists(f"/proc/{lose.pid}"), 3, "the lose hook to be killed")
        self.assertLess(now_ns(), lose.deadline_ns)
        a.wait_state("panic")
        a.kill9()

    def test_hanging_then_fenced(self):
        """The same with a fence hook: it ends office before the deadline (the oracle looks)."""
        server = self.start_server()
        (a,) = self.start_queue("a", server, hooks=("gain", "lose", "fence"), hook_options={"fence_timeout": 300})
        a.behave("lose", "hang ignore-term")
        gain = self.timeline.wait("end", "gain", "a")
        server.kill()
        fence = self.timeline.wait("end", "fence", "a", after_ns=gain.at_ns, timeout=5)
        self.assertTrue(fence.ok)
        a.behave("lose", "")
        server.start()
        a.wait_state("active", timeout=15)

    def test_hanging_at_leisure(self):
        """lose hangs in a planned demotion: killed at handoff_timeout, then fenced; the successor waits for that."""
        server = self.start_server()
        a, b = self.start_queue("ab", server, hooks=("gain", "lose", "fence"),
                                hook_options={"fence_timeout": 300, "handoff_timeout": 3000})  # fmt: skip
        a.behave("lose", "hang ignore-term")
        gain = self.timeline.wait("end", "gain", "a")
        a.ctl("resign", "demo")
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        fence = self.timeline.wait("start", "fence", "a", timeout=8)
        self.assertGreaterEqual((fence.at_ns - lose.at_ns) / 1e9, 2.9)
        b.wait_state("active")
        a.behave("lose", "")


class Follow(LiveCase):
    def test_failing_and_recovering(self):
        """A member whose follow hook fails is no candidate; once it succeeds, it is."""
        server = self.start_server()
        client = self.client(server)
        (a,) = self.start_queue("a", server)
        b = self.agent("b", server, hooks=("gain", "lose", "follow"))
        b.behave("follow", "exit=1")
        b.start()
        self.timeline.wait("end", "follow", "b", count=3)
        self.assertEqual(b.state(), "following")
        self.assertEqual(len(self.queue(client)), 1)
        b.behave("follow", "exit=0")
        b.wait_queued(2)
        self.assertEqual(b.state(), "standby")
        follow = self.timeline.events("start", "follow", "b")[-1]
        self.assertEqual(follow.fields["leader"], "a")
        self.assertEqual(follow.fields["leader_address"], "a.example:5432")
        self.assertEqual(str(follow.token), str(a.election_status()["token"]))

    def test_every_new_leader(self):
        """All follow the new leader once it is active, and queue again."""
        server = self.start_server()
        a, b, c = self.start_queue("abc", server, hooks=("gain", "lose", "follow"))
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        gain = self.timeline.wait("end", "gain", "b")
        for member in "ac":
            def follows(member=member):
                events = self.timeline.events("start", "follow", member, after_ns=gain.at_ns)
                return [event for event in events if event.fields["leader"] == "b" and event.token == gain.token]
            wait_for(follows, 5, f"{member} to follow b")
        wait_for(lambda: {a.state(), c.state()} == {"standby"}, 5, "both to be standbys")

    def test_of_nobody(self):
        """When the leader has gone, the follow hook of a standby that stays one names nobody or the next leader."""
        server = self.start_server()
        a, b, c = self.start_queue("abc", server, hooks=("gain", "lose", "follow"))
        b.behave("gain", "sleep=700")
        self.assertEqual(a.stop(), 0)
        b.wait_state("active")
        wait_for(lambda: self.timeline.events("start", "follow", "c")[-1].fields["leader"] == "b", 5, "c to follow b")


class Surroundings(LiveCase):
    def script(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def test_nothing_is_handed_down(self):
        """Whatever the agent was started with, a hook finds none of it: descriptors, signals, mask, variables."""
        server = self.start_server()
        found = os.path.join(self.directory, "found")
        a = self.agent("a", server)
        a.hook_words["gain"] = (self.script("gain", f"""exec >{found} 2>&1 </dev/null
            grep -E '^Sig(Blk|Ign)|^Groups' /proc/$$/status; ls /proc/$$/fd; umask; pwd; cat /proc/$$/oom_score_adj
            tr '\\0' '\\n' </proc/$$/environ"""),)  # fmt: skip
        a.wrapper = (sys.executable, "-c", BURDENED)
        a.environment = {"NOTIFY_SOCKET": "/nonexistent/socket", "WATCHDOG_USEC": "1000000", "SECRET": "word"}
        a.start()
        a.wait_state("active")
        with open(found, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual([line.split()[1] for line in lines if line.startswith("Sig")], ["0" * 16] * 2)
        # Beside them the shell's own, by which it reads the script; and the first 0 is the score.
        numbers = sorted(int(line) for line in lines if line.isdigit() and line != "0022")
        self.assertEqual(numbers, [0, 0, 1, 2, 10])
        self.assertIn("0022", lines)
        self.assertIn("/", lines)
        names = {line.partition("=")[0] for line in lines if "=" in line}
        self.assertEqual({name for name in names if not name.startswith("TENURE_")},
                         {"PATH", "HOME", "USER", "LOGNAME", "SHELL"})  # fmt: skip

    def test_as_process_1(self):
        """The agent is process 1 and every hook leaves orphans: none is left defunct, every status is right."""
        server = self.start_server()
        a = self.agent("a", server, election={"backoff": 10})
        wrapped = self.script("wrapped", '(sleep 0.02 &)\n(true &)\nexec "$@"')
        for hook in ("gain", "lose"):
            a.hook_words[hook] = (wrapped, *a.hook_command(hook))
        a.wrapper = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        a.start()
        a.wait_state("active")
        for count in range(2, 22):
            self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
            self.timeline.wait("end", "gain", "a", count=count)
            a.wait_state("active")
        (agent,) = a.children()
        self.assertEqual(_namespace_pid(agent), 1)
        wait_for(lambda: not _defunct(agent), 5, "the orphans to be reaped")
        ends = self.timeline.events("end", "gain", "a") + self.timeline.events("end", "lose", "a")
        self.assertEqual(a.log().count("hook succeeded"), len(ends))
        self.assertNotIn("hook failed", a.log())
        os.kill(agent, signal.SIGTERM)
        self.assertEqual(a.process.wait(10), 0)


# Starts the agent with signals ignored and blocked, a umask and descriptors.
BURDENED = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGALRM})
os.umask(0o077)
for number in (9, 11, 77):
    os.dup2(0, number)
os.execv(sys.argv[1], sys.argv[1:])
"""


def _namespace_pid(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(next(line for line in file if line.startswith("NSpid:")).split()[-1])


def _defunct(parent):
    """Children of PARENT that wait to be reaped."""
    found = []
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        for pid in file.read().split():
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as status:
                    if status.read().rpartition(")")[2].split()[0] == "Z":
                        found.append(pid)
            except OSError:
                pass
    return found


class Notify(LiveCase):
    def test_slow(self):
        """A notify hook that hangs delays nothing and is told the newest state in the end."""
        server = self.start_server()
        a = self.agent("a", server, hooks=("gain", "lose", "notify"))
        a.behave("notify", "sleep=1500")
        a.start()
        a.wait_state("active", timeout=5)
        a.behave("notify", "")
        wait_for(lambda: self.timeline.events("start", "notify", "a")[-1].fields["state"] == "active", 8, "the news")
        holds_for(lambda: a.state() == "active", 0.5, "the leader stays")


if __name__ == "__main__":
    unittest.main()
