"""Pickles traces, comparisons and tables by storing the bytes and options from which they were created.

Unpickling computes the traces, comparisons and tables again, so their figures are the same on every machine.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from tracetree import _native
from tracetree._native import Comparison, Table, Trace

if TYPE_CHECKING:
    from tracetree._native import _Files, _Kept, _Options, _Origin, _Source

#: Options whose values are file names. The content of these files is pickled instead of their names.
FILES: tuple[Literal["aliases", "categories", "efficiency", "peaks"], ...] = (
    "aliases",
    "categories",
    "efficiency",
    "peaks",
)
CAPTURES: tuple[Literal["baseline_captures", "candidate_captures"], ...] = (
    "baseline_captures",
    "candidate_captures",
)

#: Name of the folder that contains graph captures by default; the folder is next to the trace.
BESIDE = "capture_traces"

def content(given: _Kept) -> Trace | tuple[str, bytes]:
    """The name and the content of a source; a ``Trace`` is returned unchanged."""
    if isinstance(given, Trace):
        return given
    if isinstance(given, tuple):
        if len(given) == 2:
            return given
        raise pickle.PicklingError(
            f"{given[0]} was read from a file object or a large buffer, which is not kept: "
            "to pickle the result, pass a path to tracetree"
        )
    return (os.fspath(given), file_bytes(given))


def file_bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise pickle.PicklingError(
            f"{os.fspath(path)} cannot be read again to pickle its content: {error.strerror}"
        ) from error


def trace(given: Trace) -> tuple[Callable[..., Trace], tuple[object, ...]]:
    """For ``Trace.__reduce__``."""
    origin = given._origin
    if origin is None:
        raise pickle.PicklingError(
            f"this trace is the compared part of {given.source}: pickle the comparison, or the trace "
            "that tracetree.open() returns"
        )
    source, strict, max_unpacked, anonymize = origin
    return (restored_trace, (content(source), strict, max_unpacked, anonymize))


def restored_trace(
    source: Trace | tuple[str, bytes],
    strict: bool,
    max_unpacked: int | None,
    anonymize: tuple[list[str], list[str]] | None,
) -> Trace:
    return _native.read(
        source, strict, max_unpacked, anonymize, None, (source, strict, max_unpacked, anonymize)
    )


def comparison(given: Comparison) -> tuple[Callable[..., Comparison], tuple[object, ...]]:
    """For ``Comparison.__reduce__``."""
    return (restored_comparison, state(given._origin))


def table(given: Table) -> tuple[Callable[..., Table], tuple[object, ...]]:
    """For ``Table.__reduce__``."""
    return (restored_table, (given.name, *state(given._origin)))


def state(origin: _Origin) -> tuple[list[_Kept], list[_Kept], _Options, _Files]:
    """The arguments of a comparison, with the content of each file in place of its path."""
    if len(origin) == 4:
        # This comparison was unpickled, so its arguments already contain the content of the files.
        return origin
    baseline, candidate, options = origin
    files: _Files = {name: file_bytes(path) for name in FILES if (path := options[name]) is not None}
    for name, side in zip(CAPTURES, (baseline, candidate)):
        captured = options[name]
        if captured is None:
            captured = [found for found in map(beside, side) if found is not None] or None
        if captured is not None:
            files[name] = [content(file) for path in captured for file in files_of(path)]
    return (list(map(content, baseline)), list(map(content, candidate)), options, files)


def beside(source: _Kept) -> str | None:
    """The default folder for graph captures next to a trace file; ``None`` if the folder does not exist or the trace is
    not a file."""
    if isinstance(source, (Trace, tuple)):
        return None
    folder = os.path.join(os.path.dirname(os.path.abspath(source)), BESIDE)
    return folder if os.path.isdir(folder) else None


def files_of(captured: Trace | str) -> list[Trace | str]:
    """The files in a capture folder; a capture that is not a folder is returned unchanged."""
    if isinstance(captured, str) and os.path.isdir(captured):
        return [entry.path for entry in sorted(os.scandir(captured), key=lambda e: e.name) if entry.is_file()]
    return [captured]


def restored_comparison(
    baseline: list[_Kept], candidate: list[_Kept], options: _Options, files: _Files
) -> Comparison:
    with tempfile.TemporaryDirectory(prefix="tracetree-") as folder:
        used = options.copy()
        for name in FILES:
            text = files.get(name)
            if isinstance(text, bytes):
                used[name] = written(folder, name, 0, (name + ".toml", text))
        for side in CAPTURES:
            recorded = files.get(side)
            if isinstance(recorded, list):
                used[side] = [stored(folder, side, at, one) for at, one in enumerate(recorded)]
        sources = (cast("list[_Source]", baseline), cast("list[_Source]", candidate))
        return _native.compare(*sources, used, None, (baseline, candidate, options, files))


def stored(folder: str, name: str, at: int, given: Trace | tuple[str, bytes]) -> Trace | str:
    """Writes the content to a file and returns the file's path; a ``Trace`` is returned unchanged."""
    return given if isinstance(given, Trace) else written(folder, name, at, given)


def written(folder: str, name: str, at: int, given: tuple[str, bytes]) -> str:
    """Writes the content to a file and returns its path."""
    path = os.path.join(folder, name, str(at), os.path.basename(given[0]))
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(given[1])
    return path


def restored_table(
    name: str, baseline: list[_Kept], candidate: list[_Kept], options: _Options, files: _Files
) -> Table:
    table: Table = getattr(restored_comparison(baseline, candidate, options, files), name)
    return table
