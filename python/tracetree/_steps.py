"""``tracetree.compare_steps`` records two functions alternately, several times each, and compares the recordings."""

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
    """Records ``before`` and ``after``, each of which runs one step, and compares the recordings.

    Both functions are first called ``warmup`` times without the profiler. Then each function is recorded ``runs``
    times, in the order A B B A A B B A …. A machine that slows down or speeds up therefore affects both functions
    equally. Each recording begins with ``warmup`` steps that run under the profiler but are not recorded, followed by
    ``steps`` recorded steps. The recordings of a function are its runs, so the verdicts take the noise between runs
    into account.

    The recordings are written to ``folder`` as ``before.run0.json.gz``, ``after.run0.json.gz``, …; the default is a
    temporary folder. ``profiler`` is a dictionary of keyword arguments for ``torch.profiler.profile``, such as
    ``{"profile_memory": True}``. All other keyword arguments are passed to ``tracetree.diff``; the sides are named
    ``before`` and ``after`` unless ``names`` is given.

    Raises ``ImportError`` if torch is not installed, ``TypeError`` if a side cannot be called. An exception
    raised in a step is passed on unchanged.
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
            # The order alternates between A B and B A, so a steady slowdown or speedup of the machine cancels out.
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
    """Records steps of a function and returns the path of the recording."""
    # Run at least one warm-up step, because the first recorded step would otherwise include the start of the profiler.
    with profile(folder, wait=0, warmup=max(warmup, 1), active=steps, **options) as recorded:
        for _ in range(max(warmup, 1) + steps):
            function()
            # Wait for the GPU; otherwise, work launched in one step could still be running in the next step.
            synchronise()
            recorded.step()
    assert recorded.path is not None
    return recorded.path


def read(paths: list[str]) -> list[Named]:
    """The names and contents of the recordings. The contents are kept because the files are temporary."""
    runs = []
    for path in paths:
        with open(path, "rb") as file:
            runs.append(Named(os.path.basename(path), file.read()))
    return runs
