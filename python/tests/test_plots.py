"""Tests that plots show the values in the tables; also tests the flame graph and the HTML page."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest

import tracetree
from tracetree import _plots


def bars(figure: Any) -> dict[str, float]:
    axes = figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    return dict(zip(labels, (patch.get_width() for patch in axes.patches)))


def test_bars_are_the_costs_of_the_changes(d: tracetree.Comparison) -> None:
    pytest.importorskip("matplotlib")
    shown = bars(d.plot.changes())
    costs = [row["attributed_us"] / 1e3 for row in d.changes if row["attributed_us"] is not None]
    assert sorted(shown.values()) == pytest.approx(sorted(costs))
    largest = next(iter(shown))
    assert largest.startswith("The environments differ") and shown[largest] == pytest.approx(-0.578379)


def test_lines_are_the_times_of_the_steps(d: tracetree.Comparison) -> None:
    pytest.importorskip("matplotlib")
    figure = d.plot.steps()
    assert figure._repr_png_().startswith(b"\x89PNG")
    for line, side in zip(figure.axes[0].lines, ("baseline", "candidate")):
        expected = [row[f"wall_{side}_us"] / 1e3 for row in d.steps if row[f"step_{side}"] is not None]
        assert len(expected) == 3
        assert list(line.get_ydata()) == pytest.approx(expected)


def test_points_are_the_ops_with_known_rates(d: tracetree.Comparison) -> None:
    pytest.importorskip("matplotlib")
    points = d.plot.roofline().axes[0].collections
    for group, side in zip(points, ("baseline", "candidate")):
        rates = [rate for rate in d.efficiency[f"tflops_per_s_{side}"] if rate]
        assert sorted(y for _, y in group.get_offsets()) == pytest.approx(sorted(rates))


def test_memory_is_what_was_allocated(real: Path) -> None:
    pytest.importorskip("matplotlib")
    trace = real / "torch215" / "one_cnn_mem.json.gz"
    line = tracetree.diff(trace, trace).plot.memory().axes[0].lines[0]
    import gzip

    events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
    totals = [event["args"]["Total Allocated"] for event in events if event.get("name") == "[memory]"]
    assert len(line.get_ydata()) == len(totals) > 100
    assert max(line.get_ydata()) == pytest.approx(max(totals) / 1e6)


def test_what_cannot_be_plotted_says_why(d: tracetree.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tracetree.UsageError, match="no memory events: record with profile_memory=True"):
        d.plot.memory()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'tracetree-diff\[plots\]'"):
        d.plot.changes()


def test_the_flame_graph_is_that_of_the_report(d: tracetree.Comparison, tmp_path: Path) -> None:
    image = d.flamegraph()
    d.report(tmp_path / "report", emit="svg")
    assert image.svg == (tmp_path / "report" / "flamegraph.svg").read_text(encoding="utf-8")
    image.save(tmp_path / "saved.svg")
    assert (tmp_path / "saved.svg").read_text(encoding="utf-8") == image.svg
    assert "<iframe" in image._repr_html_() and "aten::_convolution" in image._repr_html_()


def test_the_page_is_opened(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    d = tracetree.diff(*pair)
    path = d.open()
    assert path.read_text(encoding="utf-8").startswith("<!")
    assert opened == [path.resolve().as_uri()]
    d.report(tmp_path / "report")
    assert d.open() == tmp_path / "report" / "report.html"


def test_labels_are_short() -> None:
    assert len(_plots.shortened("x" * 500)) == _plots.TEXT
