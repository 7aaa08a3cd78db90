"""What a service manager is told, by a socket of its own (sd_notify)."""

import os
import signal
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402

NOBODY_LISTENS = "127.0.0.1:1"


class Manager:
    """Receives as the service manager does, and notes when."""

    def __init__(self, name):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.socket.bind(name)
        self._messages = []

    def messages(self):
        """All so far: (instant at which it was read, assignments)."""
        try:
            while True:
                text = self.socket.recv(65536).decode()
                self._messages.append((now_ns(), dict(line.split("=", 1) for line in text.splitlines())))
        except BlockingIOError:
            return self._messages

    def values(self, key):
        return [message[key] for _, message in self.messages() if key in message]

    def wait(self, key, value=None, timeout=10):
        wait_for(lambda: [v for v in self.values(key) if value in (None, v)], timeout, lambda: (
            f"{key}={value or 'any'} among {self.messages()}"))  # fmt: skip


class ServiceManager(LiveCase):
    def managed(self, servers, name=None, environment=None, **options):
        """An agent that has not been started, and its service manager."""
        agent = self.agent("a", servers, **options)
        manager = Manager(name or os.path.join(self.directory, "notify"))
        self.addCleanup(manager.socket.close)
        address = manager.socket.getsockname()
        text = address.decode() if isinstance(address, bytes) else address
        agent.environment = {"NOTIFY_SOCKET": text.replace("\0", "@")} | (environment or {})
        return agent, manager

    def test_ready(self):
        """READY=1, once, when the service's state is established, whatever the ensemble does; then the states."""
        a, manager = self.managed(NOBODY_LISTENS)
        a.behave("lose", "sleep=600")
        a.start()
        self.timeline.wait("start", "lose", "a")
        self.assertEqual(manager.values("READY"), [])
        manager.wait("READY", "1")
        self.assertTrue(self.timeline.events("end", "lose", "a"))
        self.assertIn("demo: starting", manager.values("STATUS")[0])
        manager.wait("STATUS", "demo: standby")
        holds_for(lambda: manager.values("READY") == ["1"], 1, "ready is said once")
        self.assertEqual(manager.values("WATCHDOG"), [], "nobody has asked for it")

    def test_status(self):
        """The state of each election, as it changes."""
        server = self.start_server()
        a, manager = self.managed(server, elections=("one", "two"))
        a.start()
        manager.wait("STATUS", "one: active, two: active")

    def test_elector_gone(self):
        """An elector that is not there is said too."""
        server = self.start_server()
        a, manager = self.managed(server)
        a.start()
        manager.wait("STATUS", "demo: active")
        os.kill(a.elector(), signal.SIGKILL)
        manager.wait("STATUS", "demo: active (elector not running)")
        wait_for(lambda: manager.values("STATUS")[-1] == "demo: active", 5, "the next elector")

    def test_abstract_socket(self):
        a, manager = self.managed(NOBODY_LISTENS, name=f"\0tenure-test-{os.getpid()}")
        a.start()
        manager.wait("READY", "1")

    def test_watchdog(self):
        """Fed twice as often as asked for, by the loop that looks at the clock: a stopped one does not."""
        a, manager = self.managed(NOBODY_LISTENS, environment={"WATCHDOG_USEC": "600000"})
        a.start()
        a.behave("lose", "sleep=1500")
        manager.wait("WATCHDOG", "1")
        fed = len(manager.values("WATCHDOG"))
        wait_for(lambda: len(manager.values("WATCHDOG")) >= fed + 8, 5, "eight meals in 2.4 s")
        times = [at for at, message in manager.messages() if "WATCHDOG" in message][-8:]
        self.assertGreater((times[-1] - times[0]) / 1e9, 7 * 0.3 * 0.8)
        a.signal(signal.SIGSTOP)
        fed = len(manager.values("WATCHDOG"))
        holds_for(lambda: len(manager.values("WATCHDOG")) == fed, 1, "a stopped agent feeds nobody")
        a.signal(signal.SIGCONT)
        wait_for(lambda: len(manager.values("WATCHDOG")) > fed, 2, "it feeds again")

    def test_watchdog_of_another(self):
        """WATCHDOG_PID names another process: it is not meant."""
        a, manager = self.managed(NOBODY_LISTENS, environment={"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"})
        a.start()
        manager.wait("READY", "1")
        holds_for(lambda: not manager.values("WATCHDOG"), 1, "no meals")

    def test_stopping(self):
        """STOPPING=1 at the signal, and more time is asked for while the lose hook runs."""
        server = self.start_server()
        a, manager = self.managed(server)
        a.start()
        manager.wait("STATUS", "demo: active")
        self.assertEqual(manager.values("STOPPING") + manager.values("EXTEND_TIMEOUT_USEC"), [])
        a.behave("lose", "sleep=1000")
        a.signal(signal.SIGTERM)
        manager.wait("STOPPING", "1")
        manager.wait("EXTEND_TIMEOUT_USEC", timeout=1)
        self.assertGreaterEqual(int(manager.values("EXTEND_TIMEOUT_USEC")[0]), 20_000_000)
        self.assertTrue(a.running)
        manager.wait("STATUS", "demo: demoting")
        self.assertEqual(a.process.wait(5), 0)
        self.assertEqual(manager.values("STOPPING"), ["1"])
        self.assertEqual(manager.values("READY"), ["1"])

    def test_reloading(self):
        """RELOADING=1 with the time at which it began, then READY=1, for a good file and for a bad one."""
        a, manager = self.managed(NOBODY_LISTENS)
        a.start()
        manager.wait("READY", "1")
        for turn, text in enumerate((None, "nonsense = 1\n"), 1):
            a.write_config(text)
            a.signal(signal.SIGHUP)
            wait_for(lambda turn=turn: len(manager.values("RELOADING")) == turn, 5, "RELOADING=1")
            self.assertGreater(int(manager.values("MONOTONIC_USEC")[-1]), 0)
            wait_for(lambda turn=turn: len(manager.values("READY")) == turn + 1, 5, "READY=1")

    def test_nobody_there(self):
        """A socket that is not there, or is full, delays nothing."""
        a, manager = self.managed(NOBODY_LISTENS, environment={"WATCHDOG_USEC": "2000"})
        a.start()
        a.wait_state("standby")
        holds_for(lambda: a.running, 1, "the agent runs while nobody reads")
        self.assertEqual(a.stop(5), 0)
        manager.socket.close()
        os.unlink(os.path.join(self.directory, "notify"))
        a.start()
        a.wait_state("standby")


if __name__ == "__main__":
    unittest.main()
