"""Tests for the pytest plugin, which runs in separate processes."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

TEST = """
import tracetree as package

def test_resnet(tracetree):
    outcome = tracetree.check({candidate!r})
    assert outcome is None or outcome.passed

def test_twice(tracetree):
    tracetree.check([{candidate!r}] * 3, name="thrice")
    tracetree.check({{"traceEvents": package.__dict__["_events"].load({candidate!r})}}, name="as dict")

def test_compared(tracetree):
    d = tracetree.diff({candidate!r}, {candidate!r})
    assert len(d.rows) > 0
"""


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # If the package is installed without its entry point, the plugin is loaded by name.
    known = {point.name for point in importlib.metadata.entry_points(group="pytest11")}
    plugin = [] if "tracetree" in known else ["-p", "tracetree._pytest"]
    program = [sys.executable, "-m", "pytest", *plugin, "-p", "no:cacheprovider", *arguments]
    return subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)


def test_baselines_are_recorded_checked_and_summed_up(pair: tuple[Path, Path], tmp_path: Path) -> None:
    test = tmp_path / "test_speed.py"
    test.write_text("import tracetree._events\n" + TEST.format(candidate=str(pair[1])))
    missing = pytest_in(tmp_path)
    assert missing.returncode == 1
    assert "there is no baseline tracetree_baselines/test_resnet.ttb: run pytest --tracetree-update" in missing.stdout
    recorded = pytest_in(tmp_path, "--tracetree-update")
    assert recorded.returncode == 0, recorded.stdout
    assert "RECORDED: tracetree_baselines/test_resnet.ttb" in recorded.stdout
    files = sorted(path.name for path in (tmp_path / "tracetree_baselines").iterdir())
    assert files == ["as_dict.ttb", "test_resnet.ttb", "thrice.ttb"]
    checked = pytest_in(tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert "= tracetree =" in checked.stdout
    summary = checked.stdout.split("= tracetree =")[1]
    assert "test_speed.py::test_resnet: PASS: all" in summary
    assert "test_speed.py::test_compared: Unchanged: 5.024 ms on both sides" in summary
    assert summary.count("test_speed.py::test_twice: PASS") == 2
    assert "TraceWarning: NOT_TESTED: with 1 run per side" in checked.stdout
    # With the same baseline, the check of a different trace fails.
    test.write_text("import tracetree._events\n" + TEST.format(candidate=str(pair[0])))
    failed = pytest_in(tmp_path, "-k", "resnet")
    assert failed.returncode == 1
    assert "RegressionError: INCONCLUSIVE" in failed.stdout
    assert "test_speed.py::test_resnet: INCONCLUSIVE: different devices" in failed.stdout


def test_a_run_without_checks_has_no_section(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n")
    ran = pytest_in(tmp_path)
    assert ran.returncode == 0 and "= tracetree =" not in ran.stdout
