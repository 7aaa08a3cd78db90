"""Hosts of our own with a virtual address among them, for both families."""

import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

ADDRESSES = {4: "10.77.0.250", 6: "fd77::250"}
ENV = {"VIP_INTERFACE": "eth0", "VIP_ADDRESSES": f"{ADDRESSES[4]}/32 {ADDRESSES[6]}/128", "VIP_ANNOUNCE": "1"}


def ip(host, *words):
    """The output of `ip` in a host."""
    done = subprocess.run(["ip", "-n", host.name, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=20, check=True)  # fmt: skip
    return done.stdout


def add_ipv6(hosts):
    """Hosts have IPv4 alone otherwise."""
    for host in hosts:
        ip(host, "address", "add", f"fd77::{host.number}/64", "dev", "eth0", "nodad")


def has_address(host, family):
    """Whether an address is the host's own: only then it can be bound."""
    kind = socket.AF_INET if family == 4 else socket.AF_INET6

    def bind():
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind((ADDRESSES[family], 0))
            except OSError:
                return False
            return True

    return host.call(bind)


def link_address_of(host, family):
    """What a host knows as the link address of the virtual address, None when it has none in mind."""
    match = re.search(r"lladdr (\S+)", ip(host, "neighbour", "show", "to", ADDRESSES[family], "dev", "eth0"))
    return match and match[1]


class Pinger(threading.Thread):
    """Pings the virtual address of one family, all the time, and keeps the instants of the answers."""

    def __init__(self, host, family):
        super().__init__(daemon=True)
        self.answers = []
        self.process = subprocess.Popen(
            [*host.wrap, "ping", f"-{family}", "-n", "-i", "0.02", ADDRESSES[family]], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.start()

    def run(self):
        for line in self.process.stdout:
            if "bytes from" in line:
                self.answers.append(time.monotonic())

    def count(self):
        return len(self.answers)

    def close(self):
        self.process.kill()
        self.process.wait(10)
        self.join(10)
        self.process.stdout.close()

    def longest_gap(self):
        """In seconds."""
        return max((b - a for a, b in zip(self.answers, self.answers[1:])), default=0)
