"""Checks the tables that list all calls, and the memory tables, against counts from the raw JSON."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES

import tracetree

MEMORY = EXAMPLES / "memory"
CPU = EXAMPLES / "cpu"


def events(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    return found


def counts(path: Path, *categories: str) -> Counter[str]:
    """The number of calls with each name in a trace."""
    return Counter(event["name"] for event in events(path) if event.get("ph") == "X" and event.get("cat") in categories)


@pytest.mark.parametrize("names", [("resnet.rocm", "resnet.cuda"), ("cpu/cpu_base.pt.trace", "cpu/cpu_bias.pt.trace")])
def test_ops_contain_every_op_of_both_sides(names: tuple[str, str]) -> None:
    paths = [EXAMPLES / f"{name}.json.gz" for name in names]
    d = tracetree.diff(*paths)
    for side, path in zip(("baseline", "candidate"), paths):
        told = {row["name"]: row[f"calls_{side}"] for row in d.ops if row[f"calls_{side}"]}
        assert told == dict(counts(path, "cpu_op")), side


def test_api_calls_contain_every_runtime_call(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    for side, path in zip(("baseline", "candidate"), pair):
        recorded = counts(path, "cuda_runtime", "cuda_driver")
        assert sum(row[f"calls_{side}"] for row in d.api_calls) == recorded.total() > 500


def test_a_trace_without_a_gpu_has_no_api_calls() -> None:
    d = tracetree.diff(CPU / "cpu_base.pt.trace.json.gz", CPU / "cpu_again.pt.trace.json.gz")
    assert len(d.api_calls) == 0 and len(d.ops) > 20


def test_memory_counts_what_was_allocated() -> None:
    paths = [MEMORY / f"memory_{name}.pt.trace.json.gz" for name in ("base", "leak")]
    d = tracetree.diff(*paths)
    for side, path in zip(("baseline", "candidate"), paths):
        allocated: Counter[str] = Counter()
        for event in events(path):
            if event.get("name") == "[memory]" and event["args"]["Bytes"] > 0:
                device = event["args"]["Device Type"]
                allocated["cpu" if device == 0 else f"gpu {event['args']['Device Id']}"] += event["args"]["Bytes"]
        told: Counter[str] = Counter()
        for row in d.memory:
            told[row["device"]] += row[f"allocated_bytes_{side}"]
        assert told == allocated, side
        peaks = [row[f"peak_bytes_{side}"] for row in d.memory_timeline]
        recorded = [event["args"]["Total Allocated"] for event in events(path) if event.get("name") == "[memory]"]
        assert max(peaks) == max(recorded), side


def test_memory_is_empty_without_memory_events(d: tracetree.Comparison) -> None:
    assert len(d.memory) == 0 and d.memory.columns
    assert len(d.memory_timeline) == 0 and d.memory_timeline.columns
