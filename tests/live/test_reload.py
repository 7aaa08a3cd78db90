"""SIGHUP: a broken file, a new path, changes that cost nothing."""

import os
import pwd
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402

HUP = 1


class Reload(LiveCase):
    def test_broken_file(self):
        """A broken file is reported with file and line; the old configuration stays and no hook runs."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        runs = self.hook_runs()
        a.write_config(a.config_text() + 'election "other" {\n')
        a.signal(HUP)
        a.wait_log("tenured.conf:")
        holds_for(lambda: a.state() == "active" and self.hook_runs() == runs, 1, "nothing happens")

    def test_unchanged_file(self):
        """Nothing has changed: nothing happens."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        a.signal(HUP)
        b.signal(HUP)
        holds_for(lambda: self.hook_runs() == runs, 1, "no hook runs")
        a.wait_state("active")
        self.assertEqual(a.election_status()["token"], token)

    def test_fixed_options(self):
        """What was set up at the start cannot change: the option is named, and nothing happens."""
        (a,) = self.start_queue("a", self.start_server())
        runs, good = self.hook_runs(), a.config_text()
        elsewhere = os.path.join(self.directory, "elsewhere")
        for option, text in (
            ("state_dir", good.replace(f'state_dir = "{a.top["state_dir"]}"', f'state_dir = "{elsewhere}"')),
            ("data_dir", good.replace(f'data_dir = "{a.top["data_dir"]}"', f'data_dir = "{elsewhere}"')),
            ("realtime.lock_memory", good + "realtime { lock_memory = true }\n"),
            ("realtime.priority", good + "realtime { priority = 3 }\n"),
        ):
            self.assertNotEqual(text, good)
            a.write_config(text)
            a.signal(HUP)
            a.wait_log(f"{option} cannot change while the agent runs")
        self.assertEqual((a.state(), self.hook_runs()), ("active", runs))

    def test_new_path(self):
        """A new path while leading: lose, out of the old queue, into the new one, gain."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server)
        gain = self.timeline.wait("end", "gain", "a")
        # From here on the two members stand in two contests of one name: S1 and S2 are each path's own.
        a.election_paths["demo"] = "/elsewhere/demo"
        self.assertEqual(b.stop(), 0)
        a.write_config()
        a.signal(HUP)
        self.timeline.wait("end", "lose", "a", after_ns=gain.at_ns)
        self.timeline.wait("end", "gain", "a", after_ns=gain.at_ns)
        a.wait_state("active")
        self.assertEqual(len(self.queue(client, "/elsewhere/demo")), 1)
        wait_for(lambda: not self.queue(client), 5, "the old queue to be empty")

    def test_lose_taken_out(self):
        """A term ends by the hook that it began with: without lose in the new file it is lose, leave, join."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        token = a.election_status()["token"]
        a.hooks = []
        a.write_config()
        a.signal(HUP)
        lose = self.timeline.wait("end", "lose", "a", count=2)
        self.assertEqual(str(lose.token), token)
        gain = self.timeline.wait("start", "gain", "b")
        self.assertGreater(gain.at_ns, lose.at_ns)
        self.assertEqual(gain.fields["previous_clean"], "yes")
        a.wait_queued(2)

    def test_with_a_user(self):
        """The user of an election is the same one afterwards, so its term goes on."""
        server = self.start_server()
        user = pwd.getpwuid(os.geteuid()).pw_name
        (a,) = self.start_queue("a", server, election={"user": user})
        token = a.election_status()["token"]
        runs = self.hook_runs()
        a.write_config(a.config_text() + "# changed\n")
        a.signal(HUP)
        a.wait_log("configuration reloaded")
        holds_for(lambda: self.hook_runs() == runs, 1, "no hook runs")
        a.wait_state("active")
        self.assertEqual(a.election_status()["token"], token)
        lose = len(self.timeline.events("end", "lose", "a"))
        a.ctl("resign", "demo", "--force")
        self.timeline.wait("end", "lose", "a", count=lose + 1)

    def test_follow_taken_out(self):
        """Who waits for a follow hook that always fails stands once there is none any more."""
        server = self.start_server()
        self.start_queue("b", server)
        a = self.agent("a", server, hooks=("gain", "lose", "follow"))
        a.behave("follow", "exit=1")
        a.start()
        self.timeline.wait("end", "follow", "a")
        a.hooks = ("gain", "lose")
        a.write_config()
        a.signal(HUP)
        a.wait_log("configuration reloaded")
        a.wait_state("standby")
        a.wait_queued(2)


if __name__ == "__main__":
    unittest.main()
