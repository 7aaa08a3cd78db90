"""What an operator can get wrong: each gives one clear error, and nothing is half done."""

import socket
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import HOOK, LiveCase, holds_for  # noqa: E402

INTERNAL, REFUSED, CONFIGURATION = 70, 77, 78


class BadInput(LiveCase):
    def refused(self, agent, *words, status=CONFIGURATION, errors=1, **options):
        """
        The agent ends at once with STATUS. It says one line for each error, which names what is wrong; no hook
        has run, and what a wrong configuration names has not been touched.
        """
        before = set(os.listdir(agent.directory)) | {"tenured.conf"}
        done = agent.run(**options)
        self.assertEqual(done.returncode, status, done.stdout)
        self.assertEqual(len(done.stdout.splitlines()), errors, done.stdout)
        for word in words:
            self.assertIn(word, done.stdout)
        self.assertEqual(self.timeline.events(), [])
        left = set(os.listdir(agent.directory)) - before
        self.assertLessEqual(left, set() if status == CONFIGURATION else {"state", "data"})
        return done.stdout

    def test_malformed(self):
        """Every wrong value in one run, each with its line; exit 78."""
        a = self.agent("a", "127.0.0.1:1")
        text = a.config_text().replace("tick_time = 200", 'tick_time = "soon"').replace("backoff = 200", "backof = 200")
        said = self.refused(a, "tick_time", "backof", errors=2, config=text)
        for word in ("tick_time", "backof"):
            line = next(number for number, row in enumerate(text.splitlines(), 1) if word + " " in row)
            self.assertIn(f"{a.config_file}:{line}:", said)

    def test_no_file(self):
        a = self.agent("a", "127.0.0.1:1")
        a.config_file = os.path.join(self.directory, "absent.conf")
        a.write_config = lambda text=None: None
        self.refused(a, "absent.conf")

    def test_unfit_schedule(self):
        """Hooks that do not fit the lease: refused, with the smallest session timeout that would do."""
        a = self.agent("a", "127.0.0.1:1", hook_options={"lose_timeout": 1900})
        self.refused(a, "session")

    def test_auth_file_missing(self):
        a = self.agent("a", "127.0.0.1:1", zookeeper={"auth_file": "/nonexistent/auth"})
        self.refused(a, "/nonexistent/auth")

    def test_auth_file_readable_by_others(self):
        name = os.path.join(self.directory, "auth")
        with open(name, "w", encoding="ascii") as file:
            file.write("digest:agent:secret\n")
        os.chmod(name, 0o644)
        a = self.agent("a", "127.0.0.1:1", zookeeper={"auth_file": name})
        said = self.refused(a, name)
        self.assertNotIn("secret", said)

    def test_hook_missing(self):
        a = self.agent("a", "127.0.0.1:1")
        a.hook_words["gain"] = ("/nonexistent/hook", "gain")
        self.refused(a, "/nonexistent/hook", "gain")

    def copy_hook(self, directory_mode, mode):
        directory = os.path.join(self.directory, "hooks")
        os.mkdir(directory)
        name = os.path.join(directory, "gain")
        with open(HOOK, "rb") as source, open(name, "wb") as target:
            target.write(source.read())
        os.chmod(name, mode)
        os.chmod(directory, directory_mode)
        return name

    def test_hook_writable_by_others(self):
        a = self.agent("a", "127.0.0.1:1")
        name = self.copy_hook(0o755, 0o757)
        a.hook_words["gain"] = (name, "gain")
        self.refused(a, name)

    def test_hook_directory_writable_by_others(self):
        a = self.agent("a", "127.0.0.1:1")
        name = self.copy_hook(0o777, 0o755)
        a.hook_words["gain"] = (name, "gain")
        self.refused(a, os.path.dirname(name))

    def test_hook_not_executable(self):
        a = self.agent("a", "127.0.0.1:1")
        name = self.copy_hook(0o755, 0o644)
        a.hook_words["gain"] = (name, "gain")
        self.refused(a, name)

    def test_control_socket_in_use(self):
        """Another program listens on the control socket: it is left alone."""
        a = self.agent("a", "127.0.0.1:1")
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(a.control)
            other.listen()
            self.refused(a, a.control, status=REFUSED)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(a.control)

    def test_something_else_in_the_place_of_the_control_socket(self):
        """A file that is no socket is never removed."""
        a = self.agent("a", "127.0.0.1:1")
        with open(a.control, "w", encoding="ascii") as file:
            file.write("precious")
        self.refused(a, a.control, status=INTERNAL)
        with open(a.control, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_state_dir_impossible(self):
        a = self.agent("a", "127.0.0.1:1", top={"state_dir": "/nonexistent/deep/state"})
        self.refused(a, "/nonexistent/deep/state", status=INTERNAL)

    def test_control_socket_left_behind(self):
        """A socket file that nobody listens on is replaced."""
        server = self.start_server()
        a = self.agent("a", server)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(a.control)
        a.start()
        a.wait_state("active")

    def test_state_dir_in_use(self):
        """A second agent with the same state_dir is refused; the first goes on undisturbed."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        runs = self.hook_runs()
        second = self.agent("second", server, top={"state_dir": a.top["state_dir"]})
        done = second.run()
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (REFUSED, 1), done.stdout)
        self.assertIn(a.top["state_dir"], done.stdout)
        self.assertFalse(os.path.exists(second.control))
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))

    def quiet_start(self, servers, *words):
        """No server to be had is no error at the start: said clearly, without spinning, and SIGTERM still works."""
        a = self.start_agent("a", servers)
        self.timeline.wait("end", "lose", "a")
        for word in words:
            a.wait_log(word)
        holds_for(lambda: a.running, 3, "the agent runs")
        self.assertLess(len(a.log().splitlines()), 30, a.log())
        self.assertIn(a.state(), ("standby", "following", "out"))
        self.assertEqual(a.stop(5), 0)

    def test_unreachable_servers(self):
        self.quiet_start("127.0.0.1:1,127.0.0.1:2", "Connection refused")

    def test_unknown_host(self):
        self.quiet_start("no-such-host.invalid:2181", "no-such-host.invalid")

    def test_one_of_the_hosts_is_unknown(self):
        """What resolves is used."""
        server = self.start_server()
        a = self.start_agent("a", f"no-such-host.invalid:2181,{server.address}")
        a.wait_state("active", timeout=20)


if __name__ == "__main__":
    unittest.main()
