"""What people have reported of other agents and locks, where no other test here has it. See tests/SCENARIOS.md."""

import os
import socket
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402

SOURCE = os.environ["TENURE_SOURCE_DIR"]


class Slammer:
    """Accepts every connection and closes it at once."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:{}".format(self.listener.getsockname()[1])
        self.count = 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            try:
                self.listener.accept()[0].close()
            except OSError:
                return
            self.count += 1

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


class Field(LiveCase):
    def test_lost_while_gaining_and_won_again(self):
        """Leadership goes while gain runs, and comes back: one hook at a time, and the last one fits the state."""
        server = self.start_server()
        client = self.client(server)
        a = self.agent("a", server)
        a.behave("gain", "sleep=5000")
        a.start()
        first = self.timeline.wait("start", "gain", "a")
        a.behave("gain", "")
        client.delete("/tenure/demo/queue/" + self.queue(client)[0][0])
        again = self.timeline.wait("start", "gain", "a", count=2, timeout=10)
        a.wait_state("active")
        starts = [(e.hook, e.token == first.token) for e in self.timeline.events("start") if e.at_ns >= first.at_ns]
        self.assertEqual(starts, [("gain", True), ("lose", True), ("gain", False)])
        self.assertGreater(again.token, first.token)

    def test_blackhole_first(self):
        """The first address takes connections and never answers: a good one is found well within the lease."""
        server = self.start_server()
        holes = [self.start_proxy(server) for _ in range(2)]
        for hole in holes:
            hole.stall("up", "down")
        addresses = ",".join([holes[0].address, holes[1].address, server.address])
        for member in "abc":
            self.agent(member, addresses).start()
        leader = lambda: [agent for agent in self.agents if agent.state() == "active"]  # noqa: E731
        wait_for(leader, 10, "a leader")
        for agent in self.agents:
            agent.wait_state("active", "standby", timeout=10)
            wait_for(lambda agent=agent: agent.status()["zookeeper"]["state"] == "connected", 10, "a connection")

    def test_slammed_doors(self):
        """Every connection is closed at once: few attempts, no descriptor lost, the cause said and not repeated."""
        slammer = Slammer()
        self.addCleanup(slammer.close)
        a = self.start_agent("a", slammer.address)
        elector = wait_for(a.elector, 5, "an elector")
        wait_for(lambda: slammer.count >= 2, 10, "two attempts")
        before, lines = slammer.count, a.log().count("\n")
        fds = len(os.listdir(f"/proc/{elector}/fd"))
        holds_for(lambda: a.elector() == elector, 5, "the elector lives")
        self.assertLess(slammer.count - before, 300, "attempts in five seconds")
        self.assertLessEqual(len(os.listdir(f"/proc/{elector}/fd")), fds + 2)
        self.assertLess(a.log().count("\n") - lines, 20, "lines in five seconds")
        self.assertIn(slammer.address.split(":")[0], a.log())

    def test_two_of_one_name(self):
        """Two agents say that they are the same member: two candidates, one leader, and each keeps to its own."""
        # The timeline cannot tell the two apart, so that the states are looked at.
        self.oracle.promises = ("CLOSED",)
        server = self.start_server()
        client = self.client(server)
        a = self.start_agent("a", server)
        a.wait_state("active")
        twin = self.agent("twin", server)
        twin.top["member"] = "a"
        twin.start()
        self.wait_candidates(client, 2)
        twin.wait_state("standby")
        holds_for(lambda: (a.state(), twin.state()) == ("active", "standby"), 3, "one leader")
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 0)
        twin.wait_state("active")
        a.wait_state("standby")
        self.wait_candidates(client, 2)


class ShippedUnit(unittest.TestCase):
    def test_signals_the_supervisor_alone(self):
        """The unit's stop reaches the supervisor only, and what it left behind is the next one's to end."""
        with open(os.path.join(SOURCE, "init/tenured.service.in"), encoding="ascii") as file:
            lines = file.read().splitlines()
        for line in ("Type=notify", "KillMode=process", "Restart=always", "StartLimitIntervalSec=0",
                     "RestartPreventExitStatus=78", "OOMPolicy=continue", "Delegate=yes"):  # fmt: skip
            self.assertIn(line, lines)
        # Beyond this the supervisor asks for more while hooks run: test_service_manager.
        stop = next(line for line in lines if line.startswith("TimeoutStopSec="))
        self.assertGreaterEqual(int(stop.partition("=")[2]), 60)


if __name__ == "__main__":
    unittest.main()
