"""``tracetree.gate`` returns the gate outcome; ``tracetree.assert_no_regression`` raises an exception for a failure."""

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tracetree import _arguments as arguments
from tracetree import _native
from tracetree._errors import TraceWarning
from tracetree._escape import shown
from tracetree._inputs import Captures, TraceInputs, captures, of_rank, runs, source_names
from tracetree._names import public
from tracetree._notes import depth


@public
@dataclass(frozen=True)
class Site:
    """One call site where a finding occurs."""

    #: The modules or calls that enclose the call site, such as ``CNN_0.Sequential_0.Block_1``.
    place: str
    #: The phase of the call site, such as ``train.forward``.
    phase: str
    #: What changed at the call site.
    what: str
    #: The number of calls at this call site.
    calls: int
    #: The source file of the innermost enclosing Python frame, if frames were recorded.
    file: str | None
    #: The line number in ``file``, counted from 1.
    line: int | None
    #: The function that this Python frame runs.
    function: str | None


@public
@dataclass(frozen=True)
class Finding:
    """A finding of a gate: a change, or a time or count that exceeds a limit."""

    #: ``failed``, ``warned``, ``allowed`` or ``inconclusive``.
    state: Literal["failed", "warned", "allowed", "inconclusive"]
    #: The kind of change, as in ``changes.csv``; empty if the finding is a time or a count.
    kind: str
    #: The rules that the finding violates.
    rules: tuple[str, ...]
    #: The finding in one line.
    change: str
    #: The time or count on each side, with its unit; empty for a change.
    before: str
    after: str
    #: The limit that was exceeded; empty for a change.
    limit: str
    #: Lines that describe the cost of the finding and its first call site.
    evidence: tuple[str, ...]
    #: The call sites.
    sites: tuple[Site, ...]
    #: A command line that shows the finding.
    command: str

    @property
    def file(self) -> str | None:
        """The source file of the first call site whose source file is known."""
        return next((site.file for site in self.sites if site.file is not None), None)

    @property
    def line(self) -> int | None:
        """The line number in ``file``."""
        return next((site.line for site in self.sites if site.file is not None), None)


@public
@dataclass(frozen=True, repr=False)
class GateOutcome:
    """The outcome of a gate. In a boolean context, the outcome is true if the gate passed."""

    #: ``pass``, ``fail`` or ``inconclusive``.
    outcome: Literal["pass", "fail", "inconclusive"]
    #: The outcome in one line.
    headline: str
    #: What was found.
    findings: tuple[Finding, ...]
    #: The checks that could not be made, each with the reason.
    not_tested: tuple[str, ...]
    #: The report that ``tracetree gate`` prints.
    report: str
    #: The JSON document that ``tracetree gate --format json`` writes.
    document: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether the outcome is ``pass``."""
        return self.outcome == "pass"

    @property
    def inconclusive(self) -> bool:
        """Whether the outcome is ``inconclusive``, because the traces do not contain enough data to decide."""
        return self.outcome == "inconclusive"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.report.rstrip()

    def __repr__(self) -> str:
        return f"<tracetree.GateOutcome {self.outcome}: {shown(self.headline)}>"


@public
class RegressionError(AssertionError):
    """Raised if a gate fails or is inconclusive. The message is the gate report."""

    def __init__(self, outcome: GateOutcome) -> None:
        super().__init__(outcome.report)
        self.outcome = outcome
        """The outcome."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found."""
        return self.outcome.findings

    def __reduce__(self) -> tuple[type["RegressionError"], tuple[GateOutcome]]:
        return (RegressionError, (self.outcome,))


@public
def gate(
    baseline: TraceInputs,
    candidate: TraceInputs,
    *,
    rules: str | os.PathLike[str] | None = None,
    inconclusive: Literal["fail", "pass"] | None = None,
    rank: int | None = None,
    baseline_captures: Captures = None,
    candidate_captures: Captures = None,
    anonymize: bool | Sequence[str] = False,
) -> GateOutcome:
    """Checks ``candidate`` against ``baseline`` with the rules of ``tracetree gate`` and returns the outcome.

    The arguments are the same as for ``tracetree.assert_no_regression``. If a rule is violated, the outcome is
    ``fail``, but no exception is raised.

    >>> import tracetree
    >>> rocm = "examples/traces/resnet.rocm.json.gz"
    >>> outcome = tracetree.gate(rocm, rocm)
    >>> outcome.passed, outcome.findings
    (True, ())
    """
    base, new = of_rank(runs(baseline), rank), of_rank(runs(candidate), rank)
    word, text, told = _native.gate(
        base,
        new,
        arguments.toml("rules", rules),
        arguments.text("inconclusive", inconclusive),
        captures(baseline_captures),
        captures(candidate_captures),
        arguments.anonymize(anonymize, source_names(base + new)),
    )
    document: dict[str, Any] = json.loads(told)
    return GateOutcome(
        outcome=word,
        headline=document["headline"],
        findings=tuple(map(finding, document["findings"])),
        not_tested=tuple(not_tested(document)),
        report=text,
        document=document,
    )


@public
def assert_no_regression(
    baseline: TraceInputs,
    candidate: TraceInputs,
    *,
    rules: str | os.PathLike[str] | None = None,
    inconclusive: Literal["fail", "pass"] | None = None,
    rank: int | None = None,
    baseline_captures: Captures = None,
    candidate_captures: Captures = None,
    anonymize: bool | Sequence[str] = False,
) -> dict[str, Any]:
    """Checks ``candidate`` against ``baseline`` with the rules of ``tracetree gate``.

    Each side is anything that ``tracetree.diff`` accepts: a trace, a folder or pattern that contains runs, or a
    list of traces. The baseline can also be a file written by ``tracetree baseline record`` (``base.ttb``).
    If the file names in a folder contain ranks, ``rank`` selects one rank.
    ``rules`` is a TOML file; without this argument the default rules apply. ``inconclusive="pass"`` accepts an
    inconclusive result. Graph captures are passed in the same way as to ``tracetree.diff``. The captures for a baseline
    file are chosen when that file is recorded.

    Returns the JSON document that ``tracetree gate --format json`` writes. Raises ``RegressionError``, an
    ``AssertionError``, if a rule is violated or the result is inconclusive. The error's message is the gate report, and
    ``.findings`` contains the findings. For each check that could not be made, a ``TraceWarning`` is issued; pytest
    lists these warnings.

    >>> import tracetree
    >>> rocm = "examples/traces/resnet.rocm.json.gz"
    >>> tracetree.assert_no_regression(rocm, rocm)["outcome"]
    'pass'
    """
    __tracebackhide__ = True
    outcome = gate(
        baseline,
        candidate,
        rules=rules,
        inconclusive=inconclusive,
        rank=rank,
        baseline_captures=baseline_captures,
        candidate_captures=candidate_captures,
    )
    if not outcome.passed:
        raise RegressionError(outcome)
    for untested in outcome.not_tested:
        warnings.warn(TraceWarning(f"NOT_TESTED: {untested}"), stacklevel=depth())
    return outcome.document


def finding(found: dict[str, Any]) -> Finding:
    """Creates a ``Finding`` from a finding in the JSON document."""
    return Finding(
        state=found["state"],
        kind=found["kind"],
        rules=tuple(found["rules"]),
        change=found["what"],
        before=found["before"],
        after=found["after"],
        limit=found["limit"],
        evidence=tuple(found["evidence"]),
        sites=tuple(map(site, found["sites"])),
        command=found["command"],
    )


def site(found: dict[str, Any]) -> Site:
    """Creates a ``Site`` from a call site in the JSON document."""
    source = found["site"] or {}
    return Site(
        place=found["place"],
        phase=found["phase"],
        what=found["what"],
        calls=found["calls"],
        file=source.get("file"),
        line=source.get("line"),
        function=source.get("function"),
    )


def not_tested(document: dict[str, Any]) -> list[str]:
    """The checks that could not be made with these traces."""
    untested = list(document["reasons"])
    untested += [
        f"{check['rule']}: {check['message']}"
        for check in document["checks"]
        if check["state"] == "inconclusive"
    ]
    runs = document["runs"].values()
    if min(runs) == 1:
        single = "1 run per side" if max(runs) == 1 else "1 run on one side"
        untested.append(f"with {single}, times are not tested against run-to-run noise (record 3 runs per side)")
    return untested
