"""After a leader that has not left: fence_peer, takeover_delay, forget, recover and the token floor."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURECTL, LiveCase, holds_for, now_ns, wait_for  # noqa: E402

HOOKS = ("gain", "lose", "fence_peer")
PATH = "/tenure/demo"
NOT_FENCED = "the last incumbent is not fenced yet"


class Fencing(LiveCase):
    def start_fencing(self, members, server, **options):
        return self.start_queue(members, server, **({"hooks": HOOKS} | options))

    def record(self, client):
        return json.loads(client.get(PATH)[0])

    def blocked(self, agent):
        return agent.election_status().get("blocked")

    def wait_blocked(self, agent, text):
        wait_for(lambda: self.blocked(agent) == text, 10, lambda: f"blocked: {text}; last seen: {self.blocked(agent)}")

    def session(self, agent):
        """None while there is none that is connected."""
        zookeeper = agent.status().get("zookeeper", {})
        return zookeeper.get("session") if zookeeper.get("state") == "connected" else None

    def runs(self, member=None, **fields):
        """Starts of fence_peer."""
        events = self.timeline.events("start", "fence_peer", member)
        return [event for event in events if fields.items() <= event.fields.items()]

    def forced(self, agent, *words):
        done = agent.ctl("forget", "demo", "--force", *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_before_gain(self):
        """
        The leader dies: its successor fences it, the record says so, and only then gain runs. A clean handoff needs
        no fencing, nor does a member that finds its own term.
        """
        server = self.start_server()
        client = self.client(server)
        proxy = self.start_proxy(server)
        a = self.start_agent("a", server, hooks=HOOKS)
        a.wait_state("active")
        b = self.start_agent("b", proxy, hooks=HOOKS)
        b.wait_queued(2)
        token = a.election_status()["token"]
        b.behave("fence_peer", "sleep=300")
        proxy.lag(0.05)  # so that no version of the record is gone before it is seen
        seen = []
        client.DataWatch(PATH, lambda data, stat: seen.append(json.loads(data)) if data else None)
        a.kill9()
        b.wait_state("active")
        run = self.timeline.wait("start", "fence_peer", "b")
        end = self.timeline.wait("end", "fence_peer", "b")
        gain = self.timeline.wait("start", "gain", "b")
        self.assertEqual(run.fields["previous"], "a")
        self.assertEqual(run.fields["previous_address"], "a.example:5432")
        self.assertEqual(run.fields["previous_token"], token)
        self.assertEqual(run.token, gain.token)
        self.assertEqual((run.fields["previous_clean"], gain.fields["previous_clean"]), ("no", "no"))
        self.assertEqual(run.fields["missing"], "")
        self.assertLessEqual(end.at_ns, gain.at_ns)
        wait_for(lambda: seen and seen[-1]["incumbent"]["member"] == "b", 5, "the record to name b")
        of_a = [record["incumbent"]["clean"] for record in seen if record["incumbent"]["member"] == "a"]
        self.assertEqual(of_a[-1], "fenced")
        proxy.resume()

        a.start().wait_queued(2)
        self.assertEqual(b.ctl("resign", "demo").returncode, 0)
        a.wait_state("active")
        b.wait_queued(2)
        self.assertEqual(b.stop(), 0)
        a.kill9()
        a.start().wait_state("active", timeout=15)
        self.assertEqual(len(self.runs()), 1)

    def test_failing(self):
        """It fails: nobody takes office, it is tried again, and another member gets its chance."""
        server = self.start_server()
        a, b, c = self.start_fencing("abc", server, election={"take_office_limit": 1500})
        for agent in (b, c):
            agent.behave("fence_peer", "exit=1")
        a.kill9()
        self.wait_blocked(b, NOT_FENCED)
        text = b.ctl("status", "demo").stdout
        self.assertRegex(text, rf"(?m)^  blocked +{NOT_FENCED}$")
        b.wait_log("the last incumbent could not be fenced")
        self.assertRegex(b.log(), r"could not be fenced[^\n]* leader=a leader_token=\d+")
        self.timeline.wait("end", "fence_peer", "b", count=2)
        self.timeline.wait("end", "fence_peer", "c", count=2, timeout=15)
        self.assertEqual([event.member for event in self.timeline.events("start", "gain")], ["a"])
        c.behave("fence_peer", "")
        c.wait_state("active", timeout=20)

    def test_comes_back(self):
        """A leader that has lost its session says that it has left while the hook still hangs: nobody waits for it."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server, hook_options={"fence_peer_timeout": 60000})
        a.behave("lose", "sleep=400")
        b.behave("fence_peer", "hang")
        server.end_session(int(self.session(a), 16))
        run = self.timeline.wait("start", "fence_peer", "b")
        b.wait_state("active")
        ended = self.timeline.wait("end", "fence_peer", "b", after_ns=run.at_ns)
        self.assertEqual(ended.fields.get("signal"), "15")
        gain = self.timeline.wait("start", "gain", "b")
        self.assertEqual(gain.fields["previous_clean"], "yes")
        self.assertGreaterEqual(gain.at_ns, ended.at_ns)

    def test_comes_back_while_it_fails(self):
        """The same while it fails over and over."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server)
        a.behave("lose", "sleep=400")
        b.behave("fence_peer", "exit=1")
        server.end_session(int(self.session(a), 16))
        self.timeline.wait("end", "fence_peer", "b")
        b.wait_state("active")
        gain = self.timeline.wait("start", "gain", "b")
        self.assertEqual(gain.fields["previous_clean"], "yes")

    def test_delay(self):
        """takeover_delay passes first, is shown, and holds nobody back after a clean end."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server, election={"takeover_delay": 3000})
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        lost = self.timeline.wait("end", "lose", "a", count=2)
        gain = self.timeline.wait("start", "gain", "b")
        self.assertLess(gain.at_ns - lost.at_ns, 2 * 10**9)
        b.wait_state("active")
        a.wait_queued(2)
        b.kill9()
        client = self.client(server)
        self.wait_candidates(client, 1)
        alone_ns = now_ns()
        self.wait_blocked(a, "takeover_delay is not over yet")
        run = self.timeline.wait("start", "fence_peer", "a")
        # Its candidate was seen gone up to a poll after the member knew it.
        self.assertGreater(run.at_ns - alone_ns, 2.5 * 10**9)
        a.wait_state("active")

    def test_forget(self):
        """An operator answers for the dead leader: no hook has to succeed, and gain finds it left."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_fencing("ab", server, hook_options={"fence_peer_timeout": 60000})
        token = a.election_status()["token"]
        b.behave("fence_peer", "hang")
        done = b.ctl("forget", "demo", "--force")
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertIn("a is in office; a leader is not forgotten", done.stderr)
        done = b.ctl("forget", "demo")
        self.assertEqual((done.returncode, done.stdout), (77, ""))
        self.assertIn("--force", done.stderr)
        a.kill9()
        self.wait_blocked(b, NOT_FENCED)
        self.timeline.wait("start", "fence_peer", "b")
        answer = json.loads(self.forced(b, "--json"))
        self.assertEqual(answer, {"found": "unclean", "member": "a", "token": token, "forgotten": True})
        b.wait_state("active")
        self.assertEqual(self.timeline.wait("start", "gain", "b").fields["previous_clean"], "yes")
        self.assertRegex(b.log(), rf"an operator answers for the last leader[^\n]* leader=a leader_token={token} ")
        self.assertEqual(self.record(client)["incumbent"]["member"], "b")

    def test_nothing_to_forget(self):
        """Nobody has led, or the last one has left: said, and nothing is written."""
        server = self.start_server()
        client = self.client(server)
        a = self.start_agent("a", server, election={"candidate": False})
        wait_for(lambda: a.status().get("zookeeper", {}).get("state") == "connected", 10, "a connection")
        self.assertEqual(self.forced(a), "nothing to forget\n")
        (b,) = self.start_queue("b", server)
        self.assertEqual(b.stop(), 0)
        version = client.exists(PATH).version
        self.assertEqual(self.forced(a), "nothing to forget\n")
        self.assertEqual(client.exists(PATH).version, version)
        server.stop()
        wait_for(lambda: self.session(a) is None, 10, "the connection to be lost")
        self.assertEqual(a.ctl("forget", "demo", "--force").returncode, 69)
        server.start()

    def test_unreadable(self):
        """A record that cannot be read: fenced before gain, or forgotten."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_fencing("ab", server)
        self.assertEqual(b.stop(), 0)
        self.assertEqual(a.stop(), 0)
        client.set(PATH, b"{torn")
        a.behave("fence_peer", "exit=1")
        a.start()
        self.timeline.wait("end", "fence_peer", "a")
        self.assertEqual(self.runs("a")[0].fields["previous_clean"], "unknown")
        self.assertEqual(json.loads(self.forced(a, "--json"))["found"], "unreadable")
        a.wait_state("active")

    def answer(self, agent, *words, text):
        """tenurectl on a terminal, with TEXT typed at its question. Returns exit status and what it showed."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [TENURECTL, "-s", agent.control, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        try:
            os.write(ours, text.encode())
            out, err = process.communicate(timeout=30)
        finally:
            os.close(ours)
            os.close(theirs)
        return process.returncode, out, err

    def test_asks_first(self):
        """On a terminal it asks, with the name and token of whom it is about; only yes is yes."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server)
        token = a.election_status()["token"]
        b.behave("fence_peer", "exit=1")
        a.kill9()
        self.wait_blocked(b, NOT_FENCED)
        status, out, err = self.answer(b, "forget", "demo", text="\n")
        self.assertEqual((status, out), (1, ""))
        self.assertIn(f"Forget that a (token {token}) has not left cleanly? Only if you are SURE", err)
        self.assertEqual(self.blocked(b), NOT_FENCED)
        status, out, err = self.answer(b, "forget", "demo", text="y\n")
        self.assertEqual((status, out), (0, f"forgot that a (token {token}) had not left cleanly\n"), err)
        b.wait_state("active")
        status, out, err = self.answer(b, "forget", "demo", text="")
        self.assertEqual((status, out), (77, ""), err)

    def test_another_incumbent(self):
        """What was answered for is one term; by then it is another's: nothing is forgotten."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server)
        b.behave("fence_peer", "exit=1")
        a.kill9()
        self.wait_blocked(b, NOT_FENCED)
        reply = b.request(command="forget", election="demo", incumbent="5")
        self.assertEqual((reply["ok"], reply["exit"]), (False, 75))
        self.assertEqual(self.blocked(b), NOT_FENCED)
        self.forced(b)
        b.wait_state("active")

    def test_recover(self):
        """Lose fails until panic; recover runs it again: 70 while it fails, done when it succeeds, 1 out of panic."""
        server = self.start_server()
        a, b = self.start_fencing("ab", server)
        token = a.election_status()["token"]
        self.assertEqual(a.ctl("recover", "demo").returncode, 1)
        a.behave("lose", "exit=1")
        self.assertEqual(a.ctl("resign", "demo").returncode, 70)
        a.wait_state("panic")
        self.assertEqual(b.state(), "standby")
        self.assertEqual(b.ctl("forget", "demo", "--force").returncode, 77)
        self.assertEqual(a.ctl("recover", "demo").returncode, 70)
        a.wait_state("panic")
        a.behave("lose", "sleep=200")
        done = a.ctl("recover", "demo")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rf"^out of office with token {token} after ")
        b.wait_state("active")
        self.assertEqual(self.runs("b"), [])
        self.assertEqual(a.ctl("recover", "demo").returncode, 1)

    def test_recover_lost_session(self):
        """In panic and without its session, the member is fenced by the next, or recovers: it is not forgotten here."""
        server = self.start_server()
        (a,) = self.start_fencing("a", server)
        a.behave("lose", "exit=1")
        self.assertEqual(a.ctl("resign", "demo", "--force").returncode, 70)
        a.wait_state("panic")
        old = self.session(a)
        server.end_session(int(old, 16))
        wait_for(lambda: self.session(a) not in (None, old), 20, "a new session")
        client = self.client(server)
        self.wait_candidates(client, 0)
        done = a.ctl("forget", "demo", "--force")
        self.assertEqual(done.returncode, 77)
        self.assertIn("this member's own term has not ended", done.stderr)
        a.behave("lose", "")
        self.assertEqual(a.ctl("recover", "demo").returncode, 0)
        a.wait_state("active")
        self.assertEqual(self.runs(), [])

    def wipe(self, server):
        server.stop()
        shutil.rmtree(server.data_dir)
        os.makedirs(server.data_dir)
        server.start()

    def test_token_floor(self):
        """A wiped ensemble hands out tokens that were seen before: refused, said, and led again only when forgotten."""
        server = self.start_server()
        client = self.client(server)
        for number in range(50):
            client.create(f"/higher-{number}")
        client.stop()
        data_dir = os.path.join(self.directory, "floor")
        os.makedirs(data_dir)
        a = self.agent("a", server, top={"data_dir": data_dir})
        a.start().wait_state("active")
        token = a.election_status()["token"]
        self.assertTrue(os.path.exists(os.path.join(data_dir, "demo.token")))
        self.assertEqual(a.stop(), 0)
        self.wipe(server)
        a.start()
        self.wait_blocked(a, "our token is not above the highest seen")
        self.assertEqual(a.election_status()["token_floor"], token)
        a.wait_log("our token is not above the highest seen: not taking office")
        (line,) = [line for line in a.log().splitlines() if "highest=" in line]
        self.assertIn(" error elector: ", line)
        own, highest = re.search(r" token=(\d+) highest=(\d+)", line).groups()
        self.assertEqual(highest, token)
        self.assertLess(int(own), int(token))
        holds_for(lambda: a.state() != "active", 1, "no office by a token that was seen before")
        self.assertEqual(self.forced(a, "--token"), f"forgot the highest token seen, {token}\n")
        a.wait_state("active", timeout=15)
        gains = self.timeline.events("start", "gain")
        self.assertLess(gains[1].token, gains[0].token)
        self.oracle.promises = [promise for promise in self.oracle.promises if promise != "S2"]

    def test_no_floor(self):
        """Without data_dir nothing is kept, and nothing has to be forgotten."""
        server = self.start_server()
        (a,) = self.start_queue("a", server, top={"data_dir": ""})
        self.assertIsNone(a.election_status()["token_floor"])
        self.assertEqual(self.forced(a, "--token"), "nothing to forget\n")


if __name__ == "__main__":
    unittest.main()
