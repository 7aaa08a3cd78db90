"""Sums up what gcovr has counted: a line for each folder, and each file that has lines without a test."""

import collections
import json
import sys

GOALS = {"lib": 95.0, "agent": 85.0}  # lines, in per cent


def percent(covered, total):
    return 100.0 * covered / total if total else 100.0


def ranges(numbers):
    """1, 2, 3, 7 as "1-3 7"."""
    found = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in found)


def count(file):
    """(lines run, lines, branches taken, branches, lines not run) of one file."""
    lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
    missing = sorted({line["line_number"] for line in lines if line["count"] == 0})
    branches = [branch for line in lines for branch in line["branches"]]
    taken = sum(branch["count"] > 0 for branch in branches)
    return len(lines) - len(missing), len(lines), taken, len(branches), missing


def row(name, sums):
    run, lines, taken, branches = sums
    return (
        f"{name:<24}{run:>7} of {lines:>5} lines {percent(run, lines):6.1f} %"
        f"{taken:>7} of {branches:>5} branches {percent(taken, branches):6.1f} %"
    )


def main(path):
    with open(path, encoding="utf-8") as file:
        files = json.load(file)["files"]
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    gaps = []
    for file in files:
        name = file["file"]
        *sums, missing = count(file)
        if missing:
            gaps.append((len(missing), name, percent(sums[0], sums[1]), missing))
        parts = name.split("/")
        for folder in {parts[0] + "/", "/".join(parts[:2]) if len(parts) > 2 else parts[0] + "/"}:
            folders[folder] = [a + b for a, b in zip(folders[folder], sums)]
    print("Lines without a test, by file:")
    for number, name, share, missing in sorted(gaps, reverse=True):
        print(f"{number:>5}  {name} ({share:.1f} %): {ranges(missing)}")
    print()
    for folder in sorted(folders):
        print(row(folder, folders[folder]))
    short = False
    for folder, goal in GOALS.items():
        reached = percent(*folders[folder + "/"][:2])
        if reached < goal:
            print(f"{folder}/ has {reached:.1f} % of its lines tested; the goal is {goal:.0f} %")
            short = True
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
