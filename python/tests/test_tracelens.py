"""Compatibility with TraceLens: the example of its documentation runs with a changed import."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import tracetree

pandas = pytest.importorskip("pandas")

EXAMPLE = """
from tracetree.tracelens import TreePerfAnalyzer, TraceDiff

perf_analyzer1 = TreePerfAnalyzer.from_file(trace_file1)
tree1 = perf_analyzer1.tree
perf_analyzer2 = TreePerfAnalyzer.from_file(trace_file2)
tree2 = perf_analyzer2.tree

td = TraceDiff(tree1, tree2)
td.generate_tracediff_report()
td.print_tracediff_report_files("rprt_diff")

df = td.diff_stats_df
df_summary = td.diff_stats_unique_args_summary_df
corresponding = td.get_corresponding_uid(1, uid)
"""


@pytest.fixture
def ran(pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"trace_file1": str(pair[0]), "trace_file2": str(pair[1]), "uid": 38}
    exec(EXAMPLE, scope)
    return {**scope, "folder": tmp_path / "rprt_diff"}


def assert_agrees(frame: Any, path: Path) -> None:
    """Checks a frame against the CSV file, as read by pandas."""
    csv = pandas.read_csv(path, keep_default_na=False, na_values=[""])
    assert list(frame.columns) == list(csv.columns) and len(frame) == len(csv)
    for name in csv.columns:
        for ours, theirs in zip(frame[name], csv[name]):
            if isinstance(ours, list):
                assert ours == json.loads(theirs)
            elif pandas.isna(theirs):
                assert ours is None or pandas.isna(ours)
            elif isinstance(theirs, float):
                # The file is rounded.
                assert ours == pytest.approx(theirs, abs=0.006)
            else:
                assert str(ours) == str(theirs), name


def test_the_example_writes_the_report_and_its_frames_agree(ran: dict[str, Any]) -> None:
    folder = ran["folder"]
    assert (folder / "merged_tree_output.txt").exists()
    assert_agrees(ran["df"], folder / "diff_stats.csv")
    assert_agrees(ran["df_summary"], folder / "diff_stats_unique_args_summary.csv")
    assert_agrees(ran["td"].diff_stats_names_summary_df, folder / "diff_stats_names_summary.csv")
    assert_agrees(ran["td"].diff_stats_kernels_df, folder / "diff_stats_kernels.csv")
    assert ran["corresponding"] == 35


def test_frames_have_the_columns_of_tracelens(ran: dict[str, Any]) -> None:
    first = list(ran["df"].columns[:13])
    assert first[0] == "name" and first[1:3] == ["input_shape_trace1", "input_shape_trace2"]
    assert first[-2:] == ["kernel_names_trace1", "kernel_names_trace2"]
    assert ran["df"]["uid1"].dtype == "int64"
    grouped = ran["df"].groupby("name")["kernel_time_trace1"].sum()
    assert grouped["aten::_convolution"] == pytest.approx(2598.0, abs=1.0)


def test_a_uid_without_counterpart_is_minus_one(ran: dict[str, Any]) -> None:
    td = ran["td"]
    alone = next(
        uid
        for uid, other in zip(
            td.comparison.uid_map.column("uid_baseline"),
            td.comparison.uid_map.column("uid_candidate"),
        )
        if uid is not None and other is None
    )
    assert td.get_corresponding_uid(1, alone) == -1
    assert td.get_corresponding_uid(2, td.get_corresponding_uid(1, 38)) == 38
    assert td.get_corresponding_uid(1, -1) == -1
    with pytest.raises(ValueError, match="tree_num must be 1 or 2"):
        td.get_corresponding_uid(3, 38)


def test_the_merged_tree_contains_every_event_once(ran: dict[str, Any]) -> None:
    nodes, roots = ran["td"].merged_tree
    assert [node["merged_id"] for node in nodes] == list(range(len(nodes)))
    below = [child for node in nodes for child in node["children"]]
    assert sorted([*below, *roots]) == list(range(len(nodes)))
    uids = [node["uid1"] for node in nodes if node["uid1"] is not None]
    assert sorted(uids) == [
        uid for uid in ran["td"].comparison.uid_map.column("uid_baseline") if uid is not None
    ]
    lines = ran["td"].comparison.merged_tree().splitlines()
    assert len(lines) == len(nodes)
    assert {node["merged_type"] for node in nodes} == {"combined", "trace1", "trace2"}


def test_trees_of_parsed_events_are_accepted(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    from tracetree.tracelens import TraceDiff, TraceToTree

    trees = []
    for path in pair:
        tree = TraceToTree(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"])
        tree.build_tree()
        trees.append(tree)
    rows = TraceDiff(*trees).comparison.rows
    for column in ("name", "kernel_time_baseline_us", "kernel_names_candidate", "uid_candidate"):
        assert rows.column(column) == d.rows.column(column)


def test_a_path_is_not_a_tree(pair: tuple[Path, Path]) -> None:
    from tracetree.tracelens import TraceDiff

    with pytest.raises(TypeError, match="TreePerfAnalyzer.from_file"):
        TraceDiff(pair[0], pair[1])
