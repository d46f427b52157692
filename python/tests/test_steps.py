"""Tests of `tracetree.compare` without PyTorch: what is removed from recordings, and the values of the result.
test_torch.py compares functions with PyTorch itself."""

from __future__ import annotations

import dataclasses
import gzip
import json
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import tracetree
from tracetree._inputs import Named
from tracetree._results import step_comparison
from tracetree._steps import frames_of, without_frames

HERE = "tracetree/_steps.py(90): compared_call"


def recording(*frames: str, ops: tuple[str, ...] = ("aten::softmax", "aten::mm")) -> bytes:
    """A recording of two steps, in the layout of PyTorch: in each step, the frames contain each other, and the innermost
    contains the ops."""
    events: list[dict[str, Any]] = []
    for step in range(2):
        begin, duration = 1000.0 * step, 900.0

        def event(category: str, name: str, inset: float, start: float = begin, length: float = duration) -> None:
            times = {"ts": start + inset, "dur": length - 2 * inset}
            events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, **times})

        event("user_annotation", f"ProfilerStep#{step}", 0.0)
        for depth, name in enumerate(("test.py(1): main", "tracetree/_steps.py(70): record", HERE, *frames), 1):
            event("python_function", name, float(depth))
        for at, op in enumerate(ops):
            event("cpu_op", op, 0.0, begin + 100.0 + 200.0 * at, 150.0)
    return gzip.compress(json.dumps({"schemaVersion": 1, "traceEvents": events}, indent=1).encode())


def compared(tmp_path: Path, before: bytes, after: bytes) -> tuple[tracetree.StepComparison, list[tuple[str, ...]]]:
    paths = [tmp_path / "before.json.gz", tmp_path / "after.json.gz"]
    for path, content in zip(paths, (before, after)):
        path.write_bytes(content)
    first, second = (frames_of(str(path)) for path in paths)
    assert first.above == second.above == ("test.py(1): main", "tracetree/_steps.py(70): record", HERE)
    removed = first.above + first.own + second.own
    sides = [Named(path.name, without_frames(str(path), removed)) for path in paths]
    return step_comparison(tracetree.diff(*sides), (first.own, second.own)), [first.own, second.own]


def test_equal_bodies_are_identical_whatever_their_names_are(tmp_path: Path) -> None:
    old, new, around = "pit.py(3): old", "pit.py(9): new", "pit.py(20): <lambda>"
    cases = {
        "two functions": [(old,), (new,)],
        "two files": [("old.py(3): step",), ("new/pit.py(9): new",)],
        "a lambda around a function": [(old,), (around, old)],
        "a lambda around another function": [(around, old), (new,)],
    }
    for name, sides in cases.items():
        c, found = compared(tmp_path, *(recording(*frames) for frames in sides))
        assert found == sides, name
        assert "programs are identical" in str(c.comparison.text()), name
        assert not [line for line in c.bill if line.kind == "change"], name
    # Frames of modules remain.
    c, found = compared(tmp_path, recording("nn.Module: Net_0"), recording(around, "nn.Module: Net_0"))
    assert found == [(), (around,)] and "programs are identical" in c.comparison.text()
    assert c.comparison.find('module("Net_0")') and c.comparison.find('module("Net_0")', "candidate")
    # Without the removal, the names of the functions are a change.
    raw = tracetree.diff(recording("pit.py(3): old"), recording("pit.py(9): new"))
    assert [line["sentence"] for line in raw.bill if line["kind"] == "change"]


def test_only_the_frames_of_the_compared_functions_are_removed(tmp_path: Path) -> None:
    content = recording("pit.py(3): old", "torch/nn/functional.py(30): inner", "pit.py(31): old")
    path = tmp_path / "one.json.gz"
    path.write_bytes(content)
    found = frames_of(str(path))
    kept = tracetree.open(without_frames(str(path), found.above + found.own))
    assert len(kept) == len(tracetree.open(path)), "positions of events change"
    frames = [node.name for node in kept.tree() if node.kind == "frame"]
    assert frames == 2 * ["torch/nn/functional.py(30): inner", "pit.py(31): old"]


def test_an_added_op_has_a_price_a_source_line_and_calls(tmp_path: Path) -> None:
    one = recording("pit.py(3): old")
    other = recording("pit.py(9): new", ops=("aten::softmax", "aten::mm", "aten::cumsum"))
    c, _ = compared(tmp_path, one, other)
    added = next(line for line in c.bill if line.kind == "change")
    assert "aten::cumsum" in added.sentence and added.certainty == "certain"
    # The frame of the function is gone, but the line still names it.
    assert (added.file, added.line) == ("pit.py", 9)
    assert len(added.uids) == 2
    for baseline, candidate in added.uids:
        assert baseline is None and candidate is not None
        assert c.comparison.node(candidate, "candidate").name == "aten::cumsum"
    total = sum(line.price_us if line.price_us is not None else line.attributed_us or 0.0 for line in c.bill)
    assert total == pytest.approx(c.step.candidate_us - c.step.baseline_us, abs=0.01)


def test_results_are_frozen_values_that_are_one_line(d: tracetree.Comparison) -> None:
    c = step_comparison(d)
    assert repr(c).startswith("<tracetree.StepComparison MI300X → H100: ") and "\n" not in repr(c)
    assert str(c) == str(d) and c._repr_html_() == d._repr_html_()
    assert c.step.ratio == c.step.candidate_us / c.step.baseline_us and c.step.significant is None
    for value in (c, c.step, c.bill[0]):
        assert dataclasses.is_dataclass(value) and get_type_hints(type(value))
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.step = None  # type: ignore[misc, union-attr]
    assert [line.sentence for line in c.bill] == d.bill["sentence"]
    assert [line.price_us for line in c.bill] == d.bill["price_us"]
    assert all(line.price_over_runs_us is None and line.apart is None for line in c.bill)


def test_with_several_runs_a_line_has_a_range_of_prices() -> None:
    h100 = Path(__file__).parents[2] / "examples/traces/h100"
    runs = [[h100 / f"{name}.pt.trace.json.gz" for name in names] for names in (
        ("resnet_eager", "resnet_eager_again", "resnet_eager_third"), ("resnet_tf32_off", "resnet_tf32_off_again")
    )]
    line = step_comparison(tracetree.diff(*runs)).bill[0]
    assert line.price_over_runs_us is not None and line.price_us is not None
    low, median, high = line.price_over_runs_us
    assert 0 < low <= median <= high and low <= line.price_us <= high and line.apart


def test_a_line_is_repeated_by_a_script(d: tracetree.Comparison) -> None:
    c = step_comparison(d)
    line = next(line for line in c.bill if line.change is not None and line.uids)
    compile(c.repro(line), "call.py", "exec")
    without_change = dataclasses.replace(line, change=None, uids=((38, 35),))
    compile(c.repro(without_change), "call.py", "exec")
    with pytest.raises(tracetree.UsageError, match="is not about a call, so there is nothing to repeat"):
        c.repro(dataclasses.replace(line, change=None, uids=()))


def test_several_runs_say_whether_the_difference_is_significant(pair: tuple[Path, Path], real: Path) -> None:
    faster = step_comparison(tracetree.diff([pair[0]] * 3, [pair[1]] * 3)).step
    two = step_comparison(tracetree.diff([pair[0]] * 2, [pair[1]] * 2)).step
    assert two.significant is None and two.ratio == faster.ratio
    assert faster.significant is True and faster.ratio is not None and faster.ratio < 1
    runs = [real / "torch215" / f"cnn_base_{run}.json.gz" for run in range(1, 7)]
    assert step_comparison(tracetree.diff(runs[:3], runs[3:])).step.significant is False


def test_a_side_must_be_callable() -> None:
    with pytest.raises(TypeError, match="before must be a function or a module, not 'before.json' .str.; to compare traces"):
        tracetree.compare("before.json", lambda: None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="runs must be at least 1, not 0"):
        tracetree.compare(lambda: None, lambda: None, runs=0)
