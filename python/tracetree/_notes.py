"""Returns the notes on a comparison as values or lines of text, or issues them as Python warnings."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Literal

from tracetree._errors import TraceWarning

if TYPE_CHECKING:
    from tracetree._native import Comparison, _ComparisonNote, _Severity

#: Codes of notes that describe how a trace was read, or how the two machines differ. Such notes are expected if two
#: platforms are compared. A note with any other code means that some figures may not be valid.
REMARKS = frozenset(
    {
        "CAPTURE_ANNOTATED",
        "CAPTURE_BY_ORDER",
        "CAPTURE_FOUND",
        "CAPTURE_READ",
        "DIFFERENT_BACKEND",
        "DIFFERENT_DEVICE",
        "DIFFERENT_VERSIONS",
        "GRAPH_REPLAY",
        "HOST_TIME",
        "LINKED_BY_EXTERNAL_ID",
        "REPEATS_AS_STEPS",
        "TIMER_NOISE",
        "UNCLASSIFIED",
    }
)

#: Maximum number of warnings that are listed below the text of a comparison.
SHOWN = 3

SIDES: dict[str | None, Literal["baseline", "candidate"]] = {"trace1": "baseline", "trace2": "candidate"}


def severity(code: str) -> _Severity:
    """``warning`` if a note means that some figures may not be valid, otherwise ``info``."""
    return "info" if code in REMARKS else "warning"


def of_comparison(d: Comparison) -> list[_ComparisonNote]:
    """The notes on a comparison, warnings first."""
    notes: list[_ComparisonNote] = []
    for note in d.summary()["notes"]:
        side = SIDES.get(note["side"])
        code, message, hint = note["code"], note["message"], note["hint"]
        notes.append(
            {
                "code": code,
                "severity": severity(code),
                "side": side,
                "count": note["count"],
                "message": message,
                "hint": hint,
                "text": line(code, message, hint, side),
            }
        )
    return sorted(notes, key=lambda note: note["severity"] != "warning")


def line(code: str, message: str, hint: str, side: str | None = None) -> str:
    """Formats a note as one line."""
    told = f"{side}: " if side else ""
    remedy = f" ({hint})" if hint else ""
    return " ".join(f"{code}: {told}{message}{remedy}".split())


def lines(d: Comparison) -> list[str]:
    """The warnings about a comparison, one per line. If there are more than ``SHOWN``, an additional line says how many
    were omitted."""
    found = [note["text"] for note in of_comparison(d) if note["severity"] == "warning"]
    if len(found) > SHOWN:
        more = len(found) - SHOWN
        found[SHOWN:] = [f"and {more} more {'warning' if more == 1 else 'warnings'} in .notes"]
    return found


def screen(d: Comparison) -> str:
    """The text that ``print`` shows for a comparison: the output of the command line, followed by the warnings."""
    return with_warnings(d, d._screen())


def text(d: Comparison) -> str:
    """The result of a comparison with all details, followed by the warnings."""
    return with_warnings(d, d.text())


def with_warnings(d: Comparison, shown: str) -> str:
    warned = "".join(f"\nwarning: {found}" for found in lines(d))
    return shown + ("\n" + warned if warned else "")


def warn(d: Comparison) -> None:
    """Issues the warnings about a comparison as Python warnings. Each warning refers to the line of user code that
    requested the comparison."""
    for note in of_comparison(d):
        if note["severity"] == "warning":
            warnings.warn(TraceWarning(note["text"]), stacklevel=depth())


def depth() -> int:
    """The ``stacklevel`` with which a warning issued by the caller refers to the innermost frame outside this
    package."""
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(here):
        level, frame = level + 1, frame.f_back
    return level
