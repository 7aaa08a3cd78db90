"""
The agent is executed anew in place (SIGUSR2, tenurectl restart): same pid, every term goes on, no hook runs.
TENURE_TEST_LONG makes it fifty rounds.
"""

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURED, LiveCase, holds_for, now_ns, wait_for  # noqa: E402

ROUNDS = 50 if os.environ.get("TENURE_TEST_LONG") else 5
T_MS = 4000
SOON_S = 3
ANEW = "executing the program anew"


class Restart(LiveCase):
    def setUp(self):
        self.server = self.start_server()

    def pair(self, **options):
        return self.start_queue("ab", self.server, **({"session_timeout": T_MS} | options))

    def private_program(self, agent):
        """The agent gets a program file of its own, to be replaced."""
        agent.program = os.path.join(self.directory, f"tenured-{agent.member}")
        shutil.copy(TENURED, agent.program)
        return agent

    def restart(self, agent, ask=None):
        """Has it executed anew and waits until the new image answers. Returns how long that took, in ms."""
        count, elector, at_ns = agent.log().count(ANEW), agent.elector(), now_ns()
        if ask:
            ask()
        else:
            agent.signal(signal.SIGUSR2)
        wait_for(lambda: agent.log().count(ANEW) > count, 10, "the execution")
        wait_for(lambda: agent.elector() not in (None, elector) and agent.status(), 10, "an answer")
        return (now_ns() - at_ns) / 1e6

    def load(self):
        """Two processes that take all the time they get, and a client that asks and asks."""
        for _ in range(2):
            burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            self.addCleanup(burner.wait)
            self.addCleanup(burner.kill)

    def test_in_office_and_standby(self):
        """Again and again under load, leader and standby in turn: nothing changes but the elector."""
        a, b = self.pair()
        token, runs, pids, took_ms = a.election_status()["token"], self.hook_runs(), (a.pid, b.pid), []
        client = self.client(self.server)
        queue = [name for name, _ in self.queue(client)]
        self.load()
        for turn in range(ROUNDS):
            agent = (a, b)[turn % 2]
            took_ms.append(self.restart(agent))
            agent.wait_queued(1 + turn % 2, timeout=SOON_S)
        self.assertEqual((a.pid, b.pid), pids)
        self.assertEqual((a.state(), b.state()), ("active", "standby"))
        self.assertEqual(a.election_status()["token"], token)
        self.assertEqual([name for name, _ in self.queue(client)], queue)
        self.assertEqual(self.hook_runs(), runs)
        print(f"{ROUNDS} restarts in place under load: until the agent answers again median "
              f"{statistics.median(took_ms):.0f} ms, most {max(took_ms):.0f} ms", flush=True)  # fmt: skip
        self.assertEqual(a.stop(), 0)
        b.wait_state("active", timeout=SOON_S)

    def test_ctl(self):
        """tenurectl waits for the new image and says how long it took."""
        (a,) = self.start_queue("a", self.server, session_timeout=T_MS)
        elector, token = a.elector(), a.election_status()["token"]
        result = a.ctl("--json", "restart")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotEqual(a.elector(), elector)
        self.assertLess(json.loads(result.stdout)["took_ms"], SOON_S * 1000)
        self.assertEqual(a.wait_state("active")["token"], token)
        result = a.ctl("restart")
        self.assertRegex(result.stdout, r"restarted in \d+ ms")
        self.assertEqual(a.ctl("restart", "demo").returncode, 64)

    def refused(self, agent, why):
        elector, pid, count = agent.elector(), agent.pid, agent.log().count(ANEW)
        result = agent.ctl("restart")
        self.assertEqual(result.returncode, 77, result.stderr)
        self.assertIn(why, agent.log())
        self.assertEqual((agent.elector(), agent.pid, agent.log().count(ANEW)), (elector, pid, count))

    def test_configuration_not_fit(self):
        """A broken file, or one by which a term could not go on: said, and nothing happens."""
        (a,) = self.start_queue("a", self.server, session_timeout=T_MS)
        runs = self.hook_runs()
        a.write_config("nonsense = 1\n")
        self.refused(a, "nonsense")
        a.election["address"] = "elsewhere:1"
        a.write_config()
        self.refused(a, "it has changed: reload first")
        a.election["address"] = "a.example:5432"
        a.elections = ["other"]
        a.write_config()
        self.refused(a, "no longer configured")
        a.elections = ["demo"]
        a.top["state_dir"] += "-2"
        a.write_config()
        self.refused(a, "state_dir")
        a.top["state_dir"] = a.top["state_dir"][:-2]
        a.write_config()
        self.restart(a)
        a.wait_state("active")
        self.assertEqual(self.hook_runs(), runs)

    def test_new_election(self):
        """One that is new in the file begins as ever, and the other goes on."""
        (a,) = self.start_queue("a", self.server, session_timeout=T_MS)
        token, at_ns = a.election_status("demo")["token"], now_ns()
        a.elections = ["demo", "more"]
        a.write_config()
        self.restart(a)
        a.wait_state("active", election="more")
        self.assertEqual(a.election_status("demo")["token"], token)
        self.assertEqual({event.election for event in self.timeline.events("start", after_ns=at_ns)}, {"more"})

    def test_upgrade(self):
        """The program's file has been replaced: the new one runs, with the same number."""
        a = self.private_program(self.agent("a", self.server, session_timeout=T_MS))
        a.start().wait_state("active")
        runs = self.hook_runs()
        shutil.copy(TENURED, a.program + ".new")
        os.rename(a.program + ".new", a.program)
        self.assertFalse(os.path.samefile(f"/proc/{a.pid}/exe", a.program))
        self.restart(a)
        self.assertTrue(os.path.samefile(f"/proc/{a.pid}/exe", a.program))
        a.wait_state("active")
        self.assertEqual(self.hook_runs(), runs)

    def test_cannot_be_executed(self):
        """The program is gone, or is one that does not know what it is asked, or vanishes after the check."""
        a = self.private_program(self.agent("a", self.server, session_timeout=T_MS))
        a.start().wait_state("active")
        runs, token = self.hook_runs(), a.election_status()["token"]
        os.unlink(a.program)
        self.refused(a, "No such file")
        for body in ("exit 64", "kill -9 $$"):
            self.replace_by_script(a, body)
            self.refused(a, "not restarted")
        self.replace_by_script(a, 'rm -- "$0"; exit 0')
        a.signal(signal.SIGUSR2)
        a.wait_log(ANEW)
        wait_for(lambda: a.log().rindex("not restarted") > a.log().index(ANEW), 5, "the failure in the log")
        wait_for(lambda: a.election_status().get("position") == 1, SOON_S, "its place")
        self.assertEqual((a.state(), a.election_status()["token"], self.hook_runs()), ("active", token, runs))
        with open(f"/proc/{a.pid}/limits", encoding="ascii") as file:
            soft = [line.split()[3:5] for line in file if line.startswith("Max open files")][0]
        self.assertEqual(soft[0], soft[1], "its own limit of descriptors again")

    def replace_by_script(self, agent, body):
        with open(agent.program + ".new", "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{body}\n")
        os.chmod(agent.program + ".new", 0o755)
        os.rename(agent.program + ".new", agent.program)

    def test_while_a_hook_runs(self):
        """It waits for the hook's end, a second request is the same one, and the hook does not run again."""
        a = self.agent("a", self.server, session_timeout=T_MS)
        a.behave("gain", "sleep=1500")
        a.start()
        gain = self.timeline.wait("start", "gain", "a")
        for _ in range(3):
            a.signal(signal.SIGUSR2)
            time.sleep(0.1)
        holds_for(lambda: ANEW not in a.log(), 0.5, "it waits")
        a.wait_log(ANEW)
        self.assertTrue(self.timeline.events("end", "gain", "a"))
        a.wait_state("active")
        holds_for(lambda: a.log().count(ANEW) == 1, 1, "once")
        self.assertEqual([event.pid for event in self.timeline.events("start", "gain")], [gain.pid])

    def test_while_it_stops(self):
        """A stop comes first: asked for during the stop it is refused, and a stop during a restart is obeyed."""
        a, b = self.pair()
        a.behave("lose", "sleep=800")
        a.signal(signal.SIGTERM)
        self.timeline.wait("start", "lose", "a", count=2)
        self.assertEqual(a.ctl("restart").returncode, 77)
        a.signal(signal.SIGUSR2)
        self.assertEqual(a.process.wait(10), 0)
        self.assertNotIn(ANEW, a.log())
        a.process = None
        b.wait_state("active")
        for delay in (0, 0.005, 0.02, 0.05, 0.1):
            b.signal(signal.SIGUSR2)
            time.sleep(delay)
            self.assertEqual(b.stop(), 0)
            b.start().wait_state("active")

    def test_reload_in_between(self):
        """SIGHUP and SIGUSR2 at once: both are done."""
        (a,) = self.start_queue("a", self.server, session_timeout=T_MS)
        runs = self.hook_runs()
        for first, second in ((signal.SIGHUP, signal.SIGUSR2), (signal.SIGUSR2, signal.SIGHUP)):
            count, reloads = a.log().count(ANEW), a.log().count("configuration reloaded")
            a.election["backoff"] += 1
            a.write_config()
            a.signal(first)
            a.signal(second)
            wait_for(lambda count=count: a.log().count(ANEW) > count, 10, "the execution")
            wait_for(lambda reloads=reloads: a.log().count("configuration reloaded") > reloads, 10, "the reload")
            wait_for(lambda: a.election_status().get("position") == 1, SOON_S, "its place")
        a.wait_state("active")
        self.assertEqual(self.hook_runs(), runs)

    def test_service(self):
        """A service of its own goes on with its pid, and ends with the office afterwards."""
        a = self.agent("a", self.server, session_timeout=T_MS, hooks=())
        a.hook_options = {}
        text = a.config_text().replace('"demo" {\n', '"demo" {\n\tservice { command = {"/bin/sleep", "1000"} stop_timeout = 300 }\n')
        a.start(config=text).wait_state("active")
        service = self.service_of(a)
        self.restart(a)
        a.wait_state("active")
        self.assertEqual(self.service_of(a), service)
        self.assertEqual(a.stop(), 0)
        wait_for(lambda: not os.path.exists(f"/proc/{service}"), 2, "the service to be dead")

    def service_of(self, agent):
        def find():
            for pid in agent.children():
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if file.read().startswith(b"/bin/sleep"):
                        return pid
            return None
        return wait_for(find, 5, "the service")

    def test_how_it_was_started(self):
        """A file named relative to the working directory, settings on the command line, the environment, the limits."""
        a = self.agent("a", self.server, session_timeout=T_MS)
        a.cwd = a.directory
        a.environment = {"TENURE_TEST_MARK": "kept"}
        a.start("-o", "orphan_limit=3000").wait_state("active")

        def facts():
            with open(f"/proc/{a.pid}/cmdline", "rb") as line, open(f"/proc/{a.pid}/limits", "rb") as limits:
                return line.read(), limits.read(), os.readlink(f"/proc/{a.pid}/cwd")

        before = facts()
        self.restart(a)
        self.restart(a)
        self.assertEqual(facts(), before)
        with open(f"/proc/{a.pid}/environ", "rb") as file:
            environment = file.read()
        self.assertIn(b"TENURE_TEST_MARK=kept", environment)
        self.assertLessEqual(environment.count(b"TENURE_HANDOVER="), 1)
        self.assertEqual(len(os.listdir(f"/proc/{a.pid}/fd")), len(set(os.listdir(f"/proc/{a.pid}/fd"))))

    def test_descriptors_and_place(self):
        """None more after many, and nobody else gets into the agent's place in between."""
        (a,) = self.start_queue("a", self.server, session_timeout=T_MS)
        self.restart(a)
        fds = len(os.listdir(f"/proc/{a.pid}/fd"))
        for _ in range(3):
            self.restart(a)
            self.assertEqual(a.run().returncode, 77, "another agent in the same place")
        self.assertLessEqual(len(os.listdir(f"/proc/{a.pid}/fd")), fds)

    def test_service_manager(self):
        """RELOADING, then READY again; its address and its watchdog are known to the new image."""
        a = self.agent("a", self.server, session_timeout=T_MS)
        path = os.path.join(self.directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(10)
            a.environment = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "200000"}
            a.start().wait_state("active")
            while b"STATUS=demo: active" not in manager.recv(4096):
                pass
            a.signal(signal.SIGUSR2)
            heard = []
            while b"READY=1" not in heard:
                heard.append(manager.recv(4096).split(b"\n")[0])
            self.assertIn(b"RELOADING=1", heard)
            self.assertNotIn(b"STOPPING=1", heard)
            while b"WATCHDOG=1" not in manager.recv(4096):
                pass

    def test_watchdog_device(self):
        """Fed by the old image and by the new, and never switched off in between."""
        path = os.path.join(self.directory, "device")
        os.mkfifo(path)
        device = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, device)
        a = self.agent("a", self.server, session_timeout=T_MS)
        a.sections["watchdog"] = {"device": path}
        a.start().wait_state("active")
        self.restart(a)
        os.read(device, 65536)
        wait_for(lambda: os.read(device, 1) if readable(device) else None, 3, "a meal by the new image")
        self.assertNotIn(b"V", os.read(device, 65536) if readable(device) else b"")
        self.assertEqual(a.log().count("watchdog started"), 2)


def readable(fd):
    import select

    return bool(select.select([fd], [], [], 0)[0])


if __name__ == "__main__":
    unittest.main()
