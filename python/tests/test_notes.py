"""Tests that notes are available in Python as values, as warnings, in the printed text and on the notebook card."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from conftest import EXAMPLES

import tracetree
from tracetree import _notes

CPU = "cpu/cnn.pt.trace.json.gz"


def test_a_warning_is_issued_at_the_line_of_the_user(pair: tuple[Path, Path]) -> None:
    with pytest.warns(tracetree.TraceWarning, match="^LAUNCH_NOT_CAPTURED: baseline: 3 of 1065") as told:
        d = tracetree.diff(*pair)
    assert [warning.filename for warning in told] == [__file__]
    notes = {note["code"]: note for note in d.notes}
    assert notes["LAUNCH_NOT_CAPTURED"]["severity"] == "warning"
    assert notes["LAUNCH_NOT_CAPTURED"]["side"] == "baseline"
    # Different devices are reported as information, not as a warning.
    assert notes["DIFFERENT_DEVICE"]["severity"] == "info"
    swapped = {note["code"]: note for note in tracetree.diff(*reversed(pair)).notes}
    assert swapped["LAUNCH_NOT_CAPTURED"]["side"] == "candidate"


def test_a_trace_without_anomalies_warns_of_nothing(pair: tuple[Path, Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d = tracetree.diff(pair[1], pair[1])
    assert all(note["severity"] == "info" for note in d.notes)
    assert "warning:" not in str(d) and "⚠" not in d._repr_html_()


def test_warnings_are_in_the_text_and_on_the_card(d: tracetree.Comparison) -> None:
    found = [note for note in d.notes if note["severity"] == "warning"]
    assert len(found) == 1
    assert str(d) == f"{d._screen()}\n\nwarning: {found[0]['text']}"
    assert d._repr_html_().count("⚠") == 1 and "LAUNCH_NOT_CAPTURED" in d._repr_html_()


def test_a_missing_recording_option_is_a_warning(real: Path) -> None:
    with pytest.warns(tracetree.TraceWarning, match="NO_PYTHON_STACKS.*with_stack=True"):
        tracetree.diff(real / "cpu/cnn_nostack.pt.trace.json.gz", real / CPU)


def test_many_warnings_are_shortened(monkeypatch: pytest.MonkeyPatch, d: tracetree.Comparison) -> None:
    monkeypatch.setattr(_notes, "REMARKS", frozenset())
    monkeypatch.setattr(_notes, "SHOWN", 1)
    assert len(d.notes) == 2
    assert _notes.lines(d)[1:] == ["and 1 more warning in .notes"]


def test_every_remark_is_a_code_of_the_library() -> None:
    folders = [EXAMPLES.parents[1] / folder for folder in ("src", "crates/tracetree-trace/src")]
    sources = "".join(path.read_text() for folder in folders for path in folder.rglob("*.rs"))
    assert [code for code in _notes.REMARKS if f'"{code}"' not in sources] == []
