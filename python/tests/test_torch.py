"""Tests for recording with PyTorch: steps, files, failures, and comparing two functions. Run by `python/test-torch`."""

from __future__ import annotations

import functools
import json
import os
import random
import runpy
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES

import tracetree

torch = pytest.importorskip("torch", reason="torch is not installed: run python/test-torch")


@pytest.fixture(scope="module")
def step() -> Callable[[], None]:
    """One training step for a small model."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    inputs = torch.randn(32, 64)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def run() -> None:
        optimizer.zero_grad()
        model(inputs).sum().backward()
        optimizer.step()

    return run


def recorded(folder: Path, step: Callable[[], None], calls: int, **options: Any) -> tracetree.profile:
    with tracetree.profile(folder, **options) as p:
        for _ in range(calls):
            step()
            p.step()
    return p


def steps_of(path: str | None) -> int:
    assert path is not None
    return int(tracetree.open(path).info()["steps"])


def test_the_recorder_marks_the_active_steps(step: Callable[[], None], tmp_path: Path) -> None:
    for calls, steps in ((8, 5), (20, 5), (7, 4), (6, 3)):
        p = recorded(tmp_path / str(calls), step, calls)
        assert p.path == str(tmp_path / str(calls) / "run0" / "rank0.json.gz") and p.paths == [p.path]
        assert steps_of(p.path) == steps, f"{calls} calls"
    info = tracetree.open(p.path).info()
    assert info["contents"]["shapes"] and info["contents"]["stacks"] and info["contents"]["modules"]


def test_the_whole_block_is_recorded_without_a_schedule(step: Callable[[], None], tmp_path: Path) -> None:
    p = recorded(tmp_path, step, 4, schedule=None)
    assert p.path == str(tmp_path / "run0" / "rank0.json.gz") and steps_of(p.path) == 4


def test_a_step_that_begins_with_step_is_kept(step: Callable[[], None], tmp_path: Path) -> None:
    with tracetree.profile(tmp_path) as p:
        for _ in range(5):
            p.step()
            step()
    # The trace has steps 3 and 4, and the work after the last call of step().
    assert steps_of(p.path) == 3


def test_each_cycle_has_a_file(step: Callable[[], None], tmp_path: Path) -> None:
    p = recorded(tmp_path, step, 20, wait=1, warmup=1, active=3, repeat=2)
    names = [os.path.basename(path) for path in p.paths]
    assert names == ["rank0.step5.json.gz", "rank0.step10.json.gz"]
    assert [steps_of(path) for path in p.paths] == [3, 3]


def test_a_block_that_raises_writes_no_trace(step: Callable[[], None], tmp_path: Path) -> None:
    with pytest.raises(KeyError), tracetree.profile(tmp_path) as p:
        for _ in range(6):
            step()
            p.step()
        raise KeyError
    assert p.path is None and list(tmp_path.iterdir()) == []
    # The exception stopped the profiler, so the next recording works.
    assert steps_of(recorded(tmp_path, step, 8).path) == 5


def test_too_few_steps_are_reported(step: Callable[[], None], tmp_path: Path) -> None:
    with pytest.warns(tracetree.TraceWarning, match="called 3 times, but recording begins after 3 steps"):
        p = recorded(tmp_path, step, 3)
    assert p.path is None and list(tmp_path.iterdir()) == []
    with pytest.warns(tracetree.TraceWarning, match="called 0 times"), tracetree.profile(tmp_path):
        step()


def test_impossible_schedules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="active must be at least 1, not 0"):
        tracetree.profile(tmp_path, active=0)
    with pytest.raises(TypeError, match="wait must be a whole number, not str"):
        tracetree.profile(tmp_path, wait="1")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sets on_trace_ready itself"):
        tracetree.profile(tmp_path, on_trace_ready=print)


def test_the_handler_names_files_by_the_schedule(step: Callable[[], None], tmp_path: Path) -> None:
    cases = {
        "none": (None, ["rank0.json.gz"]),
        "once": ({"wait": 1, "warmup": 1, "active": 2, "repeat": 1}, ["rank0.json.gz"]),
        "ever": ({"wait": 1, "warmup": 1, "active": 2}, ["rank0.step4.json.gz", "rank0.step8.json.gz"]),
    }
    for name, (counts, files) in cases.items():
        handler = tracetree.handler(tmp_path / name)
        schedule = torch.profiler.schedule(**counts) if counts else None
        with torch.profiler.profile(on_trace_ready=handler, schedule=schedule) as profiler:
            for _ in range(9):
                step()
                profiler.step()
        assert sorted(path.name for path in (tmp_path / name / "run0").iterdir()) == files, name


def test_profilers_can_be_compared() -> None:
    def run(size: int) -> Any:
        with torch.profiler.profile(record_shapes=True) as profiler:
            torch.ones(size, size) @ torch.ones(size, size)
        return profiler

    d = tracetree.diff(run(32), run(64))
    assert "aten::mm" in d.rows.column("name")
    running = torch.profiler.profile()
    with pytest.raises(tracetree.UsageError, match="never started"):
        tracetree.diff(running, running)
    running.start()
    try:
        with pytest.raises(tracetree.UsageError, match="not stopped"):
            tracetree.diff(running, running)
    finally:
        running.stop()


def changed(d: tracetree.Comparison) -> list[str]:
    """Returns the kinds of program changes in a comparison."""
    return [change["kind"] for change in d.changes.to_pylist() if change["change"] is not None]


def test_a_step_compared_with_itself_has_no_changes(step: Callable[[], None], tmp_path: Path) -> None:
    order = []

    def before() -> None:
        order.append("A")
        step()

    def after() -> None:
        order.append("B")
        step()

    c = tracetree.compare(step, step, runs=3, folder=tmp_path)
    assert changed(c.comparison) == []
    assert "programs are identical" in c.comparison.text()
    assert "medians of 3 runs each" in c.comparison.answer
    assert c.step.significant in (True, False) and c.step.ratio == c.step.candidate_us / c.step.baseline_us
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"{side}.run{run}.json.gz" for side in ("after", "before") for run in range(3)]
    assert {steps_of(str(path)) for path in tmp_path.iterdir()} == {5}
    tracetree.compare(before, after, runs=4, steps=1, warmup=1)
    # Each function is called once to warm up, then twice in each recording.
    assert "".join(order) == "AB" + "AABB" + "BBAA" + "AABB" + "BBAA"


def old(x: Any) -> Any:
    return (x.softmax(-1) @ x).relu()


def new(x: Any) -> Any:
    return (x.softmax(-1) @ x).relu()


def longer(x: Any) -> Any:
    return (x.softmax(-1) @ x).relu().cumsum(0)


def identical(c: tracetree.StepComparison) -> bool:
    return "programs are identical" in c.comparison.text() and changed(c.comparison) == []


def test_equal_bodies_are_identical() -> None:
    x = torch.randn(64, 64)
    assert identical(tracetree.compare(old, new, x, runs=2))
    # A lambda, a partial function or a method around a function is not a change, in either direction.
    wrappers: list[Callable[..., Any]] = [lambda y: old(y), functools.partial(old), Step().run]
    for wrapper in wrappers:
        assert identical(tracetree.compare(old, wrapper, x, runs=1))
        assert identical(tracetree.compare(wrapper, new, x, runs=1))


class Step:
    """A step as a method."""

    def run(self, x: Any) -> Any:
        return (x.softmax(-1) @ x).relu()


def test_modules_are_compared_with_their_inputs() -> None:
    torch.manual_seed(0)
    one, other = (torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()) for _ in range(2))
    x = torch.randn(32, 64)
    assert identical(tracetree.compare(one, other, x, runs=1))
    assert identical(tracetree.compare(one, lambda y: one(y), x, runs=1))
    c = tracetree.compare(one, torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()), x, runs=1)
    assert any("GELU" in line.sentence or "gelu" in line.sentence for line in c.bill)


def test_a_line_of_the_bill_names_its_source_and_its_call(tmp_path: Path) -> None:
    c = tracetree.compare(old, longer, torch.randn(64, 64), runs=1)
    line = next(line for line in c.bill if line.kind == "change")
    assert "cumsum" in line.sentence and line.uids
    assert line.file is not None and line.file.endswith("test_torch.py")
    assert line.line == longer.__code__.co_firstlineno and line.sentence.startswith("Added: ")
    (_, uid) = line.uids[0]
    assert uid is not None and "cumsum" in c.comparison.node(uid, "candidate").name
    (tmp_path / "call.py").write_text(c.repro(line))
    done = subprocess.run([sys.executable, tmp_path / "call.py"], capture_output=True, text=True)
    assert "aten::cumsum" in done.stdout, done.stderr


def test_twenty_scripts_of_recorded_calls_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    d = tracetree.diff(EXAMPLES / "cnn.pt.trace.json.gz", EXAMPLES / "cnn_extra_op.pt.trace.json.gz")
    uids: dict[str, int] = {}
    for node in d.find('op("aten::*")'):
        if node.uid is not None:
            uids.setdefault(node.name, node.uid)
    script = tmp_path / "call.py"
    arguments = ["--device", "cpu", "--repeat", "3", "--no-variants", "--json"]
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    scripts = 0
    for name, uid in sorted(uids.items()):
        try:
            script.write_text(d.repro(baseline=uid))
        except tracetree.TracetreeError:
            continue
        # The script disables gradients; `no_grad` restores the mode for the tests that follow.
        with pytest.raises(SystemExit) as ended, torch.no_grad():
            runpy.run_path(str(script), run_name="__main__")
        out, err = capsys.readouterr()
        # 1: the time differs from the recorded one.
        assert ended.value.code in (0, 1), (name, err)
        assert json.loads(out)["op"].startswith("aten::"), name
        scripts += 1
    assert scripts >= 20


def test_ten_comparisons_of_one_program_find_no_change(
    step: Callable[[], None], tmp_path: Path
) -> None:
    tracetree.compare(step, step, runs=4, folder=tmp_path)
    runs = sorted(tmp_path.iterdir())
    for seed in range(10):
        random.Random(seed).shuffle(runs)
        d = tracetree.diff(runs[:4], runs[4:])
        assert changed(d) == [] and "programs are identical" in d.text(), f"seed {seed}"


def test_an_added_op_is_the_change(step: Callable[[], None]) -> None:
    extra = torch.ones(64, 64)

    def slower() -> None:
        step()
        extra.cumsum(0)

    def same() -> None:
        step()

    added = tracetree.compare(same, slower, runs=3)
    assert any("aten::cumsum" in line.sentence for line in added.bill)
    removed = tracetree.compare(slower, same, runs=3)
    assert any("aten::cumsum" in line.sentence for line in removed.bill)
    assert len(changed(added.comparison)) == len(changed(removed.comparison))


def test_an_exception_in_a_step_is_raised(step: Callable[[], None], tmp_path: Path) -> None:
    def broken() -> None:
        raise OverflowError("in the step")

    with pytest.raises(OverflowError, match="in the step"):
        tracetree.compare(step, broken, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_recording_warns_of_nothing_when_all_is_well(step: Callable[[], None], tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", tracetree.TraceWarning)
        recorded(tmp_path, step, 8)
