"""tenured's own command line: -t, -o, -V and what is refused."""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURED, LiveCase  # noqa: E402

USAGE, CONFIGURATION = 64, 78
SCHEDULE = """\
ZooKeeper at 127.0.0.1:1: lease 20 s, a heartbeat every 1 s, no server's tick above 3 s
no tokens are kept: an ensemble that was wiped or restored would be obeyed

election "demo" at /tenure/demo, member "a"
  rides out 8.1 s without ZooKeeper; after a crash a standby takes over within 20 s and two ticks
  a lease that is not renewed, from its start:
     13.600 s  the lose hook runs, at most 4 s
     17.600 s  SIGKILL for what is left; if lose has failed, the fence hook runs, at most 2 s
     19.600 s  out of office
     20.000 s  the session may expire: somebody else may lead
  a planned handoff gives the lose hook 60 s while the lease is renewed
"""


class CommandLine(LiveCase):
    def tenured(self, *words):
        return subprocess.run([TENURED, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=10, check=False)  # fmt: skip

    def test_schedule(self):
        """-t prints the default schedule of the design in words and touches nothing."""
        a = self.agent("a", "127.0.0.1:1", session_timeout=20000, tick_time=3000, hooks=("gain", "lose", "fence"),
                       zookeeper={"ping_slack": 500}, top={"data_dir": ""},
                       hook_options={"lose_timeout": 4000, "fence_timeout": 2000, "handoff_timeout": 60000})  # fmt: skip
        before = sorted(os.listdir(a.directory))
        done = a.run("-t")
        self.assertEqual((done.returncode, done.stdout), (0, SCHEDULE))
        self.assertEqual(sorted(os.listdir(a.directory)), sorted([*before, "tenured.conf"]))
        self.assertEqual(self.timeline.events(), [])

    def test_override(self):
        """-o replaces scalars of the top and of the zookeeper block, the file's defaults and values alike."""
        a = self.agent("a", "127.0.0.1:1", session_timeout=20000, tick_time=3000)
        done = a.run("-t", "-o", "zookeeper.servers=zk1:2181,zk2/app", "-o", "zookeeper.session_timeout=30s",
                     "-o", "zookeeper.heartbeat=2s", "-o", "member=somebody", "-o", "zookeeper.tick_time=2000")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("ZooKeeper at zk1:2181,zk2/app: lease 30 s, a heartbeat every 2 s, no server's tick above 2 s\n",
                      done.stdout)  # fmt: skip
        self.assertIn('election "demo" at /app/tenure/demo, member "somebody"', done.stdout)

    def test_every_scalar_can_be_overridden(self):
        """Each with a value of its own kind."""
        a = self.agent("a", "127.0.0.1:1", session_timeout=20000, tick_time=3000)
        auth = os.path.join(self.directory, "auth")
        with open(auth, "w", opener=lambda name, flags: os.open(name, flags, 0o600), encoding="ascii") as file:
            file.write("digest:a:b\n")
        for setting in ("member=x", "state_dir=/nonexistent/x", "data_dir=/nonexistent/y", "elector_user=nobody",
                        "orphan_limit=5s", "zookeeper.servers=x:1", "zookeeper.session_timeout=21s",
                        "zookeeper.tick_time=2s", "zookeeper.heartbeat=900", "zookeeper.ping_slack=400ms",
                        f"zookeeper.auth_file={auth}", "zookeeper.acl=open"):  # fmt: skip
            with self.subTest(setting=setting):
                done = a.run("-t", "-o", setting)
                self.assertEqual(done.returncode, 0, done.stdout)

    def test_override_refused(self):
        """One line that names the setting, exit 78."""
        a = self.agent("a", "127.0.0.1:1")
        for setting in ("nonsense", "=x", "log.level=debug", "zookeeper.nonsense=1", "zookeeper.servers=",
                        "zookeeper.session_timeout=soon", "zookeeper.tls=1", "election.demo.path=/x"):  # fmt: skip
            with self.subTest(setting=setting):
                done = a.run("-t", "-o", setting)
                self.assertEqual(done.returncode, CONFIGURATION, done.stdout)
                self.assertEqual(len(done.stdout.splitlines()), 1, done.stdout)
                self.assertIn(setting.split("=")[0], done.stdout)

    def test_override_in_a_running_agent(self):
        """It holds, also after SIGHUP, and reaches the elector."""
        server = self.start_server()
        a = self.agent("a", "127.0.0.1:1")
        a.start("-o", f"zookeeper.servers={server.address}", "-o", "member=renamed")
        a.wait_state("active")
        self.assertEqual(a.status()["member"], "renamed")
        a.hook_options["lose_timeout"] = 450
        a.write_config()
        a.signal(1)
        a.wait_log("configuration reloaded")
        a.wait_state("active")
        self.assertEqual((a.status()["member"], len(self.timeline.events("start", "gain"))), ("renamed", 1))

    def test_version_and_help(self):
        done = self.tenured("-V")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^tenured \d+\.\d+\.\d+\n$")
        done = self.tenured("-h")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ("-c", "-o", "-t", "-V", "--adopt", "--demote-stale"):
            self.assertIn(option, done.stdout)

    def test_wrong_usage(self):
        """Exit 64, with a word about it."""
        for words in (("-x",), ("word",), ("-c",), ("--nonsense",), ("--adopt",), ("--adopt", "a", "--demote-stale")):
            with self.subTest(words=words):
                done = self.tenured(*words)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                self.assertTrue(done.stderr)


if __name__ == "__main__":
    unittest.main()
