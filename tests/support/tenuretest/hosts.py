"""
Several hosts on one machine: network namespaces on one switch, whose links can be cut.

Each host is a namespace with one address of 10.77.0.0/24; the switch is a bridge in a namespace of its own, and what
it forwards goes through one nft chain that is replaced as a whole: a cut takes effect at one instant, whatever
number of links it concerns. What is cut is dropped in silence. The machine's own network is not touched.
"""

import atexit
import ctypes
import glob
import itertools
import os
import re
import subprocess
import threading

from .wait import now_ns

NETNS_DIR = "/run/netns"
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_serials = itertools.count(1)


class Unavailable(AssertionError):
    """Says why there can be no namespaces here. An AssertionError, so that a test fails by it."""


def _run(*command, text=None):
    try:
        done = subprocess.run(
            command, input=text, stdin=None if text else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, timeout=20, check=False,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(f"no hosts of our own: {error} (iproute2 and nftables are needed)") from None
    if done.returncode != 0:
        user = "" if os.geteuid() == 0 else " (only root can have network namespaces)"
        raise Unavailable(f"no hosts of our own: {' '.join(command)}: {done.stdout.strip()}{user}")


class Namespace:
    def __init__(self, name):
        self.name = name
        self.wrap = ("ip", "netns", "exec", name)  # words before a command

    def call(self, function, *arguments, **options):
        """FUNCTION, called by a thread in the namespace: its sockets, threads and children belong there."""
        outcome = []

        def run():
            try:
                with open(os.path.join(NETNS_DIR, self.name), "rb") as namespace:
                    if _libc.setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                        raise OSError(ctypes.get_errno(), f"setns to {self.name}")
                outcome.append((function(*arguments, **options), None))
            except BaseException as error:  # handed to the caller, whatever it is
                outcome.append((None, error))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        value, error = outcome[0]
        if error is not None:
            raise error
        return value


class Host(Namespace):
    def __init__(self, name, namespace, number):
        super().__init__(namespace)
        self.host_name = name
        self.number = number
        self.address = f"10.77.0.{number}"
        self.link_address = f"02:00:00:77:00:{number:02x}"


class Hosts:
    def __init__(self, names):
        """NAMES: up to 200 short names, each of a host and of its port on the switch."""
        _remove_left_behind()
        prefix = f"tnr{os.getpid()}-{next(_serials)}"
        self._switch = Namespace(prefix)
        self._hosts = {name: Host(name, f"{prefix}-{name}", number) for number, name in enumerate(names, 1)}
        self._dropped = set()  # (source, target)
        self._lossy = {}  # (source, target) -> percent
        atexit.register(self.close)
        try:
            self._build()
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name):
        return self._hosts[name]

    def __iter__(self):
        return iter(self._hosts.values())

    # Links. A and B are names or lists of names. Each returns the instant of the call; the rules are in force about
    # 4 ms after it (nft itself returns later).

    def cut(self, a, b):
        """Drops all packets between A and B."""
        self._dropped.update(_both_ways(a, b))
        return self._apply()

    def drop(self, source, target):
        """Drops the packets from SOURCE to TARGET alone."""
        self._dropped.update(_pairs(source, target))
        return self._apply()

    def lose(self, a, b, percent):
        """Loses PERCENT of the packets, either way, at random."""
        self._lossy.update(dict.fromkeys(_both_ways(a, b), percent))
        return self._apply()

    def heal(self, a=None, b=None):
        """Undoes what was done to the links between A and B, or to all."""
        links = _both_ways(a, b) if a is not None else self._dropped | set(self._lossy)
        self._dropped -= links
        for link in links:
            self._lossy.pop(link, None)
        return self._apply()

    def close(self):
        atexit.unregister(self.close)
        for namespace in (*self._hosts.values(), self._switch):
            _remove(namespace.name)

    # The switch and its rules

    def _build(self):
        switch = self._switch.name
        _run("ip", "netns", "add", switch)
        lines = ["link add name switch0 type bridge", "link set dev switch0 up"]
        for host in self:
            _run("ip", "netns", "add", host.name)
            lines += [
                f"link add name {host.host_name} type veth"
                f" peer name eth0 address {host.link_address} netns {host.name}",
                f"link set dev {host.host_name} master switch0 addrgenmode none up",
            ]
        _batch(switch, lines)
        for host in self:
            # Neighbours are told, not asked for: what is cut stays silent instead of becoming unreachable.
            _batch(host.name, [
                "link set dev lo up", "link set dev eth0 addrgenmode none up", f"address add {host.address}/24 dev eth0",
                *(f"neighbour add {other.address} lladdr {other.link_address} dev eth0 nud permanent"
                  for other in self if other is not host),
            ])  # fmt: skip
        self._apply()

    def _apply(self):
        rules = [f'add rule bridge fault forward iifname "{a}" oifname "{b}" drop' for a, b in sorted(self._dropped)]
        rules += [
            f'add rule bridge fault forward iifname "{a}" oifname "{b}" numgen random mod 100 < {percent} drop'
            for (a, b), percent in sorted(self._lossy.items())
        ]
        text = "\n".join([
            "add table bridge fault",
            "add chain bridge fault forward { type filter hook forward priority 0; policy accept; }",
            "flush chain bridge fault forward", *rules, "",
        ])  # fmt: skip
        at_ns = now_ns()
        self._switch.call(_run, "nft", "-f", "-", text=text)
        return at_ns


def _names(names):
    return [names] if isinstance(names, str) else list(names)


def _pairs(sources, targets):
    return {(a, b) for a in _names(sources) for b in _names(targets) if a != b}


def _both_ways(a, b):
    return _pairs(a, b) | _pairs(b, a)


def _batch(namespace, lines):
    _run("ip", "-n", namespace, "-batch", "-", text="\n".join(lines) + "\n")


def _remove(name):
    if os.path.exists(os.path.join(NETNS_DIR, name)):
        _run("ip", "netns", "del", name)


def _remove_left_behind():
    """A test that was killed leaves its namespaces; they bear its pid."""
    for path in glob.glob(os.path.join(NETNS_DIR, "tnr*-*")):
        match = re.fullmatch(r"tnr(\d+)-[0-9]+(-.+)?", os.path.basename(path))
        if match and not os.path.exists(f"/proc/{match[1]}"):
            _remove(os.path.basename(path))
