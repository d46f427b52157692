"""Plots a comparison with matplotlib. Also shows the flame graph and the HTML page."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracetree._errors import UsageError

if TYPE_CHECKING:
    from tracetree._native import Comparison, Trace

#: The colours used on the HTML page: red for more time, blue for less time.
WORSE, BETTER = "#d1383d", "#2f74d0"
SIDES = ("#6b7280", "#0f766e")
#: Maximum number of changes with their own bar in a chart; all remaining changes share one additional bar.
BARS = 12
TEXT = 60


@dataclass(frozen=True)
class Series:
    """The data of one line, or of one group of points, in a plot."""

    name: str
    x: list[float]
    y: list[float]


class Plots:
    """The plots of a comparison. Each method returns a matplotlib figure.

    Raises ``ImportError`` if matplotlib is not installed.
    """

    def __init__(self, d: Comparison) -> None:
        self._d = d

    def __repr__(self) -> str:
        return "<tracetree.Plots: changes(), steps(), memory(), roofline()>"

    def changes(self) -> Any:
        """A bar chart with the cost of each change in ms per step, largest first; red means more time."""
        bars = [
            (shortened(label(row)), row["attributed_us"] / 1e3)
            for row in self._d.changes
            if row["attributed_us"] is not None
        ]
        bars.sort(key=lambda bar: (-abs(bar[1]), bar[0]))
        rest = bars[BARS:]
        if rest:
            bars[BARS:] = [(f"{len(rest)} smaller", sum(cost for _, cost in rest))]
        return bar_chart(bars, "What changed", "ms per step")

    def steps(self) -> Any:
        """The wall time of each step on both sides in ms, or the GPU time if steps have no wall time."""
        rows = [row for row in self._d.steps if row["step_baseline"] is not None or row["step_candidate"] is not None]
        if not rows:
            raise missing("the traces have no steps", "call the profiler's step() after each step")
        has_wall = any(row["wall_baseline_us"] is not None for row in rows)
        column, what = ("wall", "step time") if has_wall else ("kernel_time", "GPU time per step")
        lines = []
        for side, name in zip(("baseline", "candidate"), side_names(self._d)):
            times = [
                (row[f"step_{side}"], row[f"{column}_{side}_us"] / 1e3)
                for row in rows
                if row[f"step_{side}"] is not None and row[f"{column}_{side}_us"] is not None
            ]
            lines.append(Series(name, *map(list, zip(*times)) if times else ([], [])))
        return line_chart(lines, "Steps", "step", f"{what}, ms")

    def memory(self) -> Any:
        """The allocated memory in MB over time, with one line per side and device that has allocations.

        Needs traces recorded with ``profile_memory=True``.
        """
        lines = []
        for side, name in zip((0, 1), side_names(self._d)):
            for device, points in allocated(self._d, side).items():
                x, y = zip(*points)
                lines.append(Series(f"{name}, {device}", list(x), list(y)))
        if not lines:
            raise missing("the traces have no memory events", "record with profile_memory=True")
        return line_chart(lines, "Memory", "ms since the first event", "allocated, MB", style="steps-post")

    def roofline(self) -> Any:
        """A roofline plot: the FLOP rate of each op against its arithmetic intensity, both on logarithmic axes.

        Needs traces recorded with ``record_shapes=True``.
        """
        groups = []
        for side, name in zip(("baseline", "candidate"), side_names(self._d)):
            points = [
                (row[f"flops_per_byte_{side}"], row[f"tflops_per_s_{side}"])
                for row in self._d.efficiency
                if (row[f"flops_per_byte_{side}"] or 0) > 0 and (row[f"tflops_per_s_{side}"] or 0) > 0
            ]
            groups.append(Series(name, *map(list, zip(*points)) if points else ([], [])))
        if not any(group.x for group in groups):
            raise missing("no op has known FLOPs and bytes", "record with record_shapes=True")
        return point_chart(groups, "Roofline", "FLOPs per byte", "TFLOP/s")


def label(row: dict[str, Any]) -> str:
    """The label of a bar. For a change in the program, the label is the sentence that describes the change; for a
    difference in the same program, it is the kind of the difference."""
    if row["change"] is None:
        return f"Same program: {row['kind'].replace('_', ' ')}"
    return str(row["sentence"])


def missing(found: str, remedy: str) -> UsageError:
    return UsageError(f"{found}: {remedy}", kind="usage")


def shortened(text: str) -> str:
    return text if len(text) <= TEXT else text[: TEXT - 1] + "…"


def side_names(d: Comparison) -> tuple[str, str]:
    first, second = (side["name"] for side in d._card()["sides"])
    return first, second


def allocated(d: Comparison, side: int) -> dict[str, list[tuple[float, float]]]:
    """The allocated memory on each device in the first run of one side, as pairs of a time in ms and a size in MB."""
    from tracetree._events import load
    from tracetree._native import Trace

    sources = d._origin[1] if side else d._origin[0]
    source = sources[0]
    if isinstance(source, Trace):
        source = origin_of(source)
    events = [event for event in load(source) if isinstance(event, dict)]
    times = [float(event["ts"]) for event in events if event.get("ph") == "X" and "ts" in event]
    begin = min(times, default=0.0)
    points: dict[str, list[tuple[float, float]]] = {}
    for event in events:
        arguments = event.get("args")
        if event.get("name") == "[memory]" and isinstance(arguments, dict) and "Total Allocated" in arguments:
            # Device type 0 is the CPU; type 1 is CUDA and ROCm.
            kind, number = arguments.get("Device Type", 0), arguments.get("Device Id", -1)
            device = "CPU" if kind == 0 else f"GPU {number}"
            point = ((float(event["ts"]) - begin) / 1e3, arguments["Total Allocated"] / 1e6)
            points.setdefault(device, []).append(point)
    return {device: sorted(points[device], key=lambda point: point[0]) for device in sorted(points)}


def origin_of(trace: Trace) -> Any:
    if trace._origin is None:
        raise missing(f"the events of {trace.source} are not kept", "pass its path")
    return trace._origin[0]


def empty(title: str, x: str, y: str, height: float = 4.0) -> tuple[Any, Any]:
    """A figure and its axes. Figures are drawn without a window and without global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'tracetree-diff[plots]'") from None

    class Shown(Figure):  # type: ignore[misc, unused-ignore]
        """A matplotlib figure that notebooks can show although pyplot is not used."""

        def _repr_png_(self) -> bytes:
            image = io.BytesIO()
            self.savefig(image, format="png")
            return image.getvalue()

    figure = Shown(figsize=(9, height), layout="constrained")
    axes = figure.subplots()
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def bar_chart(bars: Sequence[tuple[str, float]], title: str, x: str) -> Any:
    figure, axes = empty(title, x, "", 1.2 + 0.32 * len(bars))
    axes.barh(range(len(bars)), [cost for _, cost in bars], color=[WORSE if cost > 0 else BETTER for _, cost in bars])
    axes.set_yticks(range(len(bars)), [label for label, _ in bars])
    axes.invert_yaxis()
    axes.axvline(0, color="#6b7280", linewidth=0.8)
    return figure


def line_chart(lines: Sequence[Series], title: str, x: str, y: str, *, style: str = "default") -> Any:
    figure, axes = empty(title, x, y)
    for at, line in enumerate(lines):
        marker = "o" if len(line.x) < 50 else None
        colour = SIDES[at] if len(lines) == 2 else None
        axes.plot(line.x, line.y, label=line.name, marker=marker, color=colour, drawstyle=style)
    axes.set_ylim(0, 1.1 * max((y for line in lines for y in line.y), default=1) or 1)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend(frameon=False)
    return figure


def point_chart(groups: Sequence[Series], title: str, x: str, y: str) -> Any:
    figure, axes = empty(title, x, y)
    for group, colour in zip(groups, SIDES):
        axes.scatter(group.x, group.y, label=group.name, color=colour, alpha=0.7)
    axes.set(xscale="log", yscale="log")
    axes.legend(frameon=False)
    return figure


class Image:
    """An SVG image. Notebooks can show the image, and ``save`` writes it to a file."""

    def __init__(self, svg: str) -> None:
        self.svg = svg
        """The SVG source of the image."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the image to ``path``."""
        Path(path).write_text(self.svg, encoding="utf-8")

    def _repr_html_(self) -> str:
        # Show the image in a sandboxed frame, so that the SVG's script can zoom the image but cannot access the
        # notebook.
        page = f'<!DOCTYPE html><body style="margin:0">{self.svg[self.svg.find("<svg"):]}</body>'
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" '
            'style="width:100%;height:480px;border:0"></iframe>'
        )


def flamegraph(d: Comparison) -> Image:
    """The flame graph of a comparison."""
    with tempfile.TemporaryDirectory(prefix="tracetree-") as folder:
        d.report(os.path.join(folder, "report"), emit="svg")
        return Image(Path(folder, "report", "flamegraph.svg").read_text(encoding="utf-8"))


def open_page(d: Comparison) -> Path:
    """Opens the HTML page of the latest report in the browser. If no report with a page exists, a new one is written
    first."""
    import webbrowser

    path = d._page
    if path is None or not path.exists():
        folder = tempfile.mkdtemp(prefix="tracetree-")
        d.report(os.path.join(folder, "report"), emit="html")
        path = d._page
        assert path is not None
    webbrowser.open(path.resolve().as_uri())
    return path
