"""Servers that give less than is asked of them, and hook files that change under a running agent."""

import os
import shutil
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402

HUP = 1


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Timeouts(LiveCase):
    def test_lower_and_lower_again(self):
        """The server's cap is the lease, and a lower one after a reconnect is too."""
        server = self.start_server(options=("maxSessionTimeout=3000",))
        a = self.start_agent("a", server, session_timeout=4000)
        a.wait_state("active")
        self.assertEqual(a.status()["zookeeper"]["session_timeout_ms"], 3000)
        token = a.election_status()["token"]
        server.kill()
        server.options = ("maxSessionTimeout=2000",)
        server.start()
        wait_for(lambda: a.status()["zookeeper"]["session_timeout_ms"] == 2000, 10, "the lower timeout")
        wait_for(lambda: a.election_status()["position"] == 1, 5, "the candidate to be found again")
        wait_for(lambda: a.state() == "active", 10, "the leader to lead")
        if a.election_status()["token"] == token:
            self.assertLessEqual(a.election_status()["lease_ms"], 2000)


class Limits(LiveCase):
    def test_one_connection_for_each_address(self):
        """Two agents behind one address, of which the server takes one connection: the second says so, and waits."""
        server = self.start_server(options=("maxClientCnxns=1",))
        a = self.start_agent("a", server)
        a.wait_state("active")
        b = self.start_agent("b", server)
        elector = wait_for(b.elector, 5, "an elector")
        wait_for(lambda: server.address in b.log(), 10, "the cause in the log")
        lines, fds = b.log().count("\n"), descriptors(elector)
        token = a.election_status()["token"]
        holds_for(lambda: a.state() == "active" and b.elector() == elector, 5, "one leads, the other tries")
        self.assertEqual(a.election_status()["token"], token)
        self.assertLess(b.log().count("\n") - lines, 20, "lines in five seconds")
        self.assertLessEqual(descriptors(elector), fds + 2)
        a.stop()
        b.wait_state("active", timeout=15)

    def test_over_quota(self):
        """No znode may be added: the cause is named, the attempts are few, and it joins once there is room."""
        server = self.start_server(options=("enforceQuota=true",))
        client = self.client(server)
        client.ensure_path("/tenure/demo")
        limits = "/zookeeper/quota/tenure/demo/zookeeper_limits"
        client.create(limits, b"count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1", makepath=True)
        client.create(limits.replace("limits", "stats"), b"count=1,bytes=0")
        a = self.start_agent("a", server)
        wait_for(lambda: "quota exceeded" in a.log(), 10, "the cause in the log")
        lines = a.log().count("\n")
        holds_for(lambda: a.state() != "active", 3, "no leader")
        self.assertLess(a.log().count("\n") - lines, 10, "lines in three seconds")
        client.delete("/zookeeper/quota/tenure/demo", recursive=True)
        a.wait_state("active", timeout=15)

    def test_throttled(self):
        """A server that handles one request at a time, and each of them late: elected, and kept."""
        options = ("request_throttle_max_requests=1", "request_throttle_stall_time=20")
        server = self.start_server(options=options)
        a, b = self.start_queue("ab", server)
        runs = self.hook_runs()
        holds_for(lambda: a.state() == "active" and b.state() == "standby", 3, "nothing moves")
        self.assertEqual(self.hook_runs(), runs)

    def test_50000_strangers(self):
        """A crowd of znodes that are no candidates: passed over, said once, and a handoff still works."""
        server = self.start_server()
        client = self.client(server)
        client.ensure_path("/tenure/demo/queue")
        for begin in range(0, 50000, 1000):
            batch = client.transaction()
            for number in range(begin, begin + 1000):
                batch.create(f"/tenure/demo/queue/stranger-{number:06}")
            batch.commit()
        a, b = self.start_queue("ab", server)
        self.assertEqual(a.log().count("is not a candidate"), 1)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        self.assertLess(b.log().count("\n"), 60)


class ReadOnly(LiveCase):
    def test_proves_nothing(self):
        """The one server that is left serves reads: nobody leads by it, and all is well when the others are back."""
        with mock.patch.dict(os.environ, {"JDK_JAVA_OPTIONS": "-Dreadonlymode.enabled=true"}):
            ensemble = self.start_ensemble()
            a = self.start_agent("a", ensemble)
            a.wait_state("active")
            b = self.start_agent("b", ensemble)
            b.wait_queued(2)
            left, *others = ensemble.servers
            for server in others:
                server.kill()
            wait_for(lambda: left.word("isro") == "ro", 30, "the last server to be read-only")
            wait_for(lambda: a.state() not in ("active", "demoting"), 10, "the leader to be out of office")
            gains = len(self.timeline.events("start", "gain"))
            holds_for(lambda: "active" not in (a.state(), b.state()), 4, "nobody leads")
            self.assertEqual(len(self.timeline.events("start", "gain")), gains)
            self.assertEqual(left.word("isro"), "ro")
            for server in others:
                server.launch()
            wait_for(lambda: "active" in (a.state(), b.state()), 30, "a leader")


class ChangedHooks(LiveCase):
    def hook_file(self, text=None):
        name = os.path.join(self.directory, "gain hook")
        if text is None:
            shutil.copy(self.agent("unused", "127.0.0.1:1").hook_command("gain")[0], name)
        else:
            with open(name, "w", encoding="ascii", newline="") as file:
                file.write(text)
        os.chmod(name, 0o755)
        return name

    def test_crlf(self):
        """A script with DOS line ends cannot run: the log says which file and why, and nobody is in office."""
        name = self.hook_file("#!/bin/sh\r\nexit 0\r\n")
        a = self.agent("a", self.start_server())
        a.hook_words["gain"] = (name,)
        a.start()
        a.wait_log(name)
        a.wait_log("No such file or directory")
        self.assertNotEqual(a.state(), "active")

    def test_swapped_after_the_start(self):
        """A hook file that others can write since the start is not run: leadership goes on to one who can."""
        a, b = self.start_queue("ab", self.start_server())
        name = self.hook_file()
        b.hook_words["gain"] = (name, *b.hook_command("gain")[1:])
        b.write_config()
        b.signal(HUP)
        b.wait_log("configuration reloaded")
        b.wait_queued(2)
        os.chmod(name, 0o777)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_log(name)
        a.wait_state("active", timeout=15)
        self.assertEqual(self.timeline.events("start", "gain", "b"), [])


if __name__ == "__main__":
    unittest.main()
