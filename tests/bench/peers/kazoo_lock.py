"""
A peer that stands for a kazoo Lock and starts a command each time that it holds it.

    kazoo_lock.py SERVERS PATH TIMEOUT_MS COMMAND [ARGUMENT]...

A line on its standard input lets it release the lock and stand again; it answers with the instant before the release,
on CLOCK_MONOTONIC in nanoseconds.
"""

import subprocess
import sys
import time

from kazoo.client import KazooClient


def main():
    servers, path, timeout_ms, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    client = KazooClient(servers, timeout=timeout_ms / 1000)
    client.start(10)
    lock = client.Lock(path)
    while True:
        lock.acquire()
        subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()
        if not sys.stdin.readline():
            break
        print(time.monotonic_ns(), flush=True)
        lock.release()
    client.stop()


main()
