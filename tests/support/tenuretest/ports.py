"""Free loopback ports, outside the range from which the kernel takes ports for clients."""

import random
import socket

FIRST, LAST = 20000, 32000
_random = random.SystemRandom()


def free_port():
    for _ in range(1000):
        port = _random.randrange(FIRST, LAST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError("no free port")


def free_ports(count):
    """COUNT different ones."""
    found = set()
    while len(found) < count:
        found.add(free_port())
    return sorted(found)
