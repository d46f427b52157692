"""Tests that compare and record with profilers, using a stand-in for PyTorch. test_torch.py uses PyTorch itself."""

from __future__ import annotations

import gzip
import importlib.util
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tracetree


class StandIn:
    """A stand-in for torch.profiler.profile: it has the members that tracetree uses, and it exports the given trace."""

    def __init__(self, trace: Path, *, started: bool = True, stopped: bool = True) -> None:
        self.trace = trace
        self.step_num = 0
        self.record_steps = True
        self.profiler: Any = None
        if started:
            self.profiler = type("Inner", (), {"kineto_results": object() if stopped else None})()

    def schedule(self, step: int) -> Any:
        """A profiler schedule with two cycles of five steps."""
        return SimpleNamespace(name="RECORD_AND_SAVE" if step in (4, 9) else "RECORD")

    def export_chrome_trace(self, path: str) -> None:
        text = gzip.decompress(self.trace.read_bytes())
        Path(path).write_bytes(gzip.compress(text) if path.endswith(".gz") else text)


def test_a_stopped_profiler_is_a_trace(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    compared = tracetree.diff(StandIn(pair[0]), StandIn(pair[1]))
    assert compared.rows.to_pylist() == d.rows.to_pylist()
    assert compared.baseline.source == "<profiler>"


def test_a_profiler_that_is_not_stopped_is_reported(pair: tuple[Path, Path]) -> None:
    with pytest.raises(tracetree.UsageError, match="was not stopped: .*stop"):
        tracetree.diff(StandIn(pair[0], stopped=False), pair[1])
    with pytest.raises(tracetree.UsageError, match="was never started"):
        tracetree.diff(StandIn(pair[0], started=False), pair[1])


def test_a_profiler_that_already_exported_its_trace_is_reported(pair: tuple[Path, Path]) -> None:
    class Saved(StandIn):
        def export_chrome_trace(self, path: str) -> None:
            raise RuntimeError("Trace is already saved.")

    with pytest.raises(tracetree.UsageError, match="already exported.*pass the exported file"):
        tracetree.diff(Saved(pair[0]), pair[1])


def test_the_handler_writes_a_file_for_each_rank_and_step(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    handler = tracetree.handler(tmp_path / "runs")
    profiler = StandIn(pair[0])
    for step in (5, 10):
        profiler.step_num = step
        handler(profiler)
    files = sorted(path.name for path in (tmp_path / "runs" / "run0").iterdir())
    assert files == ["rank3.step10.json.gz", "rank3.step5.json.gz"]
    # Without a schedule, only one trace is written, however often the program calls step().
    profiler.record_steps = False
    handler(profiler)
    assert len(tracetree.open(tmp_path / "runs" / "run0" / "rank3.json.gz")) == len(tracetree.open(pair[0]))


def test_a_failed_export_leaves_no_file(pair: tuple[Path, Path], tmp_path: Path) -> None:
    class Broken(StandIn):
        def export_chrome_trace(self, path: str) -> None:
            shutil.copy(self.trace, path)
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        tracetree.handler(tmp_path)(Broken(pair[0]))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_recordings_into_one_folder_are_its_runs(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profiler = StandIn(pair[0])
    profiler.record_steps = False
    for run in range(3):
        # Equal files would be one run.
        profiler.trace = tmp_path / f"trace{run}"
        profiler.trace.write_bytes(gzip.compress(gzip.decompress(pair[0].read_bytes()) + b"\n" * run))
        for rank in ("0", "1"):
            monkeypatch.setenv("RANK", rank)
            tracetree.handler(tmp_path / "old")(profiler)
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.gz"))
    assert files == [f"old/run{run}/rank{rank}.json.gz" for run in range(3) for rank in range(2)]
    # The runs of a folder are the runs of a side. Two ranks are not.
    with pytest.raises(tracetree.UsageError, match="traces of 2 ranks"):
        tracetree.diff(tmp_path / "old", tmp_path / "old")
    compared = tracetree.diff(tmp_path / "old", tmp_path / "old", rank=1)
    assert len(compared.summary()["trace1"]["runs"]) > 0 and compared.summary()["trace1"]["runs"]["count"] == 3
    # A run with a given number is recorded once.
    with pytest.raises(FileExistsError, match="run2 already has a trace of rank 1"):
        tracetree.handler(tmp_path / "old", run=2)
    tracetree.handler(tmp_path / "old", run=7)(profiler)
    tracetree.handler(tmp_path / "old")(profiler)
    assert (tmp_path / "old" / "run8" / "rank1.json.gz").is_file()


def test_cycles_and_both_sides_are_not_the_runs_of_one_side(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for name in ("cycles/rank0.step5.json.gz", "cycles/rank0.step10.json.gz", "both/before.run0.json.gz",
                 "both/after.run0.json.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(pair[0], tmp_path / name)
    with pytest.raises(tracetree.UsageError, match="cycles of one recording"):
        tracetree.diff(tmp_path / "cycles", pair[1])
    with pytest.raises(tracetree.UsageError, match="both sides"):
        tracetree.diff(tmp_path / "both", pair[1])


def test_the_handler_follows_no_link_that_waits_under_a_temporary_name(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    (tmp_path / "precious").write_text("mine")
    runs = tmp_path / "runs" / "run0"
    runs.mkdir(parents=True)
    for name in [f".{os.getpid()}.rank0.json.gz", "rank0.json.gz", "rank0.json.gz.part"]:
        (runs / name).symlink_to(tmp_path / "precious")
    (runs / "rank0.json.gz").unlink()
    tracetree.handler(runs.parent, run=0)(StandIn(pair[0]))
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (runs / "rank0.json.gz").is_symlink()


def test_recording_needs_torch(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed")
    with pytest.raises(ImportError, match="install torch"):
        tracetree.profile(tmp_path)
