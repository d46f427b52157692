"""``tracetree.compare`` records two functions or modules alternately, several times each, and compares the recordings."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracetree import _native
from tracetree._compare import diff
from tracetree._errors import UsageError
from tracetree._inputs import Named
from tracetree._names import kind, public
from tracetree._profiling import check_counts, profile, synchronise
from tracetree._results import FRAME, LIBRARY, BillLine, StepComparison, StepTimes, step_comparison

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tracetree._options import RecordedOptions

__all__ = ["BillLine", "StepComparison", "StepTimes", "compare"]


@public
def compare(
    before: Callable[..., object],
    after: Callable[..., object],
    *inputs: object,
    runs: int = 3,
    steps: int = 5,
    warmup: int = 3,
    folder: str | os.PathLike[str] | None = None,
    profiler: dict[str, Any] | None = None,
    **options: Unpack[RecordedOptions],
) -> StepComparison:
    """Records ``before(*inputs)`` and ``after(*inputs)``, two functions or two modules, and compares the recordings.

    Both are first called ``warmup`` times without the profiler. Then each is recorded ``runs`` times, in the order A B B A
    A B …, so a machine that slows down or speeds up affects both equally. Each recording begins with ``warmup`` steps
    that run under the profiler but are not recorded, followed by ``steps`` recorded steps. The recordings of a side are
    its runs, so the result says whether the difference exceeds the noise between runs.

    The frames of ``before`` and ``after`` themselves, and those around the call of ``compare``, are removed from the
    recordings. Two functions with equal bodies are therefore identical, whatever their names are, and so are a function
    and a lambda that only calls it.

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
                f"{name} must be a function or a module, not {kind(function)}; to compare traces, use tracetree.diff()"
            )
    check_counts({"runs": runs, "active": steps, "warmup": warmup})
    options.setdefault("names", ("before", "after"))
    sides = {"before": before, "after": after}
    with tempfile.TemporaryDirectory(prefix="tracetree-") as aside:
        for function in sides.values():
            for _ in range(warmup):
                function(*inputs)
        traces: dict[str, list[str]] = {name: [] for name in sides}
        for run in range(runs):
            # The order alternates between A B and B A, so a steady slowdown or speedup of the machine cancels out.
            for name in list(sides) if run % 2 == 0 else list(sides)[::-1]:
                place = os.path.join(aside, f"{name}{run}")
                traces[name].append(record(sides[name], inputs, place, steps, warmup, profiler or {}))
        frames = [frames_of(traces[name][0]) for name in sides]
        entries = (frames[0].own, frames[1].own)
        removed = [name for one in frames for name in one.above + one.own]
        recorded = [
            [Named(f"{name}.run{run}.json.gz", without_frames(path, removed)) for run, path in enumerate(traces[name])]
            for name in sides
        ]
        if folder is None:
            return step_comparison(diff(recorded[0], recorded[1], **options), entries)
        os.makedirs(folder, exist_ok=True)
        for one in recorded[0] + recorded[1]:
            with open(os.path.join(aside, one.name), "wb") as file:
                file.write(one.content)
            shutil.move(os.path.join(aside, one.name), os.path.join(folder, one.name))
        paths = [[os.path.join(folder, one.name) for one in side] for side in recorded]
        return step_comparison(diff(paths[0], paths[1], **options), entries)


def record(
    function: Callable[..., object],
    inputs: tuple[object, ...],
    folder: str,
    steps: int,
    warmup: int,
    options: dict[str, Any],
) -> str:
    """Records steps of a function and returns the path of the recording."""
    # Run at least one warm-up step, because the first recorded step would otherwise include the start of the profiler.
    with profile(folder, wait=0, warmup=max(warmup, 1), active=steps, **options) as recorded:
        for _ in range(max(warmup, 1) + steps):
            compared_call(function, inputs)
            # Wait for the GPU; otherwise, work launched in one step could still be running in the next step.
            synchronise()
            recorded.step()
    if recorded.path is None:
        raise UsageError("the profiler recorded nothing: pass other options as profiler=", kind="usage")
    return recorded.path


def compared_call(function: Callable[..., object], inputs: tuple[object, ...]) -> None:
    """Makes one call. Recordings contain the frame of this function directly above the compared function."""
    function(*inputs)


@dataclass(frozen=True)
class Frames:
    """The names of the Python frames around a compared function in a recording, such as ``train.py(12): step``."""

    #: The frames of the compared function, outermost first: its own and, if it only calls one other function, that
    #: function's. Empty if a module or a built-in function was called, or if no stacks were recorded.
    own: tuple[str, ...] = ()
    #: The frames that contain the call of ``tracetree.compare``.
    above: tuple[str, ...] = ()


def frames_of(path: str) -> Frames:
    """The frames around the compared function."""
    trace = _native.read(path, False, None, None, None, (path, False, None, None))
    for node in trace.tree():
        if node.kind == "frame" and node.name.endswith(f"): {compared_call.__name__}"):
            above = tuple(call.name for call in [*node.ancestors, node] if call.kind == "frame")
            own: list[str] = []
            inside = node.children
            while len(inside) == 1 and FRAME.fullmatch(inside[0].name) and not (own and LIBRARY.search(inside[0].name)):
                own.append(inside[0].name)
                inside = inside[0].children
            return Frames(tuple(own), above)
    return Frames()


def without_frames(path: str, removed: Iterable[str]) -> bytes:
    """The recording without the frames with the given names, and without the frames of this package.

    The events get a category that comparisons ignore, so the positions of all events remain those in the recording.
    """
    with gzip.open(path, "rb") as file:
        text = file.read()
    package = re.escape(os.path.basename(os.path.dirname(__file__)))
    names = [rf"(?:[^\"]*[/\\])?{package}[/\\]+_(?:steps|profiling)\.py\(\d+\): \w+"]
    names += [re.escape(json_text(name)) for name in sorted(set(removed))]
    pattern = rf'"cat": ?"python_function"(,\s*"name": ?"(?:{"|".join(names)})")'
    return gzip.compress(re.sub(pattern.encode(), rb'"cat": "external_correlation"\1', text), compresslevel=1)


def json_text(text: str) -> str:
    """The text as it appears in a JSON string."""
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1]
