"""Converts trace arguments of any accepted type to inputs for the native module."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Union

from tracetree._arguments import LONGEST
from tracetree._errors import TraceError, UsageError
from tracetree._names import kind, shortened
from tracetree._native import Trace, rank_of_file, run_files

if TYPE_CHECKING:
    from tracetree._native import _Kept, _Source

KINDS = (
    "a path, bytes, a file object, a dict with \"traceEvents\", a stopped torch.profiler.profile, "
    "or a trace returned by tracetree.open()"
)


class Readable(Protocol):
    """A file object that is opened in binary or text mode."""

    def read(self, size: int, /) -> bytes | bytearray | memoryview | str:
        """Returns the next part of the file; empty at the end of the file."""


class Profiler(Protocol):
    """A stopped ``torch.profiler.profile``."""

    def export_chrome_trace(self, path: str) -> object:
        """Writes the trace to a file."""


class Named:
    """The content of a trace as bytes, with a name for messages."""

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content


#: One trace, or a folder or pattern that contains traces.
TraceInput = Union[
    str, "os.PathLike[str]", bytes, bytearray, memoryview, Mapping[str, object], Readable, Profiler, Trace, Named
]
#: One side of a comparison: a trace, or several runs.
TraceInputs = Union[TraceInput, Sequence[TraceInput]]
#: A graph capture: a file, a folder, or a trace that was already read.
Capture = Union[str, "os.PathLike[str]", Trace]
#: The graph captures for one side; ``False`` uses no captures, and ``None`` uses the capture folder next to the trace.
Captures = Union[Capture, Sequence[Capture], Literal[False], None]

def source(given: Any) -> _Source:
    """Converts an argument to one trace."""
    if isinstance(given, Trace):
        return given
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        if len(path) > LONGEST:
            raise ValueError(f"a path of {len(path)} characters: {shortened(path)} (pass the content of a trace as bytes)")
        return path
    if isinstance(given, Named):
        return (given.name, given.content)
    if isinstance(given, bytes):
        return ("<bytes>", given)
    if isinstance(given, (bytearray, memoryview)):
        # Copy the buffer, because the caller could change it before the trace is read.
        return ("<bytes>", bytes(given))
    if isinstance(given, dict):
        return ("<dict>", of_dict(given))
    if hasattr(given, "export_chrome_trace"):
        return ("<profiler>", of_profiler(given))
    if hasattr(given, "read"):
        pieces = Pieces(given)
        return (pieces.name, pieces(), pieces)
    raise TypeError(f"a trace must be {KINDS}, not {type(given).__name__}")


#: Maximum size in bytes of a trace that is kept in memory so that the result can be pickled. Keeping larger traces
#: would waste memory, because most users never pickle.
KEPT = 1 << 26


def kept(given: _Source) -> _Kept:
    """The part of a source that is kept so that the trace can be read again; only the name if a second read is not
    possible."""
    if isinstance(given, tuple):
        # A file object that was read to its end cannot be read again.
        return given if len(given) == 2 and len(given[1]) <= KEPT else (given[0],)
    return given


def runs(given: Any) -> list[_Source]:
    """Converts an argument to a list of traces. The argument is a trace, a folder, a pattern, or a list of these."""
    if not isinstance(given, (list, tuple)):
        return [source(one) for one in files(given)]
    if not given:
        raise ValueError("the list of runs is empty: pass at least one trace for each side")
    if isinstance(given[0], dict) and "ph" in given[0]:
        raise TypeError(
            "a list must contain the runs on one side, but this list contains events: "
            'pass {"traceEvents": events}'
        )
    return [source(one) for run in given for one in files(run)]


def files(given: Any) -> list[Any]:
    """The files in a folder, or the files that match a pattern, sorted by name; any other argument is returned
    unchanged."""
    if not isinstance(given, (str, os.PathLike)):
        return [given]
    path = os.fspath(given)
    if len(path) > LONGEST:
        return [given]
    return [os.fspath(file) for file in run_files(path)]


def of_rank(sources: list[_Source], rank: int | None) -> list[_Source]:
    """Selects the traces of one rank. Raises ``UsageError`` if there are several ranks and ``rank`` is ``None``.

    A baseline file is returned for every rank.
    """
    if rank is not None and (isinstance(rank, bool) or not isinstance(rank, int)):
        raise TypeError(f"rank must be a whole number, not {kind(rank)}")
    if is_baseline_file(sources):
        return sources
    ranks = [rank_of(given) for given in sources]
    known = sorted({found for found in ranks if found is not None})
    if rank is None:
        if len(known) < 2:
            return sources
        listed = ", ".join(map(str, known[:8])) + (", …" if len(known) > 8 else "")
        raise UsageError(
            f"{first_name(sources)} and others: these are traces of {len(known)} ranks ({listed}), which are not runs of "
            f"one program: choose one with rank={known[0]}, or compare all with tracetree.fleet",
            kind="usage",
            path=first_name(sources),
        )
    chosen = [given for given, found in zip(sources, ranks) if found == rank]
    if not chosen:
        listed = ", ".join(map(str, known[:8])) or "no file name with a rank"
        raise UsageError(
            f"{first_name(sources)}: there is no trace of rank {rank}; found: {listed}",
            kind="usage",
            path=first_name(sources),
        )
    return chosen


def is_baseline_file(sources: list[_Source]) -> bool:
    """Whether the only source is a file written by ``tracetree baseline record``."""
    return len(sources) == 1 and isinstance(sources[0], (str, os.PathLike)) and os.fspath(sources[0]).endswith(".ttb")


def rank_of(given: _Source) -> int | None:
    """The rank that a trace was recorded on, by its content or, if the content does not say it, by its name."""
    if isinstance(given, Trace):
        return given.rank
    if not isinstance(given, (str, os.PathLike)):
        return None
    return rank_of_file(os.fspath(given))


def first_name(sources: list[_Source]) -> str:
    """The name of the first source, for messages."""
    first = sources[0]
    return first.source if isinstance(first, Trace) else first[0] if isinstance(first, tuple) else os.fspath(first)


def source_names(sources: Iterable[_Source]) -> list[str]:
    """The names of sources."""
    return [first_name([one]) for one in sources]


def captures(given: Any) -> list[Trace | str] | None:
    """Converts a captures argument for the native module, which uses the capture folder next to the trace if it
    receives ``None``, and no captures if it receives an empty list."""
    if given is None:
        return None
    if given is False:
        return []
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise ValueError("the list of captures is empty: pass False to use none")
    return [_capture(one) for one in several]


def _capture(given: Any) -> Trace | str:
    if isinstance(given, Trace):
        return given
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise TypeError(
        "a capture must be a path or a trace returned by tracetree.open(), or False for none, "
        f"not {type(given).__name__}"
    )


def refuse_shared(sources: list[_Source]) -> None:
    """Raises an error if the same file object was passed for two traces, because each trace would receive only a part
    of the file."""
    seen: set[int] = set()
    for given in sources:
        if isinstance(given, tuple) and len(given) == 3:
            file = id(given[2].file)
            if file in seen:
                message = f"{given[0]}: one file object was passed for two traces (open the file twice)"
                raise UsageError(message, kind="usage", path=given[0])
            seen.add(file)


def of_dict(trace: dict[Any, Any]) -> bytes:
    """Converts a trace that was parsed to a dict back to JSON bytes."""
    import json

    if "traceEvents" not in trace:
        raise TraceError(
            'a dict must have the key "traceEvents"; this one has '
            + (", ".join(repr(key) for key in list(trace)[:8]) or "no keys"),
            kind="not_a_trace",
            path="<dict>",
        )
    try:
        return json.dumps(trace, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise TypeError(f"the dict cannot be converted to JSON: {error}") from error


def name_of(file: Any) -> str:
    """The name that messages show for a file object."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else f"<{type(file).__name__}>"


class Pieces:
    """Reads the rest of a binary or text file object. Each call returns the next piece as bytes; at the end of the
    file, the piece is empty.

    The native module calls this object from its own threads while it parses the trace. Only one piece of the file is in
    memory at a time. Local and remote files of any size can therefore be read.
    """

    #: Size of a piece in bytes. fsspec fetches at least this many bytes per request.
    SIZE = 1 << 20

    def __init__(self, file: Any) -> None:
        self.name = name_of(file)
        if getattr(file, "closed", False):
            raise ValueError(f"{self.name}: the file is closed: open it again, or pass its path")
        # Read a text file's underlying bytes, because a compressed trace cannot be decoded as text.
        self.file = getattr(file, "buffer", file)

    def __call__(self) -> bytes:
        content = self.file.read(self.SIZE)
        if isinstance(content, bytes):
            return content
        if isinstance(content, str):
            return content.encode("utf-8", "surrogatepass")
        try:
            # Accepts bytearray, memoryview, and buffers from other packages.
            return bytes(memoryview(content))
        except TypeError:
            raise TypeError(
                f"{self.name}: read() returned {type(content).__name__}, not bytes; a trace must be {KINDS}"
            ) from None


def of_profiler(profiler: Any) -> bytes:
    """Exports the trace of a stopped profiler, and returns the trace as bytes."""
    import tempfile

    refuse_unready(profiler)
    # Export to a temporary folder, because the profiler can export only to a path.
    with tempfile.TemporaryDirectory(prefix="tracetree-") as folder:
        path = os.path.join(folder, "trace.json")
        try:
            profiler.export_chrome_trace(path)
        except RuntimeError as error:
            if "already saved" not in str(error):
                raise
            raise UsageError(
                "the profiler's trace was already exported, which is possible only once: pass the exported file",
                kind="usage",
                path="<profiler>",
            ) from error
        with open(path, "rb") as file:
            return file.read()


def refuse_unready(profiler: Any) -> None:
    """Raises an error if the profiler has no trace yet."""
    # torch.profiler.profile wraps torch.autograd.profiler.profile, which contains the results.
    inner = getattr(profiler, "profiler", profiler)
    if inner is None:
        problem = "the profiler was never started: use it in a with block, or call start() and stop()"
    elif getattr(inner, "kineto_results", True) is None:
        problem = (
            "the profiler was not stopped: pass it after its with block, or call stop() first"
        )
    else:
        return
    raise UsageError(problem, kind="usage", path="<profiler>")
