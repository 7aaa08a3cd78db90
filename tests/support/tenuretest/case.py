"""The base of the live tests: a server, agents, their timeline, and the oracle after every test."""

import os
import shutil
import tempfile
import unittest

from kazoo.client import KazooClient

from .agent import Agent
from .oracle import Oracle
from .proxy import Proxy
from .server import Ensemble, Server
from .timeline import Timeline
from .wait import wait_for

LOG_TAIL = 12000
_FATAL = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "Assertion `")


class LiveCase(unittest.TestCase):
    tick_time = 200
    longMessage = True

    def run(self, result=None):
        """A failure, wherever it happens, prints what the agents did; nothing is left behind."""
        self.directory = tempfile.mkdtemp(prefix="tenure-test-")
        os.chmod(self.directory, 0o755)
        self.memory = os.path.join("/dev/shm", os.path.basename(self.directory))
        self.timeline = Timeline(os.path.join(self.directory, "timeline"))
        self.oracle = Oracle()
        self.agents = []
        self.servers = []
        self.proxies = []
        self.clients = []
        bad = len(result.failures) + len(result.errors)
        try:
            super().run(result)
            if len(result.failures) + len(result.errors) > bad:
                self._show()
        finally:
            self._sweep()

    def tearDown(self):
        """Agents must stop in order, and the promises must have been kept."""
        for agent in self.agents:
            status = agent.stop()
            self.assertIn(status, (None, 0), f"exit status of {agent.member}")
            for sign in _FATAL:
                self.assertNotIn(sign, agent.log())
        self.oracle.fencing |= {agent.member for agent in self.agents if "fence_peer" in agent.hooks}
        faults = self.oracle.check(self.timeline.events())
        self.assertEqual(faults, [], "broken promises:\n" + "\n".join(faults))

    # Parts

    def start_server(self, **options):
        directory = os.path.join(self.directory, f"server-{len(self.servers)}")
        server = Server(directory, **({"tick_time": self.tick_time} | options))
        self.servers.append(server)
        return server.start()

    def start_ensemble(self, size=3, **options):
        ensemble = Ensemble(os.path.join(self.directory, "ensemble"), size, **({"tick_time": self.tick_time} | options))
        self.servers.append(ensemble)
        return ensemble.start()

    def start_proxy(self, server):
        proxy = Proxy(server.port)
        self.proxies.append(proxy)
        return proxy

    def agent(self, member, servers, **options):
        """An agent that is stopped and judged at the end. SERVERS: a text, or a Server or Proxy."""
        # Where /run is: a disk under load would hold the supervisor up.
        os.makedirs(self.memory, mode=0o755, exist_ok=True)
        options["top"] = {"state_dir": os.path.join(self.memory, member)} | (options.get("top") or {})
        agent = Agent(self.directory, member, getattr(servers, "address", servers), self.timeline, **options)
        self.agents.append(agent)
        return agent

    def start_agent(self, member, servers, **options):
        return self.agent(member, servers, **options).start()

    def start_queue(self, members, servers, **options):
        """Agents that queue in the order of MEMBERS, the first one in office."""
        agents = []
        for place, member in enumerate(members, 1):
            agent = self.start_agent(member, servers, **options)
            if place == 1:
                agent.wait_state("active")
            agent.wait_queued(place)
            agents.append(agent)
        return agents

    def client(self, server):
        client = KazooClient(server.address, timeout=4)
        client.start(10)
        self.clients.append(client)
        return client

    # Questions

    def queue(self, client, path="/tenure/demo"):
        """Candidates in the order of their creation, as (name, Stat)."""
        found = []
        if client.exists(f"{path}/queue"):
            for name in client.get_children(f"{path}/queue"):
                stat = client.exists(f"{path}/queue/{name}")
                if stat:
                    found.append((name, stat))
        return sorted(found, key=lambda entry: entry[1].czxid)

    def wait_candidates(self, client, count, path="/tenure/demo", timeout=10):
        wait_for(lambda: len(self.queue(client, path)) == count, timeout, f"{count} candidates")
        return self.queue(client, path)

    def hook_runs(self):
        """How many hooks have started so far, notify aside."""
        return len([event for event in self.timeline.events("start") if event.hook != "notify"])

    # The end

    def _show(self):
        print(f"\n----- {self.id()}: the timeline\n{self.timeline.render()}", flush=True)
        for agent in self.agents:
            print(f"----- log of {agent.member}\n{agent.log()[-LOG_TAIL:]}", flush=True)

    def _sweep(self):
        for client in self.clients:
            client.stop()
            client.close()
        for agent in self.agents:
            if agent.process is not None:
                agent.kill9()
            agent.kill_orphans()
        for proxy in self.proxies:
            proxy.close()
        for server in self.servers:
            server.kill()
        for event in self.timeline.events("grandchild"):
            _kill_hook(event.pid)
        shutil.rmtree(self.directory, ignore_errors=True)
        shutil.rmtree(self.memory, ignore_errors=True)


def _kill_hook(pid):
    """Kills a hook's grandchild, unless the pid is another's by now."""
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            if file.read().strip() == "test_hook":
                os.kill(pid, 9)
    except OSError:
        pass
