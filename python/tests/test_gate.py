"""``tracetree.assert_no_regression`` says what ``tracetree gate`` says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FIXTURES

import tracetree


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "tracetree", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


def test_a_run_passes_against_itself(pair: tuple[Path, Path], tmp_path: Path) -> None:
    told = tracetree.assert_no_regression(pair[0], [pair[0], pair[0].read_bytes()])
    assert told["outcome"] == "pass"
    baseline = tmp_path / "base.ttb"
    assert command("baseline", "record", pair[0], "-o", baseline).returncode == 0
    assert tracetree.assert_no_regression(baseline, pair[0])["outcome"] == "pass"


def test_another_device_tells_nothing(pair: tuple[Path, Path]) -> None:
    with pytest.raises(AssertionError, match="device"):
        tracetree.assert_no_regression(*pair)


def test_a_broken_rule_reads_like_the_command() -> None:
    case = FIXTURES / "dropped_op"
    before, after = case / "candidate.json", case / "baseline.json"
    told = command("gate", "--base", before, "--new", after)
    assert told.returncode in (1, 3), told.stderr
    with pytest.raises(AssertionError) as broken:
        tracetree.assert_no_regression(before, after)
    assert str(broken.value) == told.stdout
    loaded = json.loads(before.read_text())
    with pytest.raises(AssertionError):
        tracetree.assert_no_regression(loaded, after)


def test_bad_rules_are_told(pair: tuple[Path, Path], tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[structure]]\nrool = 'new_kernel'\n")
    with pytest.raises(tracetree.TraceError, match="rules.toml"):
        tracetree.assert_no_regression(pair[0], pair[0], rules=rules)
    with pytest.raises(FileNotFoundError):
        tracetree.assert_no_regression("no_such.ttb", pair[0])
    with pytest.raises(tracetree.UsageError):
        tracetree.assert_no_regression(pair[0], pair[0], inconclusive="perhaps")  # type: ignore[arg-type]
