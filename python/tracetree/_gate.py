"""``tracetree.assert_no_regression``: the gate as an assertion for pytest."""

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

    Each side is anything that ``tracetree.diff`` accepts, a folder or a pattern with runs, or a list of
    these. The baseline can also be a file written by ``tracetree baseline record`` (``base.ttb``).
    ``rules`` is a TOML file; without it the default rules apply. ``inconclusive="pass"`` accepts an
    inconclusive result. Captures are passed as to ``tracetree.diff``; those of a baseline file were chosen
    when it was recorded.

    Returns the document that ``--format json`` writes. Raises ``AssertionError`` with the report of the
    gate if a rule is violated or the result is inconclusive.

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
