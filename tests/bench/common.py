"""What the benchmarks share: the harness of the live tests, figures and their presentation."""

import argparse
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


def options(name, contests, rounds):
    """What the command line asks for. CONTESTS: by name, the one first that the others are compared with."""
    parser = argparse.ArgumentParser(prog=f"tests/bench/{name}")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--only", action="append", choices=list(contests), help="only these, in the order given")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--chart", metavar="FILE", help="write a chart (SVG) there")
    found = parser.parse_args()
    found.only = found.only or list(contests)
    return found


def report(results, found, title):
    """RESULTS: name -> figures. The first one is what the others are compared with."""
    base = next(iter(results.values()))["median_ms"]
    for entry in results.values():
        entry["ratio"] = round(entry["median_ms"] / base, 2)
    print(f"{title:28} {'ratio':>7} {'median':>12} {'p99':>12} {'max':>12} {'n':>5}")
    for name, e in results.items():
        print(
            f"{name:28} {e['ratio']:7.2f} {e['median_ms']:9.2f} ms {e['p99_ms']:9.2f} ms {e['max_ms']:9.2f} ms {e['n']:5}"
        )
    if found.json:
        with open(found.json, "w", encoding="ascii") as file:
            json.dump(results, file, indent=2)
    if found.chart:
        with open(found.chart, "w", encoding="ascii") as file:
            file.write(chart(results, title))


def chart(results, title):
    """Horizontal bars: the median as a bar, the 99th percentile as a line, the ratio in figures."""
    width, left, right, row = 720, 170, 130, 34
    most = max(e["p99_ms"] for e in results.values())
    scale = (width - left - right) / most
    height = row * len(results) + 48
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" font-size="13" '
        f'font-family="sans-serif"><title>{title}</title><rect width="{width}" height="{height}" fill="#fff"/>'
        f'<text x="12" y="24" font-weight="bold">{title} (bar), 99th percentile (line), ratio to the first</text>'
    ]
    for place, (name, e) in enumerate(results.items()):
        y = 40 + row * place
        end, tail = left + e["median_ms"] * scale, left + e["p99_ms"] * scale
        fill = "#1f6f5c" if name.startswith("tenure") else "#9aa5ad"
        parts.append(
            f'<text x="{left - 10}" y="{y + 17}" text-anchor="end">{name}</text>'
            f'<rect x="{left}" y="{y + 4}" width="{end - left:.1f}" height="18" fill="{fill}"/>'
            f'<path d="M{end:.1f} {y + 13}H{tail:.1f}M{tail:.1f} {y + 8}v10" stroke="#333" fill="none"/>'
            f'<text x="{tail + 8:.1f}" y="{y + 17}">{e["median_ms"]:.1f} ms, {e["ratio"]:.2f}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])
