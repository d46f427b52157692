"""``tracetree.assert_no_regression``: the gate, as an assertion of pytest."""

from __future__ import annotations

import json
import os
from typing import Any, Literal

from tracetree import _native
from tracetree._inputs import captures, runs


def assert_no_regression(
    baseline: Any,
    candidate: Any,
    *,
    rules: str | os.PathLike[str] | None = None,
    inconclusive: Literal["fail", "pass"] | None = None,
    baseline_captures: Any = None,
    candidate_captures: Any = None,
) -> dict[str, Any]:
    """Checks ``candidate`` against ``baseline`` by the rules of ``tracetree gate``.

    Both are what ``tracetree.diff`` takes, a folder or a pattern with runs, or a list of them; the
    baseline also a file that ``tracetree baseline record`` wrote (``base.ttb``). ``rules`` is a TOML
    file; without it the usual rules hold. ``inconclusive="pass"`` lets pass what cannot be told.
    Captures are given as to ``tracetree.diff``; those of a baseline file were chosen when it was recorded.

    Raises ``AssertionError`` with the report of the gate where a rule is broken or nothing can be told;
    else returns what ``--format json`` writes.

    >>> import tracetree
    >>> rocm = "examples/traces/resnet.rocm.json.gz"
    >>> tracetree.assert_no_regression(rocm, rocm)["outcome"]
    'pass'
    """
    __tracebackhide__ = True
    outcome, text, told = _native.gate(
        runs(baseline),
        runs(candidate),
        rules,
        inconclusive,
        captures(baseline_captures),
        captures(candidate_captures),
    )
    if outcome != "pass":
        raise AssertionError(text)
    result: dict[str, Any] = json.loads(told)
    return result
