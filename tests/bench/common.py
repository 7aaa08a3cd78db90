"""What the benchmarks share: the harness of the live tests, figures and their presentation."""

import json
import os
import shutil
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest.agent import BIN_DIR, Agent  # noqa: E402
from tenuretest.server import Server  # noqa: E402
from tenuretest.timeline import Timeline  # noqa: E402

BENCH_DIR = os.path.join(os.path.dirname(BIN_DIR), "bench")


class Ground:
    """A directory with a private server; everything that was started in it ends with it."""

    def __init__(self, tick_time=200):
        self.tick_time = tick_time
        self.agents = []

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="tenure-bench-")
        os.chmod(self.directory, 0o755)
        self.server = Server(os.path.join(self.directory, "server"), tick_time=self.tick_time).start()
        self.timeline = self.new_timeline("timeline")
        return self

    def __exit__(self, *exception):
        for agent in self.agents:
            if agent.process is not None:
                agent.kill9()
        self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)

    def new_timeline(self, name):
        return Timeline(os.path.join(self.directory, name))

    def agent(self, member, **options):
        agent = Agent(self.directory, member, self.server.address, self.timeline, **options)
        self.agents.append(agent)
        return agent


def figures(samples_ms):
    ordered = sorted(samples_ms)
    return {
        "n": len(ordered),
        "median_ms": round(statistics.median(ordered), 3),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 3),
        "max_ms": round(ordered[-1], 3),
    }


def report(results, as_json):
    """RESULTS: name -> figures. The first one is what the others are compared with."""
    base = next(iter(results.values()))["median_ms"]
    for entry in results.values():
        entry["ratio"] = round(entry["median_ms"] / base, 2)
    if as_json:
        print(json.dumps(results, indent=2))
        return
    print(f"{'':28} {'ratio':>7} {'median':>10} {'p99':>10} {'max':>10} {'n':>6}")
    for name, e in results.items():
        print(
            f"{name:28} {e['ratio']:7.2f} {e['median_ms']:7.2f} ms {e['p99_ms']:7.2f} ms "
            f"{e['max_ms']:7.2f} ms {e['n']:6}"
        )
