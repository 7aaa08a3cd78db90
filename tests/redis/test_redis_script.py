"""The Redis hook alone, on real servers, under each shell."""

import os
import shutil
import tempfile
import time
import unittest

from redis_server import Connection, RedisServer
from tenuretest import Script, ScriptChecks, holds_for, wait_for

NOT_NOW = 75


class Events(ScriptChecks):
    shell = ""

    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tenure-redis-")
        self.addCleanup(shutil.rmtree, self.directory)
        self.server = self.start("one")
        self.script = self.hook(self.server)

    def start(self, name, options=()):
        server = RedisServer(os.path.join(self.directory, name), options)
        self.addCleanup(server.kill9)
        return server.start()

    def hook(self, server, **env):
        return Script("redis", self.shell, {"REDIS_PORT": str(server.port), "REDIS_TIMEOUT": "1"} | env)

    def start_pair(self):
        """The server is the master of another, which is in sync."""
        other = self.start("two")
        follower = self.hook(other)
        done = follower.run("follow", leader="a", leader_address=self.server.address)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(other.info("master_link_status"), "up")
        return other

    def test_each_twice(self):
        """Whatever state it begins with, and twice: the wanted state, no message, nothing to undo."""
        for event, role in (("lose", "slave"), ("gain", "master"), ("lose", "slave"), ("follow", "slave"), ("gain", "master")):
            for _ in range(2):
                done = self.succeeds(event, planned="yes")
                self.assertEqual((done.stdout, done.stderr), ("", ""))
                self.assertEqual(self.server.role(), role, event)

    def test_data_stay(self):
        """Out of office and back: nothing is forgotten, and a replica refuses to write."""
        self.server.ask("SET", "x", "1")
        self.succeeds("lose")
        self.assertIn("READONLY", self.server.ask("SET", "x", "2"))
        self.assertEqual(self.server.ask("GET", "x"), "1")
        self.succeeds("gain")
        self.assertEqual(self.server.ask("SET", "x", "3"), "OK")

    def test_clients_go(self):
        """Lose ends the connections of the old master's clients."""
        client = Connection(self.server.port)
        self.addCleanup(client.close)
        client.call("SUBSCRIBE", "news")
        self.succeeds("lose")
        with self.assertRaises(ConnectionError):
            client.read()

    def test_replica_has_all(self):
        """A planned lose waits for a replica that is slow: writes of every moment before it are there."""
        other = self.start_pair()
        other.freeze()
        client = Connection(self.server.port)
        self.addCleanup(client.close)
        for number in range(2000):  # far more than the kernel takes in between
            client.call("SET", f"k{number}", "v" * 10000)
        lose = self.script.start("lose", planned="yes")
        holds_for(lambda: lose.poll() is None, 1, "waiting for the replica")
        self.assertEqual(client.call("PING"), "PONG")
        other.thaw()
        self.assertEqual((*lose.communicate(timeout=20), lose.returncode), ("", "", 0))
        self.assertEqual(other.ask("DBSIZE"), 2000)
        self.assertEqual(other.info("slave_repl_offset"), self.server.info("slave_repl_offset"))

    def test_replica_hangs(self):
        """It is waited for no longer than REDIS_CATCH_UP, and said; a forced lose waits for nobody."""
        other = self.start_pair()
        self.server.ask("SET", "x", "1")
        other.freeze()
        self.server.ask("SET", "x", "2")
        self.script = self.hook(self.server, REDIS_CATCH_UP="1")
        began = time.monotonic()
        done = self.succeeds("lose", planned="yes")
        self.assertIn("of 1 replicas not all have the last writes: 0", done.stderr)
        self.assertGreater(time.monotonic() - began, 0.9)
        self.succeeds("gain")
        self.server.ask("SET", "x", "3")
        self.script = self.hook(self.server, REDIS_CATCH_UP="20")
        began = time.monotonic()
        self.succeeds("lose", planned="no")
        self.assertLess(time.monotonic() - began, 10)
        other.thaw()

    def test_writes_after_a_killed_lose(self):
        """Lose pauses the writes; should it be killed then and the member lead on, gain lets them through."""
        other = self.start_pair()
        other.freeze()
        self.script.run_killed("lose", 0.7, planned="yes")
        self.succeeds("gain")
        began = time.monotonic()
        self.assertEqual(self.server.ask("SET", "x", "1"), "OK")
        self.assertLess(time.monotonic() - began, 1)
        other.thaw()

    def test_killed_half_way(self):
        self.survives_kills("lose", lambda: self.succeeds("gain"), lambda: self.server.role() == "slave", planned="yes")
        self.survives_kills("gain", lambda: self.succeeds("lose"), lambda: self.server.role() == "master")
        other = self.start("other")
        self.survives_kills(
            "follow", lambda: self.succeeds("lose"), lambda: self.server.info("master_link_status") == "up",
            leader="b", leader_address=other.address,
        )  # fmt: skip

    def test_follow(self):
        """Ends when the data are there, and not before; another leader, and nobody."""
        leader = self.start("leader")
        for number in range(1000):
            leader.ask("SET", f"k{number}", "v" * 1000)
        self.succeeds("follow", leader="b", leader_address=leader.address)
        self.assertEqual(self.server.ask("DBSIZE"), 1000)
        leader.freeze()
        waiting = self.script.start("follow", leader="b", leader_address="127.0.0.1:1")
        time.sleep(0.5)
        self.assertIsNone(waiting.poll())
        waiting.kill()
        waiting.communicate()
        leader.thaw()
        self.succeeds("follow", leader="")
        self.assertEqual((self.server.role(), self.server.info("master_port")), ("slave", "1"))
        self.assertEqual(self.server.ask("DBSIZE"), 1000)
        self.succeeds("follow", leader="b", leader_address=f"[127.0.0.1]:{leader.port}")
        self.fails("follow", "the address of b is no host:port: 'b.example'", leader="b", leader_address="b.example")
        self.fails("follow", "no host:port", leader="b", leader_address="")

    def test_started_again(self):
        """A server that is started again, in office before or not, is a replica: never a second master."""
        self.succeeds("lose", planned="yes")
        self.succeeds("gain")
        self.server.ask("SET", "x", "1")
        self.server.kill9()
        self.server.start()
        self.assertEqual(self.server.role(), "slave")
        self.fails("check", "not a master while the member is active", state="active")
        other = self.start_pair_of(self.server)
        other.kill9()
        other.start()
        other.wait_link()

    def start_pair_of(self, server):
        self.succeeds("gain")
        other = self.start("two")
        self.assertEqual(self.hook(other).run("follow", leader="a", leader_address=server.address).returncode, 0)
        return other

    def test_no_configuration_file(self):
        """That a restarted server would be a master is said, and stops nothing."""
        os.unlink(self.server.config)
        os.mkdir(self.server.config)
        done = self.succeeds("lose", planned="yes")
        self.assertIn("replicaof has to stand in the server's configuration file", done.stderr)

    def test_check(self):
        self.succeeds("check", state="active")
        self.fails("check", "not a slave while the member is standby", state="standby")
        self.fails("check", "not a slave while the member is out", state="out")
        self.succeeds("lose")
        self.succeeds("check", state="standby")
        self.fails("check", "not a master while the member is active", state="active")
        self.succeeds("check", state="demoting")
        self.server.ask("CONFIG", "SET", "replica-serve-stale-data", "no")
        self.succeeds("check", state="standby")

    def test_score(self):
        """How far the copy is: the same on master and replica, and more after a write."""
        other = self.start_pair()

        def scores():
            return [int(Script("redis", self.shell, {"REDIS_PORT": str(server.port)}).run("score").stdout)
                    for server in (self.server, other)]  # fmt: skip

        wait_for(lambda: len(set(scores())) == 1, 10, "equal scores")
        before = scores()[0]
        self.server.ask("SET", "x", "y" * 1000)
        wait_for(lambda: min(scores()) > before + 1000, 10, "higher scores")

    def test_absent(self):
        """No server: it has left office and is cut off; all else fails and says why."""
        self.server.kill9()
        self.succeeds("lose", planned="yes")
        self.succeeds("fence")
        for event in ("gain", "check", "score"):
            self.fails(event, "Connection refused", state="standby")
        self.fails("follow", "Connection refused", leader="b", leader_address="127.0.0.1:2")

    def test_silent(self):
        """A server that does not answer: each fails within seconds, and fence kills it by its pidfile."""
        self.server.freeze()
        self.script = self.hook(self.server, REDIS_PIDFILE=self.server.pidfile)
        for event in ("gain", "lose", "follow", "check", "score"):
            began = time.monotonic()
            self.fails(event, "no answer within 1 s", planned="yes")
            self.assertLess(time.monotonic() - began, 15, event)
        self.succeeds("fence")
        self.assertTrue(self.server.ended())

    def test_fence(self):
        """A server that answers is ended in both ways; one that hangs, without a pidfile, is not: that fails."""
        self.succeeds("fence")
        wait_for(self.server.ended, 5, "the server to end")
        self.server.start()
        self.script = self.hook(self.server, REDIS_PIDFILE=self.server.pidfile)
        self.succeeds("fence")
        self.assertTrue(self.server.ended())
        self.server.start().freeze()
        self.script = self.hook(self.server)
        self.fails("fence", "something still answers, or hangs")

    def test_fence_spares_others(self):
        """The pidfile names a process that is not the server: it lives on, and the fence is no success."""
        other = self.start("two")
        self.script = self.hook(self.server, REDIS_PIDFILE=other.pidfile)
        self.fails("fence", "something still answers")
        self.assertFalse(other.ended())
        self.assertFalse(self.server.ended())

    def test_started_again_after_fence(self):
        """The service manager was quick: what it started is a replica, and so the fence has succeeded."""
        self.succeeds("lose", planned="yes")
        self.script = self.hook(self.server, REDIS_PIDFILE=self.server.pidfile)
        with open(self.server.pidfile, "w", encoding="ascii") as file:
            file.write("999999999\n")
        self.succeeds("fence")
        self.succeeds("gain")
        self.fails("fence", "something still answers")

    def test_password(self):
        password = os.path.join(self.directory, "password")
        with open(password, "w", encoding="ascii") as file:
            file.write("secret word\n")
        self.server.ask("CONFIG", "SET", "requirepass", "secret word")
        self.fails("gain", "NOAUTH")
        self.fails("check", "NOAUTH", state="active")
        self.script = self.hook(self.server, REDIS_PASSWORD_FILE=password)
        self.succeeds("lose", planned="yes")
        self.assertEqual(self.server.role(password="secret word"), "slave")
        self.succeeds("check", state="standby")
        self.script = self.hook(self.server, REDIS_PASSWORD_FILE=password + ".none")
        self.fails("check", "No such file")

    def test_loading(self):
        """Not now, and not a failure that backs off ever longer."""
        for number in range(50):
            self.server.ask("SET", f"k{number}", "v" * 1000)
        self.server.ask("CONFIG", "SET", "rdbcompression", "no")
        self.assertEqual(self.server.ask("SAVE"), "OK")
        self.server.kill9()
        with open(self.server.config, "a", encoding="ascii") as file:
            file.write("appendonly no\nkey-load-delay 200000\nloading-process-events-interval-bytes 1024\n")
        self.server.launch()
        wait_for(lambda: "LOADING" in (self.server.ask("PING") or ""), 10, "the server to load")
        self.fails("gain", "still loading", status=NOT_NOW)
        self.fails("check", "LOADING", state="standby")

    def test_usage(self):
        self.fails("", "usage: redis gain|lose|follow|check|score|fence", status=64)
        self.fails("notify", "usage", status=64)


class Dash(Events, unittest.TestCase):
    shell = "dash"


class Busybox(Events, unittest.TestCase):
    shell = "busybox"


if __name__ == "__main__":
    unittest.main()
