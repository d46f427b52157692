"""The tables of ``TreePerfAnalyzer``: the ops that launch GPU work, the use of the GPU over time, and the work of ops."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from tracetree._compare import diff
from tracetree._errors import TraceWarning
from tracetree._notes import depth

#: The columns that contain op arguments.
ARGUMENTS = ["Input Dims", "Input type", "Input Strides", "Concrete Inputs"]
#: The columns that name the process and the thread of an event.
THREAD = ["process_name", "process_label", "thread_name"]
#: The columns in which the calls in a row of the table of unique arguments are equal.
SAME = ["name", "op category", *THREAD, *ARGUMENTS]
#: Event categories that are GPU work.
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
#: The columns with the GPU time of a launcher: the GPU events that it launches, and all GPU events below it.
DIRECT, SUBTREE = "total_direct_kernel_time", "total_subtree_kernel_time"
#: Categories of ops by the name of the op; ``{}`` becomes ``fwd`` or ``bwd``.
OP_CATEGORIES = [
    ("triton", re.compile(r"^triton")),
    ("GEMM", re.compile(r"(?:^|_)(?:(?:add|badd)?b?mm|gemm|matmul|linear)(?:_|$)")),
    ("CONV_{}", re.compile(r"(?:^|_)conv(?:olution|[123]d)?(?:_|$)")),
    ("NORM_{}", re.compile(r"(?:layer|batch|group|instance|rms)_?norm")),
    ("SDPA_{}", re.compile(r"attention|flash_attn|fmha")),
    ("elementwise", re.compile(r"^copy_$")),
]
#: Categories of other ops, by a part of the name of their longest kernel.
KERNEL_CATEGORIES = [
    ("multi_tensor_apply", "multi_tensor_apply"),
    ("elementwise", "elementwise_kernel"),
    ("reduce", "reduce_kernel"),
]
#: The names of statistics of kernel durations.
STATISTICS = {
    "mean": "mean_duration_us",
    "median": "median_duration_us",
    "std": "std_dev_duration_us",
    "min": "min_duration_us",
    "max": "max_duration_us",
}
#: Bytes in a megabyte of TraceLens.
MEGABYTE = 1 << 20
#: How to get the efficiency of ops with one's own models.
OWN_MODELS = "tracetree.diff(…, options=tracetree.Options(efficiency=…)).efficiency"


class PerfTables:
    """The tables of one trace, with TraceLens's names for methods and columns. Times are in µs unless the column says ms.

    The methods that take a data frame summarize ``get_df_kernel_launchers()`` or ``build_df_perf_metrics()``.
    """

    tree: Any
    include_unlinked_kernels: bool

    def get_kernel_launchers(self, include_nccl: bool = False) -> list[dict[str, Any]]:
        """The events that launch GPU work, ordered by start time: for each GPU event the innermost op above it, or the
        runtime call if there is none.

        Sets on each of these events ``total_direct_kernel_time`` and ``total_subtree_kernel_time``, the time during which
        at least one GPU event that it launches, or one below it, runs; ``direct_kernel_count``; ``kernel_details``; and
        ``op category``. GPU events that are not below a CPU event are omitted, and collectives unless ``include_nccl``.
        """
        gpu = self._gpu_events()
        direct: dict[int, list[int]] = {}
        for uid, is_nccl in gpu["is_nccl"].items():
            launcher = self._launcher(uid) if include_nccl or not is_nccl else None
            if launcher is not None:
                direct.setdefault(launcher, []).append(uid)
        below = {uid: gpu_events_of(self.tree.events[uid]) for uid in direct}
        times = {DIRECT: busy(gpu, direct), SUBTREE: busy(gpu, below)}
        launchers = []
        for uid, kernels in direct.items():
            event = self.tree.events[uid]
            event.update({column: float(time[uid]) for column, time in times.items()})
            event["direct_kernel_count"] = len(kernels)
            event["kernel_details"] = self._kernel_details(kernels)
            longest = max(event["kernel_details"], key=lambda kernel: float(kernel["dur"]))
            event["op category"] = op_category(event["name"], longest["name"])
            launchers.append(event)
        return sorted(launchers, key=lambda event: (event["ts"], event["UID"]))

    def get_df_kernel_launchers(
        self,
        id_cols: bool = False,
        include_kernel_details: bool = False,
        include_call_stack: bool = False,
        include_first_occurrence_time: bool = False,
    ) -> Any:
        """One row per event in ``get_kernel_launchers()``, in the same order.

        ``id_cols`` adds ``pid``, ``tid`` and ``external_id``; ``include_kernel_details`` adds ``kernel_details``, and
        together with ``include_call_stack`` also ``call_stack`` and ``parent_module``; ``include_first_occurrence_time``
        adds ``ts``.
        """
        columns = ["name", "op category", "UID", DIRECT, SUBTREE, "direct_kernel_count"]
        rows = []
        for event in self.get_kernel_launchers():
            row = {column: event[column] for column in columns}
            if include_first_occurrence_time:
                row["ts"] = event["ts"]
            row.update(arguments(event))
            if id_cols:
                row.update(ids(event))
            if include_kernel_details:
                row["kernel_details"] = event["kernel_details"]
                if include_call_stack:
                    stack = self.tree.traverse_parents_and_get_callstack(event, filter=("nn.Module",))
                    module = re.sub(r"_\d+", "", stack[1]) if len(stack) > 1 else "NA"
                    row.update(call_stack=stack, parent_module=module)
            rows.append({**row, **self._thread(event)})
        return with_pandas().DataFrame(rows)

    @staticmethod
    def get_df_kernel_launchers_summary(df_kernel_launchers: Any) -> Any:
        """The launchers by name, with categories and percentages; the name with the most direct time comes first."""
        table = summed(df_kernel_launchers, "name")
        categories = df_kernel_launchers.groupby("name")["op category"].agg(set)
        table["Categories"] = categories.reindex(table["name"]).to_numpy()
        columns = [f"{time}_{unit}" for unit in ("sum", "ms") for time in (DIRECT, SUBTREE)]
        return table[["name", *columns, "Count", "Categories", *PERCENTAGES]]

    @staticmethod
    def get_df_kernel_launchers_summary_by_category(df_kernel_launchers: Any) -> Any:
        """The launchers by category, with percentages; the category with the most direct time comes first."""
        return summed(df_kernel_launchers, "op category")[["op category", "Count", f"{DIRECT}_ms", *PERCENTAGES]]

    @staticmethod
    def get_df_kernel_launchers_unique_args(
        df_kernel_launchers: Any,
        event_name: str | None = None,
        agg_metrics: Iterable[str] = ("mean",),
        include_pct: bool = False,
    ) -> Any:
        """The launchers with equal name, category, thread and arguments as one row, with ``operation_count``, the UID of
        the first of them, and statistics of their times. The row with the most direct time comes first.

        ``event_name`` selects one name, ``agg_metrics`` selects the statistics, and ``include_pct`` adds percentages.
        """
        frame = df_kernel_launchers
        if event_name is not None:
            frame = frame[frame["name"] == event_name]
        same = [column for column in SAME if column in frame]
        frame, grouped = grouped_by(frame, same)
        table = grouped[same].head(1).reset_index(drop=True)
        table["operation_count"] = grouped.size()
        if "ts" in frame:
            table["first_occurrence_time"] = grouped["ts"].min() - frame["ts"].min()
        metrics = list(dict.fromkeys([*agg_metrics, "sum"]))
        order = sorted(metrics, key=lambda metric: [*STATISTICS, "sum", metric].index(metric))
        for metric in order:
            for column in (DIRECT, SUBTREE):
                table[f"{column}_{metric}"] = grouped[column].agg(metric)
        table["ex_UID"] = grouped["UID"].first()
        if "kernel_details" in frame:
            table["kernel_details_summary"] = kernel_statistics(frame, metrics)
        if "parent_module" in frame:
            table["parent_module"] = grouped["parent_module"].first()
        by = [f"{DIRECT}_sum", "ex_UID"]
        table = table.sort_values(by, ascending=[False, True], ignore_index=True)
        return with_percentages(table, f"{DIRECT}_sum") if include_pct else table

    def get_df_gpu_timeline(self, micro_idle_thresh_us: float | None = None) -> Any:
        """The parts of the time from the first to the last GPU event, in ms and percent.

        Memory sets count as computation. Exposed communication is communication while no computation runs; exposed copies
        run while neither does. With ``micro_idle_thresh_us``, gaps shorter than this many µs are listed apart from longer
        gaps. GPU events that are not below a CPU event count only with ``include_unlinked_kernels``.
        """
        gpu = self._gpu_events()
        if not self.include_unlinked_kernels:
            gpu = gpu[[self.tree.events[uid].get("parent") is not None for uid in gpu.index]]
        if gpu.empty:
            rest = " below a CPU event; include_unlinked_kernels=True counts the others"
            hint = "" if self.include_unlinked_kernels else rest
            raise ValueError(f"{self.tree.trace.source} has no GPU events{hint}")
        pandas = with_pandas()
        kinds = gpu["is_nccl"].map({True: "communication", False: "computation"})
        kinds = kinds.mask(gpu["cat"] == "gpu_memcpy", "memcpy")
        # Each event begins and ends at a point; between two points, the numbers of running events are constant.
        points = pandas.concat(
            pandas.DataFrame({"at": gpu[edge], "kind": kinds, "change": change})
            for edge, change in (("begin", 1), ("end", -1))
        )
        running = points.pivot_table(index="at", columns="kind", values="change", aggfunc="sum", fill_value=0)
        runs = running.reindex(columns=["computation", "communication", "memcpy"], fill_value=0).cumsum() > 0
        at = runs.index.to_series()
        span = (at.shift(-1, fill_value=at.iloc[-1]) - at) / 1e3
        computes, communicates, copies = (runs[kind] for kind in runs)
        is_busy = computes | communicates | copies
        idle = span[~is_busy]
        times = {
            "computation_time": span[computes].sum(),
            "exposed_comm_time": span[communicates & ~computes].sum(),
            "exposed_memcpy_time": span[copies & ~communicates & ~computes].sum(),
            "busy_time": span[is_busy].sum(),
        }
        if micro_idle_thresh_us is None:
            times["idle_time"] = idle.sum()
        else:
            times["micro_idle_time"] = idle[idle < micro_idle_thresh_us].sum()
            times["macro_idle_time"] = idle[idle >= micro_idle_thresh_us].sum()
        times["total_time"] = span.sum()
        times["total_comm_time"] = span[communicates].sum()
        times["total_memcpy_time"] = span[copies].sum()
        table = pandas.DataFrame({"type": list(times), "time ms": [time / 1e3 for time in times.values()]})
        table["percent"] = 100 * table["time ms"] / (times["total_time"] / 1e3)
        return table

    def build_df_perf_metrics(
        self,
        events: Iterable[dict[str, Any]],
        bwd: bool = False,
        non_data_mov: bool = False,
        include_kernel_details: bool = False,
        include_args: bool = False,
        dict_name_to_perf_model: dict[str, Any] | None = None,
    ) -> Any:
        """One row per event: the floating-point operations and the bytes that its work needs, the time during which its
        GPU events run, and the rates.

        The work is that in ``tracetree.diff(…).efficiency``: the mean of the calls with the same name, shapes and types,
        which are the columns ``param: …``; for an op that is not in that table, the sum of the ops that launch its GPU
        events. Events whose work is not modeled are omitted, with a ``TraceWarning``. Raises ``NotImplementedError`` for
        ``bwd``, ``non_data_mov`` and ``dict_name_to_perf_model``.
        """
        for name, value, instead in (
            ("bwd", bwd, "pass the backward ops themselves; tree.get_subtree_bwd_events(uid) finds them"),
            ("non_data_mov", non_data_mov, "use the column not_work_pct of tracetree.diff(…).porting"),
            ("dict_name_to_perf_model", dict_name_to_perf_model, f"use {OWN_MODELS}"),
        ):
            if value:
                raise NotImplementedError(f"build_df_perf_metrics() does not take {name}: {instead}")
        chosen = list(events)
        modeled = [(event, work) for event in chosen if (work := self._work_of(event)) is not None]
        if len(modeled) < len(chosen):
            without = {event["name"] for event in chosen} - {event["name"] for event, _ in modeled}
            named = f" ({', '.join(sorted(without)[:3])}{', …' if len(without) > 3 else ''})" if without else ""
            warnings.warn(
                TraceWarning(
                    f"NOT_MODELED: the work of {len(chosen) - len(modeled)} of {len(chosen)} events is not "
                    f"modeled{named}, so the table omits them; for your own models, use {OWN_MODELS}"
                ),
                stacklevel=depth(),
            )
        pandas = with_pandas()
        if not modeled:
            return pandas.DataFrame()
        times = busy(self._gpu_events(), {number: gpu_events_of(event) for number, (event, _) in enumerate(modeled)})
        rows = []
        for number, (event, (gflops, moved)) in enumerate(modeled):
            time = float(times.get(number, 0.0))
            seconds = time / 1e6 if time > 0 else float("nan")
            row = {"cat": event.get("cat"), "name": event["name"], "UID": event["UID"]}
            row.update(**self._thread(event), **ids(event))
            if include_args:
                row.update(arguments(event))
            row.update(
                {
                    "GFLOPS": gflops,
                    "Kernel Time (µs)": time,
                    "TFLOPS/s": gflops / 1e3 / seconds,
                    "Data Moved (MB)": moved / MEGABYTE,
                    "FLOPS/Byte": 1e9 * gflops / moved if moved > 0 else float("nan"),
                    "TB/s": moved / 1e12 / seconds,
                }
            )
            if include_kernel_details:
                row["kernel_details"] = self._kernel_details(gpu_events_of(event))
            row.update({f"param: {name}": value for name, value in list(arguments(event).items())[:2]})
            rows.append(row)
        return pandas.DataFrame(rows)

    @staticmethod
    def summarize_df_perf_metrics(df_perf_metrics: Any, agg_metrics: Iterable[str] = ("mean", "std")) -> Any:
        """The rows with equal names and equal columns ``param: …`` as one row, with statistics of times and rates. The
        row with the most time comes first."""
        if df_perf_metrics.empty:
            return with_pandas().DataFrame()
        keys = ["name", *(column for column in df_perf_metrics if column.startswith("param: "))]
        frame, grouped = grouped_by(df_perf_metrics, keys)
        metrics = list(agg_metrics)
        wanted = {column: ["first"] for column in ("GFLOPS", "Data Moved (MB)", "FLOPS/Byte")}
        wanted.update({column: metrics for column in ("TB/s", "TFLOPS/s")})
        wanted.update({column: ["first"] for column in (*THREAD, *ARGUMENTS) if column in frame})
        wanted["Kernel Time (µs)"] = list(dict.fromkeys([*metrics, "sum"]))
        wanted.update(name=["count"], UID=["first"])
        found = grouped.agg(wanted)
        found.columns = ["_".join(column) for column in found.columns]
        if "kernel_details" in frame:
            found["kernel_details__summarize_kernel_stats"] = kernel_statistics(frame, metrics)
        table = grouped[keys].head(1).reset_index(drop=True).join(found)
        by = ["Kernel Time (µs)_sum", "UID_first"]
        return table.sort_values(by, ascending=[False, True], ignore_index=True)

    def _gpu_events(self) -> Any:
        """The GPU events by UID: ``cat``, ``is_nccl``, ``begin`` and ``end`` in ns."""
        rows = []
        for node in self.tree.native:
            if node.kind == "gpu" and node.uid is not None and node.start_us is not None:
                category = self.tree.events[node.uid].get("cat")
                if category in GPU_WORK:
                    begin = round(1e3 * node.start_us)
                    end = begin + round(1e3 * node.duration_us)
                    rows.append((node.uid, category, "nccl" in node.name.lower(), begin, end))
        frame = with_pandas().DataFrame(rows, columns=["uid", "cat", "is_nccl", "begin", "end"])
        numbers = dict.fromkeys(("uid", "begin", "end"), "int64")
        return frame.astype({**numbers, "is_nccl": bool}).set_index("uid").sort_index()

    def _launcher(self, uid: int) -> int | None:
        """The UID of the event that launches a GPU event."""
        launch = above = self.tree.get_parent_event(self.tree.events[uid])
        # As in TraceLens, an op "execute" only runs the op above it.
        while above is not None and (above.get("cat") != "cpu_op" or above["name"] == "execute"):
            above = self.tree.get_parent_event(above)
        found = launch if above is None else above
        return None if found is None else int(found["UID"])

    def _kernel_details(self, uids: Iterable[int]) -> list[dict[str, Any]]:
        kernels = (self.tree.events[uid] for uid in uids)
        return [
            {"name": kernel["name"], "dur": kernel["dur"], "stream": (kernel.get("args") or {}).get("stream")}
            for kernel in kernels
        ]

    def _thread(self, event: dict[str, Any]) -> dict[str, str]:
        """The names of the process and thread of an event."""
        threads = self._metadata.get(event.get("pid"), {})
        process, thread = threads.get(0, {}), threads.get(event.get("tid"), {})
        values = (process.get("process_name"), process.get("process_labels"), thread.get("thread_name"))
        return {column: "Unknown" if value is None else value for column, value in zip(THREAD, values)}

    @cached_property
    def _metadata(self) -> dict[Any, dict[Any, dict[str, Any]]]:
        found: dict[Any, dict[Any, dict[str, Any]]] = self.tree.metadata
        return found

    @cached_property
    def _work(self) -> dict[tuple[Any, ...], tuple[float, float]]:
        """For the name, shapes and types of each modeled op: 10⁹ floating-point operations, and bytes, of a call."""
        with warnings.catch_warnings():
            # The warnings are about a comparison that the caller did not ask for.
            warnings.simplefilter("ignore", TraceWarning)
            table = diff(self.tree.trace, self.tree.trace, python=False, progress=False).efficiency
        names = ("input_shape_baseline", "input_type_baseline", "count_baseline", "gflops_baseline", "mbytes_baseline")
        found = {}
        for name, shapes, types, count, gflops, mbytes in zip(*(table.column(name) for name in ("name", *names))):
            if count and gflops is not None:
                moved = float("nan") if mbytes is None else 1e6 * mbytes / count
                found[name, tuples(shapes), tuples(types)] = (gflops / count, moved)
        return found

    def _work_of(self, event: dict[str, Any]) -> tuple[float, float] | None:
        """The work of an event, or the sum of the work of the ops that launch its GPU events; ``None`` unless all of it
        is modeled."""
        if (own := self._work.get(work_key(event))) is not None:
            return own
        ops: dict[int, tuple[float, float]] = {}
        for uid in gpu_events_of(event):
            above = self.tree.get_parent_event(self.tree.events[uid])
            while above is not None and above is not event and work_key(above) not in self._work:
                above = self.tree.get_parent_event(above)
            if above is None or above is event:
                return None
            ops[above["UID"]] = self._work[work_key(above)]
        if not ops:
            return None
        return sum(gflops for gflops, _ in ops.values()), sum(moved for _, moved in ops.values())


def gpu_events_of(event: dict[str, Any]) -> list[int]:
    """The UIDs of the GPU events below an event."""
    return list(event.get("gpu_events", ()))


def arguments(event: dict[str, Any]) -> dict[str, Any]:
    """The recorded arguments of an op as tuples; ``None`` where none are recorded."""
    found = event.get("args") or {}
    return {column: as_tuples(found.get(column)) for column in ARGUMENTS}


def ids(event: dict[str, Any]) -> dict[str, Any]:
    """The process, thread and external id of an event."""
    external = (event.get("args") or {}).get("External id")
    return {"pid": event.get("pid"), "tid": event.get("tid"), "external_id": external}


def work_key(event: dict[str, Any]) -> tuple[Any, ...]:
    """The name, shapes and types of an event."""
    found = event.get("args") or {}
    return (event.get("name"), as_tuples(found.get("Input Dims")), as_tuples(found.get("Input type")))


def op_category(name: str, kernel: str) -> str:
    """The category of an op, by its name, or by the name of its longest kernel if its name is in no category."""
    leaf = name.rsplit("::", 1)[-1].lower()
    for category, pattern in OP_CATEGORIES:
        if pattern.search(leaf):
            return category.format("bwd" if "backward" in leaf else "fwd")
    return next((category for category, part in KERNEL_CATEGORIES if part in kernel), "other")


#: The columns that ``with_percentages`` adds.
PERCENTAGES = ["Percentage (%)", "Cumulative Percentage (%)"]


def with_percentages(table: Any, column: str) -> Any:
    """Adds each row's share of the sum of a column, and the sum of the shares up to this row."""
    shares = 100 * table[column] / table[column].sum()
    return table.assign(**dict(zip(PERCENTAGES, (shares, shares.cumsum()))))


def summed(launchers: Any, key: str) -> Any:
    """The sums of the launchers' times in µs and ms, by one column; the row with the most direct time comes first."""
    grouped = launchers.groupby(key)
    table = grouped[[DIRECT, SUBTREE]].sum().add_suffix("_sum").assign(Count=grouped.size()).reset_index()
    table = table.sort_values(f"{DIRECT}_sum", ascending=False, kind="stable", ignore_index=True)
    for column in (DIRECT, SUBTREE):
        table[f"{column}_ms"] = table[f"{column}_sum"] / 1e3
    return with_percentages(table, f"{DIRECT}_ms")


def grouped_by(frame: Any, keys: list[str]) -> tuple[Any, Any]:
    """The rows with a column ``group``, which numbers the groups of rows that have equal texts in all keys, and the rows
    grouped by it."""
    if not keys:
        raise ValueError(f"the data frame has none of the columns {', '.join(SAME)}")
    numbers = frame[keys].astype(str).groupby(keys, sort=False).ngroup()
    frame = frame.assign(group=numbers).reset_index(drop=True)
    return frame, frame.groupby("group")


def kernel_statistics(frame: Any, metrics: Iterable[str]) -> Any:
    """For each group, one dictionary per kernel of its calls: name, stream, count, total duration and statistics. Calls
    that launch another number of kernels than the first call of the group are omitted."""
    lengths = frame["kernel_details"].map(len)
    details = frame.loc[lengths == lengths.groupby(frame["group"]).transform("first"), ["group", "kernel_details"]]
    flat = details.explode("kernel_details")
    position = flat.groupby(level=0).cumcount()
    values = with_pandas().DataFrame(list(flat["kernel_details"]), index=flat.index, columns=["name", "dur", "stream"])
    kernels = values.groupby([flat["group"], position])
    table = kernels[["name", "stream"]].first()
    table["count"] = kernels.size()
    table["total_duration_us"] = kernels["dur"].sum()
    for metric in metrics:
        if metric in STATISTICS:
            table[STATISTICS[metric]] = kernels["dur"].std(ddof=0) if metric == "std" else kernels["dur"].agg(metric)
    found: dict[int, list[dict[str, Any]]] = {}
    for (group, _), row in zip(table.index, table.to_dict("records")):
        found.setdefault(group, []).append(row)
    return with_pandas().Series(found, dtype=object)


def uncovered(spans: Any, keys: list[str]) -> Any:
    """The part of each interval from ``begin`` to ``end`` that no earlier interval with the same keys covers. Expects
    intervals in order of ``begin``."""
    groups = [spans[key] for key in keys]
    covered = spans["end"].groupby(groups).cummax().groupby(groups).shift(fill_value=-(1 << 62))
    return (spans["end"] - covered.where(covered > spans["begin"], spans["begin"])).clip(lower=0)


def busy(gpu: Any, below: dict[int, list[int]]) -> Any:
    """For each key, the time in µs during which at least one of the GPU events with the given UIDs runs."""
    pairs = [(key, uid) for key, uids in below.items() for uid in uids]
    spans = with_pandas().DataFrame(pairs, columns=["key", "uid"]).astype("int64")
    spans = spans.join(gpu[["begin", "end"]], on="uid", how="inner")
    spans = spans.sort_values("begin", kind="stable", ignore_index=True)
    return uncovered(spans, ["key"]).groupby(spans["key"]).sum() / 1e3


def as_tuples(value: Any) -> Any:
    """Converts lists to tuples, because only tuples can be used as keys."""
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def tuples(text: str | None) -> Any:
    """The recorded arguments of an op as tuples. Text that is not JSON is returned unchanged."""
    if text is None:
        return None
    try:
        return as_tuples(json.loads(text))
    except ValueError:
        return text


def with_pandas() -> Any:
    """The module pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tracetree.tracelens needs pandas: pip install pandas") from None
    return pandas
