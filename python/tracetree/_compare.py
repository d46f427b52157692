"""``tracetree.diff`` and ``tracetree.open``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracetree import _arguments as arguments
from tracetree import _native
from tracetree._inputs import (
    Captures,
    TraceInput,
    TraceInputs,
    captures,
    kept,
    of_rank,
    refuse_shared,
    runs,
    source,
    source_names,
)
from tracetree._names import kind, public
from tracetree._native import Comparison, Trace
from tracetree._notes import warn

if TYPE_CHECKING:
    from tracetree._options import Progress


@public
def diff(
    baseline: TraceInputs,
    candidate: TraceInputs,
    *,
    rank: int | None = None,
    python: bool = True,
    repeats: bool = True,
    aliases: str | os.PathLike[str] | None = None,
    match: str | Sequence[str] | None = None,
    phase: str | None = None,
    steps: int | str | range | None = None,
    baseline_steps: int | str | range | None = None,
    candidate_steps: int | str | range | None = None,
    names: tuple[str, str] | None = None,
    baseline_captures: Captures = None,
    candidate_captures: Captures = None,
    categories: str | os.PathLike[str] | None = None,
    efficiency: str | os.PathLike[str] | None = None,
    peaks: str | os.PathLike[str] | None = None,
    stacks: int = 3,
    relative_threshold: float = 0.02,
    absolute_threshold_us: float | None = None,
    strict: bool = False,
    max_unpacked: int | None = None,
    anonymize: bool | Sequence[str] = False,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Compares two traces.

    Each trace is a path, bytes, a file object, a dict, a stopped ``torch.profiler.profile``, or a trace returned
    by ``tracetree.open``. To pass several runs of one program, use a folder, a pattern (``"runs/*.json.gz"``) or a
    list of traces. Tables then describe the median run. Verdicts use all runs if both sides have several. If the
    file names in a folder contain ranks, ``rank`` selects one rank; ``tracetree.fleet`` compares all ranks.

    The options are the same as for ``tracetree diff``:

    - ``python=False`` ignores Python frames; ``repeats=False`` compares a trace without recorded
      steps as a whole;
    - ``aliases`` is a TOML file that lists names to treat as equal;
    - ``match`` is a string such as ``'module("Block_1") = module("Block_2")'``, or a list of such strings. Before
      all other calls are aligned, the calls that the first path query selects are matched, in order, with the
      calls that the second path query selects;
    - ``phase`` and ``steps`` (``3``, ``range(3, 8)``, ``"3..8"``) select which part of the traces is compared;
    - ``names`` are the display names of the two sides;
    - ``baseline_captures`` and ``candidate_captures`` are traces that were recorded while the graphs of that side
      were captured: paths, folders, or traces returned by ``tracetree.open``. The default is the folder
      ``capture_traces`` next to the trace; ``False`` ignores graph captures;
    - ``categories``, ``efficiency``, ``peaks`` are TOML files with custom rules;
    - ``stacks`` is the number of Python stacks reported for each op and kernel;
    - ``relative_threshold`` (0.02 is 2%) and ``absolute_threshold_us``: differences below these thresholds are ignored;
    - ``strict=True`` rejects damaged traces; ``max_unpacked`` limits the uncompressed size of a trace in bytes;
    - ``anonymize=True`` replaces folders above the project, users and hosts with pseudonyms in all results; a list
      contains further names to replace. A trace that ``tracetree.open`` returned is used as it is.

    ``progress`` is a function that is called with the stage, the number of bytes read so far and the total number
    of bytes (or ``None``). By default, a progress bar is shown if tqdm is installed and standard error is a
    terminal; ``False`` disables the bar.

    Other Python threads keep running during the comparison, and Ctrl-C stops the comparison. Raises
    ``TraceError`` if an input is not a trace, ``UsageError`` if the request is invalid, ``OSError`` if a file cannot be read, ``TypeError``
    if an argument has the wrong type.

    >>> import tracetree
    >>> rocm = "examples/traces/resnet.rocm.json.gz"
    >>> d = tracetree.diff(rocm, rocm, steps=range(1, 3))
    >>> d.summary()["difference_us"]
    0.0
    """
    for option, value in {"python": python, "repeats": repeats, "strict": strict}.items():
        arguments.flag(option, value)
    options: _native._Options = {
        "python": python,
        "repeats": repeats,
        "aliases": arguments.toml("aliases", aliases),
        "match": arguments.texts("match", match),
        "phase": arguments.text("phase", phase),
        "baseline_steps": arguments.steps(
            *("steps", steps) if baseline_steps is None else ("baseline_steps", baseline_steps)
        ),
        "candidate_steps": arguments.steps(
            *("steps", steps) if candidate_steps is None else ("candidate_steps", candidate_steps)
        ),
        "names": arguments.names(names),
        "baseline_captures": captures(baseline_captures),
        "candidate_captures": captures(candidate_captures),
        "categories": arguments.toml("categories", categories),
        "efficiency": arguments.toml("efficiency", efficiency),
        "peaks": arguments.toml("peaks", peaks),
        "stacks": arguments.count("stacks", stacks),
        "relative_threshold": arguments.number("relative_threshold", relative_threshold),
        "absolute_threshold_us": arguments.optional_number("absolute_threshold_us", absolute_threshold_us),
        "strict": strict,
        "max_unpacked": arguments.optional_count("max_unpacked", max_unpacked),
        "anonymize": None,
    }
    base, new = of_rank(runs(baseline), rank), of_rank(runs(candidate), rank)
    options["anonymize"] = arguments.anonymize(anonymize, source_names(base + new))
    refuse_shared(base + new)
    told, finish = _told(progress, (base[0], new[0]))
    try:
        origin = (list(map(kept, base)), list(map(kept, new)), options)
        d = _native.compare(base, new, options, told, origin)
    finally:
        finish()
    warn(d)
    return d


@public
def open(
    trace: TraceInput,
    *,
    strict: bool = False,
    max_unpacked: int | None = None,
    anonymize: bool | Sequence[str] = False,
    progress: Progress | bool | None = None,
) -> Trace:
    """Reads one trace. Accepts the same inputs as ``tracetree.diff``.

    >>> import tracetree
    >>> t = tracetree.open("examples/traces/resnet.cuda.json.gz")
    >>> t.info()["head"]["devices"][0]["name"]
    'NVIDIA H100 80GB HBM3'
    """
    arguments.flag("strict", strict)
    max_unpacked = arguments.optional_count("max_unpacked", max_unpacked)
    given = source(trace)
    hidden = arguments.anonymize(anonymize, source_names([given]))
    told, finish = _told(progress, (given,))
    try:
        return _native.read(
            given, strict, max_unpacked, hidden, told, (kept(given), strict, max_unpacked, hidden)
        )
    finally:
        finish()


def _told(
    progress: Progress | bool | None, sources: tuple[_native._Source, ...]
) -> tuple[Callable[[str, str | None, int], object] | None, Callable[[], None]]:
    """Returns the progress callback for the native half, and a function that closes the progress bar."""
    if progress is not None and not callable(progress) and not isinstance(progress, bool):
        raise TypeError(f"progress must be a function, True or False, not {kind(progress)}")
    if callable(progress):
        return (_calls(progress, sources), _nothing)
    if progress is False:
        return (None, _nothing)
    bar = _bar(wanted=progress is True)
    return (None, _nothing) if bar is None else (_calls(bar.tell, sources), bar.close)


def _nothing() -> None:
    pass


def _calls(
    progress: Progress, sources: tuple[_native._Source, ...]
) -> Callable[[str, str | None, int], object]:
    sizes = dict(zip(("baseline", "candidate"), map(_size, sources)))

    def tell(stage: str, side: str | None, done: int) -> None:
        what = stage if side is None else f"{stage} {side}" if len(sources) > 1 else stage
        progress(what, done, sizes.get(side) if side is not None else None)

    return tell


def _size(given: _native._Source) -> int | None:
    if isinstance(given, tuple):
        return len(given[1]) if len(given) == 2 else None
    if isinstance(given, Trace):
        return None
    try:
        return os.stat(given).st_size
    except OSError:
        return None


class _Bar:
    """A tqdm bar for the current stage."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm = tqdm
        self._bars: dict[str, Any] = {}

    def tell(self, stage: str, done: int, total: int | None) -> None:
        bar = self._bars.get(stage)
        if bar is None:
            if not stage.startswith("reading"):
                self.close()
            bar = self._bars[stage] = self._tqdm(
                desc=stage, total=total, unit="B", unit_scale=True, delay=0.3, leave=False
            )
        bar.update(done - bar.n)

    def close(self) -> None:
        for bar in self._bars.values():
            bar.close()
        self._bars.clear()


def _bar(*, wanted: bool) -> _Bar | None:
    import sys

    if not wanted and (sys.stderr is None or not sys.stderr.isatty()):
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        if wanted:
            raise ImportError("progress=True needs tqdm: pip install tqdm") from None
        return None
    return _Bar(tqdm)
