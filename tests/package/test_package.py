"""The packages: built, looked at by lintian, installed in a clean root, upgraded with no failover, purged."""

import os
import re
import shlex
import signal
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from clean_root import CleanRoot, packages, run  # noqa: E402
from tenuretest import LiveCase, wait_for  # noqa: E402
from tenuretest.wait import now_ns  # noqa: E402

AGENT = "/usr/sbin/tenured"
UNIT = "lib/systemd/system/tenured.service"
CONFIG = "etc/tenure/tenured.conf"
HOOKS = "var/log/hooks"
HOOK = f"""#!/bin/sh
echo "$TENURE_EVENT $TENURE_TOKEN $TENURE_REASON" >>/{HOOKS}
"""
# Let through what would start the agent in a place without an init system.
POLICY = "#!/bin/sh\nexit 104\n"
ANEW = "executing the program anew"


def configuration(server, extra=""):
    return f"""# mine
member = "inside"
zookeeper {{ servers = "{server.address}" session_timeout = 4000 tick_time = 200 ping_slack = 50 }}
{extra}
election "demo" {{
	hooks {{
		gain = {{"/usr/local/bin/hook"}}
		lose = {{"/usr/local/bin/hook"}}  lose_timeout = 1s  handoff_timeout = 5s
	}}
}}
"""


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except OSError:
        return None


class PackageCase(LiveCase):
    """A clean root with the package, and an ensemble outside."""

    @classmethod
    def setUpClass(cls):
        cls.packages = packages()

    def setUp(self):
        self.server = self.start_server()
        self.root = CleanRoot()
        self.addCleanup(self.root.close)

    def install(self, policy=None):
        if policy:
            self.root.write("usr/sbin/policy-rc.d", policy, 0o755)
        return self.root.install(self.packages["tenure"])

    def configure(self, **options):
        self.root.write("usr/local/bin/hook", HOOK, 0o755)
        self.root.write(CONFIG, configuration(self.server, **options))

    def hooks(self):
        """The hooks that have run: (event, token, reason)."""
        return [tuple(line.split(" ")) for line in self.root.read(HOOKS).splitlines()]

    def pid(self):
        """The supervisor's; None when there is none."""
        # A child that it has just forked looks the same.
        pids = self.root.processes(AGENT)
        found = [pid for pid in pids if parent(pid) not in pids]
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    def electors(self):
        return self.root.processes("tenured", "--elector")

    def ctl(self, *words):
        return self.root.status("tenurectl", *words, timeout=60)

    def state(self):
        status, text = self.ctl("is-leader", "demo")
        return {0: "active", 1: "standby"}.get(status, text)

    def wait_leads(self):
        wait_for(lambda: self.state() == "active", 20, lambda: f"the agent to lead: {self.state()}")


class Build(unittest.TestCase):
    def test_lintian(self):
        """No errors, of any of the three."""
        files = packages()
        self.assertEqual(sorted(files), ["libtenure-dev", "libtenure1", "tenure"])
        said = run("lintian", "--allow-root", "--fail-on=error", *files.values())
        print(said, flush=True)

    def test_contents(self):
        """What the packages are for is in them, and depends on what it needs."""
        files = packages()
        names = {name: run("dpkg", "-c", file)
                 for name, file in files.items()}  # fmt: skip
        for name, path in (
            ("tenure", "./usr/sbin/tenured"), ("tenure", "./usr/bin/tenurectl"), ("tenure", f"./{UNIT}"),
            ("tenure", "./lib/systemd/system/tenured-demote.service"), ("tenure", "./usr/lib/sysusers.d/tenure.conf"),
            ("tenure", "./usr/lib/tmpfiles.d/tenure.conf"), ("tenure", f"./{CONFIG}"), ("tenure", "./etc/init.d/tenured"),
            ("tenure", "./usr/share/man/man8/tenured.8.gz"), ("tenure", "./usr/share/man/man5/tenured.conf.5.gz"),
            ("tenure", "./usr/share/man/man1/tenurectl.1.gz"), ("libtenure-dev", "./usr/include/tenure/lease.h"),
            ("tenure", "./usr/share/doc/tenure/examples/tenured-strict.conf"),
            ("tenure", "./usr/share/doc/tenure/examples/tenured.openrc"), ("tenure", "./etc/tenure/hooks/redis"),
            ("tenure", "./usr/share/doc/tenure/hooks/redis.md"),
        ):  # fmt: skip
            self.assertRegex(names[name], rf"(?m) {re.escape(path)}$")
        self.assertRegex(names["libtenure1"], r"libtenure\.so\.1 ->")
        self.assertNotRegex(names["libtenure1"], r"libtenure\.so ->")
        self.assertIn("libzookeeper-mt2", run("dpkg-deb", "--field", files["tenure"], "Depends"))
        self.assertRegex(run("dpkg-deb", "--field", files["libtenure-dev"], "Depends"), r"libtenure1 \(= ")

    def test_other_prefix(self):
        """Of a build for another place none can be made."""
        with self.assertRaisesRegex(AssertionError, "this one is for /usr/local"):
            run("cpack", "-D", "CPACK_TENURE_PREFIX=/usr/local", "-B", "/nonexistent", cwd=os.path.dirname(
                os.path.dirname(packages()["tenure"])))  # fmt: skip


class Installed(PackageCase):
    def exec_start(self):
        """The words of the unit that is installed."""
        found = re.findall(r"(?m)^ExecStart=(.*)$", self.root.read(UNIT))
        self.assertEqual(len(found), 1)
        return shlex.split(found[0])

    def start_as_unit(self):
        """As the service manager does: ExecStart and nothing else, told by NOTIFY_SOCKET when it is ready."""
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        directory = os.open(self.root.file("run"), os.O_RDONLY)
        manager.bind(f"/proc/self/fd/{directory}/notify")
        os.close(directory)
        manager.settimeout(20)
        self.process = self.root.start(*self.exec_start(), environment=["NOTIFY_SOCKET=/run/notify"])
        self.addCleanup(self.process.wait)
        self.addCleanup(self.process.kill)
        while "READY=1" not in manager.recv(4096).decode().splitlines():
            pass

    def assert_no_failover(self, pid, hooks, elector):
        self.assertEqual(self.pid(), pid)
        self.assertEqual(self.hooks(), hooks)
        wait_for(lambda: self.electors() not in ([], [elector]), 20, "the new program's elector")
        self.wait_leads()
        program = os.stat(self.root.file("usr/sbin/tenured"))
        running = os.stat(f"/proc/{pid}/exe")
        self.assertEqual((running.st_dev, running.st_ino), (program.st_dev, program.st_ino), "it runs the new program")

    def test_life(self):
        """Installed, enabled, started as the unit says, upgraded in office beside a standby, purged."""
        said = self.install()
        self.assertIn("Creating user 'tenure'", said)
        self.assertIsNone(self.pid(), "without an init system nothing is started")
        self.assertEqual(os.readlink(self.root.file("etc/systemd/system/multi-user.target.wants/tenured.service")),
                         f"/{UNIT}")  # fmt: skip
        self.assertTrue([name for name in os.listdir(self.root.file("etc/rc2.d")) if name.endswith("tenured")])
        self.root.run("tenured", "-t")
        self.configure()
        self.start_as_unit()
        self.wait_leads()
        user = int(re.search(r"(?m)^tenure:[^:]*:(\d+):", self.root.read("etc/passwd")).group(1))
        self.assertEqual(os.stat(f"/proc/{self.electors()[0]}").st_uid, user)
        other = self.start_agent("outside", self.server, session_timeout=4000)
        other.wait_queued(2)

        pid, hooks, elector, at_ns = self.pid(), self.hooks(), self.electors()[0], now_ns()
        said = self.root.install(packages("+next")["tenure"])
        self.assertRegex(said, "tenure: the agent has restarted in [0-9]+ ms")
        self.assert_no_failover(pid, hooks, elector)
        self.assertEqual(other.state(), "standby")
        self.assertEqual([event for event in self.timeline.events("start", "gain") if event.at_ns > at_ns], [])
        self.assertTrue(self.root.read(CONFIG).startswith("# mine"), "a changed configuration is kept")
        self.assertIn("+next", self.root.run("dpkg-query", "-W", "tenure"))

        os.kill(self.pid(), signal.SIGTERM)
        self.assertEqual(self.process.wait(20), 0)
        other.wait_state("active")
        self.root.run("apt-get", "-q", "purge", "-y", "tenure")
        self.assert_purged()

    def test_refused_restart(self):
        """A configuration that the new program does not take: the upgrade goes through, the agent goes on."""
        self.install()
        self.configure()
        self.start_as_unit()
        self.wait_leads()
        pid, hooks, elector = self.pid(), self.hooks(), self.electors()
        self.root.write(CONFIG, "nonsense = 1\n")
        said = self.root.install(packages("+next")["tenure"])
        self.assertIn("goes on with the old program", said)
        self.assertEqual((self.pid(), self.electors(), self.hooks()), (pid, elector, hooks))
        self.configure()
        self.root.run("dpkg-reconfigure", "tenure")
        self.assert_no_failover(pid, hooks, elector[0])

    def assert_purged(self):
        """Nothing is left but the user, and what others wrote of the package."""
        self.assertIsNone(self.pid())
        left = self.root.run("find", "/", "-xdev", "-name", "*tenure*", "-not", "-path", "/proc/*", "-not", "-path", "/tmp/*",
                             "-not", "-path", "/var/cache/*", "-not", "-path", "/var/lib/dpkg/info/*")  # fmt: skip
        self.assertEqual(left, "")
        self.assertFalse(os.path.exists(self.root.file("run/tenure")))
        self.assertIn("tenure:", self.root.read("etc/passwd"))


class SysV(PackageCase):
    """The init script, as installed."""

    def service(self, action):
        return self.root.status("/etc/init.d/tenured", action, timeout=200)[0]

    def test_package_scripts(self):
        """Installed, upgraded and removed under it: started, executed anew in place, taken out of office."""
        self.install(POLICY)
        self.assertEqual(self.service("status"), 0)
        pid = self.pid()
        self.configure()
        self.assertEqual(self.service("reload"), 0)
        self.wait_leads()
        hooks = self.hooks()
        self.assertIn("the agent has restarted", self.root.install(packages("+next")["tenure"]))
        self.assertEqual((self.pid(), self.hooks()), (pid, hooks))
        self.assertEqual(self.service("status"), 0)
        wait_for(lambda: ANEW in self.root.syslog.text, 10, "what the agent says in syslog")
        self.root.run("apt-get", "-q", "remove", "-y", "tenure")
        self.assertIsNone(self.pid())
        self.assertEqual(self.hooks()[-1][0::2], ("lose", "stop"))
        self.assertTrue(os.path.exists(self.root.file(CONFIG)))
        self.root.run("apt-get", "-q", "purge", "-y", "tenure")
        Installed.assert_purged(self)

    def test_statuses(self):
        """Those of the Linux Standard Base."""
        self.install()
        self.configure()
        self.assertEqual(self.service("status"), 3)
        self.assertEqual(self.service("reload"), 7)
        self.assertEqual(self.service("stop"), 0)
        self.assertEqual(self.service("nonsense"), 2)
        self.assertEqual(self.service("try-restart"), 0)
        self.assertIsNone(self.pid())
        self.root.write(CONFIG, "nonsense = 1\n")
        self.assertEqual(self.service("start"), 6)
        self.root.write("etc/default/tenured", "DAEMON=/nonexistent\n")
        self.assertEqual(self.service("start"), 5)
        os.unlink(self.root.file("etc/default/tenured"))
        self.configure()
        self.assertEqual(self.service("start"), 0)
        self.assertEqual(self.service("status"), 0)
        pid = self.pid()
        self.assertEqual(self.service("start"), 0)
        self.assertEqual(self.pid(), pid)
        self.wait_leads()
        self.assertEqual(self.service("restart"), 0)
        self.assertNotEqual(self.pid(), pid)
        self.wait_leads()
        self.assertEqual(self.service("stop"), 0)
        self.assertIsNone(self.pid())
        self.assertEqual(self.service("status"), 3)
        self.root.write("run/tenured.pid", "999999\n")
        self.assertEqual(self.service("status"), 1)

    def test_reload(self):
        """A good file is taken, a bad one is refused."""
        self.install()
        self.configure()
        self.service("start")
        self.wait_leads()
        hooks = self.hooks()
        self.configure(extra='log { level = debug }')
        self.assertEqual(self.service("reload"), 0)
        wait_for(lambda: "configuration" in self.root.syslog.text, 10, "the reload in the log")
        self.root.write(CONFIG, "nonsense = 1\n")
        self.assertEqual(self.service("reload"), 6)
        self.assertEqual((self.state(), self.hooks()), ("active", hooks))

    def test_killed(self):
        """A killed agent is started again and goes on; without a keeper it is still found, and stopped."""
        self.install()
        self.configure()
        self.service("start")
        self.wait_leads()
        hooks, pid = self.hooks(), self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.pid() not in (None, pid), 20, "another agent")
        self.wait_leads()
        self.assertEqual(self.hooks(), hooks)
        for keeper in self.root.processes("/bin/sh", "/etc/init.d/tenured", "keep"):
            os.kill(keeper, signal.SIGKILL)
        self.assertEqual(self.service("status"), 0)
        self.assertEqual(self.service("stop"), 0)
        self.assertIsNone(self.pid())
        self.assertEqual(self.hooks()[-1][0::2], ("lose", "stop"))

    def test_bad_configuration(self):
        """Killed while its configuration is not valid: it is not started again and again, and leaves office."""
        self.install()
        self.configure()
        self.service("start")
        self.wait_leads()
        self.root.write(CONFIG, "nonsense = 1\n")
        os.kill(self.pid(), signal.SIGKILL)
        wait_for(lambda: "is not started again" in self.root.syslog.text, 20, "word of it")
        wait_for(lambda: self.service("status") == 1, 20, "the end of it")
        wait_for(lambda: self.hooks()[-1][0::2] == ("lose", "restart"), 20, "the lose hook")
        wait_for(lambda: not self.electors(), 20, "the end of its session")


class OpenRC(PackageCase):
    """Its script, in place of the other one."""

    def service(self, action):
        return self.root.status("rc-service", "tenured", action, timeout=200)[0]

    def test_life(self):
        """Started, reloaded, killed, restarted and stopped; a bad configuration is refused."""
        self.install()
        self.root.run("apt-get", "-q", "install", "-y", "--no-install-recommends", "openrc")
        self.root.run("cp", "/usr/share/doc/tenure/examples/tenured.openrc", "/etc/init.d/tenured")
        # As if it had booted the host.
        self.root.write("run/openrc/softlevel", "")
        self.assertEqual(self.service("status"), 3)
        self.root.write(CONFIG, "nonsense = 1\n")
        self.assertNotEqual(self.service("start"), 0)
        self.assertEqual(self.service("status"), 3)
        self.root.run("mv", "/" + CONFIG, "/etc/other.conf")
        self.root.write("etc/conf.d/tenured", "TENURED_OPTIONS='-c /etc/other.conf'\n")
        self.root.write("etc/other.conf", configuration(self.server, "log { target = syslog }"))
        self.root.write("usr/local/bin/hook", HOOK, 0o755)
        self.assertEqual(self.service("start"), 0)
        self.assertEqual(self.service("status"), 0)
        self.wait_leads()
        hooks, pid = self.hooks(), self.pid()
        self.assertEqual(self.service("reload"), 0)
        wait_for(lambda: "configuration unchanged" in self.root.syslog.text, 10, "the reload in the log")
        self.root.write("etc/other.conf", "nonsense = 1\n")
        self.assertNotEqual(self.service("reload"), 0)
        self.root.write("etc/other.conf", configuration(self.server, "log { target = syslog }"))
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: self.pid() not in (None, pid), 20, "another agent")
        self.wait_leads()
        self.assertEqual(self.hooks(), hooks, "it has gone on with its term")
        self.assertEqual(self.service("restart"), 0)
        self.wait_leads()
        self.assertEqual([hook[0::2] for hook in self.hooks()[len(hooks):]],
                         [("lose", "stop"), ("lose", "startup"), ("gain", "election")])  # fmt: skip
        self.assertEqual(self.service("stop"), 0)
        self.assertEqual(self.service("status"), 3)
        self.assertIsNone(self.pid())


if __name__ == "__main__":
    unittest.main()
