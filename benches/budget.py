#!/usr/bin/env python3
"""Counts the instructions of `tracetree diff` on four pairs of traces, and compares them with the ceilings in budget.csv.

    cargo build --release && python3 benches/budget.py             exits with 1 if a count is over 2% above its ceiling
    python3 benches/budget.py --write                              writes the counts as the new ceilings

The counts are in millions of instructions of one thread, by callgrind, in three parts: reading both traces
(`tracetree info`), comparing them (`--format brief` without reading), and writing the report. They depend on the
compiler and on the C library by about 1%. Then the whole is counted for traces with twice as many steps, changes and
kernel names: it may grow to 2.2 times the count. Needs valgrind; pairs in the folder TRACETREE_TRACES are left out if it
is not set.
"""

import csv
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import growing

ROOT = Path(__file__).resolve().parent.parent
CEILINGS = ROOT / "benches" / "budget.csv"
PARTS = ["read", "compare", "report"]
ALLOWED = 1.02
# How much more may be counted for twice as large traces.
TWICE = 2.2


def instructions(*arguments: str) -> float:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "target/release/tracetree", *arguments]
    environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    assert found, done.stderr
    return int(found.group(1)) / 1e6


def traces(row: dict[str, str], folder: str) -> list[str]:
    """The paths of the two traces; each is repeated as often as `rounds` says."""
    paths = [os.path.expandvars(row[side]) for side in ("baseline", "candidate")]
    if row["rounds"] == "1":
        return paths
    grown = [str(Path(folder) / f"{at}-{Path(path).name}".removesuffix(".gz")) for at, path in enumerate(paths)]
    for path, into in zip(paths, grown):
        command = ["cargo", "run", "--quiet", "--release", "--all-features", "--example", "grow_trace", "--", path, into]
        subprocess.run([*command, "--times", row["rounds"]], cwd=ROOT, check=True)
    return grown


def count(row: dict[str, str]) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        pair = traces(row, folder)
        read = sum(instructions("info", path) for path in pair)
        brief = instructions("diff", *pair, "--format", "brief", "--no-report")
        whole = instructions("diff", *pair, "-o", f"{folder}/report", "--quiet")
    return [read, brief - read, whole - brief]


def growth(kind, size: int) -> list[float]:
    """The instructions for a pair of the given size, and for one of twice the size."""
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (size, 2 * size):
            pair = [f"{folder}/{side}-{count}.json" for side in ("baseline", "candidate")]
            for at, path in enumerate(pair):
                kind(count, at == 1).write(Path(path))
            counts.append(instructions("diff", *pair, "-o", f"{folder}/report", "--force", "--quiet"))
    return counts


def main() -> int:
    with CEILINGS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    is_within = True
    print(f"{'pair':<48} {'part':<8} {'counted':>8} {'ceiling':>8}")
    for row in rows:
        name = f"{Path(row['baseline']).name.split('.')[0]} → {Path(row['candidate']).name.split('.')[0]} × {row['rounds']}"
        if "$" in os.path.expandvars(row["baseline"]):
            print(f"{name:<48} skipped: TRACETREE_TRACES is not set")
            continue
        for part, counted in zip(PARTS, count(row)):
            ceiling = float(row[part])
            is_over = counted > ceiling * ALLOWED
            is_within &= not is_over
            print(f"{name:<48} {part:<8} {counted:>8.0f} {ceiling:>8.0f}{'  over' if is_over else ''}", flush=True)
            row[part] = f"{counted:.0f}"
    for kind, size in growing.KINDS:
        one, two = growth(kind, size)
        is_over = two > TWICE * one
        is_within &= not is_over
        print(f"{kind.__name__:<48} {size:>5} → {2 * size:<5} {one:>8.0f} → {two:.0f}, {two / one:.2f} times{'  over' if is_over else ''}", flush=True)
    if "--write" in sys.argv:
        with CEILINGS.open("w", newline="") as file:
            table = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        return 0
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
