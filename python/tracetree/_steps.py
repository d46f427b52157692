"""``tracetree.compare_steps``: records two functions in turn and compares the recordings as runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracetree._compare import diff
from tracetree._inputs import Named
from tracetree._native import Comparison
from tracetree._profiling import check_counts, profile, synchronise

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tracetree._options import RecordedOptions


def compare_steps(
    before: Callable[[], object],
    after: Callable[[], object],
    *,
    runs: int = 5,
    steps: int = 5,
    warmup: int = 3,
    folder: str | os.PathLike[str] | None = None,
    profiler: dict[str, Any] | None = None,
    **options: Unpack[RecordedOptions],
) -> Comparison:
    """Records ``before`` and ``after``, each of which runs one step, and compares them.

    Both are first called ``warmup`` times without the profiler. Then ``runs`` recordings of each are made in
    the order A B B A A B B A …, so that a machine that slows down or speeds up affects both alike. A
    recording contains ``steps`` steps, after ``warmup`` more that the profiler runs through but does not
    record. The recordings of a side are compared as its runs, so the verdicts know the noise between runs.

    ``folder`` keeps the recordings, as ``before.run0.json.gz``, ``after.run0.json.gz``, …; the default is a
    temporary folder. ``profiler`` are keyword arguments of ``torch.profiler.profile``, such as
    ``{"profile_memory": True}``. Other keyword arguments are those of ``tracetree.diff``; the sides are named
    ``before`` and ``after`` unless ``names`` is given.

    Raises ``ImportError`` if torch is not installed, ``TypeError`` if a side cannot be called. An exception in
    a step is raised as it is.
    """
    for name, function in (("before", before), ("after", after)):
        if not callable(function):
            raise TypeError(
                f"{name} must be a function that runs one step, not {type(function).__name__}; "
                "to compare traces, use tracetree.diff()"
            )
    check_counts({"runs": runs, "active": steps, "warmup": warmup})
    options.setdefault("names", ("before", "after"))
    sides = {"before": before, "after": after}
    with tempfile.TemporaryDirectory(prefix="tracetree-") as aside:
        kept = os.fspath(folder) if folder is not None else None
        if kept is not None:
            os.makedirs(kept, exist_ok=True)
        for function in sides.values():
            for _ in range(warmup):
                function()
        traces: dict[str, list[str]] = {name: [] for name in sides}
        for run in range(runs):
            # A B, then B A: a drift within two runs cancels out.
            for name in list(sides) if run % 2 == 0 else list(sides)[::-1]:
                place = os.path.join(aside, f"{name}{run}")
                path = record(sides[name], place, steps, warmup, profiler or {})
                target = os.path.join(kept or aside, f"{name}.run{run}.json.gz")
                shutil.move(path, target)
                traces[name].append(target)
        given = traces if kept is not None else {name: read(traces[name]) for name in sides}
        return diff(given["before"], given["after"], **options)


def record(
    function: Callable[[], object], folder: str, steps: int, warmup: int, options: dict[str, Any]
) -> str:
    """Records steps of a function and returns the file."""
    # At least one step of warm-up: the first step would otherwise include the start of the profiler.
    with profile(folder, wait=0, warmup=max(warmup, 1), active=steps, **options) as recorded:
        for _ in range(max(warmup, 1) + steps):
            function()
            # Work in flight would be launched in one step and be waited for in the next.
            synchronise()
            recorded.step()
    assert recorded.path is not None
    return recorded.path


def read(paths: list[str]) -> list[Named]:
    """The recordings with their names, because the files are temporary."""
    runs = []
    for path in paths:
        with open(path, "rb") as file:
            runs.append(Named(os.path.basename(path), file.read()))
    return runs
