"""``tracetree.diff`` and ``tracetree.open``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tracetree import _arguments as arguments
from tracetree import _native
from tracetree._inputs import (
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
    from tracetree._options import Options, Progress


@public
def diff(
    baseline: TraceInputs,
    candidate: TraceInputs,
    *,
    rank: int | None = None,
    phase: str | None = None,
    steps: int | str | range | None = None,
    match: str | Sequence[str] | None = None,
    python: bool = True,
    names: tuple[str, str] | None = None,
    progress: Progress | bool | None = None,
    options: Options | None = None,
) -> Comparison:
    """Compares two traces.

    Each trace is a path, bytes, a file object, a dict, a stopped ``torch.profiler.profile``, or a trace returned
    by ``tracetree.open``. To pass several runs of one program, use a folder, a pattern (``"runs/*.json.gz"``) or a
    list of traces. Tables then describe the median run. Verdicts use all runs if both sides have several. If the
    file names in a folder contain ranks, ``rank`` selects one rank; ``tracetree.fleet`` compares all ranks.

    - ``phase`` and ``steps`` (``3``, ``range(3, 8)``, ``"3..8"``) select which part of the traces is compared;
    - ``match`` is a string such as ``'module("Block_1") = module("Block_2")'``, or a list of such strings. Before
      all other calls are aligned, the calls that the first path query selects are matched, in order, with the
      calls that the second path query selects;
    - ``python=False`` ignores Python frames;
    - ``names`` are the display names of the two sides;
    - ``options`` are further options: ``tracetree.Options(stacks=1, strict=True)``.

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
    from tracetree._options import Options

    more = Options() if options is None else options
    if not isinstance(more, Options):
        raise TypeError(f"options must be tracetree.Options(…), not {kind(more)}")
    for option, value in {"python": python, "repeats": more.repeats, "strict": more.strict}.items():
        arguments.flag(option, value)

    def steps_of(option: str, own: int | str | range | None) -> str | None:
        return arguments.steps("steps", steps) if own is None else arguments.steps(option, own)

    base, new = of_rank(runs(baseline), rank), of_rank(runs(candidate), rank)
    refuse_shared(base + new)
    given: _native._Options = {
        "python": python,
        "repeats": more.repeats,
        "aliases": arguments.toml("aliases", more.aliases),
        "match": arguments.texts("match", match),
        "phase": arguments.text("phase", phase),
        "baseline_steps": steps_of("baseline_steps", more.baseline_steps),
        "candidate_steps": steps_of("candidate_steps", more.candidate_steps),
        "names": arguments.names(names),
        "baseline_captures": captures(more.baseline_captures),
        "candidate_captures": captures(more.candidate_captures),
        "categories": arguments.toml("categories", more.categories),
        "efficiency": arguments.toml("efficiency", more.efficiency),
        "peaks": arguments.toml("peaks", more.peaks),
        "stacks": arguments.count("stacks", more.stacks),
        "relative_threshold": arguments.number("relative_threshold", more.relative_threshold),
        "absolute_threshold_us": arguments.optional_number("absolute_threshold_us", more.absolute_threshold_us),
        "strict": more.strict,
        "max_unpacked": arguments.optional_count("max_unpacked", more.max_unpacked),
        "anonymize": arguments.anonymize(more.anonymize, source_names(base + new)),
    }
    told, finish = _told(progress, (base[0], new[0]))
    try:
        origin = (list(map(kept, base)), list(map(kept, new)), given)
        d = _native.compare(base, new, given, told, origin)
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
