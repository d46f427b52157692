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
    handler = tracetree.trace_handler(tmp_path / "runs")
    profiler = StandIn(pair[0])
    for step in (5, 10):
        profiler.step_num = step
        handler(profiler)
    files = sorted(path.name for path in (tmp_path / "runs").iterdir())
    assert files == ["rank3.step10.json.gz", "rank3.step5.json.gz"]
    # Without a schedule, only one trace is written, however often the program calls step().
    profiler.record_steps = False
    handler(profiler)
    assert len(tracetree.open(tmp_path / "runs" / "rank3.json.gz")) == len(tracetree.open(pair[0]))


def test_a_failed_export_leaves_no_file(pair: tuple[Path, Path], tmp_path: Path) -> None:
    class Broken(StandIn):
        def export_chrome_trace(self, path: str) -> None:
            shutil.copy(self.trace, path)
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        tracetree.trace_handler(tmp_path)(Broken(pair[0]))
    assert list(tmp_path.iterdir()) == []


def test_the_handler_follows_no_link_that_waits_under_a_temporary_name(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    (tmp_path / "precious").write_text("mine")
    runs = tmp_path / "runs"
    runs.mkdir()
    for name in [f".{os.getpid()}.rank0.json.gz", "rank0.json.gz", "rank0.json.gz.part"]:
        (runs / name).symlink_to(tmp_path / "precious")
    tracetree.trace_handler(runs)(StandIn(pair[0]))
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (runs / "rank0.json.gz").is_symlink()


def test_recording_needs_torch(tmp_path: Path) -> None:
    if importlib.util.find_spec("torch") is not None:
        pytest.skip("torch is installed")
    with pytest.raises(ImportError, match="install torch"):
        tracetree.profile(tmp_path)
