"""
Leads by kazoo's Election recipe, once for each session timeout given, and steps down when kazoo says SUSPENDED.

    kazoo_leader.py SERVERS PATH TIMEOUT_MS...

Prints `CLOCK_BOOTTIME-ns leads|stopped TIMEOUT_MS`. Runs until it is killed.
"""

import logging
import sys
import threading
import time

from kazoo.client import KazooClient, KazooState

_printing = threading.Lock()


def say(what, timeout_ms):
    at_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    with _printing:
        print(at_ns, what, timeout_ms, flush=True)


class Candidate:
    def __init__(self, servers, path, timeout_ms):
        self.timeout_ms = timeout_ms
        self.leading = False
        self.stop = threading.Event()
        self.client = KazooClient(servers, timeout=timeout_ms / 1000)
        self.client.add_listener(self.on_state)
        self.client.start(20)
        election = self.client.Election(f"{path}/{timeout_ms}", "candidate")
        threading.Thread(target=election.run, args=(self.lead,)).start()

    def on_state(self, state):
        if state != KazooState.CONNECTED and self.leading:
            # Said at the earliest moment at which it can be known: a real service would still have to be stopped.
            self.leading = False
            say("stopped", self.timeout_ms)
            self.stop.set()

    def lead(self):
        self.leading = True
        say("leads", self.timeout_ms)
        self.stop.wait()


def main():
    logging.basicConfig()
    servers, path, *timeouts = sys.argv[1:]
    for timeout in timeouts:
        Candidate(servers, path, int(timeout))
    threading.Event().wait()


main()
