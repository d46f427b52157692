"""The values that ``tracetree.compare`` returns."""

import re
from dataclasses import dataclass

from tracetree._names import public
from tracetree._native import Comparison


@public
@dataclass(frozen=True)
class StepTimes:
    """The time of one step on both sides, as in the headline of the comparison."""

    #: Wall time of a baseline step in µs, in the median run.
    baseline_us: float
    #: Wall time of a candidate step in µs, in the median run.
    candidate_us: float
    #: ``candidate_us`` / ``baseline_us``; ``None`` if the baseline takes no time.
    ratio: float | None
    #: Whether the times differ by more than the noise between the runs; ``None`` with fewer than three runs per side.
    significant: bool | None


@public
@dataclass(frozen=True)
class BillLine:
    """A line of the bill: a part of the difference between the steps. All lines add up to the difference."""

    #: What the line does to the step time in µs, by replay; ``None`` if the recordings cannot be replayed.
    price_us: float | None
    #: ``change``, ``environment``, ``host``, ``clock``, …, as in ``bill.csv``.
    kind: str
    #: What happened.
    sentence: str
    #: The file of your code that makes the first call; ``None`` if the line is not about a call.
    file: str | None
    #: The first line of the function in ``file`` that makes the call.
    line: int | None
    #: The calls of the line: the position of each call's event in both recordings, ``None`` where it does not exist.
    uids: tuple[tuple[int | None, int | None], ...]
    #: Of a change: ``certain`` if it is read from the recordings, ``likely`` if it is inferred from kernel names.
    certainty: str | None
    #: The attributed time in µs; only if no price is known.
    attributed_us: float | None
    #: What to try or to check.
    hint: str | None
    #: The number of the change, as in ``comparison.changes``; ``None`` if the line is not a change.
    change: int | None
    #: The number of the line, from 0.
    number: int
    #: The lowest, the median and the highest price over all pairs of runs, in µs; ``None`` with one run per side.
    price_over_runs_us: tuple[float, ...] | None
    #: Whether the price has the same sign for all pairs of runs; ``None`` if a side has a single run.
    apart: bool | None


@public
@dataclass(frozen=True, repr=False)
class StepComparison:
    """The comparison of two functions or modules. ``print`` shows the answer."""

    #: The step times.
    step: StepTimes
    #: The parts of the difference; what changed comes first.
    bill: tuple[BillLine, ...]
    #: Everything else: tables, trees, plots, reports.
    comparison: Comparison

    def repro(self, line: BillLine) -> str:
        """A Python script that repeats the call of a line alone, with random data of the recorded shapes.

        Raises ``UsageError`` if the line is not about a call, or if the call cannot be repeated.
        """
        if line.change is not None:
            return self.comparison.repro(line=line.number)
        for baseline, candidate in line.uids:
            return self.comparison.repro(baseline=baseline, candidate=None if baseline is not None else candidate)
        from tracetree._errors import UsageError

        raise UsageError(
            f"the line {line.sentence!r} is not about a call, so there is nothing to repeat: choose a line with uids, or "
            "a call with comparison.repro(candidate=uid)",
            kind="usage",
        )

    def __str__(self) -> str:
        return str(self.comparison)

    def __repr__(self) -> str:
        return repr(self.comparison).replace("Comparison", "StepComparison", 1)

    def _repr_html_(self) -> str:
        return self.comparison._repr_html_()


#: Whether a verdict says that the sides differ. The verdict ``not_tested`` says nothing.
SIGNIFICANT = {"slower": True, "faster": True, "similar": False, "within_noise": False}

OVER_RUNS = ("price_low_us", "price_median_us", "price_high_us")

#: For each side, the frames of the compared function that were removed from its recordings, outermost first.
Entries = tuple[tuple[str, ...], tuple[str, ...]]


def step_comparison(d: Comparison, entries: Entries = ((), ())) -> StepComparison:
    """The values of a comparison. Calls that no other frame of the user's code makes are made by the compared function."""
    summary = d.summary()
    verdict = summary["verdict"]["step"]
    step = StepTimes(
        baseline_us=summary["wall"]["trace1"]["step_wall_us"],
        candidate_us=summary["wall"]["trace2"]["step_wall_us"],
        ratio=summary["ratio"],
        significant=None if verdict is None else SIGNIFICANT.get(verdict["verdict"]),
    )
    calls: dict[int, list[tuple[int | None, int | None]]] = {}
    for site in d.change_sites:
        calls.setdefault(site["bill_line"], []).append((site["uid_baseline"], site["uid_candidate"]))
    lines = []
    for row in d.bill:
        first = (row["uid_baseline"], row["uid_candidate"])
        uids = calls.get(row["bill_line"]) or ([] if first == (None, None) else [first])
        file, line = (row["file"], row["line"]) if row["file"] or not uids else source_of(uids[0], entries)
        lines.append(
            BillLine(
                price_us=row["price_us"],
                kind=row["kind"],
                sentence=row["sentence"],
                file=file,
                line=line,
                uids=tuple(uids),
                certainty=row["certainty"],
                attributed_us=row["attributed_us"],
                hint=row["hint"],
                change=row["change"],
                number=row["bill_line"],
                price_over_runs_us=None if row["price_low_us"] is None else tuple(row[name] for name in OVER_RUNS),
                apart=None if row["apart"] is None else row["apart"] == "yes",
            )
        )
    return StepComparison(step, tuple(lines), d)


def source_of(uids: tuple[int | None, int | None], entries: Entries) -> tuple[str | None, int | None]:
    """The file and the line of the compared function that makes a call: the candidate's if it makes the call."""
    found = (FRAME.fullmatch(name) for name in reversed(entries[0 if uids[1] is None else 1]))
    frame = next((frame for frame in found if frame is not None and not LIBRARY.search(frame[1])), None)
    return (None, None) if frame is None else (frame[1], int(frame[2]))


#: A frame, such as ``/srv/train.py(12): step``.
FRAME = re.compile(r"([^<].*)\((\d+)\): .*")
#: Files that belong to Python or to a library.
LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python|(^|/)torch/|^(contextlib|enum|functools|random|runpy|threading)\.py"
)
