"""Messages for unknown names, with the nearest known one."""

from __future__ import annotations

from collections.abc import Sequence


def unknown(what: str, name: str, known: Sequence[str]) -> str:
    """A message for a name that is not in ``known``."""
    import difflib

    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if nearest:
        return f"there is no {what} {name!r}; did you mean {nearest[0]!r}?"
    listed = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return f"there is no {what} {name!r}; available: {listed}"
