"""Tests for the tables of ``TreePerfAnalyzer``: recounted from the JSON of traces, and compared with TraceLens."""

from __future__ import annotations

import ast
import gzip
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tracetree

pandas = pytest.importorskip("pandas")

from tracetree.tracelens import TraceToTree, TreePerfAnalyzer  # noqa: E402

GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
DIRECT, SUBTREE = "total_direct_kernel_time", "total_subtree_kernel_time"
SHARES = ["Percentage (%)", "Cumulative Percentage (%)"]
#: Traces of a training with collectives, and of models on two platforms.
TRACES = ["training/resnet50_ddp.a100", "mi300_h100/timesformer.mi300", "mi300_h100/timesformer.h100"]
#: The traces with reference figures whose ops are in the trace, not in another file.
REFERENCE = {
    "bert.h100": "mi300_h100", "bert.mi300": "mi300_h100", "resnet_act_checkpoint.mi300": "training",
    "timesformer.h100": "mi300_h100", "timesformer.mi300": "mi300_h100", "torch_compile_triton.mi300": "inference",
    "vit.h100": "mi300_h100", "vit.mi300": "mi300_h100",
}


def union(spans: list[tuple[float, float]]) -> float:
    """The length of a union of intervals."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def span(event: dict[str, Any]) -> tuple[float, float]:
    return event["ts"], event["ts"] + event["dur"]


def raw_events(path: Path) -> list[dict[str, Any]]:
    return list(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"])


def recounted(events: list[dict[str, Any]]) -> dict[int, list[int]]:
    """For each op that launches GPU work, by UID: the GPU events, which have the correlation of a runtime call that the
    op is the shortest one to contain. Collectives are omitted."""
    gpu: dict[int, list[int]] = {}
    for uid, event in enumerate(events):
        if event.get("cat") in GPU_WORK and "nccl" not in event["name"]:
            gpu.setdefault(event["args"]["correlation"], []).append(uid)
    ops = [(uid, event) for uid, event in enumerate(events) if event.get("cat") == "cpu_op"]
    found: dict[int, list[int]] = {}
    for event in events:
        launched = gpu.get((event.get("args") or {}).get("correlation"), [])
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and launched:
            at, thread = event["ts"], (event["pid"], event["tid"])
            around = [(op["dur"], -uid) for uid, op in ops
                      if op["ts"] <= at < op["ts"] + op["dur"] and (op["pid"], op["tid"]) == thread]
            if around:
                found.setdefault(-min(around)[1], []).extend(launched)
    return found


@pytest.mark.parametrize("side", [0, 1], ids=["rocm", "cuda"])
@pytest.mark.parametrize("add_python_func", [False, True])
def test_launchers_are_the_innermost_ops_around_the_launches(
    side: int, add_python_func: bool, pair: tuple[Path, Path]
) -> None:
    analyzer = TreePerfAnalyzer.from_file(pair[side], add_python_func=add_python_func)
    events, frame = raw_events(pair[side]), analyzer.get_df_kernel_launchers(include_kernel_details=True)
    expected = recounted(events)
    ops = frame[[events[uid]["cat"] == "cpu_op" for uid in frame["UID"]]]
    assert set(ops["UID"]) == set(expected) and len(ops) > 400
    for uid, name, direct, count, details in zip(
        ops["UID"], ops["name"], ops[DIRECT], ops["direct_kernel_count"], ops["kernel_details"]
    ):
        kernels = [events[kernel] for kernel in expected[uid]]
        assert (name, count) == (events[uid]["name"], len(kernels))
        assert direct == pytest.approx(union([span(kernel) for kernel in kernels]), abs=0.01)
        assert sorted(detail["dur"] for detail in details) == sorted(kernel["dur"] for kernel in kernels)
    # What an op launches is below it.
    assert (frame[SUBTREE] >= frame[DIRECT] - 1e-6).all() and (frame[SUBTREE] > frame[DIRECT] + 1e-6).any()
    starts = [events[uid]["ts"] for uid in frame["UID"]]
    assert starts == sorted(starts)
    event = analyzer.get_kernel_launchers()[0]
    assert event is analyzer.tree.get_UID2event(frame["UID"][0]) and event[DIRECT] == frame[DIRECT][0]


def launch(number: int, at: float, name: str, begin: float, duration: float, **more: Any) -> list[dict[str, Any]]:
    """A runtime call and the GPU event that it launches."""
    host = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 2}
    gpu = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": begin, "dur": duration}
    return [
        {**host, "args": {"correlation": number}},
        {**gpu, **more, "args": {"correlation": number, "stream": more.get("tid", 7)}},
    ]


def op(name: str, at: float, duration: float, **arguments: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": duration, "args": arguments}


@pytest.fixture
def made() -> TreePerfAnalyzer:
    """Ops on several streams, a copy in a matrix product, a collective, a launch without an op, and a kernel without a
    launch."""
    name = {"ph": "M", "pid": 1, "tid": 0, "name": "process_name", "args": {"name": "python"}}
    events = [
        op("aten::mm", 100, 50, **{"Input Dims": [[4, 8], [8, 2]], "Input type": ["float"] * 2, "External id": 5}),
        op("aten::copy_", 120, 10, **{"Input Dims": [[4], [4]], "Input type": ["float"] * 2}),
        *launch(1, 102, "gemm", 200, 30),
        *launch(2, 122, "Memcpy DtoH", 220, 40, cat="gpu_memcpy", tid=8),
        *launch(3, 140, "gemm", 225, 10, tid=9),
        op("c10d::allreduce_", 160, 10),
        *launch(4, 162, "ncclDevKernel_AllReduce", 250, 50, tid=10),
        *launch(5, 180, "alone", 310, 5),
        launch(6, 0, "unlinked", 500, 100)[1],
        name,
    ]
    return TreePerfAnalyzer(TraceToTree(events))


def test_launchers_of_a_made_trace(made: TreePerfAnalyzer) -> None:
    frame = made.get_df_kernel_launchers(id_cols=True, include_first_occurrence_time=True)
    assert list(frame.columns) == [
        "name", "op category", "UID", DIRECT, SUBTREE, "direct_kernel_count", "ts", "Input Dims", "Input type",
        "Input Strides", "Concrete Inputs", "pid", "tid", "external_id", "process_name", "process_label", "thread_name",
    ]
    rows = frame[["name", "op category", DIRECT, SUBTREE, "direct_kernel_count", "ts"]].values.tolist()
    assert rows == [
        ["aten::mm", "GEMM", 35.0, 60.0, 2, 100],
        ["aten::copy_", "elementwise", 40.0, 40.0, 1, 120],
        ["cudaLaunchKernel", "other", 5.0, 5.0, 1, 180],
    ]
    assert frame["Input Dims"][0] == ((4, 8), (8, 2)) and frame["external_id"][0] == 5
    assert frame["process_name"].eq("python").all() and frame["thread_name"].eq("Unknown").all()
    names = [event["name"] for event in made.get_kernel_launchers(include_nccl=True)]
    assert names == ["aten::mm", "aten::copy_", "c10d::allreduce_", "cudaLaunchKernel"]


def test_calls_may_launch_different_numbers_of_kernels() -> None:
    events: list[dict[str, Any]] = []
    for number, (first, second) in enumerate(((5, 9), (4, None), (3, 8))):
        at = 100 * number
        events += [op("fused::sum", at, 50), op("execute", at + 10, 30)]
        events += launch(2 * number + 1, at + 12, "elementwise_kernel", at + 20, first)
        events += launch(2 * number + 2, at + 16, "reduce_kernel", at + 30, second) if second is not None else []
    analyzer = TreePerfAnalyzer(TraceToTree(events))
    frame = analyzer.get_df_kernel_launchers(include_kernel_details=True)
    assert list(frame["name"]) == 3 * ["fused::sum"] and list(frame["direct_kernel_count"]) == [2, 1, 2]
    # The longest kernel determines the category.
    assert list(frame["op category"]) == ["reduce", "elementwise", "reduce"]
    row = analyzer.get_df_kernel_launchers_unique_args(frame, agg_metrics=["max"]).iloc[0]
    assert (row["operation_count"], row[f"{DIRECT}_max"], row[f"{DIRECT}_sum"]) == (2, 14, 25)
    assert row["kernel_details_summary"] == [
        {"name": name, "stream": 7, "count": 2, "total_duration_us": total, "max_duration_us": longest}
        for name, total, longest in (("elementwise_kernel", 8, 5), ("reduce_kernel", 17, 9))
    ]
    # Without the category, all calls are one row, and the details are those of the calls like the first.
    row = analyzer.get_df_kernel_launchers_unique_args(frame.drop(columns=["op category"])).iloc[0]
    assert row["operation_count"] == 3
    assert [kernel["count"] for kernel in row["kernel_details_summary"]] == [2, 2]


def test_the_timeline_of_a_made_trace(made: TreePerfAnalyzer) -> None:
    table = made.get_df_gpu_timeline()
    assert list(table.columns) == ["type", "time ms", "percent"]
    # Computation runs in 200–235 and 310–315, the copy in 220–260, the collective in 250–300.
    expected = {
        "computation_time": 40, "exposed_comm_time": 50, "exposed_memcpy_time": 15, "busy_time": 105, "idle_time": 10,
        "total_time": 115, "total_comm_time": 50, "total_memcpy_time": 40,
    }
    assert list(table["type"]) == list(expected)
    assert list(table["time ms"]) == pytest.approx([1e-3 * value for value in expected.values()])
    assert list(table["percent"]) == pytest.approx([100 * value / 115 for value in expected.values()])
    made.include_unlinked_kernels = True
    times = made.get_df_gpu_timeline(micro_idle_thresh_us=11).set_index("type")["time ms"]
    assert list(times.index[4:6]) == ["micro_idle_time", "macro_idle_time"]
    assert list(times[["micro_idle_time", "macro_idle_time", "total_time"]]) == pytest.approx([0.01, 0.185, 0.4])
    times = made.get_df_gpu_timeline(micro_idle_thresh_us=10).set_index("type")["time ms"]
    assert list(times[["micro_idle_time", "macro_idle_time"]]) == pytest.approx([0.0, 0.195])


def test_traces_without_launches_have_empty_tables() -> None:
    for events in ([op("aten::mm", 100, 50)], [op("aten::mm", 100, 50), launch(6, 0, "unlinked", 500, 100)[1]]):
        analyzer = TreePerfAnalyzer(TraceToTree(events))
        assert analyzer.get_kernel_launchers() == [] and analyzer.get_df_kernel_launchers().empty
        with pytest.raises(ValueError, match="no GPU events below a CPU event; include_unlinked_kernels=True"):
            analyzer.get_df_gpu_timeline()
        with pytest.warns(tracetree.TraceWarning, match="NOT_MODELED"):
            assert analyzer.build_df_perf_metrics(analyzer.tree.events[:1]).empty
    analyzer.include_unlinked_kernels = True
    assert list(analyzer.get_df_gpu_timeline()["time ms"]) == [0.1, 0, 0, 0.1, 0, 0.1, 0, 0]


@pytest.mark.parametrize("name", TRACES)
def test_the_timeline_is_that_of_the_gpu_events(name: str, real: Path) -> None:
    path = real / f"{name}.json.gz"
    times = TreePerfAnalyzer.from_file(path, include_unlinked_kernels=True).get_df_gpu_timeline()
    times = 1e3 * times.set_index("type")["time ms"]
    kinds: dict[str, list[tuple[float, float]]] = {"compute": [], "communicate": [], "copy": []}
    for event in raw_events(path):
        if event.get("cat") in GPU_WORK:
            kind = "copy" if event["cat"] == "gpu_memcpy" else "communicate" if "nccl" in event["name"] else "compute"
            kinds[kind].append(span(event))
    compute, communicate, copy = kinds.values()
    both, every = union(compute + communicate), compute + communicate + copy
    total = max(end for _, end in every) - min(begin for begin, _ in every)
    expected = {
        "computation_time": union(compute), "exposed_comm_time": both - union(compute),
        "exposed_memcpy_time": union(every) - both, "busy_time": union(every), "idle_time": total - union(every),
        "total_time": total, "total_comm_time": union(communicate), "total_memcpy_time": union(copy),
    }
    # The trace has times with a resolution of 1 ns, but a float has only that of 0.5 ns at this distance from the epoch.
    assert dict(times) == pytest.approx(expected, abs=0.002 * len(every), rel=1e-6)
    assert name != TRACES[0] or times["total_comm_time"] > times["exposed_comm_time"] > 0


def test_summaries_add_up(pair: tuple[Path, Path]) -> None:
    analyzer = TreePerfAnalyzer.from_file(pair[1])
    frame = analyzer.get_df_kernel_launchers(include_kernel_details=True, include_first_occurrence_time=True)
    rows = frame.to_dict("records")
    by_name = analyzer.get_df_kernel_launchers_summary(frame)
    assert list(by_name.columns) == [
        "name", f"{DIRECT}_sum", f"{SUBTREE}_sum", f"{DIRECT}_ms", f"{SUBTREE}_ms", "Count", "Categories", *SHARES,
    ]
    by_category = analyzer.get_df_kernel_launchers_summary_by_category(frame)
    assert list(by_category.columns) == ["op category", "Count", f"{DIRECT}_ms", *SHARES]
    for table, key in ((by_name, "name"), (by_category, "op category")):
        assert len(table) == len({row[key] for row in rows}) > 4
        for value, count, ms in zip(table[key], table["Count"], table[f"{DIRECT}_ms"]):
            own = [row for row in rows if row[key] == value]
            assert count == len(own) and ms == pytest.approx(sum(row[DIRECT] for row in own) / 1e3)
        assert table[f"{DIRECT}_ms"].is_monotonic_decreasing
        assert table[SHARES[0]].sum() == pytest.approx(100) == table[SHARES[1]].iloc[-1]
    categories = dict(zip(by_name["name"], by_name["Categories"]))
    assert categories["aten::addmm"] == {"GEMM"} and categories["aten::cudnn_convolution"] == {"CONV_fwd"}


def test_calls_with_equal_arguments_are_one_row(pair: tuple[Path, Path]) -> None:
    analyzer = TreePerfAnalyzer.from_file(pair[1])
    frame = analyzer.get_df_kernel_launchers(include_kernel_details=True, include_first_occurrence_time=True)
    table = analyzer.get_df_kernel_launchers_unique_args(frame, agg_metrics=["std", "mean"], include_pct=True)
    assert list(table.columns) == [
        "name", "op category", "process_name", "process_label", "thread_name", "Input Dims", "Input type", "Input Strides",
        "Concrete Inputs", "operation_count", "first_occurrence_time", f"{DIRECT}_mean", f"{SUBTREE}_mean",
        f"{DIRECT}_std", f"{SUBTREE}_std", f"{DIRECT}_sum", f"{SUBTREE}_sum", "ex_UID", "kernel_details_summary", *SHARES,
    ]
    same = ["name", "thread_name", "Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
    rows: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        rows.setdefault(tuple(row[column] for column in same), []).append(row)
    assert len(table) == len(rows) < len(frame) / 3
    for row in table.to_dict("records"):
        own = rows[tuple(row[column] for column in same)]
        times = [call[DIRECT] for call in own]
        assert (row["operation_count"], row["ex_UID"]) == (len(own), own[0]["UID"])
        assert row["first_occurrence_time"] == own[0]["ts"] - frame["ts"].min()
        assert row[f"{DIRECT}_sum"] == pytest.approx(sum(times))
        assert row[f"{DIRECT}_mean"] == pytest.approx(sum(times) / len(own))
        details = [call["kernel_details"] for call in own if len(call["kernel_details"]) == len(own[0]["kernel_details"])]
        assert len(row["kernel_details_summary"]) == len(details[0])
        for kernel, *durations in zip(row["kernel_details_summary"], *details):
            durations = [found["dur"] for found in durations]
            assert kernel["count"] == len(durations) and kernel["total_duration_us"] == pytest.approx(sum(durations))
            variance = sum((one - sum(durations) / len(durations)) ** 2 for one in durations) / len(durations)
            assert kernel["std_dev_duration_us"] == pytest.approx(variance**0.5, abs=1e-6)
    only = analyzer.get_df_kernel_launchers_unique_args(frame, event_name="aten::addmm")
    assert set(only["name"]) == {"aten::addmm"} and len(only) == (table["name"] == "aten::addmm").sum()
    with pytest.raises(ValueError, match="none of the columns name, op category"):
        analyzer.get_df_kernel_launchers_unique_args(frame[["UID", DIRECT, SUBTREE]])


def test_work_of_a_made_trace(made: TreePerfAnalyzer) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = made.build_df_perf_metrics([made.tree.events[0]], include_args=True, include_kernel_details=True)
    assert caught == []
    row = frame.iloc[0]
    # A product of 4 × 8 and 8 × 2: 8 multiplications and additions for each of 8 elements, and 56 floats of 4 bytes.
    assert row["GFLOPS"] == pytest.approx(1e-9 * 2 * 8 * 8) and row["Data Moved (MB)"] == 4 * 56 / 2**20
    assert row["Kernel Time (µs)"] == 60 and row["FLOPS/Byte"] == pytest.approx(128 / 224)
    assert row["TFLOPS/s"] == pytest.approx(1e-12 * 128 / 60e-6) and row["TB/s"] == pytest.approx(1e-12 * 224 / 60e-6)
    assert row["Input Dims"] == row["param: Input Dims"] == ((4, 8), (8, 2))
    assert [kernel["name"] for kernel in row["kernel_details"]] == ["gemm", "Memcpy DtoH", "gemm"]
    allreduce = next(event for event in made.tree.events if event["name"] == "c10d::allreduce_")
    with pytest.warns(tracetree.TraceWarning, match=r"NOT_MODELED: .* 1 of 1 events .*c10d::allreduce_") as warned:
        assert made.build_df_perf_metrics([allreduce]).empty
    assert [one.filename for one in warned] == [__file__]
    assert made.build_df_perf_metrics([]).empty and made.summarize_df_perf_metrics(pandas.DataFrame()).empty
    for option, match in (("bwd", "backward ops"), ("non_data_mov", "porting"), ("dict_name_to_perf_model", "Options")):
        with pytest.raises(NotImplementedError, match=f"does not take {option}: .*{match}"):
            made.build_df_perf_metrics([made.tree.events[0]], **{option: {"aten::mm": object}})


def literal(text: str) -> Any:
    return ast.literal_eval(text) if text else None


def differences(reference: list[dict[str, Any]], own: list[dict[str, Any]], events: Any) -> list[str]:
    """The figures for the calls of one op with one shape that differ from those of TraceLens by more than 0.1%."""
    first = reference[0]
    found = []
    for column in ("GFLOPS", "Data Moved (MB)"):
        if not all(row[column] == pytest.approx(first[column], rel=1e-3) for row in own):
            found.append(column)
    if len(own) != sum(row["operation_count"] for row in reference):
        found.append("operation_count")
    time, theirs = sum(row["Kernel Time (µs)"] for row in own), sum(row["Kernel Time (µs)_sum"] for row in reference)
    if time != pytest.approx(theirs, rel=1e-3):
        below = (events[uid] for row in own for uid in events[row["UID"]]["gpu_events"])
        memsets = sum(event["dur"] for event in below if event["cat"] == "gpu_memset")
        found.append("memsets" if time - memsets == pytest.approx(theirs, rel=1e-3) else "time")
    elif not found:
        # Equal work in equal time has equal rates.
        for column in ("TFLOPS/s", "TB/s"):
            rates = sum(row[f"{column}_mean"] * row["operation_count"] for row in reference)
            if sum(row[column] for row in own) != pytest.approx(rates, rel=1e-3):
                found.append(column)
    return found


def test_work_is_that_of_tracelens(real: Path) -> None:
    equal, differing = 0, {}
    for name, folder in REFERENCE.items():
        table = pandas.read_csv(
            real / "efficiency" / f"{name}.csv", converters={"Input Dims": literal, "Input type": literal}
        )
        analyzer = TreePerfAnalyzer.from_file(real / folder / f"{name}.json.gz")
        events = analyzer.tree.events

        def is_outermost(event: dict[str, Any]) -> bool:
            above = analyzer.tree.get_parent_event(event)
            return above is None or above["name"] != event["name"]

        ops = [event for event in events if event.get("gpu_events") and event["cat"] == "cpu_op" and is_outermost(event)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tracetree.TraceWarning)
            frame = analyzer.build_df_perf_metrics(ops)
        own: dict[Any, list[dict[str, Any]]] = {}
        for row in frame.to_dict("records"):
            own.setdefault((row["name"], row["param: Input Dims"], row["param: Input type"]), []).append(row)
        theirs: dict[Any, list[dict[str, Any]]] = {}
        for row in table[table["GFLOPS"].notna()].to_dict("records"):
            theirs.setdefault((row["name"], row["Input Dims"], row["Input type"]), []).append(row)
        for key, rows in theirs.items():
            found = differences(rows, own[key], events)
            equal += not found
            differing[key[0]] = differing.get(key[0], set()) | set(found)
    assert {name: found for name, found in differing.items() if found} == {
        # docs/reference/tracelens.md gives the reasons.
        "aten::copy_": {"GFLOPS", "Data Moved (MB)"},
        "aten::layer_norm": {"GFLOPS", "Data Moved (MB)"},
        "aten::convolution": {"GFLOPS", "Data Moved (MB)", "memsets"},
        "aten::convolution_backward": {"GFLOPS", "Data Moved (MB)", "memsets"},
        "aten::native_batch_norm_backward": {"Data Moved (MB)"},
        "aten::mean": {"Data Moved (MB)"},
        "aten::sum": {"Data Moved (MB)"},
        "aten::div": {"Data Moved (MB)"},
    }
    assert equal >= 120


def test_categories_are_those_of_tracelens(real: Path) -> None:
    equal, differing = 0, set()
    for name, folder in REFERENCE.items():
        table = pandas.read_csv(real / "efficiency" / f"{name}.csv")
        categories = table.groupby("name")["op category"].agg(set)
        frame = TreePerfAnalyzer.from_file(real / folder / f"{name}.json.gz").get_df_kernel_launchers()
        for op_name, category in zip(frame["name"], frame["op category"]):
            if op_name in categories:
                equal += category in categories[op_name]
                differing |= set() if category in categories[op_name] else {op_name}
    # TraceLens counts the copy inside the op.
    assert differing == {"aten::upsample_nearest1d"} and equal > 1500


def test_metrics_are_summarized_by_shape(pair: tuple[Path, Path]) -> None:
    analyzer = TreePerfAnalyzer.from_file(pair[1])
    ops = [event for event in analyzer.tree.events if event.get("name") == "aten::cudnn_convolution"]
    frame = analyzer.build_df_perf_metrics(ops, include_args=True, include_kernel_details=True)
    assert len(frame) == len(ops) > 40
    table = analyzer.summarize_df_perf_metrics(frame, agg_metrics=["mean", "max"])
    assert list(table.columns[:6]) == [
        "name", "param: Input Dims", "param: Input type", "GFLOPS_first", "Data Moved (MB)_first", "FLOPS/Byte_first",
    ]
    rows: dict[Any, list[dict[str, Any]]] = {}
    for row in frame.to_dict("records"):
        rows.setdefault(row["param: Input Dims"], []).append(row)
    assert len(table) == len(rows) > 1 and table["Kernel Time (µs)_sum"].is_monotonic_decreasing
    for row in table.to_dict("records"):
        own = rows[row["param: Input Dims"]]
        assert (row["name_count"], row["UID_first"]) == (len(own), own[0]["UID"])
        assert row["GFLOPS_first"] == own[0]["GFLOPS"] and row["Input Dims_first"] == own[0]["Input Dims"]
        assert row["Kernel Time (µs)_sum"] == pytest.approx(sum(call["Kernel Time (µs)"] for call in own))
        assert row["TFLOPS/s_max"] == max(call["TFLOPS/s"] for call in own)
        kernels = row["kernel_details__summarize_kernel_stats"]
        assert kernels[0]["name"] == own[0]["kernel_details"][0]["name"]
    # The device cannot be faster than its peak: 989 TFLOP/s.
    assert frame["TFLOPS/s"].between(0.1, 989).all()


def test_tables_take_less_than_two_seconds(real: Path) -> None:
    begin = time.process_time()
    analyzer = TreePerfAnalyzer.from_file(real / "mi300_h100" / "timesformer.mi300.json.gz")

    def timed(function: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal begin
        result = function(*arguments)
        now = time.process_time()
        assert now - begin < 2.0, function.__name__
        begin = now
        return result

    # The first call also reads the events and builds the tree.
    frame = timed(analyzer.get_df_kernel_launchers)
    for summary in ("summary", "summary_by_category", "unique_args"):
        assert len(timed(getattr(analyzer, f"get_df_kernel_launchers_{summary}"), frame)) > 5
    assert len(timed(analyzer.get_df_gpu_timeline)) == 8
    ops = [event for event in analyzer.tree.events if event.get("cat") == "cpu_op" and event.get("gpu_events")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tracetree.TraceWarning)
        metrics = timed(analyzer.build_df_perf_metrics, ops)
    assert len(timed(analyzer.summarize_df_perf_metrics, metrics)) > 50
