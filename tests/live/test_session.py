"""Sessions that end and znodes that vanish under a member."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from kazoo.exceptions import NotEmptyError  # noqa: E402
from tenuretest import LiveCase, wait_for  # noqa: E402


def delete_all(client, path):
    """Deletes PATH with everything below it, however fast the members come back meanwhile."""
    while True:
        try:
            return client.delete(path, recursive=True)
        except NotEmptyError:
            pass


class Session(LiveCase):
    def test_expiry_of_a_standby(self):
        """A standby's session ends: it joins again with a new one, and no hook runs anywhere."""
        server = self.start_server()
        client = self.client(server)
        a, b, c = self.start_queue("abc", server)
        runs = self.hook_runs()
        name, stat = self.queue(client)[1]
        server.end_session(stat.ephemeralOwner)
        wait_for(lambda: name not in [entry[0] for entry in self.queue(client)], 5, "the old candidate to go")
        b.wait_queued(3)
        c.wait_queued(2)
        self.assertEqual((a.state(), b.state(), c.state()), ("active", "standby", "standby"))
        self.assertEqual(self.hook_runs(), runs)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        c.wait_state("active")

    def test_expiry_while_frozen(self):
        """A standby's agent sleeps past its session's expiry: when it wakes it joins again."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        runs = self.hook_runs()
        elector = b.elector()
        # A supervisor that is awake would replace an elector that sleeps.
        for pid in (b.pid, elector):
            os.kill(pid, 19)
        self.wait_candidates(client, 1, timeout=8)
        for pid in (elector, b.pid):
            os.kill(pid, 18)
        b.wait_queued(2)
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))

    def test_expiry_of_the_leader(self):
        """The leader's session ends under it: lose runs, and it comes back by a new token."""
        server = self.start_server()
        client = self.client(server)
        (a,) = self.start_queue("a", server)
        gain = self.timeline.wait("end", "gain", "a")
        server.end_session(self.queue(client)[0][1].ephemeralOwner)
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        # Its library may not learn of it before the lease nears its end.
        self.assertIn(lose.reason, ("session", "znode-deleted", "lease"))
        self.assertFalse(lose.planned)
        self.timeline.wait("end", "gain", "a", count=2)
        a.wait_state("active")


class Deleted(LiveCase):
    def test_leader_candidate(self):
        """Somebody deletes the leader's candidate: lose runs, and the member comes back by a new token."""
        server = self.start_server()
        client = self.client(server)
        (a,) = self.start_queue("a", server)
        gain = self.timeline.wait("end", "gain", "a")
        client.delete("/tenure/demo/queue/" + self.queue(client)[0][0])
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns)
        self.assertEqual((lose.reason, lose.planned, lose.token), ("znode-deleted", False, gain.token))
        self.timeline.wait("end", "gain", "a", count=2)
        a.wait_state("active")
        self.assertEqual(len(self.queue(client)), 1)

    def test_standby_candidate(self):
        """Somebody deletes a standby's candidate: it queues again, no hook runs."""
        server = self.start_server()
        client = self.client(server)
        a, b, c = self.start_queue("abc", server)
        runs = self.hook_runs()
        client.delete("/tenure/demo/queue/" + self.queue(client)[1][0])
        c.wait_queued(2)
        b.wait_queued(3)
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))

    def test_everything(self):
        """The election's whole path is deleted: the leader stands down, the path is made again, one candidate each."""
        # Nobody deletes election znodes: outside this promise S1 cannot hold.
        self.oracle.promises = ("S2", "S3", "DEADLINE", "CLOSED")
        server = self.start_server()
        client = self.client(server)
        agents = self.start_queue("abc", server)
        gain = self.timeline.wait("end", "gain", "a")
        delete_all(client, "/tenure/demo")
        self.timeline.wait("end", "lose", "a", after_ns=gain.at_ns)
        self.timeline.wait("end", "gain", after_ns=gain.at_ns)
        self.wait_candidates(client, 3)
        states = lambda: sorted(agent.state() or "" for agent in agents)  # noqa: E731
        wait_for(lambda: states() == ["active", "standby", "standby"], 10, "a leader and two standbys")
        self.assertEqual(len(self.queue(client)), 3)
        self.assertEqual(len({stat.ephemeralOwner for _, stat in self.queue(client)}), 3)


if __name__ == "__main__":
    unittest.main()
