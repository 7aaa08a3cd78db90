"""At rest: nobody polls, and memory is small. tests/bench/rest has the figures; these are generous bounds."""

import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase  # noqa: E402

SECONDS = 12
PSS_MAX_KB = 6 * 1024


def read(pid, name):
    with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
        return file.read()


def wakeups(pid):
    """Voluntary context switches of all threads."""
    tasks = os.listdir(f"/proc/{pid}/task")
    counts = [re.search(r"^voluntary_ctxt_switches:\s+(\d+)", read(pid, f"task/{task}/status"), re.M) for task in tasks]
    return sum(int(found.group(1)) for found in counts)


def pss_kb(pid):
    return int(re.search(r"^Pss:\s+(\d+)", read(pid, "smaps_rollup"), re.M).group(1))


class Rest(LiveCase):
    tick_time = 2000

    def packets(self, server):
        """What the server has received from each session."""
        found = re.findall(r"recved=(\d+),sent=\d+,sid=(0x[0-9a-f]+)", server.word("cons"))
        return {session: int(count) for count, session in found}

    def test_at_rest(self):
        """
        The default times: a heartbeat a second from the first and the second, and from the third only the
        library's pings. Method: wake-ups and packets over some seconds in which nobody asks anything.
        """
        server = self.start_server()
        agents = [
            self.agent(member, server, session_timeout=20000, tick_time=3000, zookeeper={"ping_slack": 500},
                       hook_options={"lose_timeout": 4000})
            for member in ("first", "second", "third")
        ]  # fmt: skip
        for place, agent in enumerate(agents, 1):
            agent.start()
            if place == 1:
                agent.wait_state("active", timeout=30)
                if "libasan" not in read(agent.pid, "maps") and "libtsan" not in read(agent.pid, "maps"):
                    self.assertLess(pss_kb(agent.pid) + pss_kb(agent.elector()), PSS_MAX_KB)
            agent.wait_queued(place, timeout=30)
        pids = [(agent.pid, agent.elector()) for agent in agents]
        sessions = [agent.status()["zookeeper"]["session"] for agent in agents]
        time.sleep(1)
        before = [(wakeups(supervisor), wakeups(elector)) for supervisor, elector in pids]
        packets = self.packets(server)
        time.sleep(SECONDS)
        after = [(wakeups(supervisor), wakeups(elector)) for supervisor, elector in pids]
        packets_after = self.packets(server)
        # Per second: the supervisor (which mirrors each lease, here not on a tmpfs, and hears that its elector lives), the elector with the library's two threads, packets to the server.
        bounds = {"first": (3.5, 15, 1.5), "second": (3.5, 15, 1.5), "third": (1, 2.5, 0.5)}
        for agent, old, new, session in zip(agents, before, after, sessions):
            rates = [(later - earlier) / SECONDS for earlier, later in zip(old, new)]
            rates.append((packets_after[session] - packets[session]) / SECONDS)
            for what, rate, bound in zip(("supervisor", "elector", "packets"), rates, bounds[agent.member]):
                self.assertLessEqual(rate, bound, f"{agent.member}: {what} per second, of {rates}")
        # What is to be there, so that the figures are not those of something dead.
        self.assertGreater(packets_after[sessions[0]] - packets[sessions[0]], SECONDS * 0.8)
        self.assertEqual(agents[0].state(), "active")


if __name__ == "__main__":
    unittest.main()
