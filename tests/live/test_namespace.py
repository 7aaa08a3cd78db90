"""Where the znodes are and who may touch them: chroot, authentication, the sequence number, elections side by side."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from kazoo.exceptions import NoAuthError  # noqa: E402
from kazoo.security import make_acl, make_digest_acl, make_digest_acl_credential  # noqa: E402
from tenuretest import LiveCase, holds_for, wait_for  # noqa: E402

INT_MAX = 2**31 - 1


class Chroot(LiveCase):
    def test_absent_levels(self):
        """A chroot of three absent levels is made, and everything stays below it."""
        server = self.start_server()
        a, b = self.start_queue("ab", server.address + "/one/two/three")
        client = self.client(server)
        self.assertEqual(len(self.queue(client, "/one/two/three/tenure/demo")), 2)
        self.assertFalse(client.exists("/tenure"))
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")


class AuthCase(LiveCase):
    def auth_file(self, text="digest:agent:secret\n", mode=0o600):
        name = os.path.join(self.directory, "auth")
        with open(name, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(name, mode)
        return name


class Auth(AuthCase):
    def test_digest(self):
        """acl = creator: what the agents make is theirs and can be read by all; a new session authenticates again."""
        server = self.start_server()
        client = self.client(server)
        a, b = self.start_queue("ab", server, zookeeper={"auth_file": self.auth_file(), "acl": "creator"})
        name, stat = self.queue(client)[1]
        # The server shows the digest to those who may administer the znode.
        client.add_auth("digest", "agent:secret")
        identity = make_digest_acl_credential("agent", "secret")
        for path in ("/tenure/demo", "/tenure/demo/queue", "/tenure/demo/queue/" + name):
            acls = client.get_acls(path)[0]
            self.assertIn(("digest", identity, 31), [(acl.id.scheme, acl.id.id, acl.perms) for acl in acls], path)
            self.assertIn(("world", 1), [(acl.id.scheme, acl.perms) for acl in acls], path)
        server.end_session(stat.ephemeralOwner)
        wait_for(lambda: name not in [entry[0] for entry in self.queue(client)], 5, "the old candidate to go")
        b.wait_queued(2)
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")

    def test_private(self):
        """acl = private: others cannot even read."""
        server = self.start_server()
        (a,) = self.start_queue("a", server, zookeeper={"auth_file": self.auth_file(), "acl": "private"})
        client = self.client(server)
        with self.assertRaises(NoAuthError):
            client.get("/tenure/demo")
        client.add_auth("digest", "agent:secret")
        self.assertEqual([acl.id.scheme for acl in client.get_acls("/tenure/demo")[0]], ["digest"])
        self.assertEqual(a.state(), "active")

    def test_stranger(self):
        """An agent without the credentials is no candidate, says so, and does not spin."""
        server = self.start_server()
        zookeeper = {"auth_file": self.auth_file(), "acl": "creator"}
        (a,) = self.start_queue("a", server, zookeeper=zookeeper)
        stranger = self.start_agent("stranger", server)
        stranger.wait_log("permission")
        self.assertEqual(len(self.queue(self.client(server))), 1)
        self.assertEqual(a.state(), "active")
        self.assertLess(len(stranger.log().splitlines()), 60)


class ProtectedChroot(AuthCase):
    def test_absent_levels_are_protected(self):
        """The levels of a chroot that are made get the configured ACL too; what was there keeps its own."""
        server = self.start_server()
        client = self.client(server)
        client.ensure_path("/one")
        options = {"zookeeper": {"auth_file": self.auth_file(), "acl": "private"}}
        (a,) = self.start_queue("a", server.address + "/one/two/three", **options)
        client.add_auth("digest", "agent:secret")
        identity = make_digest_acl_credential("agent", "secret")
        self.assertEqual([acl.id.scheme for acl in client.get_acls("/one")[0]], ["world"])
        made = ("/one/two", "/one/two/three", "/one/two/three/tenure", "/one/two/three/tenure/demo/members")
        for path in made:
            acls = client.get_acls(path)[0]
            self.assertEqual([(acl.id.scheme, acl.id.id, acl.perms) for acl in acls], [("digest", identity, 31)], path)
        a.wait_state("active")

    def forbidding(self, path, perms_of_world):
        """A server on which only an administrator may create below PATH."""
        server = self.start_server()
        client = self.client(server)
        client.add_auth("digest", "admin:secret")
        acl = [make_digest_acl("admin", "secret", all=True)]
        if perms_of_world:
            acl.append(make_acl("world", "anyone", read=True))
        client.ensure_path(path)
        client.set_acls(path, acl)
        return server, client

    def test_no_permission(self):
        """Levels that may not be made: one error that names the first of them, no tight loop, no candidate."""
        server, client = self.forbidding("/one", True)
        a = self.start_agent("a", server.address + "/one/two/three")
        a.wait_log("no permission to create a znode")
        holds_for(lambda: a.state() in ("standby", "out"), 3, "not a candidate")
        errors = [line for line in a.log().splitlines() if " error " in line]
        self.assertEqual(len(errors), 1, errors)
        self.assertIn("path=/one/two ", errors[0])
        self.assertLess(len(a.log().splitlines()), 40)
        self.assertEqual(client.get_children("/one"), [])
        # Once it may, it does.
        client.set_acls("/one", [make_acl("world", "anyone", all=True)])
        a.wait_state("active", timeout=30)

    def test_parents_of_others(self):
        """Parents that are there but may be neither read nor written are no obstacle."""
        server, client = self.forbidding("/one", False)
        client.create("/one/two", acl=[make_acl("world", "anyone", create=True)])
        a = self.start_agent("a", server.address + "/one/two")
        a.wait_state("active")

    def test_credentials_refused(self):
        """A scheme that the server does not know: one clear error, no spinning, and SIGTERM works."""
        server = self.start_server()
        a = self.start_agent("a", server, zookeeper={"auth_file": self.auth_file("nonsense:secret\n")})
        a.wait_log("auth")
        holds_for(lambda: a.running, 3, "the agent runs")
        self.assertLess(len(a.log().splitlines()), 40, a.log())
        self.assertNotIn("secret", a.log())
        self.assertEqual(self.timeline.events("start", "gain"), [])
        self.assertEqual(a.stop(5), 0)


class Sequence(LiveCase):
    def prepare(self, creations):
        """A server whose next sequence number under the queue is CREATIONS."""
        server = self.start_server()
        client = self.client(server)
        client.ensure_path("/tenure/demo/queue")
        client.stop()
        server.set_creations("/tenure/demo/queue", creations)
        return server

    def check_order(self, server):
        agents = self.start_queue("abcd", server)
        names = [name for name, _ in self.queue(self.client(server))]
        numbers = [int(name.rpartition("-latch-")[2]) for name in names]
        for turn in range(8):
            leader, successor = agents[turn % 4], agents[(turn + 1) % 4]
            self.assertEqual(leader.ctl("resign", "demo").returncode, 0)
            successor.wait_state("active")
            leader.wait_queued()
        members = "".join(event.member for event in self.timeline.events("start", "gain"))
        self.assertEqual(members, "abcdabcda")
        return numbers

    def test_last_numbers(self):
        """
        Where the counter ends. This server hands out its last number over and over then, so order
        must come from elsewhere: the turns stay in the order of creation.
        """
        numbers = self.check_order(self.prepare(INT_MAX - 1))
        self.assertEqual(numbers, [INT_MAX - 1, INT_MAX, INT_MAX, INT_MAX])

    def test_negative_numbers(self):
        """A counter that has wrapped: the minus sign is read."""
        numbers = self.check_order(self.prepare(-(2**31) + 5))
        self.assertEqual(numbers, list(range(-(2**31) + 5, -(2**31) + 9)))

    def test_back_to_zero(self):
        """From -1 to 0."""
        numbers = self.check_order(self.prepare(-2))
        self.assertEqual(numbers, [-2, -1, 0, 1])


class Elections(LiveCase):
    def test_two(self):
        """Two elections in one pair of agents go their own ways."""
        server = self.start_server()
        a = self.start_agent("a", server, elections=("one", "two"))
        for name in ("one", "two"):
            a.wait_state("active", election=name)
        b = self.start_agent("b", server, elections=("one", "two"))
        for name in ("one", "two"):
            b.wait_queued(2, election=name)
        self.assertEqual(a.ctl("resign", "two").returncode, 0)
        b.wait_state("active", election="two")
        self.assertEqual((a.state("one"), b.state("one")), ("active", "standby"))

    def test_names_that_are_prefixes(self):
        """Members app-1 and app-10 on one path are two members."""
        server = self.start_server()
        one, ten = self.start_queue(("app-1", "app-10"), server)
        self.assertEqual(one.stop(), 0)
        ten.wait_state("active")


if __name__ == "__main__":
    unittest.main()
