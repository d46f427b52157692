"""The notes of a comparison: as values, as warnings of Python, and as lines of text."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING, Any

from tracetree._errors import TraceWarning

if TYPE_CHECKING:
    from tracetree._native import Comparison, _ComparisonNote

#: Codes that say how a trace was read, or what differs between the machines, which is what a comparison of
#: two platforms is about. Every other code limits what the figures mean.
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

#: Lines of warnings below the text of a comparison.
SHOWN = 3

SIDES = {"trace1": "baseline", "trace2": "candidate"}


def of_comparison(d: Comparison) -> list[_ComparisonNote]:
    """The notes of a comparison, warnings first."""
    notes: list[Any] = []
    for note in d.summary()["notes"]:
        severity = note.get("severity") or ("info" if note["code"] in REMARKS else "warning")
        side = SIDES.get(note["side"])
        notes.append(
            {
                "code": note["code"],
                "severity": severity,
                "side": side,
                "count": note["count"],
                "message": note["message"],
                "hint": note["hint"],
            }
        )
    return sorted(notes, key=lambda note: note["severity"] != "warning")


def line(note: _ComparisonNote) -> str:
    """A note in one line."""
    side = f"{note['side']}: " if note["side"] else ""
    hint = f" ({note['hint']})" if note["hint"] else ""
    return " ".join(f"{note['code']}: {side}{note['message']}{hint}".split())


def lines(d: Comparison) -> list[str]:
    """The warnings of a comparison, a line for each, shortened to a screenful."""
    found = [line(note) for note in of_comparison(d) if note["severity"] == "warning"]
    if len(found) > SHOWN:
        more = len(found) - SHOWN
        found[SHOWN:] = [f"and {more} more {'warning' if more == 1 else 'warnings'} in .notes"]
    return found


def text(d: Comparison) -> str:
    """What ``print`` shows: the screen of the command line and the warnings."""
    warned = "".join(f"\nwarning: {found}" for found in lines(d))
    return d.text() + ("\n" + warned if warned else "")


def warn(d: Comparison) -> None:
    """Issues the warnings of a comparison, at the line outside of this package that asked for it."""
    for note in of_comparison(d):
        if note["severity"] == "warning":
            warnings.warn(TraceWarning(line(note)), stacklevel=depth())


def depth() -> int:
    """The ``stacklevel`` of the innermost frame outside of this package, seen from the caller."""
    here = os.path.dirname(os.path.abspath(__file__)) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and os.path.abspath(frame.f_code.co_filename).startswith(here):
        level, frame = level + 1, frame.f_back
    return level
