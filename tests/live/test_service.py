"""A service of the agent's own: runs while in office, and nothing of it runs after that."""

import os
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402
from tenuretest.agent import _alive as alive  # noqa: E402


class ServiceCase(LiveCase):
    def service_agent(self, member, server, words="hang", options=None, **more):
        """An agent with a service that does as WORDS say."""
        agent = self.agent(member, server, **more)
        agent.blocks["service"] = {"stop_timeout": 300} | (options or {})
        agent.behave("service", words)
        return agent

    def service(self, member="a", count=1, **more):
        return self.timeline.wait("start", "service", member, count=count, **more)

    def grandchildren(self, count):
        def found():
            pids = [event.pid for event in self.timeline.events("grandchild", "service")]
            return pids if len(pids) == count else None

        return wait_for(found, 5, f"{count} grandchildren")


class Office(ServiceCase):
    def test_runs_while_in_office(self):
        """It starts once gain has succeeded, with its token, and has ended before lose starts; a standby has none."""
        server = self.start_server()
        a = self.service_agent("a", server).start()
        a.wait_state("active")
        service = self.service()
        gain = self.timeline.wait("end", "gain", "a")
        self.assertGreater(service.at_ns, gain.at_ns)
        self.assertEqual(service.token, gain.token)
        self.assertEqual(service.fields["event"], "service")
        self.assertEqual(service.fields["missing"], "")
        self.assertEqual(os.getsid(service.pid), service.pid)
        b = self.service_agent("b", server).start()
        b.wait_queued(2)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        end = self.timeline.wait("end", "service", "a")
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        self.assertEqual(end.fields["signal"], str(int(signal.SIGTERM)))
        self.assertLess(end.at_ns, lose.at_ns)
        self.assertEqual(lose.fields["overlaps"], "0")
        self.assertGreater(self.service("b").at_ns, self.timeline.wait("end", "gain", "b").at_ns)
        self.assertFalse(alive(service.pid))

    def test_stubborn_tree(self):
        """It ignores SIGTERM, and so does what it has started: all of it is dead before lose starts."""
        server = self.start_server()
        a = self.service_agent("a", server, "hang ignore-term fork-grandchild fork-daemon").start()
        a.wait_state("active")
        service = self.service()
        grandchildren = self.grandchildren(2)
        if "no control group" in a.log():
            self.skipTest("no control group of version 2 here that may be written to")
        a.behave("lose", "sleep=1000")
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
        lose = self.timeline.wait("start", "lose", "a", after_ns=service.at_ns)
        self.assertEqual([pid for pid in (service.pid, *grandchildren) if alive(pid)], [])
        self.assertEqual(self.timeline.events("end", "service"), [])
        self.assertEqual(lose.fields["overlaps"], "0")
        a.behave("lose", "")

    def test_forced(self):
        """The ensemble is gone: a stubborn service and lose both fit into the lease (the oracle looks)."""
        server = self.start_server()
        a = self.service_agent("a", server, "hang ignore-term").start()
        a.wait_state("active")
        service = self.service()
        server.kill()
        lose = self.timeline.wait("end", "lose", "a", after_ns=service.at_ns)
        self.assertTrue(lose.ok)
        self.assertFalse(alive(service.pid))
        server.start()
        a.wait_state("active", timeout=15)
        a.behave("service", "")

    def test_no_such_file(self):
        """A service that cannot be executed: office is left, and the log names the file."""
        server = self.start_server()
        a = self.service_agent("a", server)
        a.hook_words["service"] = (os.path.join(self.directory, "service.sh"),)
        with open(a.hook_words["service"][0], "w", encoding="ascii") as file:
            file.write("#!/nonexistent/interpreter\n")
        os.chmod(a.hook_words["service"][0], 0o755)
        a.start()
        gain = self.timeline.wait("end", "gain", "a")
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        self.assertEqual(lose.reason, "service-exit")
        self.assertIn("service.sh", a.log())


class Exit(ServiceCase):
    def test_leave(self):
        """It ends by itself: its leader leaves office, the other one takes over."""
        server = self.start_server()
        a = self.service_agent("a", server).start()
        a.wait_state("active")
        service = self.service()
        b = self.service_agent("b", server).start()
        b.wait_queued(2)
        os.kill(service.pid, signal.SIGKILL)
        b.wait_state("active")
        lose = self.timeline.wait("start", "lose", "a", after_ns=service.at_ns)
        self.assertEqual(lose.reason, "service-exit")
        a.wait_state("standby")

    def test_restart(self):
        """It ends once: started again after a second, in the same term, and no hook runs."""
        server = self.start_server()
        a = self.service_agent("a", server, options={"on_exit": "restart", "restart_limit": 3}).start()
        a.wait_state("active")
        first = self.service()
        hooks = self.hook_runs()
        os.kill(first.pid, signal.SIGKILL)
        second = self.service(count=2)
        self.assertEqual(second.token, first.token)
        self.assertGreaterEqual((second.at_ns - first.at_ns) / 1e9, 0.99)
        holds_for(lambda: a.state() == "active", 0.5, "the leader stays")
        self.assertEqual(self.hook_runs(), hooks + 1)

    def test_restart_limit(self):
        """It ends again and again: after so many restarts in a row office is left."""
        server = self.start_server()
        a = self.service_agent("a", server, "exit=3", {"on_exit": "restart", "restart_limit": 1}).start()
        b = self.service_agent("b", server)
        self.timeline.wait("end", "gain", "a")
        b.start()
        b.wait_state("active")
        runs = self.timeline.events("start", "service", "a")
        self.assertEqual(len(runs), 2)
        lose = self.timeline.wait("start", "lose", "a", after_ns=runs[1].at_ns)
        self.assertEqual(lose.reason, "service-exit")
        a.behave("service", "hang")

    def test_stop_between_restarts(self):
        """A resignation while it waits to be started again: it is not started any more."""
        server = self.start_server()
        a = self.service_agent("a", server, "exit=3", {"on_exit": "restart", "restart_limit": 9}).start()
        self.timeline.wait("end", "service", "a", count=2)
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
        lose = self.timeline.events("start", "lose", "a")[-1]
        self.assertEqual(lose.reason, "resign")
        token = self.timeline.events("start", "gain", "a")[0].token
        later = [event for event in self.timeline.events("start", "service", "a", after_ns=lose.at_ns)]
        self.assertEqual([event for event in later if event.token == token], [])
        a.behave("service", "hang")
        a.wait_state("active")


class Supervisor(ServiceCase):
    def test_killed(self):
        """kill -9 of the supervisor: the service dies with it; the next one runs lose before the member queues."""
        server = self.start_server()
        client = self.client(server)
        a = self.service_agent("a", server, "hang ignore-term fork-grandchild fork-daemon")
        a.top["orphan_limit"] = 10000
        a.start()
        a.wait_state("active")
        service = self.service()
        grandchildren = self.grandchildren(2)
        grouped = "no control group" not in a.log()
        (before,) = self.queue(client)
        a.signal(signal.SIGKILL)
        a.process.wait(5)
        wait_for(lambda: not alive(service.pid), 2, "the service to die with its supervisor")
        a.behave("lose", "sleep=700")
        a.start()
        lose = self.timeline.wait("start", "lose", "a", after_ns=service.at_ns)
        self.assertEqual(lose.reason, "restart")
        if grouped:
            self.assertEqual([pid for pid in grandchildren if alive(pid)], [])
        self.assertLessEqual([name for name, _ in self.queue(client)], [before[0]])
        a.behave("lose", "")
        a.wait_state("active", timeout=15)
        gain = self.timeline.wait("start", "gain", "a", after_ns=lose.at_ns)
        self.assertGreater(gain.at_ns, self.timeline.wait("end", "lose", "a", after_ns=lose.at_ns).at_ns)
        a.behave("service", "")

    def test_executed_anew(self):
        """SIGUSR2: the agent is executed anew in place; the service goes on, and its end is still noticed."""
        server = self.start_server()
        a = self.service_agent("a", server, options={"on_exit": "restart", "restart_limit": 3}).start()
        a.wait_state("active")
        service = self.service()
        hooks = self.hook_runs()
        a.signal(signal.SIGUSR2)
        a.wait_log("goes on with its term")
        a.wait_state("active")
        self.assertTrue(alive(service.pid))
        self.assertEqual(self.hook_runs(), hooks)
        os.kill(service.pid, signal.SIGKILL)
        again = self.service(count=2)
        self.assertEqual(again.token, service.token)
        a.wait_state("active")


if __name__ == "__main__":
    unittest.main()
