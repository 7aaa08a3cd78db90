"""The token floor: on disk before gain, whatever the disk does, and against an ensemble that has forgotten."""

import os
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402

HUP = 1
REFUSED = 77


def floor_file(agent, election="demo"):
    return os.path.join(agent.top["data_dir"], f"{election}.token")


def admits(agent, file, token):
    """Whether the gate in a copy of FILE admits TOKEN."""
    copy = file + ".copy"
    shutil.copy(file, copy)
    done = agent.ctl("gate", copy, str(token))
    os.remove(copy)
    if done.returncode not in (0, REFUSED):
        raise AssertionError(f"gate {file} {token}: exit {done.returncode}, {done.stderr}")
    return done.returncode == 0


class Floor(LiveCase):
    def seen_at_gain(self, agent):
        """From now on the gain hook keeps a copy of the floor as it is when it starts; returns the copy's name."""
        copy = os.path.join(agent.directory, "at-gain")
        words = " ".join(f"'{word}'" for word in agent.hook_command("gain"))
        script = os.path.join(agent.directory, "gain")
        with open(script, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\ncp {floor_file(agent)} {copy} || exit 9\nexec {words}\n")
        os.chmod(script, 0o755)
        agent.hook_words["gain"] = (script,)
        return copy

    def test_durable_before_gain(self):
        """What the file holds when gain starts refuses every lower token, and the agent's folder is its own."""
        server = self.start_server()
        a = self.agent("a", server)
        copy = self.seen_at_gain(a)
        a.start().wait_state("active")
        token = a.election_status()["token"]
        self.assertFalse(admits(a, copy, int(token) - 1))
        self.assertTrue(admits(a, copy, token))
        self.assertEqual(stat.S_IMODE(os.stat(a.top["data_dir"]).st_mode), 0o700)

    def test_standby_keeps_it_too(self):
        """Who only looks on keeps the leader's token, and its own candidate's before its turn comes."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        token = int(a.election_status()["token"])
        wait_for(lambda: os.path.exists(floor_file(b)) and not admits(b, floor_file(b), token), 5, "b's own token")
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        self.assertGreater(int(b.election_status()["token"]), token)

    def test_kept_across_a_restart_and_a_reload(self):
        """The floor is there again after a restart, and a reload that replaces the election keeps it."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        token = int(a.election_status()["token"])
        self.assertEqual(a.stop(), 0)
        a.start().wait_state("active")
        again = int(a.election_status()["token"])
        self.assertGreater(again, token)
        a.election["address"] = "elsewhere:1"
        a.write_config()
        a.signal(HUP)
        a.wait_log("configuration reloaded")
        a.wait_state("active")
        self.assertFalse(admits(a, floor_file(a), again - 1))

    def test_data_dir_cannot_change(self):
        """A reload with another data_dir is refused, and the old one goes on."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        a.top["data_dir"] = os.path.join(a.directory, "other")
        a.write_config()
        a.signal(HUP)
        a.wait_log("data_dir cannot change while the agent runs")
        self.assertEqual(a.state(), "active")

    def test_one_agent_each(self):
        """A second agent on the same data_dir is refused; an unusable one is named in one line."""
        server = self.start_server()
        (a,) = self.start_queue("a", server)
        b = self.agent("b", server, top={"data_dir": a.top["data_dir"]})
        done = b.run()
        self.assertEqual(done.returncode, REFUSED, done.stdout)
        self.assertIn("another agent uses the same data_dir", done.stdout)
        c = self.agent("c", server, top={"data_dir": "/proc/nowhere"})
        done = c.run()
        self.assertNotIn(done.returncode, (0, REFUSED))
        self.assertEqual(done.stdout.count("cannot use data_dir"), 1, done.stdout)

    @unittest.skipUnless(os.geteuid() == 0, "mounts a file system")
    def test_full_disk(self):
        """Once the file exists, a full disk keeps nobody from office."""
        server = self.start_server()
        a = self.agent("a", server)
        data = a.top["data_dir"]
        os.mkdir(data)
        a.wrapper = ("unshare", "-m", "sh", "-c", f"mount -t tmpfs -o size=128k none {data} && exec \"$@\"", "sh")
        a.start().wait_state("active")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        inside = f"/proc/{a.pid}/root{data}"
        with open(os.path.join(inside, "filling"), "wb", buffering=0) as file, self.assertRaises(OSError):
            while True:
                file.write(bytes(4096))
        token = int(a.election_status()["token"])
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")
        a.wait_queued(2)
        self.assertEqual(b.ctl("resign", "demo").returncode, 0)
        a.wait_state("active")
        self.assertGreater(int(a.election_status()["token"]), token)
        self.assertNotIn("cannot write the token floor", a.log())

    @unittest.skipUnless(os.geteuid() == 0, "mounts a file system")
    def test_failing_disk(self):
        """Who cannot write does not lead, says so once and leaves the place to the next; when it can again, it leads."""
        server = self.start_server()
        a = self.agent("a", server)
        data = a.top["data_dir"]
        os.mkdir(data)
        # Room for the folder and its lock, and for no file more.
        a.wrapper = ("unshare", "-m", "sh", "-c", f"mount -t tmpfs -o nr_inodes=2 none {data} && exec \"$@\"", "sh")
        a.start()
        a.wait_queued(1)
        b = self.start_agent("b", server)
        b.wait_state("active", timeout=15)
        self.assertEqual(self.timeline.events("start", "gain", "a"), [])
        self.assertEqual(a.log().count("cannot write the token floor"), 1)
        subprocess.run(("nsenter", "-t", str(a.pid), "-m", "mount", "-o", "remount,nr_inodes=20", data), check=True)
        a.wait_log("the token floor can be written again", 70)
        a.wait_queued(2)
        self.assertEqual(b.ctl("resign", "demo").returncode, 0)
        a.wait_state("active")

    def test_damaged_file(self):
        """A damaged file lets nothing lead until an operator says forget."""
        server = self.start_server()
        a = self.agent("a", server)
        os.mkdir(a.top["data_dir"])
        with open(floor_file(a), "w", encoding="ascii") as file:
            file.write("no gate")
        a.start()
        a.wait_queued(1)
        a.wait_log("the token floor is damaged")
        holds_for(lambda: self.timeline.events("start", "gain") == [], 2, "nobody takes office")
        done = a.ctl("forget", "demo", "--token", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        a.wait_state("active", timeout=15)
        self.assertTrue(os.path.exists(floor_file(a) + ".damaged"))

    def test_wiped_ensemble(self):
        """An ensemble that begins anew hands out tokens that were seen before: refused, said, shown, forgotten on demand."""
        server = self.start_server()
        client = self.client(server)
        for _ in range(50):
            client.create("/filling-", sequence=True)
        (a,) = self.start_queue("a", server)
        token = a.election_status()["token"]
        client.stop()
        self.assertEqual(a.stop(), 0)
        server.kill()
        shutil.rmtree(server.data_dir)
        os.mkdir(server.data_dir)
        server.start()
        gains = len(self.timeline.events("start", "gain"))
        a.start()
        a.wait_log("our token is not above the highest seen", 15)
        # It steps back once, and between two candidates nothing blocks.
        blocked = lambda: "not above the highest seen" in (a.election_status().get("blocked") or "")  # noqa: E731
        wait_for(blocked, 5, "the status to say so")
        self.assertEqual(a.election_status()["token_floor"], token)
        self.assertEqual(len(self.timeline.events("start", "gain")), gains)
        self.oracle.promises = [promise for promise in self.oracle.promises if promise != "S2"]  # as an operator wants it
        done = a.ctl("forget", "demo", "--token", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        a.wait_state("active", timeout=15)
        self.assertLess(int(a.election_status()["token"]), int(token))

    def test_turned_off(self):
        """With an empty data_dir nothing is kept and nothing refused."""
        server = self.start_server()
        a = self.start_agent("a", server, top={"data_dir": ""})
        a.wait_state("active")
        self.assertFalse(os.path.exists(os.path.join(a.directory, "data")))


if __name__ == "__main__":
    unittest.main()
