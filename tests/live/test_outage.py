"""The server away, stalled or restarted, within the lease and past it."""

import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import CREATE, CREATE2, DELETE, SET_DATA, LiveCase, holds_for, now_ns, wait_for  # noqa: E402


def connected(agent):
    return agent.status().get("zookeeper", {}).get("state") == "connected"


class Outage(LiveCase):
    def test_restart_within_the_lease(self):
        """The server restarts in less than the lease: no hook runs, the token stays, and the queue still works."""
        server = self.start_server(tick_time=500)
        a, b = self.start_queue("ab", server, session_timeout=10000, tick_time=500)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        server.restart()
        for agent in (a, b):
            wait_for(lambda agent=agent: connected(agent), 5, f"{agent.member} to be connected")
        holds_for(lambda: self.hook_runs() == runs, 11, "no hook runs for longer than a lease")
        self.assertEqual((a.state(), a.election_status()["token"]), ("active", token))
        self.assertEqual(b.state(), "standby")
        self.assertEqual(a.ctl("resign", "demo").returncode, 0)
        b.wait_state("active")

    def check_past_the_lease(self, away, back):
        """The lose hook has ended before the deadline (the oracle looks); later there is a leader again."""
        gain = self.timeline.wait("end", "gain", "a")
        away()
        lose = self.timeline.wait("start", "lose", "a", after_ns=gain.at_ns, timeout=5)
        self.assertEqual((lose.planned, lose.reason, lose.token), (False, "lease", gain.token))
        self.timeline.wait("end", "lose", "a", after_ns=gain.at_ns)
        wait_for(lambda: now_ns() > lose.deadline_ns, 5, "the deadline")
        back()
        again = self.timeline.wait("start", "gain", after_ns=lose.at_ns, timeout=15)
        self.assertGreater(again.token, gain.token)
        return again

    def test_gone(self):
        """The server dies and comes back after the lease."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        a.behave("lose", "sleep=300")
        self.check_past_the_lease(server.kill, server.start)
        wait_for(lambda: {a.state(), b.state()} == {"active", "standby"}, 10, "a leader and a standby")

    def test_frozen(self):
        """The server hangs (SIGSTOP): no reset, no answer."""
        server = self.start_server()
        a, b = self.start_queue("ab", server)
        a.behave("lose", "sleep=300")
        self.check_past_the_lease(lambda: server.signal(19), lambda: server.signal(18))
        wait_for(lambda: {a.state(), b.state()} == {"active", "standby"}, 10, "a leader and a standby")

    def test_leader_cut_off(self):
        """Only the leader's packets vanish: it leaves office before its session expires, and the standby takes over."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        a.behave("lose", "sleep=300")
        again = self.check_past_the_lease(proxy.stall, lambda: None)
        self.assertEqual(again.member, "b")
        self.assertEqual(again.fields["previous_clean"], "no")
        proxy.resume()
        a.wait_queued(2)

    def test_answers_lost(self):
        """Only the server's answers vanish: heartbeats without an answer extend nothing."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        self.check_past_the_lease(lambda: proxy.stall("down"), proxy.resume)
        wait_for(lambda: {a.state(), b.state()} == {"active", "standby"}, 10, "a leader and a standby")

    def test_blips(self):
        """Connections cut again and again, each for less than the lease, cost nothing."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy, session_timeout=4000)
        a.wait_state("active")
        b = self.start_agent("b", proxy, session_timeout=4000)
        b.wait_queued(2)
        token = a.election_status()["token"]
        runs = self.hook_runs()
        for _ in range(5):
            proxy.cut()
            wait_for(lambda: not connected(a) or a.status()["zookeeper"]["reconnects"], 2, "the cut to be seen")
            wait_for(lambda: connected(a) and connected(b), 3, "both to be connected again")
        self.assertEqual((a.state(), a.election_status()["token"]), ("active", token))
        self.assertEqual((b.state(), self.hook_runs()), ("standby", runs))
        self.assertEqual(len(self.queue(self.client(server))), 2)

    def test_stop_while_not_connected(self):
        """SIGTERM while there is no server to be reached: exit 0, soon."""
        server = self.start_server()
        server.stop()
        a = self.start_agent("a", server)
        self.timeline.wait("end", "lose", "a")
        started_ns = now_ns()
        self.assertEqual(a.stop(5), 0)
        self.assertLess((now_ns() - started_ns) / 1e9, 3)

    def test_stop_of_a_leader_while_cut_off(self):
        """SIGTERM to a leader whose server does not answer: lose, exit 0, in bounded time."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        proxy.stall()
        self.assertEqual(a.stop(8), 0)
        self.assertTrue(self.timeline.events("end", "lose", "a")[-1].ok)

    def test_server_appears_later(self):
        """No server at the start: the agent waits and joins when there is one."""
        server = self.start_server()
        server.stop()
        a = self.start_agent("a", server)
        self.timeline.wait("end", "lose", "a")
        server.start()
        a.wait_state("active", timeout=15)


class Servers(LiveCase):
    def test_one_of_two_refuses(self):
        """Of two addresses the one in use refuses: the other one is taken within the lease, again and again."""
        server = self.start_server()
        proxies = [self.start_proxy(server) for _ in range(2)]
        a = self.start_agent("a", ",".join(proxy.address for proxy in proxies), session_timeout=4000)
        a.wait_state("active")
        token = a.election_status()["token"]
        runs = self.hook_runs()
        for turn in range(4):
            used = a.status()["zookeeper"]["server"]
            bad, good = sorted(proxies, key=lambda proxy: proxy.address != used)
            bad.refuse()
            wait_for(lambda: connected(a) and a.status()["zookeeper"].get("server") == good.address, 3,
                     f"the other server, turn {turn}")  # fmt: skip
            bad.resume()
        self.assertEqual((a.state(), a.election_status()["token"], self.hook_runs()), ("active", token, runs))

    def test_every_address_has_its_turn(self):
        """
        Where nobody is at home, all addresses are tried, however many there are. (With an even number of
        entries the library's cursor would skip some on every pass, and always the same.)
        """
        for count in (2, 3, 4):
            with self.subTest(count=count):
                server = self.start_server()
                proxies = [self.start_proxy(server) for _ in range(count)]
                for proxy in proxies:
                    proxy.refuse()
                # Long enough that the agent itself does not give the handle up meanwhile.
                a = self.start_agent(f"a{count}", ",".join(p.address for p in proxies), session_timeout=20000)
                wait_for(lambda proxies=proxies: all(p.attempts >= 2 for p in proxies), 4, lambda proxies=proxies: (
                    f"two attempts at each of {[p.attempts for p in proxies]}"))  # fmt: skip
                self.assertEqual(a.stop(5), 0)

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_name_server_hangs(self):
        """A name server that never answers delays nothing: what has an address is used, and the lease goes on."""
        server = self.start_server()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.83.0.1", 53))
            resolver = os.path.join(self.directory, "resolv.conf")
            with open(resolver, "w", encoding="ascii") as file:
                file.write("nameserver 127.83.0.1\noptions timeout:30 attempts:2\n")
            a = self.agent("a", f"zk.example.org:2181,{server.address}")
            a.wrapper = ("unshare", "-m", "sh", "-c",
                         f"mount --bind {resolver} /etc/resolv.conf && exec \"$@\"", "sh")  # fmt: skip
            a.start()
            a.wait_state("active")
            silent.settimeout(5)
            self.assertIn(b"example", silent.recv(512))
            runs = self.hook_runs()
            began_ns = now_ns()
            holds_for(lambda: a.state() == "active", 5, "in office for more than two leases")
            self.assertGreater(a.election_status()["lease_ms"], 500)
            self.assertEqual(self.hook_runs(), runs)
            self.assertEqual(a.stop(5), 0)
            self.assertLess((now_ns() - began_ns) / 1e9, 9)


class LostReply(LiveCase):
    def check_create(self, suffix=""):
        server = self.start_server()
        proxy = self.start_proxy(server)
        proxy.lose_reply(lambda operation, body: operation in (CREATE, CREATE2) and b"/queue/_c_" in body)
        a = self.start_agent("a", proxy.address + suffix)
        a.wait_state("active")
        self.assertEqual(proxy.lost, 1, "the reply to the create was lost")
        candidates = self.queue(self.client(server), suffix + "/tenure/demo")
        self.assertEqual(len(candidates), 1, "one candidate only")
        self.assertEqual(str(candidates[0][1].czxid), str(a.election_status()["token"]))

    def test_create(self):
        """The create is passed on and its reply lost: the member finds its candidate and makes no second one."""
        self.check_create()

    def test_create_below_a_chroot(self):
        """The same below a chroot."""
        self.check_create("/some/where")

    def test_record_write(self):
        """The reply to the commit of the election record is lost: read back, our token in it means done."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        proxy.lose_reply(lambda operation, body: operation == SET_DATA and b"promoting" in body)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        self.assertEqual(proxy.lost, 1)
        self.assertEqual(len(self.timeline.events("start", "gain")), 1)

    def test_delete(self):
        """The reply to the delete of the own candidate is lost: it is gone all the same, and the next one leads."""
        server = self.start_server()
        proxy = self.start_proxy(server)
        a = self.start_agent("a", proxy)
        a.wait_state("active")
        b = self.start_agent("b", server)
        b.wait_queued(2)
        proxy.lose_reply(lambda operation, body: operation == DELETE and b"/queue/_c_" in body)
        a.ctl("resign", "demo")
        b.wait_state("active")
        a.wait_queued(2)
        self.assertEqual(proxy.lost, 1)
        self.assertEqual(len(self.queue(self.client(server))), 2)


if __name__ == "__main__":
    unittest.main()
