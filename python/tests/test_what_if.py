"""Tests that ``d.what_if``, as a table and as a function, returns the same figures as ``tracetree what-if``."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import H100

import tracetree


def printed(*arguments: object) -> dict[str, list[float]]:
    """The figures that the command `tracetree what-if` prints for each side."""
    program = [sys.executable, "-m", "tracetree", "what-if", *map(str, arguments), "-q"]
    done = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(baseline|candidate) +([\d.]+) +([\d.]+) +([\d.]+)$", done, re.MULTILINE)
    return {side: [float(figure) for figure in figures] for side, *figures in found}


def rounded(times: dict[str, dict[str, float]]) -> dict[str, list[float]]:
    names = ("recorded_us", "replayed_us", "scenario_us")
    return {side: [round(time[name], 1) for name in names] for side, time in times.items()}


def test_a_scenario_has_the_figures_of_the_command(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    kernels = 'kernel("*")'
    assert rounded(d.what_if(host=0.0)) == printed(*pair, "--host", 0)  # type: ignore[arg-type]
    assert rounded(d.what_if(without="sync")) == printed(*pair, "--without", "sync")  # type: ignore[arg-type]
    both = d.what_if(scale={kernels: 3.0}, without=["sync"])
    assert rounded(both) == printed(*pair, "--scale", f"{kernels}=3", "--without", "sync")  # type: ignore[arg-type]


def test_a_scenario_obeys_the_laws_of_a_replay() -> None:
    # The steps of this trace are GPU-bound, so the duration of GPU work affects the step time.
    trace = H100 / "tfm_math.pt.trace.json.gz"
    d = tracetree.diff(trace, trace)
    recording = d.what_if()
    for side in recording.values():
        assert side["scenario_us"] == side["replayed_us"] == pytest.approx(side["recorded_us"], rel=0.02)  # type: ignore[index]
    assert recording["baseline"] == recording["candidate"]

    def scaled(by: float) -> float:
        return d.what_if(scale={'kernel("*")': by})["baseline"]["scenario_us"]

    assert scaled(0.5) <= scaled(1.0) == recording["baseline"]["scenario_us"] < scaled(2.0) < scaled(4.0)
    # Applying a factor of 2 twice is the same as a factor of 4.
    twice = d.what_if(scale={'kernel("*")': 2.0, 'op("*") / kernel("*")': 2.0})
    assert twice["baseline"]["scenario_us"] == pytest.approx(scaled(4.0), rel=0.02)
    assert d.what_if(host=0.0)["baseline"]["scenario_us"] < recording["baseline"]["scenario_us"]


def test_it_is_the_table_as_well(d: tracetree.Comparison) -> None:
    assert isinstance(d.what_if, tracetree.Table) and isinstance(d.what_if, tracetree.WhatIf)
    assert d.what_if.to_csv() == d.table("whatif.csv").to_csv()
    rows = {row["what"]: row for row in d.what_if}
    assert d.what_if()["baseline"]["recorded_us"] == pytest.approx(rows["recorded"]["step_baseline_us"])
    assert d.what_if()["candidate"]["replayed_us"] == pytest.approx(rows["replayed"]["step_candidate_us"])
    again = pickle.loads(pickle.dumps(d.what_if))
    assert isinstance(again, tracetree.WhatIf) and again(host=0.0) == d.what_if(host=0.0)


def test_what_cannot_be_replayed_says_why(real: Path) -> None:
    trace = real / "old" / "resnet50_2021.num_workers_0.json.gz"
    d = tracetree.diff(trace, trace)
    with pytest.raises(tracetree.UsageError, match="the effect cannot be computed: several threads"):
        d.what_if(host=0.0)
    reasons = [row["sentence"] for row in d.what_if]
    assert any("several threads" in str(reason) for reason in reasons)


def test_scenarios_are_checked(d: tracetree.Comparison) -> None:
    for factor in (-1.0, float("nan"), float("inf"), 1e7):
        with pytest.raises(tracetree.UsageError, match="pass a factor from 0 to 1000000"):
            d.what_if(host=factor)
        with pytest.raises(tracetree.UsageError, match="pass a factor from 0 to 1000000"):
            d.what_if(scale={'kernel("*")': factor})
    with pytest.raises(tracetree.UsageError, match="does not select runtime calls.*use `sync`"):
        d.what_if(without='kernel("*")')
    with pytest.raises(TypeError, match="without must be a string or a list of strings, not 3 .int"):
        d.what_if(without=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="host"):
        d.what_if(host="0")  # type: ignore[arg-type]
