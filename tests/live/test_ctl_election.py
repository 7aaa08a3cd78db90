"""tenurectl list and history against a real server whose elections a client has made up: no agent runs."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURECTL, Server, wait_for  # noqa: E402
from tenuretest.ports import free_port  # noqa: E402

RECORD = {
    "version": 1, "paused": False, "successor": "", "eligible": [], "transitions": 2, "held": "", "request": 0,
    "incumbent": {"member": "db-a", "address": "10.0.0.1:5432", "token": "5", "phase": "active", "clean": False,
                  "since": "2025-06-01T10:00:00Z"},
    "history": [
        {"member": "db-b", "token": "4", "reason": "election", "at": "2025-06-01T09:00:00Z"},
        {"member": "db-a", "token": "5", "reason": "handoff", "at": "2025-06-01T10:00:00Z"},
    ],
}  # fmt: skip

CREDENTIAL = ("digest", "user:secret")  # of the client that makes the elections


def encode(value):
    return json.dumps(value).encode()


class Base(unittest.TestCase):
    longMessage = True

    @classmethod
    def setUpClass(cls):
        cls.server_directory = tempfile.mkdtemp(prefix="tenure-test-")
        cls.addClassCleanup(shutil.rmtree, cls.server_directory, ignore_errors=True)
        cls.server = Server(cls.server_directory)
        cls.addClassCleanup(cls.server.kill)
        cls.server.start()
        cls.client = KazooClient(cls.server.address, timeout=10, auth_data=[CREDENTIAL])
        cls.addClassCleanup(cls.client.stop)
        cls.client.start(10)

    def setUp(self):
        self.client.ensure_path("/tenure")

    def tearDown(self):
        for name in self.client.get_children("/"):
            if name != "zookeeper":
                self.client.delete("/" + name, recursive=True)

    # Parts

    def make(self, path="/tenure/pg", record=RECORD):
        for folder in ("queue", "members"):
            self.client.ensure_path(f"{path}/{folder}")
        self.client.set(path, encode(record) if not isinstance(record, bytes) else record)

    def stand(self, member, sequence=None, state="standby", path="/tenure/pg"):
        """A candidate with its member record. Returns its token. SEQUENCE: instead of the server's."""
        agent = str(uuid.uuid4())
        address = f"{member}.example:5432"
        name = f"{path}/queue/_c_{agent}-latch-"
        data = encode({"version": 1, "member": member, "address": address})
        if sequence is None:
            name = self.client.create(name, data, ephemeral=True, sequence=True)
        else:
            self.client.create(name + "%010d" % sequence, data, ephemeral=True)
            name += "%010d" % sequence
        if state is not None:
            self.publish(member, agent, state, path)
        return self.client.exists(name).czxid

    def publish(self, member, guid, state, path="/tenure/pg"):
        record = {
            "version": 1, "member": member, "address": f"{member}.example:5432", "host": member, "pid": 1,
            "boot_id": "", "state": state, "demoted_token": "", "ready_for": 0, "score": None, "score_seq": 0,
        }  # fmt: skip
        self.client.create(f"{path}/members/{member}-{guid}", encode(record), ephemeral=True)

    def run_ctl(self, *arguments):
        return subprocess.run(
            [TENURECTL, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=30, check=False,
        )  # fmt: skip

    def ctl(self, *arguments, servers=None):
        return self.run_ctl("-z", servers or self.server.address, *arguments)

    def ask(self, *arguments, servers=None):
        done = self.ctl(*arguments, "--json", servers=servers)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def fails(self, status, text, *arguments, servers=None):
        done = self.ctl(*arguments, servers=servers)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def snapshot(self, path="/"):
        """Every znode but the server's own, with its data and Stat."""
        found = {path: self.client.get(path)}
        for name in self.client.get_children(path):
            if name != "zookeeper":
                found |= self.snapshot(path.rstrip("/") + "/" + name)
        return found


class Election(Base):
    # List

    def test_list(self):
        """The queue in its order, the leader marked, states and addresses from the members, the record above."""
        self.make()
        tokens = [self.stand("db-a", state="active"), self.stand("db-b"), self.stand("db-c", state=None)]
        record = RECORD | {"incumbent": RECORD["incumbent"] | {"token": str(tokens[0])}}
        self.client.set("/tenure/pg", encode(record))
        answer = self.ask("list", "pg")
        rows = answer["candidates"]
        self.assertEqual([row["position"] for row in rows], [1, 2, 3])
        self.assertEqual([row["leader"] for row in rows], [True, False, False])
        self.assertEqual([row["member"] for row in rows], ["db-a", "db-b", "db-c"])
        self.assertEqual([row["address"] for row in rows][0], "db-a.example:5432")
        self.assertEqual([row["token"] for row in rows], [str(token) for token in tokens])
        self.assertEqual([row["state"] for row in rows], ["active", "standby", None])
        self.assertRegex(rows[0]["znode"], r"^_c_[0-9a-f-]{36}-latch-0000000000$")
        self.assertEqual(answer["incumbent"], record["incumbent"] | {"clean": "no"})
        self.assertEqual((answer["path"], answer["record"], answer["left_out"]), ("/tenure/pg", "ok", 0))
        self.assertEqual((answer["paused"], answer["eligible"], answer["transitions"]), (False, [], 2))
        done = self.ctl("list", "pg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("  incumbent    db-a  10.0.0.1:5432\n", done.stdout)
        self.assertIn("  eligible     everybody\n", done.stdout)
        lines = done.stdout.split("\n\n")[1].split("\n")
        self.assertEqual(lines[0].split(), ["POSITION", "LEADER", "MEMBER", "ADDRESS", "TOKEN", "STATE", "ZNODE"])
        self.assertEqual(lines[1].split()[:6], ["1", "yes", "db-a", "db-a.example:5432", str(tokens[0]), "active"])
        self.assertEqual(lines[3].split()[:6], ["3", "no", "db-c", "db-c.example:5432", str(tokens[2]), "-"])

    def test_looking_never_writes(self):
        """Neither of the commands changes a znode or makes one, whether the election is there or not."""
        self.make()
        self.stand("db-a")
        before = self.snapshot()
        self.ask("list", "pg")
        self.ask("history", "pg")
        self.assertEqual(self.ctl("list", "nowhere").returncode, 1)
        self.assertEqual(self.ctl("list", "/tenure/a/b").returncode, 1)
        self.assertEqual(self.snapshot(), before)

    def test_nobody_leads(self):
        """A leader that has left cleanly is not marked, even while its znode is still there."""
        self.make()
        token = self.stand("db-a")
        for clean, leads in ((True, False), ("fenced", False), (False, True)):
            incumbent = RECORD["incumbent"] | {"token": str(token), "clean": clean}
            self.client.set("/tenure/pg", encode(RECORD | {"incumbent": incumbent}))
            self.assertEqual(self.ask("list", "pg")["candidates"][0]["leader"], leads)

    def test_order_at_the_wrap(self):
        """Sequence numbers that wrap keep the order of creation."""
        self.make()
        for member, sequence in (("c", -2147483648), ("a", 2147483646), ("d", -2147483647), ("b", 2147483647)):
            self.stand(member, sequence)
        self.assertEqual([row["member"] for row in self.ask("list", "pg")["candidates"]], ["a", "b", "c", "d"])

    def test_others_in_the_queue(self):
        """Another client's candidate has a place and no name; a name of another shape is only counted."""
        self.make()
        self.client.create("/tenure/pg/queue/0123__lock__0000000000", b"\xff\x00", ephemeral=True)
        self.client.create("/tenure/pg/queue/note", b"")
        self.client.set("/tenure/pg/members", b"")
        self.publish("db-z", str(uuid.uuid4()), "following")
        answer = self.ask("list", "pg")
        self.assertEqual(len(answer["candidates"]), 1)
        row = answer["candidates"][0]
        self.assertEqual((row["position"], row["member"], row["address"], row["state"]), (1, None, None, None))
        self.assertEqual(answer["strangers"], 1)
        self.assertEqual([(row["member"], row["state"]) for row in answer["members"]], [("db-z", "following")])
        done = self.ctl("list", "pg")
        self.assertRegex(done.stdout, r"(?m)^- +no +db-z +db-z.example:5432 +- +following +-$")
        self.assertIn("1 znodes of another shape", done.stdout)

    def test_two_records_of_one_member(self):
        """A restarted agent's ghost: the record of the candidate's own agent is the one that counts."""
        self.make()
        for _ in range(3):
            self.publish("db-a", str(uuid.uuid4()), "out")
        self.stand("db-a", state="active")
        for _ in range(3):
            self.publish("db-a", str(uuid.uuid4()), "out")
        answer = self.ask("list", "pg")
        self.assertEqual([row["state"] for row in answer["candidates"]], ["active"])
        self.assertEqual(len(answer["members"]), 6)

    def test_a_crowd(self):
        """Of 300 candidates the first 256 are shown, and the rest is said to be left out."""
        self.make()
        for number in range(300):
            self.stand(f"m{number}")
        answer = self.ask("list", "pg")
        self.assertEqual([row["member"] for row in answer["candidates"]], [f"m{number}" for number in range(256)])
        self.assertEqual({row["state"] for row in answer["candidates"]}, {"standby"})
        self.assertEqual((answer["left_out"], answer["members"]), (44, []))
        self.assertIn("44 more were left out", self.ctl("list", "pg").stdout)

    def test_records_of_any_kind(self):
        """Empty and unreadable records are named as such and hide nothing of the queue."""
        for record, quality in ((b"", "empty"), (b"\xffnonsense", "unreadable"), ({"version": 9}, "unreadable")):
            self.make(record=record)
            answer = self.ask("list", "pg")
            self.assertEqual((answer["record"], answer["candidates"]), (quality, []))
            self.assertIn("nobody is in the queue", self.ctl("list", "pg").stdout)

    def test_without_folders(self):
        """An election whose queue has not been made yet has nobody in it."""
        self.client.create("/tenure/pg", encode(RECORD))
        self.assertEqual(self.ask("list", "pg")["candidates"], [])

    def test_hostile_text(self):
        """Nothing that a member has written can move the terminal's cursor."""
        incumbent = RECORD["incumbent"] | {"member": "a\x1b[2J", "address": "\u202ex\n"}
        history = [{"member": "\x1b]0;x\x07", "token": "1", "reason": "a\nb", "at": "\x9b"}]
        self.make(record=RECORD | {"incumbent": incumbent, "history": history, "eligible": ["\x1b", "b"]})
        self.stand("db\x1b[31m\n", state=None)
        self.client.create("/tenure/pg/queue/\u202e-latch-0000000009", b"", ephemeral=True)
        for command in ("list", "history"):
            for words in ([], ["--json"]):
                done = self.ctl(command, "pg", *words)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                for character in done.stdout.replace("\n", ""):
                    self.assertTrue(character.isprintable(), repr(character))

    # History

    def test_history(self):
        """The terms, oldest first; JSON is an array with tokens as strings."""
        self.make()
        self.assertEqual(self.ask("history", "pg"), RECORD["history"])
        done = self.ctl("history", "pg")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.split() for line in done.stdout.splitlines()], [
            ["TOKEN", "MEMBER", "REASON", "AT"], ["4", "db-b", "election", "2025-06-01T09:00:00Z"],
            ["5", "db-a", "handoff", "2025-06-01T10:00:00Z"],
        ])  # fmt: skip

    def test_history_of_nobody(self):
        """An election that nobody has led; and a record that cannot be read: 2."""
        self.make(record=b"")
        self.assertEqual(self.ask("history", "pg"), [])
        self.assertEqual(self.ctl("history", "pg").stdout, "nobody has led yet\n")
        self.client.set("/tenure/pg", b"nonsense")
        self.fails(2, "no election record", "history", "pg")

    # Where the election is

    def test_missing(self):
        for command in ("list", "history"):
            self.fails(1, "no election at /tenure/pg", command, "pg")
            self.fails(1, "no election at /else/where", command, "/else/where")

    def test_path_and_chroot(self):
        """An absolute path, and everything below a chroot."""
        self.make("/apps/tenure/pg", RECORD)
        self.assertEqual(self.ask("list", "/apps/tenure/pg")["path"], "/apps/tenure/pg")
        chroot = self.server.address + "/apps"
        self.assertEqual(self.ask("list", "pg", servers=chroot)["path"], "/apps/tenure/pg")
        self.assertEqual(self.ask("history", "/tenure/pg", servers=chroot), RECORD["history"])
        self.fails(1, "no election at /none/tenure/pg", "list", "pg", servers=self.server.address + "/none")

    def test_wrong_names(self):
        """What cannot be a title or a path is refused before anybody is asked."""
        for name in ("", "a/b", "/", "/a//b", "/a/", "/a/../b", "/./a", "/a\nb", "x" * 65, "..", "/" + "x" * 2000):
            with self.subTest(name=name):
                self.fails(64, "tenurectl: ", "list", name)
        self.fails(64, "which election", "list")

    def test_not_permitted(self):
        """What may not be read is refused, 77."""
        self.make()
        self.client.set_acls("/tenure/pg", [make_digest_acl("user", "secret", all=True)])
        self.fails(77, "/tenure/pg", "list", "pg")
        self.fails(77, "/tenure/pg", "history", "pg")

    # The ensemble

    def test_nobody_listens(self):
        """69, naming the servers, when the time is over."""
        servers = f"127.0.0.1:{free_port()},127.0.0.1:{free_port()}"
        began = time.monotonic()
        self.fails(69, f"no ensemble reached at {servers} within 1.0 s", "list", "pg", "--wait", "1", servers=servers)
        self.assertLess(time.monotonic() - began, 6)

    def test_wrong_servers(self):
        """What is no list of servers is refused at once, naming the option."""
        for servers in ("", "a b", "zk:0", "zk:99999", "zk:2181/", "zk:2181/a//b", 'zk"', "zk:1:2", "zk\n"):
            with self.subTest(servers=servers):
                done = self.run_ctl("-z", servers, "list", "pg")
                self.assertEqual((done.returncode, done.stdout), (64, ""))
                self.assertRegex(done.stderr, r"^tenurectl: -z: .+\n$")

    def test_silent_server(self):
        """A server that accepts and never answers, and one that talks another language."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            servers = f"127.0.0.1:{silent.getsockname()[1]}"
            self.fails(69, f"no ensemble reached at {servers}", "list", "pg", "--wait", "1", servers=servers)
        self.fails(69, "no ensemble reached", "history", "pg", "--wait", "700ms", servers="127.0.0.1:1")

    def test_one_of_two_servers(self):
        """One server that is down does not matter."""
        self.make()
        servers = f"127.0.0.1:{free_port()},{self.server.address}"
        self.assertEqual(self.ask("history", "pg", servers=servers), RECORD["history"])

    def test_unknown_host(self):
        """A name that does not resolve is named; it does not matter beside one that does."""
        self.make()
        self.fails(69, "cannot resolve nowhere.invalid", "list", "pg", servers="nowhere.invalid:2181")
        servers = f"nowhere.invalid:2181,{self.server.address}"
        self.assertEqual(self.ask("history", "pg", servers=servers), RECORD["history"])

    def test_frozen_server(self):
        """A server that stops answering ends with the wait."""
        self.make()
        self.server.signal(signal.SIGSTOP)
        try:
            began = time.monotonic()
            self.fails(69, "no ensemble reached", "list", "pg", "--wait", "1")
            self.assertLess(time.monotonic() - began, 6)
        finally:
            self.server.signal(signal.SIGCONT)

    def test_leaves_no_session(self):
        """The session is ended, not left to expire."""
        self.make()

        def sessions():
            found = re.search(r"global_sessions\t(\d+)", self.server.word("mntr"))
            return int(found[1])

        before = sessions()
        self.ask("list", "pg")
        wait_for(lambda: sessions() == before, 2, "the session to be over")


class Configured(Base):
    """The same server, by way of a configuration."""

    def config(self, elections, auth_file=""):
        directory = tempfile.mkdtemp(prefix="tenure-test-")
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, "tenured.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write(f'zookeeper {{ servers = "{self.server.address}/apps" auth_file = "{auth_file}" }}\n')
            for name, place in elections.items():
                hooks = 'hooks { gain = {"/nowhere"} lose = {"/nowhere"} lose_timeout = 1s }'
                file.write(f'election "{name}" {{ {f"path = {json.dumps(place)}" if place else ""} {hooks} }}\n')
        return path

    def ctl_of(self, config, *arguments):
        return self.run_ctl("-c", config, *arguments)

    def test_servers_chroot_and_path(self):
        """Servers, chroot and the election's path come from the file; a title it does not have is below /tenure."""
        self.make("/apps/else/pg", RECORD)
        self.make("/apps/tenure/other", RECORD)
        config = self.config({"pg": "/else/pg"})
        for words, path in (
            (["list"], "/apps/else/pg"), (["list", "pg"], "/apps/else/pg"), (["list", "other"], "/apps/tenure/other"),
            (["list", "/tenure/other"], "/apps/tenure/other"),
        ):  # fmt: skip
            done = self.ctl_of(config, *words, "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(json.loads(done.stdout)["path"], path)

    def test_several_elections(self):
        """With several of them one has to be named."""
        done = self.ctl_of(self.config({"pg": None, "redis": None}), "list")
        self.assertEqual(done.returncode, 64)
        self.assertIn("which election", done.stderr)

    def test_auth_file(self):
        """Its credentials open what is closed to others; one that others can read is refused, 78."""
        with tempfile.NamedTemporaryFile("w", prefix="tenure-test-", encoding="ascii") as auth:
            auth.write("digest:user:secret\n")
            auth.flush()
            self.make("/apps/tenure/pg", RECORD)
            self.client.set_acls("/apps/tenure/pg", [make_digest_acl("user", "secret", all=True)])
            config = self.config({"pg": None}, auth.name)
            done = self.ctl_of(config, "history", "--json")
            os.chmod(auth.name, 0o644)
            refused = self.ctl_of(config, "history", "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout), RECORD["history"])
        self.assertEqual(refused.returncode, 78)
        self.assertIn(auth.name, refused.stderr)
        self.assertEqual(self.ctl("history", "/apps/tenure/pg").returncode, 77)

    def test_configuration_of_no_use(self):
        """Without servers there is nobody to ask, 78; -z makes the file unnecessary."""
        self.make()
        done = self.ctl_of("/nowhere/tenured.conf", "history", "pg")
        self.assertEqual((done.returncode, done.stdout), (78, ""))
        self.assertIn("/nowhere/tenured.conf", done.stderr)
        done = self.ctl_of("/nowhere/tenured.conf", "history", "pg", "-z", self.server.address)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
