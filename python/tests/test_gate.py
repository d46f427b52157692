"""Tests that ``tracetree.assert_no_regression`` reports the same result as ``tracetree gate``."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from conftest import FIXTURES, H100, reruns

import tracetree


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "tracetree", *map(str, arguments)]
    env = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(program, capture_output=True, text=True, check=False, env=env)


def test_a_run_passes_against_itself(pair: tuple[Path, Path], tmp_path: Path) -> None:
    told = tracetree.assert_no_regression(pair[0], [pair[0], pair[0].read_bytes()])
    assert told["outcome"] == "pass"
    baseline = tmp_path / "base.ttb"
    assert command("baseline", "record", pair[0], "-o", baseline).returncode == 0
    assert tracetree.assert_no_regression(baseline, pair[0])["outcome"] == "pass"


def test_another_device_is_inconclusive(pair: tuple[Path, Path]) -> None:
    with pytest.raises(AssertionError, match="device"):
        tracetree.assert_no_regression(*pair)


def test_a_violated_rule_reads_like_the_command() -> None:
    case = FIXTURES / "dropped_op"
    before, after = case / "candidate.json", case / "baseline.json"
    told = command("gate", "--base", before, "--new", after)
    assert told.returncode in (1, 3), told.stderr
    with pytest.raises(AssertionError) as broken:
        tracetree.assert_no_regression(before, after)
    # The output of the command ends with a `tracetree diff` command that shows more details.
    report, _, see = told.stdout.partition("\nsee: ")
    assert str(broken.value) == report and see.startswith("tracetree diff")
    loaded = json.loads(before.read_text())
    with pytest.raises(AssertionError):
        tracetree.assert_no_regression(loaded, after)


def test_captures_are_used_as_by_the_command(tmp_path: Path) -> None:
    graph = H100 / "decode_graph.pt.trace.json.gz"
    capture = H100 / "decode_graph.capture.pt.trace.json.gz"
    eager = H100 / "decode_eager.pt.trace.json.gz"
    sides = ("gate", "--base", eager, "--new", graph, "--format", "json")
    told = json.loads(command(*sides, "--new-capture", capture).stdout)
    without = json.loads(command(*sides).stdout)
    assert told["outcome"] == "fail" and without["outcome"] == "fail"
    assert [finding["kind"] for finding in told["findings"]] == ["graphs"]
    for given in (capture, [capture], tracetree.open(capture)):
        with pytest.raises(AssertionError, match=r"compared with the other side's eager\s+calls"):
            tracetree.assert_no_regression(eager, graph, candidate_captures=given)
    with pytest.raises(AssertionError, match="--new-capture"):
        tracetree.assert_no_regression(eager, graph, candidate_captures=False)
    both = {"baseline_captures": capture, "candidate_captures": capture}
    assert tracetree.assert_no_regression(graph, graph, **both)["outcome"] == "pass"
    baseline = tmp_path / "base.ttb"
    assert command("baseline", "record", graph, "-o", baseline).returncode == 0
    with pytest.raises(tracetree.UsageError, match="chosen when it was recorded"):
        tracetree.assert_no_regression(baseline, graph, **both)


def test_invalid_captures_are_refused(pair: tuple[Path, Path]) -> None:
    with pytest.raises(TypeError, match="a capture must be a path"):
        tracetree.diff(*pair, options=tracetree.Options(baseline_captures=7))
    with pytest.raises(ValueError, match="empty"):
        tracetree.diff(*pair, options=tracetree.Options(candidate_captures=[]))
    graph = H100 / "decode_graph.pt.trace.json.gz"
    with pytest.raises(FileNotFoundError):
        tracetree.diff(graph, graph, options=tracetree.Options(candidate_captures="no_such_capture.json"))


def test_a_comparison_shows_what_was_captured() -> None:
    graph = H100 / "decode_graph.pt.trace.json.gz"
    capture = H100 / "decode_graph.capture.pt.trace.json.gz"
    eager = H100 / "decode_eager.pt.trace.json.gz"
    captured = tracetree.diff(eager, graph, options=tracetree.Options(candidate_captures=capture))
    bare = tracetree.diff(eager, graph, options=tracetree.Options(candidate_captures=False))
    assert len(captured.graphs) == 4 and len(bare.graphs) == 0
    assert captured.summary()["points_of_difference"] < bare.summary()["points_of_difference"]
    read = tracetree.open(capture)
    again = tracetree.diff(eager, graph, options=tracetree.Options(candidate_captures=[read]))
    assert again.summary() == captured.summary()


def test_bad_rules_are_reported(pair: tuple[Path, Path], tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("[[structure]]\nrool = 'new_kernel'\n")
    with pytest.raises(tracetree.TraceError, match="rules.toml"):
        tracetree.assert_no_regression(pair[0], pair[0], rules=rules)
    with pytest.raises(FileNotFoundError):
        tracetree.assert_no_regression("no_such.ttb", pair[0])
    with pytest.raises(tracetree.UsageError):
        tracetree.assert_no_regression(pair[0], pair[0], inconclusive="perhaps")  # type: ignore[arg-type]


def test_an_outcome_is_a_value(pair: tuple[Path, Path]) -> None:
    case = FIXTURES / "dropped_op"
    outcome = tracetree.gate(case / "candidate.json", case / "baseline.json")
    assert not outcome and not outcome.passed and not outcome.inconclusive
    (finding,) = outcome.findings
    assert (finding.change, finding.rules, finding.state) == ("Added: aten::mul", ("new_op",), "failed")
    assert [(site.what, site.calls) for site in finding.sites] == [("added aten::mul", 1)]
    assert tracetree.gate(*pair).inconclusive
    assert "different devices" in " ".join(tracetree.gate(*pair).not_tested)
    same = tracetree.gate(pair[0], pair[0])
    assert same and same.findings == () and same.document["outcome"] == "pass"


def test_a_finding_has_file_and_line(real: Path) -> None:
    outcome = tracetree.gate(real / "cpu/cnn.pt.trace.json.gz", real / "cpu/cnn_extra_op.pt.trace.json.gz")
    (finding,) = outcome.findings
    assert "aten::sin" in finding.change
    assert (finding.file, finding.line) == ("gen.py", 8)
    assert finding.sites[0].function == "forward" and "Block_1" in finding.sites[0].place


def test_the_assertion_has_the_findings() -> None:
    case = FIXTURES / "dropped_op"
    with pytest.raises(tracetree.RegressionError) as broken:
        tracetree.assert_no_regression(case / "candidate.json", case / "baseline.json")
    assert [finding.change for finding in broken.value.findings] == ["Added: aten::mul"]
    copy = pickle.loads(pickle.dumps(broken.value))
    assert str(copy) == str(broken.value) and copy.findings == broken.value.findings


def test_what_is_not_tested_is_a_warning(pair: tuple[Path, Path], tmp_path: Path) -> None:
    runs = reruns(pair[0], tmp_path)
    with pytest.warns(tracetree.TraceWarning, match="NOT_TESTED: with 1 run per side") as told:
        tracetree.assert_no_regression(pair[0], pair[0])
    assert told[0].filename == __file__
    with pytest.warns(tracetree.TraceWarning, match="NOT_TESTED: with 1 run on one side"):
        tracetree.assert_no_regression(runs, pair[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tracetree.assert_no_regression(runs, runs)


def test_folders_and_patterns_are_runs(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for side, trace in zip(("before", "after"), pair):
        reruns(trace, tmp_path / side)
        (tmp_path / side / "notes.txt").write_text("no trace")
    by_list = tracetree.diff(*(sorted((tmp_path / side).glob("*.gz")) for side in ("before", "after")))
    for given in (
        (tmp_path / "before", tmp_path / "after"),
        (str(tmp_path / "before" / "*.json.gz"), str(tmp_path / "after" / "run?.json.gz")),
        ([tmp_path / "before"], [tmp_path / "after"]),
    ):
        d = tracetree.diff(*given)
        assert "medians of 3 runs each" in d.answer
        assert d.rows.to_csv() == by_list.rows.to_csv()
        assert tracetree.gate(given[0], given[0]).document["runs"] == {"baseline": 3, "candidate": 3}


def test_copies_of_one_run_are_reported(pair: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.json.gz"
    shutil.copy(pair[0], copy)
    outcome = tracetree.gate([pair[0], copy], pair[0])
    assert any("has the same content as" in note for note in outcome.document["notes"])
    with pytest.warns(tracetree.TraceWarning, match="REPEATED_RUN.*has the same content as"):
        tracetree.diff([copy, pair[0]], pair[1])


def test_ranks_are_no_runs(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for side, trace in zip(("before", "after"), pair):
        (tmp_path / side).mkdir()
        for rank in range(2):
            shutil.copy(trace, tmp_path / side / f"rank{rank}.json.gz")
    with pytest.raises(tracetree.UsageError, match="traces of 2 ranks .0, 1.*rank=0, or .*tracetree.fleet"):
        tracetree.diff(tmp_path / "before", tmp_path / "after")
    d = tracetree.diff(tmp_path / "before", tmp_path / "after", rank=1)
    assert d.baseline.source.endswith("rank1.json.gz") and len(d.rows) == 469
    same = (tmp_path / "before", tmp_path / "before")
    with pytest.raises(tracetree.UsageError, match="traces of 2 ranks .0, 1.*rank=0"):
        tracetree.gate(*same)
    assert tracetree.gate(*same, rank=1).document["runs"] == {"baseline": 1, "candidate": 1}
    baseline = tmp_path / "base.ttb"
    assert command("baseline", "record", pair[0], "-o", baseline).returncode == 0
    assert tracetree.assert_no_regression(baseline, tmp_path / "before", rank=0)["outcome"] == "pass"
    with pytest.raises(tracetree.UsageError, match="no trace of rank 5; found: 0, 1"):
        tracetree.diff(tmp_path / "before", tmp_path / "after", rank=5)
    with pytest.raises(tracetree.UsageError, match="matches no trace"):
        tracetree.diff(tmp_path / "*.gz", tmp_path)
