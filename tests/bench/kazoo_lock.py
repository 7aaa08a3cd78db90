"""
One of two peers that pass a kazoo Lock to and fro, with one process start after each acquisition.
Prints the instant before each release, one a line.

    kazoo_lock.py SERVERS ROUNDS REST_MS COMMAND [ARGUMENT]...

Before each release all rests for REST_MS, as before a handoff in the field.
"""

import subprocess
import sys
import time

from kazoo.client import KazooClient


def main():
    servers, rounds, rest_s, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1000, sys.argv[4:]
    client = KazooClient(servers, timeout=10)
    client.start(10)
    lock = client.Lock("/bench-kazoo", str(id(client)))
    for _ in range(rounds):
        lock.acquire()
        subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()
        deadline = time.monotonic() + 5
        while len(lock.contenders()) < 2 and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(rest_s)
        print(time.clock_gettime_ns(time.CLOCK_BOOTTIME), flush=True)
        lock.release()
    client.stop()


main()
