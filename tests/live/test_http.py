"""The HTTP interface: what load balancers, people and monitoring read from the agent, and what they must not disturb."""

import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, holds_for, now_ns, wait_for  # noqa: E402
from tenuretest.ports import free_port  # noqa: E402

T_MS = 4000
CLIENTS_MAX = 64  # as in agent/elector/http.c
CLIENT_LIMIT_S = 20


class HttpCase(LiveCase):
    def setUp(self):
        self.server = self.start_server()

    def http_agent(self, member="a", servers=None, host="127.0.0.1", port=None, **options):
        agent = self.agent(member, servers or self.server, session_timeout=T_MS, **options)
        agent.http = (host, port or free_port())
        shown = f"[{host}]" if ":" in host else host
        agent.sections["http"] = {"listen": f"{shown}:{agent.http[1]}"}
        return agent

    @contextlib.contextmanager
    def connection(self, agent, timeout=10):
        connection = http.client.HTTPConnection(*agent.http, timeout=timeout)
        try:
            yield connection
        finally:
            connection.close()

    def ask(self, agent, path, method="GET", body=None, timeout=10):
        """The response, with its whole body in `text`."""
        with self.connection(agent, timeout) as connection:
            connection.request(method, path, body)
            response = connection.getresponse()
            response.text = response.read().decode()
            return response

    def status_of(self, agent, path):
        """The status code, None when nobody answers."""
        try:
            return self.ask(agent, path).status
        except OSError:
            return None


class Answers(HttpCase):
    def test_leader_and_standby(self):
        """Who is asked by a load balancer says yes exactly if it leads, or stands by, whatever the method."""
        leader = self.http_agent("a").start()
        leader.wait_state("active")
        standby = self.http_agent("b").start()
        standby.wait_queued(2)
        standby.wait_state("standby")
        token = leader.election_status()["token"]
        for method in "GET", "HEAD", "OPTIONS":
            for path in "leader", "elections/demo/leader":
                answer = self.ask(leader, f"/{path}", method)
                self.assertEqual((answer.status, answer.getheader("X-Tenure-Token")), (200, token), method)
                answer = self.ask(standby, f"/{path}", method)
                self.assertEqual((answer.status, answer.getheader("X-Tenure-Token")), (503, None), method)
            for path in "standby", "elections/demo/standby":
                self.assertEqual(self.ask(leader, f"/{path}", method).status, 503)
                self.assertEqual(self.ask(standby, f"/{path}", method).status, 200)
            for path in "live", "ready", "status":
                self.assertEqual(self.ask(standby, f"/{path}", method).status, 200)
        self.assertEqual(self.ask(standby, "/leader").text, "b does not lead demo: standby\n")
        leader.ctl("resign", "demo")
        standby.wait_state("active")
        self.assertEqual(self.ask(standby, "/leader").status, 200)
        self.assertGreater(int(self.ask(standby, "/leader").getheader("X-Tenure-Token")), int(token))
        self.assertEqual(self.ask(leader, "/leader").status, 503)

    def test_during_the_hooks(self):
        """While gain or lose runs the member is not the leader for others."""
        agent = self.http_agent()
        agent.behave("gain", "sleep=600")
        agent.behave("lose", "sleep=600")
        agent.hook_options["lose_timeout"] = 1000
        agent.start()
        agent.wait_state("promoting")
        self.assertEqual(self.status_of(agent, "/leader"), 503)
        agent.wait_state("active")
        self.assertEqual(self.status_of(agent, "/leader"), 200)
        agent.signal(signal.SIGTERM)
        agent.wait_state("demoting")
        self.assertEqual(self.status_of(agent, "/leader"), 503)

    def test_unhealthy_standby(self):
        self.http_agent("a").start().wait_state("active")
        standby = self.http_agent("b")
        standby.blocks["check"] = {"interval": 100, "timeout": 1000, "rise": 1, "fall": 1}
        standby.start()
        standby.wait_queued(2)
        wait_for(lambda: self.status_of(standby, "/standby") == 200, 10, "a healthy standby")
        standby.behave("check", "exit=1")
        wait_for(lambda: self.status_of(standby, "/standby") == 503, 10, "an unhealthy standby")
        wait_for(lambda: self.status_of(standby, "/ready") == 503, 10, "it to have left the queue")
        self.assertEqual(self.status_of(standby, "/live"), 200)

    def test_several_elections(self):
        """Which one is meant has to be said; the answer names them."""
        agent = self.http_agent(elections=("one", "two")).start()
        agent.wait_state("active", election="one")
        agent.wait_state("active", election="two")
        for path in "leader", "standby":
            answer = self.ask(agent, f"/{path}")
            self.assertEqual(answer.status, 404)
            self.assertIn(f"/elections/one/{path}\n/elections/two/{path}\n", answer.text)
        self.assertEqual(self.ask(agent, "/elections/one/leader").status, 200)
        self.assertEqual(self.ask(agent, "/elections/two/leader").status, 200)
        self.assertNotEqual(
            self.ask(agent, "/elections/one/leader").getheader("X-Tenure-Token"),
            self.ask(agent, "/elections/two/leader").getheader("X-Tenure-Token"),
        )

    def test_status(self):
        """The same object as on the control socket, with what only a look at ZooKeeper shows."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        answer = self.ask(agent, "/status")
        self.assertEqual(answer.getheader("Content-Type"), "application/json")
        self.assertEqual(answer.getheader("Cache-Control"), "no-store")
        shown, control = json.loads(answer.text), agent.status()

        def names(value):
            return {key: names(inner) for key, inner in value.items()} if isinstance(value, dict) else None

        self.assertEqual(names(shown), names(control))
        self.assertEqual(shown["elections"]["demo"]["position"], 1)
        self.assertEqual(shown["elections"]["demo"]["token"], control["elections"]["demo"]["token"])
        self.assertGreater(shown["elections"]["demo"]["lease_ms"], 0)

    def test_not_joined(self):
        """Without an ensemble the process lives and is not ready, and `/status` does not hang."""
        agent = self.http_agent(servers=f"127.0.0.1:{free_port()}").start()
        wait_for(lambda: self.status_of(agent, "/live") == 200, 10, "the agent")
        self.assertEqual(self.status_of(agent, "/leader"), 503)
        self.assertEqual(self.status_of(agent, "/standby"), 503)
        answer = self.ask(agent, "/ready")
        self.assertEqual((answer.status, answer.text), (503, "a has not joined demo: not connected to ZooKeeper\n"))
        self.assertIsNone(json.loads(self.ask(agent, "/status").text)["elections"]["demo"]["leader"])

    def test_what_is_not_there(self):
        agent = self.http_agent().start()
        agent.wait_state("active")
        for path in (
            "/nothing", "/leader/", "/leaders", "/elections", "/elections/", "/elections/demo", "/elections/demo/",
            "/elections/other/leader", "/elections//leader", "/elections/demo/leader/x", "/status/demo", "//leader",
        ):  # fmt: skip
            self.assertEqual(self.ask(agent, path).status, 404, path)
        self.assertEqual(self.ask(agent, "/leader?check=1").status, 200)

    def test_it_only_reads(self):
        agent = self.http_agent().start()
        agent.wait_state("active")
        for method in "POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW":
            answer = self.ask(agent, "/leader", method, "x" if method in ("POST", "PUT") else None)
            self.assertEqual((answer.status, answer.getheader("Allow")), (405, "GET, HEAD, OPTIONS"), method)
        with socket.create_connection(agent.http, 5) as connection:
            connection.sendall(b"CONNECT /leader HTTP/1.1\r\n\r\n")
            self.assertIn(b" 405 ", connection.recv(65536).splitlines()[0])

    def test_head_has_no_body(self):
        """The head is that of GET, and the next answer on the connection is not mistaken for a body."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        length = len(self.ask(agent, "/leader").text)
        with self.connection(agent) as connection:
            for _ in range(3):
                connection.request("HEAD", "/leader")
                answer = connection.getresponse()
                self.assertEqual((answer.status, answer.getheader("Content-Length")), (200, str(length)))
                self.assertEqual(answer.read(), b"")

    def test_nonsense(self):
        """Heads and bodies that are too large, or none at all, get an error or nothing; the agent goes on."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        for data in (
            b"\r\n\r\n", b"GET\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET /leader\r\n\r\n",
            b"GET /leader HTTP/9.9.9\r\n\r\n", b"GET /leader HTTP/1.1\r\nx\r\n\r\n",
            b"GET /leader HTTP/1.1\r\nX: " + b"x" * 10000 + b"\r\n\r\n", b"GET /" + b"x" * 10000 + b" HTTP/1.1\r\n\r\n",
            b"GET /leader HTTP/1.1\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5000,
            b"GET /leader HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        ):  # fmt: skip
            with socket.create_connection(agent.http, 5) as connection:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    answer = connection.recv(65536)
                    self.assertNotIn(b" 200 ", answer, data[:40])
            self.assertEqual(self.ask(agent, "/leader").status, 200)


class Validity(HttpCase):
    def test_it_ends_with_the_lease(self):
        """
        The ensemble falls silent: the leader says yes while the lease holds, and never once its demotion has begun.
        """
        proxy = self.start_proxy(self.server)
        agent = self.http_agent(servers=proxy).start()
        agent.wait_state("active")
        proxy.stall()
        cut_ns, yes = now_ns(), []

        def lost():
            asked_ns = now_ns()
            status = self.status_of(agent, "/leader")
            if status == 200:
                yes.append(asked_ns)
            return status == 503

        wait_for(lost, 3 * T_MS / 1000, "the lease to end")
        holds_for(lambda: self.status_of(agent, "/leader") == 503, 1, "no leader without a lease")
        begun_ns = [event for event in self.timeline.events("start", "lose") if event.reason == "lease"][0].at_ns
        self.assertGreater(yes[-1] - cut_ns, 5e8, "it rides a blip out")
        self.assertLess(yes[-1], begun_ns)
        proxy.resume()
        agent.wait_state("active")
        self.assertEqual(self.status_of(agent, "/leader"), 200)

    def test_ready_through_a_blip(self):
        """A leader that rides a blip out is as ready as before."""
        proxy = self.start_proxy(self.server)
        agent = self.http_agent(servers=proxy).start()
        agent.wait_state("active")
        proxy.refuse()
        wait_for(lambda: agent.status()["zookeeper"]["state"] != "connected", 5, "the connection to be lost")
        self.assertEqual((self.status_of(agent, "/ready"), self.status_of(agent, "/leader")), (200, 200))
        proxy.resume()
        wait_for(lambda: agent.status()["zookeeper"]["state"] == "connected", 5, "the connection")
        self.assertEqual(agent.state(), "active")


class Life(HttpCase):
    def test_the_elector_dies(self):
        """Whoever asks meanwhile waits for the next elector: nobody is refused, and nobody hears a no."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        for _ in range(3):
            elector = agent.elector()
            os.kill(elector, signal.SIGKILL)
            wait_for(lambda: agent.elector() != elector, 5, "the elector to be gone")
            self.assertEqual(self.ask(agent, "/live").status, 200)
            wait_for(lambda: self.ask(agent, "/leader").status == 200, T_MS / 1000, "the lease to be proven again")
        self.assertEqual(len([e for e in self.timeline.events("start", "gain")]), 1)

    def test_restart_in_place(self):
        """Nobody is refused while the program is executed anew."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        elector = agent.elector()
        agent.signal(signal.SIGUSR2)
        end = time.monotonic() + 10
        while agent.elector() in (elector, None) and time.monotonic() < end:
            with contextlib.suppress(ConnectionResetError, http.client.RemoteDisconnected):
                self.assertEqual(self.ask(agent, "/live").status, 200)
        self.assertEqual(self.ask(agent, "/live").status, 200)
        agent.wait_state("active")

    def test_reload(self):
        """Another port takes the place of the old one; "" ends it; no hook runs."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        old, runs = agent.http, self.hook_runs()
        agent.http = ("127.0.0.1", free_port())
        agent.sections["http"] = {"listen": f"127.0.0.1:{agent.http[1]}"}
        agent.write_config()
        agent.signal(signal.SIGHUP)
        wait_for(lambda: self.status_of(agent, "/leader") == 200, 10, "the new port")
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(old, 5).close()
        agent.sections["http"] = {"listen": ""}
        agent.write_config()
        agent.signal(signal.SIGHUP)
        wait_for(lambda: self.status_of(agent, "/leader") is None, 10, "the port to be closed")
        agent.wait_state("active")
        self.assertEqual(self.hook_runs(), runs)

    def test_port_in_use(self):
        """The agent leads all the same, says so, and listens as soon as it can."""
        port = free_port()
        with socket.create_server(("127.0.0.1", port)):
            agent = self.http_agent(port=port).start()
            agent.wait_state("active")
            agent.wait_log("cannot listen for HTTP")
            self.assertIn("Address already in use", agent.log())
        wait_for(lambda: self.status_of(agent, "/leader") == 200, 10, "the port to be taken")
        agent.wait_log("listens for HTTP")
        # From now on the supervisor holds it.
        elector = agent.elector()
        os.kill(elector, signal.SIGKILL)
        wait_for(lambda: agent.elector() not in (elector, None), 5, "the next elector")
        self.assertEqual(self.ask(agent, "/live").status, 200)
        self.assertEqual(agent.log().count("cannot listen for HTTP"), 1)

    def test_the_supervisor_dies(self):
        """Its elector does not answer for it; the next agent has the port at once, and still leads."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        with self.connection(agent) as kept:
            kept.request("GET", "/leader")
            self.assertEqual(kept.getresponse().read(), b"a leads demo\n")
            agent.kill_supervisor()
            wait_for(lambda: self.status_of(agent, "/leader") is None, 5, "nobody to listen")
            with contextlib.suppress(OSError, http.client.HTTPException):
                kept.request("GET", "/leader")
                self.assertEqual(kept.getresponse().status, 503)
        agent.start()
        agent.wait_state("active")
        wait_for(lambda: self.status_of(agent, "/leader") == 200, 10, "the next agent")
        self.assertNotIn("cannot listen", agent.log())

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError as error:
            self.skipTest(f"no IPv6 here: {error}")
        agent = self.http_agent(host="::1").start()
        agent.wait_state("active")
        self.assertEqual(self.ask(agent, "/leader").status, 200)


class Load(HttpCase):
    def sockets_of(self, agent):
        """Connections that the elector has."""
        pid, count = agent.elector(), 0
        with open(f"/proc/{pid}/net/tcp", encoding="ascii") as table:
            ours = {row.split()[9] for row in table if row.split()[1].endswith(f":{agent.http[1]:04X}")}
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                link = os.readlink(f"/proc/{pid}/fd/{fd}")
                count += link.startswith("socket:[") and link[8:-1] in ours
        return count - 1  # the one that listens

    def lowest_lease_ms(self, agent, seconds, meanwhile):
        """The lowest lease seen through the control socket while MEANWHILE() is called again and again."""
        lowest, end = float("inf"), time.monotonic() + seconds
        while time.monotonic() < end:
            meanwhile()
            lowest = min(lowest, agent.election_status()["lease_ms"] or 0)
        return lowest

    def test_many_idle_clients(self):
        """Others still get their answer, at once; the number of connections stays bounded; the lease is renewed."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        with contextlib.ExitStack() as stack:
            for _ in range(3 * CLIENTS_MAX):
                idle = stack.enter_context(socket.create_connection(agent.http, 5))
                idle.sendall(b"GET /leader HTTP/1.1\r\nX: ")

            def ask():
                begun = time.monotonic()
                self.assertEqual(self.ask(agent, "/leader").status, 200)
                self.assertLess(time.monotonic() - begun, 2)
                self.assertLessEqual(self.sockets_of(agent), CLIENTS_MAX + 2)

            lowest = self.lowest_lease_ms(agent, 3, ask)
        self.assertGreater(lowest, T_MS / 4)
        self.assertEqual(agent.state(), "active")

    def test_flood(self):
        """Clients that ask as fast as they can, for the largest answer, do not hold a heartbeat up."""
        agent = self.http_agent(elections=[f"e{i}" for i in range(20)]).start()
        for name in agent.elections:
            agent.wait_state("active", election=name, timeout=30)
        clients = []
        with contextlib.ExitStack() as stack:
            for _ in range(32):
                client = stack.enter_context(socket.create_connection(agent.http, 5))
                client.setblocking(False)
                clients.append(client)

            def ask():
                for client in clients:
                    with contextlib.suppress(BlockingIOError):
                        client.send(b"GET /status HTTP/1.1\r\n\r\n" * 4)
                    with contextlib.suppress(BlockingIOError):
                        client.recv(1 << 16)

            lowest = self.lowest_lease_ms(agent, 4, ask)
        self.assertGreater(lowest, T_MS / 8)
        self.assertNotIn("state=demoting", agent.log())

    def test_slow_client(self):
        """Who sends a byte now and then is hung up on in the end, however it goes on."""
        agent = self.http_agent().start()
        agent.wait_state("active")
        begun = time.monotonic()
        with socket.create_connection(agent.http, 5) as slow:
            slow.settimeout(0.5)
            with self.assertRaises((ConnectionResetError, BrokenPipeError, EOFError)):
                while time.monotonic() < begun + 3 * CLIENT_LIMIT_S:
                    slow.sendall(b"x")
                    with contextlib.suppress(TimeoutError):
                        if slow.recv(1) == b"":
                            raise EOFError
        self.assertGreater(time.monotonic() - begun, CLIENT_LIMIT_S - 2)
        wait_for(lambda: self.sockets_of(agent) == 0, 5, "the connection to be closed")


if __name__ == "__main__":
    unittest.main()
