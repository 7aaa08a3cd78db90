"""
A peer that stands by `etcdctl elect` and starts a command each time that it leads. As the other peers of this folder;
ENDPOINT is an etcd server's, NAME the election's.

    etcd_elect.py ENDPOINT NAME COMMAND [ARGUMENT]...
"""

import os
import signal
import subprocess
import sys
import time


def main():
    endpoint, name, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    environment = os.environ | {"ETCDCTL_API": "3"}
    while True:
        elector = subprocess.Popen(
            ["etcdctl", "--endpoints", endpoint, "elect", name, str(os.getpid())],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment,
        )  # fmt: skip
        elector.stdout.readline()
        subprocess.Popen(command, stdin=subprocess.DEVNULL).wait()
        line = sys.stdin.readline()
        if line:
            print(time.monotonic_ns(), flush=True)
        elector.send_signal(signal.SIGINT)
        elector.wait(30)
        if not line:
            break


main()
