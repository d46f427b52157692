"""What a user gives as a trace → what the native half reads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tracetree._errors import TraceError, UsageError
from tracetree._native import Trace

if TYPE_CHECKING:
    from tracetree._native import _Source

KINDS = (
    "a path, bytes, a file object, a dict with \"traceEvents\", a stopped torch.profiler.profile, "
    "or what tracetree.open() returns"
)


def source(given: Any) -> _Source:
    """The trace that ``given`` stands for."""
    if isinstance(given, Trace):
        return given
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    if isinstance(given, bytes):
        return ("<bytes>", given)
    if isinstance(given, (bytearray, memoryview)):
        # A copy: somebody else could change them meanwhile.
        return ("<bytes>", bytes(given))
    if isinstance(given, dict):
        return ("<dict>", of_dict(given))
    if hasattr(given, "export_chrome_trace"):
        return ("<profiler>", of_profiler(given))
    if hasattr(given, "read"):
        pieces = Pieces(given)
        return (pieces.name, pieces(), pieces)
    raise TypeError(f"a trace is {KINDS}; not {type(given).__name__}")


def runs(given: Any) -> list[_Source]:
    """The traces that ``given`` stands for: one, or a list of the runs of a side."""
    if not isinstance(given, (list, tuple)):
        return [source(given)]
    if not given:
        raise ValueError("the list of runs is empty: name at least one trace for each side")
    if isinstance(given[0], dict) and "ph" in given[0]:
        raise TypeError(
            "a list stands for the runs of a side, and this one holds events: "
            'pass {"traceEvents": events}'
        )
    return [source(run) for run in given]


def captures(given: Any) -> list[Trace | str] | None:
    """Where captures of graphs come from: ``None`` is the folder beside the trace, no trace nowhere."""
    if given is None:
        return None
    if given is False:
        return []
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise ValueError("the list of captures is empty: pass False to look for none")
    return [_capture(one) for one in several]


def _capture(given: Any) -> Trace | str:
    if isinstance(given, Trace):
        return given
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise TypeError(
        "a capture is a path or what tracetree.open() returns, or False for none; "
        f"not {type(given).__name__}"
    )


def refuse_shared(sources: list[_Source]) -> None:
    """Raises where one file object stands for two traces: each would get a part of it."""
    seen: set[int] = set()
    for given in sources:
        if isinstance(given, tuple) and len(given) == 3:
            file = id(given[2].file)
            if file in seen:
                message = f"{given[0]}: one file object stands for two traces (open it twice)"
                raise TraceError(message, kind="usage", path=given[0])
            seen.add(file)


def of_dict(trace: dict[Any, Any]) -> bytes:
    """The bytes of a trace that was parsed before."""
    import json

    if "traceEvents" not in trace:
        raise TraceError(
            'a dict is a trace where it has "traceEvents": this one has '
            + (", ".join(repr(key) for key in list(trace)[:8]) or "nothing"),
            kind="not_a_trace",
            path="<dict>",
        )
    try:
        return json.dumps(trace, separators=(",", ":")).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError) as error:
        raise TypeError(f"the dict is no JSON: {error}") from error


def name_of(file: Any) -> str:
    """What a file object is called in messages."""
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else f"<{type(file).__name__}>"


class Pieces:
    """What is left to read of a file object, binary or text: a piece with each call, none at its end.

    The native half calls it from threads of its own while it reads, so that a file of any size, wherever
    it is, takes the memory of a piece.
    """

    #: Bytes of a piece: fsspec fetches as many at once, and more ahead.
    SIZE = 1 << 20

    def __init__(self, file: Any) -> None:
        self.name = name_of(file)
        if getattr(file, "closed", False):
            raise ValueError(f"{self.name}: the file is closed: open it again, or pass its path")
        # Bytes are what the file has; a packed one cannot be decoded as text.
        self.file = getattr(file, "buffer", file)

    def __call__(self) -> bytes:
        content = self.file.read(self.SIZE)
        if isinstance(content, bytes):
            return content
        if isinstance(content, str):
            return content.encode("utf-8", "surrogatepass")
        try:
            # bytearray, memoryview, and the buffers of other packages.
            return bytes(memoryview(content))
        except TypeError:
            raise TypeError(
                f"{self.name}: read() gave {type(content).__name__}, not bytes: a trace is {KINDS}"
            ) from None


def of_profiler(profiler: Any) -> bytes:
    """The trace of a profiler that was stopped."""
    import tempfile

    refuse_unready(profiler)
    # In a folder of its own: the profiler writes the file itself.
    with tempfile.TemporaryDirectory(prefix="tracetree-") as folder:
        path = os.path.join(folder, "trace.json")
        try:
            profiler.export_chrome_trace(path)
        except RuntimeError as error:
            if "already saved" not in str(error):
                raise
            raise UsageError(
                "the profiler's trace was exported before, and it gives it only once: pass that file",
                kind="usage",
                path="<profiler>",
            ) from error
        with open(path, "rb") as file:
            return file.read()


def refuse_unready(profiler: Any) -> None:
    """Raises for a profiler that has no trace yet."""
    # torch.profiler.profile wraps torch.autograd.profiler.profile, which has the results.
    inner = getattr(profiler, "profiler", profiler)
    if inner is None:
        problem = "the profiler was never started: use it in a with block, or call start() and stop()"
    elif getattr(inner, "kineto_results", True) is None:
        problem = (
            "the profiler was not stopped: pass it behind its with block, or call stop() before"
        )
    else:
        return
    raise UsageError(problem, kind="usage", path="<profiler>")
