"""A Redis server of our own, what talks to it, and what never loses sight of two."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import wait_for  # noqa: E402
from tenuretest.ports import free_port  # noqa: E402


class RedisError(Exception):
    pass


class Connection:
    """The protocol, as far as the tests need it: OSError when the connection is lost, RedisError for a refusal."""

    def __init__(self, port, timeout=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.file = self.socket.makefile("rb")

    def call(self, *words):
        encoded = [str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RedisError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return rest.decode()

    def close(self):
        self.file.close()
        self.socket.close()


class RedisServer:
    """Its configuration file survives it, with what CONFIG REWRITE puts there."""

    def __init__(self, directory, options=()):
        self.directory = directory
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.pidfile = os.path.join(directory, "pid")
        self.config = os.path.join(directory, "redis.conf")
        self.process = None
        os.makedirs(directory, exist_ok=True)
        with open(self.config, "w", encoding="ascii") as file:
            file.write(
                f"port {self.port}\nbind 127.0.0.1\ndir {directory}\npidfile {self.pidfile}\n"
                'save ""\nappendonly yes\nrepl-diskless-sync-delay 0\n'
            )
            file.writelines(f"{line}\n" for line in options)

    def launch(self):
        """Starts it and waits for nothing."""
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", self.config], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def start(self):
        self.launch()
        wait_for(lambda: self.ask("PING") == "PONG", 20, "redis-server to answer")
        return self

    def kill9(self):
        """With SIGKILL, from whatever state."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def ended(self):
        return self.process is None or self.process.poll() is not None

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def ask(self, *words, password=None):
        """One command on a connection of its own: the answer, or the error's text; None when nobody answers."""
        try:
            connection = Connection(self.port)
        except OSError:
            return None
        try:
            if password:
                connection.call("AUTH", password)
            return connection.call(*words)
        except RedisError as error:
            return str(error)
        except OSError:
            return None
        finally:
            connection.close()

    def info(self, name, **options):
        for line in (self.ask("INFO", "replication", **options) or "").split("\r\n"):
            key, _, value = line.partition(":")
            if key == name:
                return value
        return None

    def role(self, **options):
        return self.info("role", **options)

    def wait_role(self, role, timeout=20):
        wait_for(lambda: self.role() == role, timeout, lambda: f"port {self.port} to be {role}; is {self.role()}")

    def wait_link(self, timeout=20):
        wait_for(lambda: self.info("master_link_status") == "up", timeout, f"port {self.port} to be in sync")


class RoleQuestion:
    """Whether a server is a master, for the lookout: on one connection as long as it lasts."""

    def __init__(self, server):
        self.server = server
        self.connection = None

    def __call__(self):
        try:
            self.connection = self.connection or Connection(self.server.port, 1)
            return self.connection.call("ROLE")[0] == "master"
        except (OSError, RedisError):
            self.close()
            return False

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Writer(threading.Thread):
    """
    A client that writes one key after the other to whoever is master, and keeps what it was told. With SYNC it counts
    a write only when a replica has it too (WAIT), which is what an application does that must not lose any.
    """

    def __init__(self, servers, sync=False):
        super().__init__(daemon=True)
        self.servers = servers
        self.sync = sync
        self.done = threading.Event()
        self.acknowledged = []  # (instant, key)
        self.number = 0

    def run(self):
        while not self.done.is_set():
            for server in self.servers:
                self.write_to(server)
            self.done.wait(0.01)

    def write_to(self, server):
        """Until it refuses."""
        try:
            connection = Connection(server.port, 1)
        except OSError:
            return
        try:
            while not self.done.is_set():
                self.number += 1
                key = f"key:{self.number}"
                connection.call("SET", key, self.number)
                if not self.sync or connection.call("WAIT", 1, 500) >= 1:
                    self.acknowledged.append((time.monotonic(), key))
                self.done.wait(0.001)
        except (OSError, RedisError):
            pass
        finally:
            connection.close()

    def count(self):
        return len(self.acknowledged)

    def wait_more(self, count=50, timeout=60):
        """Until so many more have been acknowledged."""
        wanted = self.count() + count
        wait_for(lambda: self.count() >= wanted, timeout, "the client to get on")

    def finish(self):
        self.done.set()
        self.join(10)

    def lost(self, server):
        """The acknowledged writes that SERVER does not have."""
        connection = Connection(server.port, 10)
        try:
            return [key for _, key in self.acknowledged if not connection.call("EXISTS", key)]
        finally:
            connection.close()

    def longest_gap(self):
        """The longest time without an acknowledged write, in seconds."""
        times = [at for at, _ in self.acknowledged]
        return max((b - a for a, b in zip(times, times[1:])), default=0)
