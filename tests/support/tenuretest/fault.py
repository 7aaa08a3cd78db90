"""The base of the fault tests: three servers, each in a host of its own, and agents in hosts beside them."""

from kazoo.client import KazooClient
from kazoo.handlers.threading import SequentialThreadingHandler

from .case import LiveCase
from .hosts import Hosts
from .proxy import Proxy

SERVER_HOSTS = ("s1", "s2", "s3")
AGENT_HOSTS = ("a1", "a2", "a3")


class FaultCase(LiveCase):
    """
    tick_time, and with it the ensemble, can be another in a class of its own. The first server's host is s1 and so on;
    an agent runs in the host with its name: self.start_agent("a1", self.follower()).
    """

    tick_time = 2000
    ensemble_options = ()  # further lines of the servers' configuration
    server_hosts = SERVER_HOSTS
    agent_hosts = AGENT_HOSTS

    def setUp(self):
        self.hosts = Hosts((*self.server_hosts, *self.agent_hosts, "desk"))
        # The names go at once, the namespaces themselves with the last process in them.
        self.addCleanup(self.hosts.close)
        self.ensemble = self.start_ensemble(
            len(self.server_hosts),
            options=self.ensemble_options,
            hosts=[self.hosts[name] for name in self.server_hosts],
        )

    def tearDown(self):
        """Whole links again, so that the agents can leave in order."""
        self.hosts.heal()
        super().tearDown()

    # Parts

    def agent(self, member, servers, host=None, **options):
        """As LiveCase's, in the host HOST or the one with the member's name, with the ensemble's tick."""
        agent = super().agent(member, servers, **({"tick_time": self.tick_time} | options))
        agent.wrapper = self.hosts[host or member].wrap
        return agent

    def start_proxy(self, server, host=None):
        """A proxy on the loopback of HOST, which only those in that host reach."""
        if host is None:
            return super().start_proxy(server)
        proxy = self.hosts[host].call(Proxy, server.port, target_host=server.ip)
        self.proxies.append(proxy)
        return proxy

    def client(self, server, timeout=30):
        """A kazoo client in a host that has no part in any fault."""
        client = KazooClient(server.address, timeout=timeout, handler=_HandlerIn(self.hosts["desk"]))
        client.start(10)
        self.clients.append(client)
        return client

    # Questions

    def host_of(self, server):
        """The name of a server's host, for the faults of self.hosts."""
        return server.host.host_name

    def leader(self):
        """The server that leads the ensemble."""
        return self.ensemble.leader()

    def follower(self):
        self.leader()
        return self.ensemble.with_mode("follower")[0]

    def others(self, server):
        return [other for other in self.ensemble.servers if other is not server]


class _HandlerIn(SequentialThreadingHandler):
    def __init__(self, host):
        super().__init__()
        self._host = host

    def create_connection(self, *arguments, **options):
        return self._host.call(super().create_connection, *arguments, **options)
