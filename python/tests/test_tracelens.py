"""Tests for compatibility with TraceLens: TraceLens's examples run with only the import changed, and the data frames
keep their meaning."""

from __future__ import annotations

import ast
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

import tracetree

pandas = pytest.importorskip("pandas")

# The documented example, with the import changed.
EXAMPLE = """
from tracetree.tracelens import TreePerfAnalyzer, TraceDiff

perf_analyzer1 = TreePerfAnalyzer.from_file(trace_file1)
tree1 = perf_analyzer1.tree
perf_analyzer2 = TreePerfAnalyzer.from_file(trace_file2)
tree2 = perf_analyzer2.tree

td = TraceDiff(tree1, tree2)
td.generate_tracediff_report()
td.print_tracediff_report_files("rprt_diff", prune_non_gpu=True)

df_stats = td.diff_stats_df
df_unique_args_summary = td.diff_stats_unique_args_summary_df
df_name_summary = td.diff_stats_name_summary_df
uid1 = next(iter(td.baseline.cpu_root_nodes))
uid2 = td.get_corresponding_uid(1, uid1)
counterparts = td.merged_uid_map
"""

COLUMNS = [
    "name",
    "cpu_op_name",
    "cpu_op_uid",
    "source",
    "Input Dims",
    "Input Strides",
    "Input type",
    "Concrete Inputs",
    "kernel_time",
    "busy_time",
    "lowest_common_ancestor_name",
    "lowest_common_ancestor_id",
    "gpu_op_uid",
    "nn_module_stack",
    "nn_module_parent",
]

METHODS = [
    "add_to_pod",
    "calculate_diff_boundaries",
    "generate_diff_stats",
    "generate_tracediff_report",
    "get_corresponding_uid",
    "get_cpu_op_to_kernels_json",
    "get_df_diff_stats_unique_args",
    "get_diff_stats_df",
    "get_diff_stats_summary_df",
    "merge_trees",
    "print_merged_subtree",
    "print_merged_tree",
    "print_tracediff_report_files",
    "wagner_fischer",
]

ATTRIBUTES = [
    "baseline",
    "cpu_op_map",
    "cpu_op_map_trace1",
    "cpu_op_map_trace2",
    "db1",
    "db2",
    "diff_stats_df",
    "diff_stats_summary_df",
    "identical_traces",
    "merged_tree",
    "merged_uid_map",
    "pod1",
    "pod2",
    "variant",
]


@pytest.fixture(scope="module")
def ran(pair: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("tracelens")
    scope: dict[str, Any] = {"trace_file1": str(pair[0]), "trace_file2": str(pair[1])}
    with pytest.MonkeyPatch.context() as patch, pytest.warns(tracetree.TraceWarning):
        patch.chdir(folder)
        exec(EXAMPLE, scope)
    return {**scope, "folder": folder / "rprt_diff"}


@pytest.fixture(scope="module")
def raw(pair: tuple[Path, Path]) -> list[list[dict[str, Any]]]:
    """The events of both trace files, read from JSON."""
    return [json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] for path in pair]


def test_everything_that_tracelens_offers_is_there(ran: dict[str, Any]) -> None:
    td = ran["td"]
    assert [name for name in METHODS if not callable(getattr(td, name, None))] == []
    assert [name for name in ATTRIBUTES if not hasattr(td, name)] == []
    assert td.baseline is ran["tree1"] and td.variant is ran["tree2"]


def test_the_example_names_a_root_and_its_counterpart(ran: dict[str, Any], raw: list[Any]) -> None:
    assert raw[0][ran["uid1"]]["name"] == raw[1][ran["uid2"]]["name"] == "aten::to"
    assert ran["counterparts"][(1, ran["uid1"])] == ran["uid2"]
    assert ran["counterparts"][(2, ran["uid2"])] == ran["uid1"]
    starts = [raw[0][uid]["ts"] for uid in ran["td"].baseline.cpu_root_nodes]
    assert starts == sorted(starts)


def test_the_frame_has_a_row_for_each_kernel_below_an_op(ran: dict[str, Any], raw: list[Any]) -> None:
    frame = ran["df_stats"]
    assert list(frame.columns) == COLUMNS
    for side, source in enumerate(("trace1", "trace2")):
        own = frame[frame["source"] == source]
        assert own["gpu_op_uid"].is_unique
        for uid, name, time, op, op_name in zip(
            own["gpu_op_uid"], own["name"], own["kernel_time"], own["cpu_op_uid"], own["cpu_op_name"]
        ):
            assert (name, time) == (raw[side][uid]["name"], raw[side][uid]["dur"])
            assert op_name == raw[side][op]["name"] and raw[side][op]["cat"] == "cpu_op"
    # The three kernels whose launch is not in the trace have no op.
    kernels = ran["td"].comparison.kernels
    assert len(frame) == len(kernels) - 3
    with pytest.warns(tracetree.TraceWarning, match="NO_CPU_OP: 3 GPU events"):
        ran["td"].generate_diff_stats()


def union(spans: list[tuple[float, float]]) -> float:
    """Returns the total length of a union of intervals, as the sum of the covered pieces between end points."""
    ends = sorted({end for span in spans for end in span})
    return sum(b - a for a, b in zip(ends, ends[1:]) if any(s <= a and b <= e for s, e in spans))


def test_busy_time_is_that_of_the_whole_group(ran: dict[str, Any], raw: list[Any]) -> None:
    frame = ran["df_stats"]
    groups = frame.groupby(["lowest_common_ancestor_id", "source"])
    assert max(len(group) for _, group in groups) > 5
    for (_, source), group in groups:
        events = [raw[source == "trace2"][uid] for uid in group["gpu_op_uid"]]
        spans = [(event["ts"], event["ts"] + event["dur"]) for event in events]
        assert all(time == pytest.approx(union(spans), abs=0.002) for time in group["busy_time"])
        assert group["busy_time"].iloc[0] <= group["kernel_time"].sum() + 0.002


def test_the_ancestor_is_the_lowest_node_of_both_traces(ran: dict[str, Any]) -> None:
    td, frame = ran["td"], ran["df_stats"]
    nodes = {node["merged_id"]: node for node in td.merged_tree[0]}
    convolutions = frame[frame["lowest_common_ancestor_name"] == "aten::_convolution"]
    assert set(convolutions["cpu_op_name"]) == {"aten::miopen_convolution", "aten::cudnn_convolution"}
    assert convolutions.groupby("source")["kernel_time"].sum().to_dict() == {
        "trace1": pytest.approx(2598.172, abs=0.01),
        "trace2": pytest.approx(1915.57, abs=0.01),
    }
    common = frame.dropna(subset=["lowest_common_ancestor_id"])
    for at, source, uid in zip(common["lowest_common_ancestor_id"], common["source"], common["gpu_op_uid"]):
        node = nodes[at]
        assert node["merged_type"] == "combined"
        tree, key = (td.baseline, "uid1") if source == "trace1" else (td.variant, "uid2")
        assert uid == node[key] or uid in tree.get_UID2event(node[key])["gpu_events"]


def test_launches_of_two_platforms_are_no_common_ancestor(ran: dict[str, Any]) -> None:
    frame = ran["df_stats"]
    names = set(frame["lowest_common_ancestor_name"].dropna())
    assert not [name for name in names if name.startswith(("hip", "cuda", "cu"))]
    # The only GPU events without a common ancestor are below unmatched ops, whose parent is the thread.
    without = frame[frame["lowest_common_ancestor_name"].isna()]
    unmatched = {"aten::miopen_batch_norm_backward", "aten::cudnn_batch_norm_backward", "aten::copy_"}
    assert set(without["cpu_op_name"]) == unmatched
    assert without["lowest_common_ancestor_id"].isna().all()


def test_arguments_are_tuples_and_modules_have_a_root(ran: dict[str, Any]) -> None:
    frame = ran["df_stats"]
    row = frame[frame["cpu_op_name"] == "aten::miopen_convolution"].iloc[0]
    assert row["Input Dims"][:2] == ((128, 3, 32, 32), (32, 3, 3, 3))
    assert row["Input type"][:2] == ("float", "float")
    # Without Python frames, no call is inside a module.
    assert set(frame["nn_module_parent"]) == set(frame["nn_module_stack"]) == {"root"}


def test_python_frames_are_added_on_request(pair: tuple[Path, Path]) -> None:
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    trees = [TreePerfAnalyzer.from_file(path, add_python_func=True).tree for path in pair]
    td = TraceDiff(*trees)
    frame = td.generate_diff_stats()
    row = frame[frame["cpu_op_name"] == "aten::miopen_convolution"].iloc[0]
    assert row["nn_module_stack"] == "nn.Module: ResNet_0;nn.Module: Conv2d_0"
    assert row["nn_module_parent"] == "nn.Module: Conv2d_0" and "root" in set(frame["nn_module_parent"])
    tree = trees[0]
    event = tree.get_UID2event(38)
    module = tree.get_UID2event(31)
    assert module["name"] == "nn.Module: Conv2d_0" and tree.get_nn_module_parent(event) == 31
    outer = tree.get_nn_module_parent(module)
    assert outer == 28 and 31 in tree.get_nn_module_children(tree.get_UID2event(outer))
    assert tree.get_nn_module_children(module) == [] and tree.get_nn_module_parent(tree.get_UID2event(outer)) is None
    stack = tree.traverse_parents_and_get_callstack(event, filter=None)
    assert stack[:3] == ["aten::_convolution", "aten::convolution", "aten::conv2d"]
    assert tree.traverse_parents_and_get_callstack(event, ("nn.Module",)) == [
        "aten::_convolution", "nn.Module: Conv2d_0", "nn.Module: ResNet_0"
    ]
    assert tree.traverse_parents_and_get_callstack(event) == ["aten::_convolution"]
    # The parent of an op is a frame, and without frames the op above it.
    convolution = tree.get_UID2event(36)
    assert convolution["name"] == "aten::conv2d" and tree.get_parent_event(convolution)["cat"] == "python_function"
    tree.build_tree()
    assert tree.get_parent_event(tree.get_UID2event(36)) is None
    assert tree.get_parent_event(tree.get_UID2event(38))["name"] == "aten::convolution"
    for method in (tree.get_nn_module_parent, tree.get_nn_module_children):
        with pytest.raises(ValueError, match="needs the Python frames: pass add_python_func=True"):
            method(module)


def test_backward_events_are_linked_to_their_forward_ops(ran: dict[str, Any]) -> None:
    tree = ran["tree1"]
    tree.link_all_fwd_bwd_events()
    linked = [event for event in tree.events if "fwd_event" in event]
    assert len(linked) > 50
    for event in linked:
        forward = tree.get_UID2event(event["fwd_event"])
        assert event["UID"] in forward["bwd_events"] and forward["tid"] != event["tid"]
        assert forward["args"]["Sequence number"] == event["args"]["Sequence number"]
        assert event["UID"] in tree.get_subtree_bwd_events(forward["UID"])
    convolution = next(event for event in linked if event["name"].endswith("ConvolutionBackward0"))
    stack = tree.traverse_parents_and_get_callstack(convolution, filter=None, follow_fwd_link=True)
    assert stack == [convolution["name"], "[FWD]", "aten::convolution", "aten::conv2d"]


def test_annotations_and_metadata_are_read(ran: dict[str, Any]) -> None:
    tree = ran["tree1"]
    tree.apply_annotation(name_filters=["aten::conv2d"])
    found = [event for event in tree.events if "annotation" in event]
    assert found and all(event["name"] == "aten::conv2d" for event in found)
    assert {event["annotation"] for event in found} == {"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}
    assert len(found) == 45
    assert tree.metadata[950][950] == {"process_name": "python3", "thread_name": "thread 950 (python3)"}


def test_errors_come_before_the_merge(pair: tuple[Path, Path], tmp_path: Path) -> None:
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    td = TraceDiff(*(TreePerfAnalyzer.from_file(path).tree for path in pair))
    td.merged_tree = None
    for call in (
        lambda: td.print_merged_tree(tmp_path / "tree.txt"),
        lambda: td.print_merged_subtree(uid_tree1=38),
        td.generate_diff_stats,
    ):
        with pytest.raises(ValueError, match="merged_tree is not initialized. Call merge_trees.. first."):
            call()
    assert td.merge_trees() is td.merged_tree
    td.print_merged_tree(tmp_path / "tree.txt")


def test_analyzers_take_the_arguments_of_tracelens(pair: tuple[Path, Path]) -> None:
    from tracetree.tracelens import TreePerfAnalyzer

    tree = TreePerfAnalyzer.from_file(pair[0], jax=False, arch=None, python_path=None).tree
    analyzer = TreePerfAnalyzer(tree, jax=False, add_python_func=True)
    assert analyzer.tree is tree and analyzer.add_python_func and tree.add_python_func
    with pytest.raises(NotImplementedError, match="pass XLA profiles to tracetree.diff"):
        TreePerfAnalyzer(tree, jax=True)


def test_frames_are_written_as_they_are(ran: dict[str, Any]) -> None:
    for name in ("diff_stats", "diff_stats_unique_args_summary", "diff_stats_names_summary"):
        frame = getattr(ran["td"], f"{name}_df")
        written = pandas.read_csv(ran["folder"] / f"{name}.csv", keep_default_na=False)
        assert list(written.columns) == list(frame.columns) and len(written) == len(frame)
        for column in ("name", "Input Dims"):
            if column in frame:
                assert list(written[column]) == [str(value) for value in frame[column]]


def test_unique_arguments_are_grouped(ran: dict[str, Any]) -> None:
    summary, frame = ran["df_unique_args_summary"], ran["df_stats"]
    left_out = {"kernel_time", "lowest_common_ancestor_id", "gpu_op_uid"}
    keys = [column for column in COLUMNS if column not in left_out]
    assert list(summary.columns) == ["name", "operation_count", *keys[1:], "kernel_time_mean", "kernel_time_sum"]
    assert summary["operation_count"].sum() == len(frame)
    assert summary["kernel_time_sum"].sum() == pytest.approx(frame["kernel_time"].sum())
    assert summary["kernel_time_sum"].is_monotonic_decreasing
    mean = summary["kernel_time_sum"] / summary["operation_count"]
    assert list(summary["kernel_time_mean"]) == pytest.approx(list(mean))
    td = ran["td"]
    name = frame["name"].iloc[0]
    one = td.get_df_diff_stats_unique_args(op_name=name, agg_metrics=["max"])
    assert set(one["name"]) == {name} and list(one.columns[-2:]) == ["kernel_time_max", "kernel_time_sum"]
    td.get_df_diff_stats_unique_args()


def test_names_are_summed_in_ms(ran: dict[str, Any]) -> None:
    by_name = ran["df_name_summary"].set_index("name")
    assert by_name.loc["aten::_convolution", "kernel_time_trace1_sum_ms"] == pytest.approx(2.598172)
    assert by_name.loc["aten::_convolution", "row_count"] == 45
    assert by_name["kernel_time_trace1_sum_ms"].is_monotonic_decreasing


def test_maps_have_their_schema(ran: dict[str, Any]) -> None:
    frame, folder = ran["df_stats"], ran["folder"]
    for number in (1, 2):
        written = json.loads((folder / f"cpu_op_map_trace{number}.json").read_text(encoding="utf-8"))
        own = frame[frame["source"] == f"trace{number}"]
        expected = {op: sorted(set(group["name"])) for op, group in own.groupby("cpu_op_name")}
        assert written == expected and list(written) == sorted(written)
    both = json.loads((folder / "cpu_op_map.json").read_text(encoding="utf-8"))
    shapes = {tuple(entry) for sources in both.values() for entry in sources.values()}
    assert shapes == {("kernels", "nn_module_parents")}
    assert {source for sources in both.values() for source in sources} == {"trace1", "trace2"}
    names = {name for sources in both.values() for entry in sources.values() for name in entry["kernels"]}
    assert names == set(frame["name"])


def test_ops_that_replace_each_other_get_a_common_name() -> None:
    from tracetree.tracelens import common_name

    assert common_name("aten::mm", "vendor::mm_out", {}) == "mm"
    long = "a_very_long_prefix_of_"
    assert common_name(f"x::{long}one", f"x::{long}two", {}) == f"{long}one/{long}two"
    one_module = {"a::x": {"nn.Module: Linear_0"}, "b::y": {"nn.Module: Linear_0"}}
    assert common_name("a::x", "b::y", one_module) == "nn.Module:Linear_0"
    assert common_name("a::x", "b::y", {**one_module, "b::y": {"root"}}) is None


def test_identical_traces_have_no_source(pair: tuple[Path, Path]) -> None:
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    td = TraceDiff(TreePerfAnalyzer.from_file(pair[1]).tree, TreePerfAnalyzer.from_file(pair[1]).tree)
    assert td.get_diff_stats_df() is None and td.cpu_op_map is None and not td.identical_traces
    td.generate_tracediff_report()
    assert td.identical_traces and "source" not in td.diff_stats_df.columns
    assert len(td.get_diff_stats_df()) == 1023
    assert {tuple(entry) for entry in td.cpu_op_map.values()} == {("kernels", "nn_module_parents")}
    assert td.pod1 == td.pod2 == set() and td.db1 == td.db2 == []


def test_traces_without_gpu_events_have_empty_frames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from conftest import EXAMPLES
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    paths = [EXAMPLES / "cpu" / f"cpu_{name}.pt.trace.json.gz" for name in ("base", "bias")]
    td = TraceDiff(*(TreePerfAnalyzer.from_file(path).tree for path in paths))
    td.generate_tracediff_report()
    assert td.diff_stats_df.empty and td.cpu_op_map is None and td.identical_traces
    assert "[TraceDiff] No GPU events found in either trace" in capsys.readouterr().out
    td.print_tracediff_report_files(tmp_path)
    assert "aten::" in (tmp_path / "merged_tree_output.txt").read_text(encoding="utf-8")


def test_kernels_whose_launch_is_not_recorded_have_no_rows(real: Path) -> None:
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    path = real / "odd" / "gpu_only.mi210.json.gz"
    td = TraceDiff(*(TreePerfAnalyzer.from_file(path).tree for _ in range(2)))
    with pytest.warns(tracetree.TraceWarning, match=f"NO_CPU_OP: {len(td.comparison.kernels)} GPU events"):
        td.generate_tracediff_report()
    assert len(td.comparison.kernels) > 0 and len(td.diff_stats_df) == 0 and td.get_diff_stats_df() is None


def test_events_are_dictionaries(ran: dict[str, Any], raw: list[Any]) -> None:
    tree = ran["tree1"]
    event = tree.get_UID2event(38)
    assert event["name"] == raw[0][38]["name"] == "aten::_convolution" and event["UID"] == 38
    assert event["args"] == raw[0][38]["args"] and event["t_end"] == event["ts"] + event["dur"]
    assert len(tree.events) == len(raw[0]) and tree.events_by_uid[38] is event
    (child,) = tree.get_children_events(event)
    assert child["name"] == "aten::miopen_convolution" and tree.get_parent_event(child) is event
    assert tree.event_to_category(event) == "cpu_op"
    kernels = tree.get_gpu_events(event)
    node = tracetree.open(ran["trace_file1"]).tree().node(38)
    assert [kernel["UID"] for kernel in kernels] == [kernel.uid for kernel in node.kernels]
    assert "non_gpu_path" not in event
    assert any(event.get("non_gpu_path") for event in tree.events)
    with pytest.raises(KeyError, match="has no event 99999999"):
        tree.get_UID2event(99999999)


def test_a_uid_without_counterpart_is_minus_one(ran: dict[str, Any]) -> None:
    td = ran["td"]
    rows = td.comparison.uid_map.to_pylist()
    alone = next(row["uid_baseline"] for row in rows if row["uid_baseline"] is not None and row["uid_candidate"] is None)
    assert td.get_corresponding_uid(1, alone) == -1
    assert td.get_corresponding_uid(1, 38) == 35 and td.get_corresponding_uid(2, 35) == 38
    assert td.get_corresponding_uid(1, -1) == -1
    with pytest.raises(ValueError, match="tree_num must be 1 or 2"):
        td.get_corresponding_uid(3, 38)
    for row in rows:
        if row["uid_baseline"] is not None:
            expected = -1 if row["uid_candidate"] is None else row["uid_candidate"]
            assert td.get_corresponding_uid(1, row["uid_baseline"]) == expected


def test_the_merged_tree_contains_every_event_once(ran: dict[str, Any]) -> None:
    td = ran["td"]
    nodes, roots = td.merged_tree
    ids = [node["merged_id"] for node in nodes]
    assert len(set(ids)) == len(ids)
    below = [child for node in nodes for child in node["children"]]
    assert sorted([*below, *roots]) == sorted(ids)
    for key, column in (("uid1", "uid_baseline"), ("uid2", "uid_candidate")):
        uids = [node[key] for node in nodes if node[key] is not None]
        assert sorted(uids) == sorted(uid for uid in td.comparison.uid_map.column(column) if uid is not None)
    assert {node["merged_type"] for node in nodes} == {"combined", "trace1", "trace2"}


def test_boundaries_are_the_outermost_differences(ran: dict[str, Any]) -> None:
    td = ran["td"]
    only = {node["uid1"] for node in td.merged_tree[0] if node["merged_type"] == "trace1"}
    assert td.pod1 == only and td.pod2
    assert {event["UID"] for event in td.db1} < td.pod1
    everything: set[int] = set()
    for event in td.db2:
        td.add_to_pod(td.variant.get_UID2event(event["UID"]), everything, td.variant)
    assert td.pod2 <= everything


def test_the_merged_tree_can_be_pruned(ran: dict[str, Any], tmp_path: Path) -> None:
    td = ran["td"]
    td.print_merged_tree(tmp_path / "all.txt")
    whole = (tmp_path / "all.txt").read_text(encoding="utf-8").splitlines()
    assert len(whole) == len(td.merged_tree[0])
    pruned = (ran["folder"] / "merged_tree_output.txt").read_text(encoding="utf-8").splitlines()
    gpu = {node["merged_id"] for node in td.merged_tree[0] if not below_has_none(td, node)}
    assert len(pruned) == len(gpu) < len(whole)
    assert any("aten::empty" in line for line in whole)
    for mark in (">> trace1: aten::miopen_convolution", "<< trace2: aten::cudnn_convolution"):
        assert any(line.endswith(mark) for line in whole) or any("miopen_convolution | aten::cudnn" in line for line in whole)


def below_has_none(td: Any, node: dict[str, Any]) -> bool:
    """Returns True if none of the events of a merged node is a GPU event or has a GPU event below it."""
    events = [tree.events[node[key]] for tree, key in ((td.baseline, "uid1"), (td.variant, "uid2")) if node[key] is not None]
    return all(event.get("non_gpu_path", False) for event in events)


def test_a_subtree_is_printed(ran: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    td = ran["td"]
    td.print_merged_subtree(uid_tree1=38)
    first = capsys.readouterr().out
    assert first.startswith("└── aten::_convolution\n") and "cudnn_convolution" in first
    td.print_merged_subtree(uid_tree2=35)
    assert capsys.readouterr().out == first
    with pytest.raises(ValueError, match="At least one of uid_tree1 or uid_tree2"):
        td.print_merged_subtree()
    with pytest.raises(ValueError, match="Could not find merged node.*trace2 has no call 99999999"):
        td.print_merged_subtree(uid_tree2=99999999)


def test_a_call_is_found_by_name_and_drawn_on_both_sides(
    ran: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    td = ran["td"]
    # Every element in the file has a name, including elements that are not in the tree.
    found = next(event for event in td.baseline.events if event["name"] == "aten::miopen_convolution")
    twin = td.variant.get_UID2event(td.get_corresponding_uid(1, found["UID"]))
    assert twin["name"] == "aten::cudnn_convolution"
    td.baseline.traverse_subtree_and_print(found)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"└── UID: {found['UID']}, Category: cpu_op, Name: aten::miopen_convolution"
    kernels = [line for line in lines if ", Category: kernel, " in line]
    times = [float(line.rsplit(", Duration: ", 1)[1]) for line in kernels]
    assert times == [kernel["dur"] for kernel in td.baseline.get_gpu_events(found)] != []
    assert all(", Duration: " not in line for line in lines if line not in kernels)
    long = next(event for event in td.variant.events if len(event["name"]) > 64 and event["cat"] == "kernel")
    td.variant.traverse_subtree_and_print(long)
    assert f"Name: {long['name'][:64]}.., Duration" in capsys.readouterr().out


def test_lists_are_aligned_by_the_names_of_their_events(ran: dict[str, Any]) -> None:
    td = ran["td"]
    children = [tree.get_UID2event(uid)["children"] for tree, uid in ((td.baseline, 38), (td.variant, 35))]
    steps = td.wagner_fischer(*children, {})
    assert len([step for step in steps if step[0] != "insert"]) == len(children[0])
    assert len([step for step in steps if step[0] != "delete"]) == len(children[1])
    by_name = {name: [tree.events[uid]["name"] for uid in uids] for name, tree, uids in
               zip(("one", "two"), (td.baseline, td.variant), children)}
    for kind, i, j in steps:
        assert (kind == "match") == (i is not None and j is not None and by_name["one"][i] == by_name["two"][j])
    roots = td.baseline.cpu_root_nodes[:5]
    twins = [td.get_corresponding_uid(1, uid) for uid in roots]
    assert td.wagner_fischer(roots, twins) == [("match", at, at) for at in range(5)]
    # One item fewer is one deletion, wherever it is.
    for gone in range(5):
        left = [uid for at, uid in enumerate(twins) if at != gone]
        assert [kind for kind, _, _ in td.wagner_fischer(roots, left)].count("delete") == 1
    assert td.wagner_fischer(roots[:1], []) == [("delete", 0, None)]
    assert td.wagner_fischer([], twins[:1]) == [("insert", None, 0)]


def test_trees_of_parsed_events_are_accepted(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    from tracetree.tracelens import DataLoader, TraceDiff, TraceToTree

    trees = []
    for path in pair:
        tree = TraceToTree(DataLoader.load_data(path)["traceEvents"])
        tree.build_tree(add_python_func=True)
        trees.append(tree)
    td = TraceDiff(*trees)
    for column in ("name", "kernel_time_baseline_us", "kernel_names_candidate", "uid_candidate"):
        assert td.comparison.rows.column(column) == d.rows.column(column)
    assert len(td.generate_diff_stats()) == 2085
    native = TraceDiff(tracetree.open(pair[0]).tree(), tracetree.open(pair[1]).tree())
    for tree in trees:
        tree.build_tree()
    assert native.merged_uid_map == TraceDiff(*trees).merged_uid_map


#: The rows of TraceLens for BERT, MI300X against H100: `cpu_op_uid`, `gpu_op_uid`, `kernel_time` and `busy_time` (equal in
#: these rows) in both traces, in the order of its data frame, and the name of the op and of the lowest common ancestor.
BERT = [
    ((8, 2467, 3.086), (8, 2103, 3.136), "aten::index_select"),
    ((15, 2469, 2.645), (15, 2107, 3.264), "aten::index_select"),
    ((19, 2471, 2.324), (19, 2111, 1.728), "aten::add"),
    ((23, 2473, 3.327), (23, 2115, 3.424), "aten::index_select"),
    ((27, 2475, 2.565), (27, 2119, 1.696), "aten::add_"),
    ((29, 2477, 4.128), (29, 2123, 3.263), "aten::native_layer_norm"),
    ((36, 2479, 4.048), (36, 2127, 1.76), "aten::eq"),
    ((37, 2481, 4.329), (37, 2131, 3.648), "aten::all"),
    ((41, 2483, 2.404), (41, 2135, 2.24), "aten::_local_scalar_dense"),
    ((48, 2485, 5.331), (48, 2145, 5.824), "aten::addmm"),
    ((60, 2487, 5.091), (60, 2153, 5.727), "aten::addmm"),
    ((72, 2489, 4.97), (72, 2161, 5.887), "aten::addmm"),
    ((86, 2491, 32.032), (86, 2169, 10.08), "aten::_flash_attention_forward"),
    ((115, 2493, 5.411), (105, 2177, 5.664), "aten::addmm"),
    ((119, 2495, 2.284), (109, 2181, 1.664), "aten::add"),
]

#: The names summaries of TraceLens (traces/MANIFEST.md): rows and ms in both traces. Names in `DEVIATIONS` differ, for the
#: reasons in docs/reference/tracelens.md.
NAMES = {
    "timesformer": {
        "aten::_softmax": (24, 41.857, 68.781), "aten::bmm": (48, 41.329, 44.998), "aten::addmm": (85, 12.815, 8.570),
        "aten::mul": (24, 11.024, 15.556), "aten::copy_": (123, 6.134, 10.838),
        "aten::native_layer_norm": (37, 2.300, 2.203), "aten::cat": (38, 1.528, 3.083), "aten::gelu": (12, 1.210, 1.534),
        "aten::add": (38, 1.165, 1.500),
    },
    "vit": {
        "aten::addmm": (73, 0.942, 0.735), "aten::scaled_dot_product_attention": (12, 0.375, 0.123),
        "aten::native_layer_norm": (25, 0.140, 0.111), "aten::add": (25, 0.130, 0.057), "aten::gelu": (12, 0.066, 0.061),
        "aten::_convolution": (1, 0.053, 0.130), "aten::cat": (1, 0.007, 0.007), "aten::tanh": (1, 0.004, 0.002),
    },
    "bert": {
        "aten::addmm": (26, 0.174, 0.198), "aten::scaled_dot_product_attention": (4, 0.114, 0.037),
        "aten::native_layer_norm": (10, 0.040, 0.031), "aten::gelu": (5, 0.022, 0.010), "aten::add": (9, 0.019, 0.015),
        "aten::index_select": (3, 0.009, 0.010), "aten::all": (1, 0.004, 0.004), "aten::eq": (1, 0.004, 0.002),
        "aten::add_": (1, 0.003, 0.002),
    },
}
DEVIATIONS = {
    "timesformer": {"aten::copy_"},
    "vit": {"aten::scaled_dot_product_attention", "aten::_convolution"},
    "bert": {"aten::scaled_dot_product_attention"},
}


def of_real_pair(real: Path, model: str) -> Any:
    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    paths = [real / "mi300_h100" / f"{model}.{device}.json.gz" for device in ("mi300", "h100")]
    td = TraceDiff(*(TreePerfAnalyzer.from_file(path).tree for path in paths))
    td.generate_tracediff_report()
    return td


def test_rows_have_the_values_and_the_order_of_tracelens(real: Path) -> None:
    frame = of_real_pair(real, "bert").diff_stats_df
    columns = ["source", "cpu_op_name", "lowest_common_ancestor_name", "cpu_op_uid", "gpu_op_uid", "kernel_time", "busy_time"]
    rows = [
        (f"trace{number}", name, name, *own, own[2])
        for first, second, name in BERT
        for number, own in ((1, first), (2, second))
    ]
    for column, values in zip(columns, zip(*rows)):
        assert list(frame[column].head(len(rows))) == list(values), column
    assert frame["nn_module_parent"].eq("root").all()


@pytest.mark.parametrize("model", NAMES)
def test_names_have_the_times_of_tracelens(model: str, real: Path) -> None:
    td = of_real_pair(real, model)
    summary = td.diff_stats_names_summary_df.set_index("name")
    # The data frames agree with each other: the ancestors are the names of the summary.
    by_ancestor = td.diff_stats_df.groupby(["lowest_common_ancestor_name", "source"])["kernel_time"].sum() / 1e3
    differing = set()
    for name, (rows, *times) in NAMES[model].items():
        known = summary.loc[name] if name in summary.index else None
        equal = known is not None and known["row_count"] == rows
        for number, time in enumerate(times, 1):
            own = 0.0 if known is None else known[f"kernel_time_trace{number}_sum_ms"]
            assert own == pytest.approx(by_ancestor.get((name, f"trace{number}"), 0.0), abs=1e-9), name
            equal = equal and own == pytest.approx(time, abs=0.0006)
        differing |= set() if equal else {name}
    assert differing == DEVIATIONS[model]
    # Whatever the names, all times add up.
    for number in (1, 2):
        total = td.diff_stats_df.query(f"source == 'trace{number}'")["kernel_time"].sum() / 1e3
        assert total == pytest.approx(summary[f"kernel_time_trace{number}_sum_ms"].sum(), abs=1e-6)


def test_a_large_pair_takes_less_than_two_seconds(real: Path) -> None:
    import time

    from tracetree.tracelens import TraceDiff, TreePerfAnalyzer

    names = ("resnet_act_checkpoint.mi300", "resnet50_ddp.a100")
    begin = time.process_time()
    td = TraceDiff(*(TreePerfAnalyzer.from_file(real / "training" / f"{name}.json.gz").tree for name in names))
    td.generate_tracediff_report()
    assert len(td.diff_stats_df) == 6459
    assert time.process_time() - begin < 2.0


def test_what_is_not_offered_says_so(pair: tuple[Path, Path]) -> None:
    from tracetree.tracelens import DataLoader, TraceDiff, TreePerfAnalyzer

    with pytest.raises(TypeError, match="TreePerfAnalyzer.from_file"):
        TraceDiff(pair[0], pair[1])
    with pytest.raises(ImportError, match="does not offer NcclAnalyser: use tracetree.fleet"):
        from tracetree.tracelens import NcclAnalyser  # type: ignore[attr-defined]  # noqa: F401
    analyzer = TreePerfAnalyzer.from_file(pair[0])
    with pytest.raises(AttributeError, match="get_df_kernels is not offered: .*efficiency"):
        analyzer.get_df_kernels()
    with pytest.raises(AttributeError, match="no attribute 'get_seq_nums_for_node_subtree'"):
        analyzer.tree.get_seq_nums_for_node_subtree(0)
    native = tracetree.open(pair[0]).tree()
    with pytest.raises(AttributeError, match="TraceDiff has no attribute 'is_gpu_path' .*: use td.comparison"):
        TraceDiff(native, native).is_gpu_path
    with pytest.raises(NotImplementedError, match="use tracetree.diff for other formats"):
        DataLoader.load_data("profile.xplane.pb")


def test_written_shapes_can_be_read_back(ran: dict[str, Any]) -> None:
    written = pandas.read_csv(ran["folder"] / "diff_stats.csv", keep_default_na=False)
    first = next(text for text in written["Input Dims"] if text)
    assert re.fullmatch(r"\(.*\)", first) and isinstance(ast.literal_eval(first), tuple)
