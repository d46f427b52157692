"""The pytest plugin, which checks recordings against stored baselines and summarizes the results.

``pytest`` loads the plugin through the entry point ``pytest11``. The plugin provides the fixture ``tracetree``, the
option ``--tracetree-update``, and a summary section with one line for each check.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tracetree import Comparison, GateOutcome
    from typing_extensions import Unpack

    from tracetree._inputs import TraceInputs
    from tracetree._native import _Source
    from tracetree._options import DiffOptions, GateOptions

#: The key under which a result is stored in the ``user_properties`` of a test. pytest passes these properties to the
#: process that prints the summary, even if tests run in other processes.
PROPERTY = "tracetree"

#: Name of the baseline folder next to the test file.
FOLDER = "tracetree_baselines"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--tracetree-update``."""
    group = parser.getgroup("tracetree", "traces of torch.profiler")
    group.addoption(
        "--tracetree-update",
        action="store_true",
        default=False,
        help="record new baselines for the tracetree fixture instead of checking against the stored baselines",
    )


@pytest.fixture
def tracetree(request: pytest.FixtureRequest, tmp_path: Path) -> Checks:
    """Returns a ``Checks`` object, which checks recordings against baselines stored next to the test file."""
    return Checks(request, tmp_path)


class Checks:
    """The fixture ``tracetree``.

    ``tracetree.check(candidate)`` checks the candidate's runs against the baseline for this test, which
    ``pytest --tracetree-update`` writes to ``tracetree_baselines/`` next to the test file.
    """

    def __init__(self, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        self._request = request
        self._tmp_path = tmp_path

    @property
    def update(self) -> bool:
        """Whether ``--tracetree-update`` is given."""
        return bool(self._request.config.getoption("--tracetree-update"))

    def baseline(self, name: str | None = None) -> Path:
        """The path of the baseline file. The file has the name ``name`` or, by default, the name of the test."""
        wanted = re.sub(r"[^\w.-]+", "_", name or self._request.node.name).strip("_")
        return self._request.path.parent / FOLDER / f"{wanted}.ttb"

    def record(self, step: Callable[[], object], *, runs: int = 3, steps: int = 5, warmup: int = 3) -> list[str]:
        """Records several runs of ``step``, a function that runs one step. Each run is recorded as in
        ``tracetree.compare``.

        Returns the paths of the recorded files, which are in the test's temporary folder.
        """
        from tracetree._profiling import check_counts
        from tracetree._steps import record

        check_counts({"runs": runs, "active": steps, "warmup": warmup})
        for _ in range(warmup):
            step()
        folder = self._tmp_path / "recorded"
        return [record(step, (), str(folder / f"run{run}"), steps, warmup, {}) for run in range(runs)]

    def check(self, candidate: TraceInputs, *, name: str | None = None, **options: Unpack[GateOptions]) -> GateOutcome | None:
        """Checks a candidate against the baseline for this test; with ``--tracetree-update``, records the candidate as
        the baseline.

        ``options`` are the options of ``tracetree.gate``. Raises ``RegressionError`` if the gate fails or is
        inconclusive. Returns the outcome of the gate; ``None`` if the baseline was recorded.
        """
        __tracebackhide__ = True
        baseline = self.baseline(name)
        if self.update:
            record_baseline(candidate, baseline)
            self._tell(f"RECORDED: {shown(baseline)}")
            return None
        if not baseline.exists():
            self._tell(f"NO BASELINE: {shown(baseline)}")
            pytest.fail(
                f"there is no baseline {shown(baseline)}: run pytest --tracetree-update to record it", pytrace=False
            )
        return self.gate(baseline, candidate, **options)

    def gate(self, baseline: TraceInputs, candidate: TraceInputs, **options: Unpack[GateOptions]) -> GateOutcome:
        """Checks a candidate against any baseline, as ``tracetree.assert_no_regression`` does."""
        __tracebackhide__ = True
        from tracetree import RegressionError, TraceWarning, gate

        outcome = gate(baseline, candidate, **options)
        self._tell(outcome.headline)
        if not outcome.passed:
            raise RegressionError(outcome)
        for untested in outcome.not_tested:
            warnings.warn(TraceWarning(f"NOT_TESTED: {untested}"), stacklevel=2)
        return outcome

    def diff(self, baseline: TraceInputs, candidate: TraceInputs, **options: Unpack[DiffOptions]) -> Comparison:
        """Compares two sides as ``tracetree.diff`` does, and adds the result to the summary section."""
        from tracetree import diff

        d = diff(baseline, candidate, **options)
        self._tell(d.answer)
        return d

    def _tell(self, line: str) -> None:
        self._request.node.user_properties.append((PROPERTY, line))


def record_baseline(candidate: TraceInputs, target: Path) -> None:
    """Writes a baseline file from the candidate's runs."""
    from tracetree import UsageError, _native
    from tracetree._inputs import runs

    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tracetree-") as folder:
        paths = [stored(source, folder, at) for at, source in enumerate(runs(candidate))]
        said = Path(folder, "said")
        with streams_to(said):
            code = _native.main(["tracetree", "baseline", "record", *paths, "-o", os.fspath(target)])
        if code != 0:
            raise UsageError(said.read_text(encoding="utf-8", errors="replace").strip(), kind="usage")


def stored(source: _Source, folder: str, at: int) -> str:
    """The path of a source. A source that is not a path is first written to a file in ``folder``."""
    from tracetree._pickle import content
    from tracetree._native import Trace

    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if isinstance(source, Trace):
        if source._origin is None:
            raise TypeError("the compared part of a trace cannot be recorded as a baseline: pass the trace file")
        again = content(source._origin[0])
        assert isinstance(again, tuple)
        text = again[1]
    else:
        text = source[1]
        if len(source) == 3:
            text += b"".join(iter(source[2], b""))
    path = os.path.join(folder, f"run{at}.json")
    Path(path).write_bytes(text)
    return path


@contextlib.contextmanager
def streams_to(path: Path) -> Iterator[None]:
    """Redirects the output streams of the process to a file, because the native module writes directly to these
    streams."""
    saved = [os.dup(1), os.dup(2)]
    try:
        with open(path, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            yield
    finally:
        for stream, number in zip(saved, (1, 2)):
            os.dup2(stream, number)
            os.close(stream)


def shown(path: Path) -> str:
    """The path as shown in messages, which is relative if it is below the current folder."""
    with contextlib.suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the summary section, with one line for each check."""
    lines = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                said = (text for key, text in report.user_properties if key == PROPERTY)
                lines += [f"{report.nodeid}: {text}" for text in said]
    if lines:
        terminalreporter.section("tracetree")
        for line in sorted(lines):
            terminalreporter.write_line(line)
