"""Names for people: the public names of functions and classes, and error messages for unknown names and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

_Public = TypeVar("_Public")


def public(defined: _Public) -> _Public:
    """Gives a function or a class its public name, ``tracetree.NAME``, which tracebacks and pickles show instead of the
    module that defines it."""
    defined.__module__ = "tracetree"
    return defined


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """The error message for a name that is not in ``known``."""
    import difflib

    # Skip the search for long names, because its time is proportional to the length of the name.
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5) if len(name) < 300 else []
    if nearest:
        return f"there is no {what} {shortened(name)}; did you mean {nearest[0]!r}?"
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"there is no {what} {shortened(name)}; available: {listed}"


#: Maximum length of a value in a message; longer values are shortened.
SHOWN = 40


def kind(value: object) -> str:
    """Describes a value and its type in messages: ``'2%' (str)``, ``a dict with 1 item``."""
    if isinstance(value, (dict, list, tuple, set)):
        return f"a {type(value).__name__} with {shortened(value)}"
    return f"{shortened(value)} ({type(value).__name__})"


def shortened(value: object) -> str:
    """The value as shown in a message, shortened to about forty characters."""
    if isinstance(value, (str, bytes)):
        # Shorten before calling repr, because the value may be a whole file.
        return repr(value) if len(value) <= SHOWN else repr(value[:SHOWN]) + "…"
    if isinstance(value, (int, float, type(None))):
        return repr(value)[:SHOWN]
    if isinstance(value, (dict, list, tuple, set)):
        return f"{len(value)} {'item' if len(value) == 1 else 'items'}"
    return "an object"
