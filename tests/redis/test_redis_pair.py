"""Two real Redis servers under two agents, with a client that writes all along: never two masters."""

import os
import signal
import unittest

from redis_server import RedisServer, RoleQuestion, Writer
from tenuretest import LiveCase, Lookout, hook_path, now_ns, wait_for

HOOKS = ("gain", "lose", "fence", "follow")
LEASE_MS = 6000


class Pair(LiveCase):
    tick_time = 300  # a server grants twenty ticks

    def setUp(self):
        self.zookeeper = self.start_server()
        self.redis = {}
        for member in "ab":
            self.redis[member] = RedisServer(os.path.join(self.directory, f"redis-{member}"))
            self.addCleanup(self.redis[member].kill9)
            self.redis[member].start()
        self.a, self.b = self.start_redis_agent("a"), None
        self.a.wait_state("active", timeout=20)
        self.b = self.start_redis_agent("b")
        self.b.wait_queued(2, timeout=20)
        self.lookout = Lookout({member: RoleQuestion(redis) for member, redis in self.redis.items()})
        self.lookout.start()
        self.addCleanup(self.lookout.done.set)

    def start_redis_agent(self, member):
        redis = self.redis[member]
        agent = self.agent(
            member, self.zookeeper, session_timeout=LEASE_MS, hooks=HOOKS,
            hook_options={"lose_timeout": 1500, "fence_timeout": 500, "handoff_timeout": 15000},
            election={
                "address": redis.address, "score_slack": 0,
                "env": [f"REDIS_PORT={redis.port}", f"REDIS_PIDFILE={redis.pidfile}", "REDIS_TIMEOUT=1"],
            },
        )  # fmt: skip
        words = {hook: (hook_path("redis"), hook) for hook in (*HOOKS, "check", "score")}
        agent.hook_words = words
        often = {"interval": 300, "timeout": 1000}
        agent.blocks = {"check": often | {"rise": 1, "fall": 2}, "score": often}
        return agent.start()

    def write(self, sync):
        writer = Writer(list(self.redis.values()), sync)
        self.addCleanup(writer.done.set)
        writer.start()
        writer.wait_more()
        return writer

    def finish(self, writer, master):
        """The client has gone on with the new MASTER; nothing it was told is lost, and there never were two."""
        writer.wait_more()
        writer.finish()
        found = self.lookout.finish()
        print(
            f"{self._testMethodName}: {writer.count()} writes acknowledged, longest gap {writer.longest_gap() * 1000:.0f} ms, "
            f"lease {LEASE_MS} ms; asked for roles {sum(self.lookout.asked.values())} times, overlaps: {len(found)}", flush=True,
        )  # fmt: skip
        self.assertEqual(found, [], "seconds of two masters")
        self.assertGreater(min(self.lookout.asked.values()), 50)
        self.assertTrue(all(self.lookout.spans.values()), "both have led")
        self.assertEqual(writer.lost(self.redis[master]), [])

    def rejoins(self, member, leader):
        """The old master is a replica of the new one, in sync and in the queue."""
        redis = self.redis[member]
        agent = {"a": self.a, "b": self.b}[member]
        agent.wait_queued(2, timeout=30)
        wait_for(lambda: redis.info("master_port") == str(self.redis[leader].port), 20, "the new leader to be followed")
        redis.wait_link()

    def test_handoff_both_ways(self):
        """Planned: a client that does not wait for replicas loses nothing."""
        writer = self.write(sync=False)
        self.assertEqual(self.a.ctl("resign", "demo").returncode, 0)
        self.b.wait_state("active", timeout=20)
        writer.wait_more()
        self.rejoins("a", "b")
        self.assertEqual(self.b.ctl("resign", "demo").returncode, 0)
        self.a.wait_state("active", timeout=20)
        self.rejoins("b", "a")
        self.finish(writer, "a")

    def test_master_killed(self):
        """SIGKILL to the master: the replica takes over; the service manager starts the old one, which follows."""
        writer = self.write(sync=True)
        self.redis["a"].kill9()
        self.b.wait_state("active", timeout=20)
        self.redis["b"].wait_role("master")
        self.redis["a"].start()
        self.rejoins("a", "b")
        self.finish(writer, "b")

    def test_master_restarted_at_once(self):
        """It is back before a check has missed it, with what its disk had: as a replica, so office moves on."""
        writer = self.write(sync=True)
        self.redis["a"].kill9()
        self.redis["a"].start()
        self.b.wait_state("active", timeout=20)
        self.rejoins("a", "b")
        self.finish(writer, "b")

    def test_master_hangs(self):
        """It answers nobody and lose fails, so that it is killed before anybody else becomes master."""
        writer = self.write(sync=True)
        self.redis["a"].freeze()
        self.redis["b"].wait_role("master", timeout=40)
        self.assertTrue(self.redis["a"].ended())
        self.redis["a"].kill9()
        self.redis["a"].start()
        self.rejoins("a", "b")
        self.finish(writer, "b")

    def test_agent_killed(self):
        """SIGKILL to the master's whole agent, which is started again at once: the term is adopted, nothing changes."""
        writer = self.write(sync=False)
        token = self.a.election_status()["token"]
        self.a.kill9()
        self.a.start().wait_state("active", timeout=20)
        self.assertEqual(self.a.election_status()["token"], token)
        writer.wait_more()
        writer.finish()
        self.assertEqual(self.lookout.finish(), [])
        self.assertEqual(writer.lost(self.redis["a"]), [])
        self.assertEqual(self.lookout.spans["b"], [], "spans in which b was master")

    def test_agent_killed_and_late(self):
        """It is started again when the lease is nearly over: too late to go on, so that it demotes its server first."""
        writer = self.write(sync=True)
        lease_ms = self.a.election_status()["lease_ms"]
        killed_ns = self.a.kill9()
        wait_for(lambda: now_ns() > killed_ns + (lease_ms - 2000) * 10**6, 20, "two seconds before the deadline")
        self.a.start()
        self.b.wait_state("active", timeout=20)
        self.a.wait_log("a term was left behind")
        self.rejoins("a", "b")
        self.finish(writer, "b")

    def test_the_lookout(self):
        """Two masters would have been seen."""
        self.redis["b"].ask("REPLICAOF", "NO", "ONE")
        wait_for(lambda: len(self.lookout.spans["b"]) > 0, 10, "the second master to be seen")
        wait_for(self.lookout.overlaps, 10, "an overlap")
        self.assertNotEqual(self.lookout.finish(), [])


class Refusal(LiveCase):
    """An old leader whose agent is frozen or gone, all of it: nobody demotes its server."""

    tick_time = 300

    def start_pair(self):
        self.zookeeper = self.start_server()
        self.redis = {}
        for member in "ab":
            self.redis[member] = RedisServer(
                os.path.join(self.directory, f"redis-{member}"), ["min-replicas-to-write 1", "min-replicas-max-lag 10"]
            )
            self.addCleanup(self.redis[member].kill9)
            self.redis[member].start()
        a = Pair.start_redis_agent(self, "a")
        a.wait_state("active", timeout=20)
        b = Pair.start_redis_agent(self, "b")
        b.wait_queued(2, timeout=20)
        wait_for(lambda: self.redis["a"].ask("SET", "x", "1") == "OK", 10, "the replica to count")
        return a, b

    def check_refused(self):
        """
        The old master refuses writes from the moment at which its replica has left it, and that is before the replica
        is a master.
        """
        old, new = self.redis["a"], self.redis["b"]
        wait_for(lambda: new.role() == "master", 30, "the replica to be promoted")
        self.assertEqual(old.role(), "master")
        self.assertIn("NOREPLICAS", old.ask("SET", "x", "2"))
        self.assertEqual(new.ask("GET", "x"), "1")

    def check_healed(self, a):
        """The agent runs again. Too late for lose, it has its server killed; the service manager starts that again."""
        old, new = self.redis["a"], self.redis["b"]
        wait_for(lambda: old.ended() or old.role() == "slave", 20, "the old master to be none any more")
        if old.ended():
            old.start()
        wait_for(lambda: new.ask("SET", "x", "3") == "OK", 30, "the old master to count as a replica")
        a.wait_queued(2, timeout=20)

    def test_frozen(self):
        a, _ = self.start_pair()
        frozen = [a.pid, a.elector()]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            self.check_refused()
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        self.check_healed(a)

    def test_killed_for_good(self):
        a, _ = self.start_pair()
        a.kill9()
        self.check_refused()
        a.start()
        self.check_healed(a)


if __name__ == "__main__":
    unittest.main()
