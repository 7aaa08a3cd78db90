"""A private ZooKeeper, on loopback or in hosts of our own: one server, or an ensemble."""

import os
import signal
import socket
import struct
import subprocess

from . import snapshot
from .ports import free_port, free_ports
from .wait import wait_for

JARS = "/usr/share/java/zookeeper.jar"
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
START_S = 30
_OPTIONS = (
    "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
    # Otherwise it leaves a directory in /tmp.
    "-XX:-UsePerfData",
    # A test may kill the server but never the machine.
    "-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
    # The digest covers the creation counters that set_creations changes.
    "-Dzookeeper.digest.enabled=false",
)  # fmt: skip


class Server:
    def __init__(self, directory, tick_time=200, port=None, options=(), host=None):
        """OPTIONS are further lines of its configuration. HOST: where it runs, one of Hosts."""
        self.directory = directory
        self.tick_time = tick_time
        self.host = host
        self.ip = host.address if host else "127.0.0.1"
        self.port = port or free_port()
        self.options = options
        self.data_dir = os.path.join(directory, "data")
        self.process = None
        os.makedirs(self.data_dir, exist_ok=True)

    @property
    def address(self):
        return f"{self.ip}:{self.port}"

    def start(self):
        """Starts it and waits until it serves."""
        return self.launch().wait_serving()

    def launch(self):
        """Starts it and waits for nothing."""
        config = os.path.join(self.directory, "zoo.cfg")
        with open(config, "w", encoding="ascii") as file:
            file.write(
                f"tickTime={self.tick_time}\ndataDir={self.data_dir}\n"
                f"clientPort={self.port}\nclientPortAddress={self.ip}\n"
                "admin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
            )
            file.writelines(f"{line}\n" for line in self.options)
        with open(os.path.join(self.directory, "server.log"), "ab") as log:
            self.process = subprocess.Popen(
                [*(self.host.wrap if self.host else ()), "java", *_OPTIONS, "-cp", JARS, MAIN, config],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        return self

    def wait_serving(self):
        wait_for(self._serves_or_died, START_S, "the server to start")
        return self

    def _serves_or_died(self):
        if self.process.poll() is not None:
            with open(os.path.join(self.directory, "server.log"), encoding="utf-8", errors="replace") as log:
                raise AssertionError(f"the server died with {self.process.returncode}:\n{log.read()}")
        return self.serves()

    def serves(self):
        """Whether it answers, with its database loaded."""
        return "Mode: " in self.word("srvr")

    def word(self, word):
        """The answer to a four-letter word, "" when there is none."""
        try:
            with self._connect(2) as connection:
                connection.sendall(word.encode())
                answer = b""
                while chunk := connection.recv(65536):
                    answer += chunk
                return answer.decode(errors="replace")
        except OSError:
            return ""

    def _connect(self, timeout):
        """From its own host, so that no cut is in the way."""
        call = self.host.call if self.host else lambda function, *arguments: function(*arguments)
        return call(socket.create_connection, (self.ip, self.port), timeout)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Ends it in order."""
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        self.process = None

    def restart(self):
        self.kill()
        self.start()

    def set_creations(self, path, creations):
        """Makes CREATIONS the number of the next sequential znode under PATH. The server is restarted."""
        # A start writes a snapshot with everything that the log holds.
        self.restart()
        self.stop()
        snapshot.set_creations(self.data_dir, path, creations)
        self.start()

    def end_session(self, session_id):
        """Ends another client's session, as whoever can reach the port is able to."""
        # Its client comes back at once and may take the session over again before our close is handled.
        wait_for(lambda: self._end_session_once(session_id), 10, f"the end of session {session_id:#x}")

    def _end_session_once(self, session_id):
        """True when the server knows no such session any more."""
        connect = struct.pack(">iqiq", 0, 0, 30000, session_id) + _buffer(session_password(session_id)) + b"\0"
        close = struct.pack(">ii", 1, -11)
        answer = b""
        try:
            with self._connect(5) as connection:
                connection.sendall(_buffer(connect) + _buffer(close))
                while chunk := connection.recv(4096):
                    answer += chunk
        except ConnectionError:
            pass
        # Length, version, and the timeout: none for a session that is gone.
        return len(answer) >= 12 and struct.unpack_from(">i", answer, 8) == (0,)


class Ensemble:
    """Servers that make up one quorum, each a Server of its own."""

    def __init__(self, directory, size=3, tick_time=200, options=(), route=None, hosts=None):
        """
        ROUTE(n, m, port), if given, returns the port by which server N reaches the quorum port of server M.
        HOSTS: one for each server.
        """
        ports = free_ports(3 * size)
        hosts = hosts or [None] * size
        self.servers = []
        for n in range(size):
            lines = ["initLimit=20", "syncLimit=5", *options]
            for m in range(size):
                quorum = ports[3 * m + 1] if route is None or m == n else route(n, m, ports[3 * m + 1])
                address = hosts[m].address if hosts[m] else "127.0.0.1"
                lines.append(f"server.{m + 1}={address}:{quorum}:{ports[3 * m + 2]}")
            server = Server(os.path.join(directory, str(n + 1)), tick_time, ports[3 * n], lines, hosts[n])
            with open(os.path.join(server.data_dir, "myid"), "w", encoding="ascii") as file:
                file.write(f"{n + 1}\n")
            self.servers.append(server)

    @property
    def address(self):
        return ",".join(server.address for server in self.servers)

    def start(self):
        for server in self.servers:
            server.launch()
        for server in self.servers:
            server.wait_serving()
        return self

    def with_mode(self, mode):
        """The servers in MODE, "leader" or "follower"."""
        return [server for server in self.servers if f"Mode: {mode}" in server.word("srvr")]

    def leader(self):
        return wait_for(lambda: self.with_mode("leader"), START_S, "a leader of the ensemble")[0]

    def server_of(self, session_id):
        """The server to which a session is connected, None when there is none."""
        for server in self.servers:
            if f"sid=0x{session_id:x}," in server.word("cons"):
                return server
        return None

    def kill(self):
        for server in self.servers:
            server.kill()


def _buffer(data):
    return struct.pack(">i", len(data)) + data


def session_password(session_id):
    """The server makes a session's password of its id and a constant, with java.util.Random."""
    mask = (1 << 48) - 1
    seed = ((session_id ^ 0xB3415C00) ^ 0x5DEECE66D) & mask
    password = b""
    while len(password) < 16:
        seed = (seed * 0x5DEECE66D + 0xB) & mask
        password += struct.pack("<I", (seed >> 16) & 0xFFFFFFFF)
    return password
