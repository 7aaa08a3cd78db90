"""Something that befalls every new elector of an agent."""

import os
import signal
import threading
import time

from .wait import now_ns


def send(pid, number):
    """Unless it is gone."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Plague(threading.Thread):
    """Sends SIGNAL to every elector of AGENT as soon as it is seen, from the next one on; continued at last."""

    def __init__(self, agent, number, forth_ms=None):
        super().__init__(daemon=True)
        self.agent, self.number, self.forth_ms = agent, number, forth_ms
        self.ended = threading.Event()
        self.hit = {}  # pid: when

    def run(self):
        while not self.ended.is_set():
            pid = self.agent.elector()
            if pid and pid not in self.hit:
                send(pid, self.number)
                self.hit[pid] = now_ns()
            if self.forth_ms:
                for each, at_ns in list(self.hit.items()):
                    if now_ns() - at_ns > self.forth_ms * 1_000_000:
                        send(each, signal.SIGCONT)
            time.sleep(0.0005)

    def stop(self):
        self.ended.set()
        self.join()
        for pid in self.hit:
            send(pid, signal.SIGCONT)
