"""Compatibility with TraceLens: the same classes, methods and data frames, implemented by tracetree.

A script that uses ``TraceDiff`` runs after its import is changed:

>>> from tracetree.tracelens import TraceDiff, TreePerfAnalyzer
>>> tree1 = TreePerfAnalyzer.from_file("examples/traces/resnet.rocm.json.gz").tree
>>> tree2 = TreePerfAnalyzer.from_file("examples/traces/resnet.cuda.json.gz").tree
>>> td = TraceDiff(tree1, tree2)
>>> td.generate_tracediff_report()
>>> td.get_corresponding_uid(1, 38)
35
>>> tree1.get_UID2event(38)["name"]
'aten::_convolution'

The columns of the data frames have the same names and meanings as in TraceLens at the end of August 2026. All other
tracetree features are available through ``td.comparison``.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tracetree import _events
from tracetree._compare import diff
from tracetree._compare import open as read
from tracetree._errors import TraceWarning
from tracetree._native import Comparison, Node, Table, Trace, Tree
from tracetree._notes import depth

__all__ = ["DataLoader", "PyTorchTraceToTree", "TraceDiff", "TraceToTree", "TreePerfAnalyzer"]

#: TraceLens names that tracetree does not offer, each with an alternative or a reason.
NOT_OFFERED = {
    "GPUEventAnalyser": "use tracetree.diff(…).steps and .idle",
    "JaxAnalyses": "tracetree compares two traces and does not report on a single trace",
    "JaxTreePerfAnalyzer": "tracetree compares two traces and does not report on a single trace",
    "NcclAnalyser": "use tracetree.fleet",
    "EventReplayer": "tracetree does not replay ops",
    "PerfModel": "use tracetree.diff(…).efficiency",
    "TraceFuse": "pass the folders with the ranks' traces to tracetree.fleet",
}


def __getattr__(name: str) -> Any:
    if name in NOT_OFFERED:
        raise ImportError(f"tracetree.tracelens does not offer {name}: {NOT_OFFERED[name]}")
    raise AttributeError(f"module 'tracetree.tracelens' has no attribute {name!r}")


class DataLoader:
    """Reads files."""

    @staticmethod
    def load_data(filename_path: str | os.PathLike[str], save_preprocessed: bool = False) -> dict[str, Any]:
        """A trace as a dictionary with ``traceEvents``.

        Raises ``NotImplementedError`` for XLA profiles and for ``save_preprocessed``.
        """
        path = os.fspath(filename_path)
        if save_preprocessed:
            raise NotImplementedError("load_data() does not write preprocessed files: omit save_preprocessed")
        if path.endswith((".pb", ".pb.gz", ".pftrace")):
            raise NotImplementedError(f"{path}: load_data() reads JSON traces: use tracetree.diff for other formats")
        return {"traceEvents": _events.load(path)}


class TreePerfAnalyzer:
    """Reads a trace. Pass its ``tree`` to ``TraceDiff``."""

    def __init__(self, tree: TraceTree) -> None:
        self.tree = tree

    @staticmethod
    def from_file(profile_filepath: str | os.PathLike[str], *args: Any, **kwargs: Any) -> TreePerfAnalyzer:
        """Reads a file. TraceLens's other arguments are accepted and ignored."""
        return TreePerfAnalyzer(TraceTree(read(profile_filepath)))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"TreePerfAnalyzer.{name} is not offered: tracetree.diff(…).efficiency has FLOPs, bytes and rates for ops"
        )


class TraceTree:
    """The call tree of one trace, with events as dictionaries.

    ``events`` contains the elements of ``traceEvents`` in file order; the ``UID`` of an event is its position.
    Events in the tree have ``parent``, ``children``, ``gpu_events`` and ``nn_module_stack``; events with no GPU
    event below them also have ``non_gpu_path``. The events are read on first use.
    """

    def __init__(self, trace: Trace, events: list[dict[str, Any]] | None = None) -> None:
        self.trace = trace
        self.native: Tree = trace.tree()
        self._given = events
        self._events: list[dict[str, Any]] | None = None
        self._cpu_roots: list[int] | None = None

    def build_tree(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing, because the tree is already built."""

    def label_non_gpu_paths(self) -> None:
        """Does nothing, because ``non_gpu_path`` is already set on the events to which it applies."""

    @property
    def tree(self) -> TraceTree:
        """This object, so that a tree can be passed in place of an analyzer, which has an attribute ``tree``."""
        return self

    @property
    def events(self) -> list[dict[str, Any]]:
        """All events, in order of UID."""
        if self._events is None:
            self._events = self._linked()
        return self._events

    @property
    def events_by_uid(self) -> dict[int, dict[str, Any]]:
        """A dictionary from UID to event."""
        return dict(enumerate(self.events))

    @property
    def cpu_root_nodes(self) -> list[int]:
        """The UIDs of the ops that no other op calls, ordered by start time."""
        if self._cpu_roots is None:
            roots = [node for node in outermost_ops(self.native) if node.uid is not None]
            roots.sort(key=lambda node: (node.start_us, node.uid))
            self._cpu_roots = [node.uid for node in roots if node.uid is not None]
        return self._cpu_roots

    def get_UID2event(self, uid: int) -> dict[str, Any]:
        """The event with this UID. Raises ``KeyError`` if there is no such event."""
        if uid is None or not 0 <= uid < len(self.events):
            raise KeyError(f"{self.trace.source} has no event {uid}: UIDs are positions in traceEvents")
        return self.events[uid]

    def get_parent_event(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """The event that contains the given event; ``None`` for a root."""
        parent = event.get("parent")
        return None if parent is None else self.events[parent]

    def get_children_events(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """The direct children of the given event, ordered by start time."""
        return [self.events[uid] for uid in event.get("children", [])]

    def get_gpu_events(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """The GPU events below the given event."""
        return [self.events[uid] for uid in event.get("gpu_events", [])]

    def event_to_category(self, event: dict[str, Any]) -> str | None:
        """The category of an event, such as ``cpu_op`` or ``kernel``."""
        return event.get("cat")

    def traverse_subtree_and_print(self, node: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        """Prints an event and everything below it."""
        for line in self._drawn(node, "", True):
            print(line)

    def _drawn(self, event: dict[str, Any], prefix: str, is_last: bool) -> Iterator[str]:
        yield f"{prefix}{'└── ' if is_last else '├── '}{described(event)}"
        children = self.get_children_events(event)
        for at, child in enumerate(children, 1):
            yield from self._drawn(child, prefix + ("    " if is_last else "│   "), at == len(children))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"the tree has no attribute {name!r} in tracetree.tracelens; tracetree.open(path).tree() offers "
            "parent, children, ancestors, kernels, module and stack of every call"
        )

    def _linked(self) -> list[dict[str, Any]]:
        """The events as dictionaries that also contain ``UID``, ``t_end``, ``parent``, ``children`` and the other keys
        of the tree."""
        given = self._given
        if given is None:
            origin = self.trace._origin
            given = _events.load(origin[0] if origin is not None else self.trace.source)
        events = [{**event, "UID": uid} if isinstance(event, dict) else {"UID": uid} for uid, event in enumerate(given)]
        for event in events:
            if isinstance(event.get("ts"), (int, float)) and isinstance(event.get("dur"), (int, float)):
                event["t_end"] = event["ts"] + event["dur"]
        link(self.native, events)
        return events


#: Maximum length of a name in a printed subtree; longer names are truncated.
DRAWN = 64


def described(event: dict[str, Any]) -> str:
    """One line for an event in a printed subtree: UID, category, name and, for GPU work, the duration in µs."""
    name, category = str(event.get("name")), event.get("cat")
    shown = name if len(name) <= DRAWN else name[:DRAWN] + ".."
    duration = f", Duration: {event.get('dur')}" if category in GPU_WORK else ""
    return f"UID: {event['UID']}, Category: {category}, Name: {shown}{duration}"


#: Event categories that are GPU work.
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")


def TraceToTree(events_data: list[dict[str, Any]], *args: Any, **kwargs: Any) -> TraceTree:
    """Builds the tree for a list of events, such as ``json.load(file)["traceEvents"]``."""
    return TraceTree(read({"traceEvents": events_data}), events_data)


#: TraceLens's name for ``TraceToTree``.
PyTorchTraceToTree = TraceToTree


def outermost_ops(tree: Tree) -> Iterator[Node]:
    """The ops that no other op contains."""
    stack = list(reversed(tree.roots))
    while stack:
        node = stack.pop()
        if node.kind == "op":
            yield node
        else:
            stack.extend(reversed(node.children))


def link(tree: Tree, events: list[dict[str, Any]]) -> None:
    """Adds keys such as ``parent`` and ``children`` to each event in the tree."""

    def visit(root: Node) -> None:
        # Each entry of the stack contains a node, the UID of the node's parent, and the modules that enclose the node.
        # GPU events are added to their ancestors later.
        stack: list[tuple[Node, int | None, list[str]]] = [(root, None, [])]
        order: list[tuple[int | None, int | None, bool]] = []
        while stack:
            node, parent, modules = stack.pop()
            uid = node.uid
            if uid is not None:
                event = events[uid]
                event["parent"] = parent
                event["nn_module_stack"] = modules or ["root"]
                event["children"] = []
                event["gpu_events"] = []
                if parent is not None:
                    events[parent]["children"].append(uid)
                order.append((uid, parent, node.kind == "gpu"))
                if node.kind == "frame" and node.name.startswith("nn.Module: "):
                    modules = [*modules, node.name]
            stack += [(child, uid, modules) for child in reversed(node.children)]
        # Iterate over the preorder in reverse, so that an event is visited after all events below it.
        for uid, parent, is_gpu in reversed(order):
            assert uid is not None
            below = events[uid]["gpu_events"]
            if not below and not is_gpu:
                events[uid]["non_gpu_path"] = True
            if parent is not None:
                events[parent]["gpu_events"][:0] = [uid, *below] if is_gpu else below

    for root in tree.roots:
        visit(root)


class TraceDiff:
    """The comparison of two trees, with the interface of TraceLens."""

    comparison: Comparison
    """The comparison, as returned by ``tracetree.diff``."""

    def __init__(self, tree1: Any, tree2: Any) -> None:
        self.baseline, self.variant = as_tree(tree1), as_tree(tree2)
        self.comparison = diff(self.baseline.trace, self.variant.trace)
        self.merged_tree: tuple[list[dict[str, Any]], list[int]] | None = None
        self.merged_uid_map: dict[tuple[int, int], int] = {}
        self.db1: list[dict[str, Any]] = []
        self.db2: list[dict[str, Any]] = []
        self.pod1: set[int] = set()
        self.pod2: set[int] = set()
        pandas = with_pandas()
        self.diff_stats_df: Any = pandas.DataFrame()
        self.diff_stats_summary_df: Any = pandas.DataFrame()
        self.diff_stats_unique_args_summary_df: Any = pandas.DataFrame()
        self.diff_stats_names_summary_df: Any = pandas.DataFrame()
        self.identical_traces = False
        self.cpu_op_map: dict[str, Any] | None = None
        self.cpu_op_map_trace1: Any = None
        self.cpu_op_map_trace2: Any = None
        self._by_id: dict[int, dict[str, Any]] = {}
        self._parents: dict[int, int] = {}
        self._ids: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.merge_trees()

    @property
    def diff_stats_name_summary_df(self) -> Any:
        """``diff_stats_names_summary_df`` under the name used in TraceLens's documentation."""
        return self.diff_stats_names_summary_df

    # The merged tree

    def merge_trees(self) -> tuple[list[dict[str, Any]], list[int]]:
        """The nodes in the merged tree, and the ids of the roots.

        A node has ``merged_id``, ``uid1``, ``uid2``, ``name``, ``merged_type`` (``combined``, ``trace1``, ``trace2``)
        and ``children``. ``uid1`` or ``uid2`` is ``None`` if that trace has no such event. Ids are the same as in
        tracetree's ``merged_tree_output.txt``; threads, which are not events, are omitted.
        """
        nodes: list[dict[str, Any]] = []
        roots: list[int] = []
        self._by_id.clear()
        self._parents.clear()
        for at, (name, uid1, uid2, parent, first, second) in enumerate(self.comparison._merged_nodes()):
            if uid1 is None and uid2 is None:
                continue
            kind = "combined" if first and second else "trace1" if first else "trace2"
            node: dict[str, Any] = {"merged_id": at, "uid1": uid1, "uid2": uid2, "name": name, "merged_type": kind, "children": []}
            nodes.append(node)
            self._by_id[at] = node
            above = self._by_id.get(parent) if parent is not None else None
            if above is None:
                roots.append(at)
            else:
                above["children"].append(at)
                self._parents[at] = above["merged_id"]
            for tree, uid, other in ((1, uid1, uid2), (2, uid2, uid1)):
                if uid is not None:
                    self.merged_uid_map[(tree, uid)] = -1 if other is None else other
                    self._ids[tree - 1][uid] = at
        self.merged_tree = (nodes, roots)
        self.calculate_diff_boundaries()
        return self.merged_tree

    def calculate_diff_boundaries(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], set[int], set[int]]:
        """The outermost events without a counterpart, and the UIDs of all events without a counterpart.

        Returns ``db1``, ``db2``, ``pod1`` and ``pod2``, which are also attributes. The items in ``db1`` and
        ``db2`` are merged nodes with ``UID`` and ``name``.
        """
        self.db1, self.db2, self.pod1, self.pod2 = [], [], set(), set()
        sides = (("trace1", "uid1", self.db1, self.pod1), ("trace2", "uid2", self.db2, self.pod2))
        for at, node in self._by_id.items():
            for kind, key, boundary, pod in sides:
                if node["merged_type"] == kind:
                    pod.add(node[key])
                    above = self._by_id.get(self._parents.get(at, -1))
                    if above is None or above["merged_type"] != kind:
                        boundary.append({"UID": node[key], "name": node["name"], "merged_id": at})
        return self.db1, self.db2, self.pod1, self.pod2

    def add_to_pod(self, node: dict[str, Any], pod: set[int], tree: TraceTree) -> None:
        """Adds to ``pod`` the UIDs of an event and of all events below it."""
        stack = [node]
        while stack:
            event = stack.pop()
            pod.add(event["UID"])
            stack += tree.get_children_events(event)

    def wagner_fischer(
        self, items1: list[int], items2: list[int], wf_cache: dict[Any, Any] | None = None, strip_details: bool = False
    ) -> list[tuple[str, int | None, int | None]]:
        """Aligns two lists of UIDs based on tracetree's matches. Returns a list of alignment steps: ``("match", i,
        j)``, ``("delete", i, None)`` and ``("insert", None, j)``.

        The traces are already compared, so ``wf_cache`` and ``strip_details`` have no effect. A match that crosses an
        earlier match is returned as a deletion and an insertion.
        """
        positions = {uid: at for at, uid in enumerate(items2)}
        steps: list[tuple[str, int | None, int | None]] = []
        at = 0
        for i, uid in enumerate(items1):
            j = positions.get(self.get_corresponding_uid(1, uid), -1)
            if j < at:
                steps.append(("delete", i, None))
                continue
            steps += [("insert", None, skipped) for skipped in range(at, j)]
            steps.append(("match", i, j))
            at = j + 1
        return steps + [("insert", None, left) for left in range(at, len(items2))]

    def get_corresponding_uid(self, tree_num: int, uid: int) -> int:
        """The uid of the counterpart in the other trace; -1 if there is no counterpart.

        ``tree_num`` (1 or 2) says which tree contains ``uid``.
        """
        if tree_num not in (1, 2):
            raise ValueError(f"tree_num must be 1 or 2, not {tree_num!r}")
        return self.merged_uid_map.get((tree_num, uid), -1)

    def print_merged_subtree(self, uid_tree1: int | None = None, uid_tree2: int | None = None) -> None:
        """Prints the merged tree below an event of either trace."""
        if uid_tree1 is None and uid_tree2 is None:
            raise ValueError("At least one of uid_tree1 or uid_tree2 must be provided.")
        tree, uid = (0, uid_tree1) if uid_tree1 is not None else (1, uid_tree2)
        assert uid is not None
        found = self._ids[tree].get(uid)
        if found is None:
            raise ValueError(f"Could not find merged node for the given UID: trace{tree + 1} has no call {uid}.")
        for line in self._drawn(found):
            print(line)

    def print_merged_tree(self, output_file: str | os.PathLike[str], prune_non_gpu: bool = False) -> None:
        """Writes the merged tree. ``prune_non_gpu`` omits nodes with no GPU event at or below them."""
        kept = self._with_gpu() if prune_non_gpu else None
        assert self.merged_tree is not None
        roots = [root for root in self.merged_tree[1] if kept is None or root in kept]
        with open(output_file, "w", encoding="utf-8") as file:
            for at, root in enumerate(roots, 1):
                for line in self._drawn(root, kept, is_last=at == len(roots)):
                    file.write(line + "\n")

    def _with_gpu(self) -> set[int]:
        """The ids of the merged nodes with a GPU event at or below them."""
        kept: set[int] = set()
        for source, ids in zip((self.baseline, self.variant), self._ids):
            for node in source.native:
                if node.kind == "gpu" and node.uid is not None:
                    at: int | None = ids.get(node.uid)
                    while at is not None and at not in kept:
                        kept.add(at)
                        at = self._parents.get(at)
        return kept

    def _drawn(self, root: int, kept: set[int] | None = None, is_last: bool = True) -> Iterator[str]:
        """The lines for a merged subtree: matched children first, then the unmatched children of each trace."""
        order = {"combined": 0, "trace1": 1, "trace2": 2}
        marks = {"combined": "", "trace1": ">> trace1: ", "trace2": "<< trace2: "}
        stack = [(root, "", is_last)]
        while stack:
            at, prefix, last = stack.pop()
            node = self._by_id[at]
            name = node["name"]
            if node["merged_type"] == "combined" and " | " in name and not name.startswith("combined: "):
                name = f"combined: {name}"
            yield f"{prefix}{'└── ' if last else '├── '}{marks[node['merged_type']]}{name}"
            children = [child for child in node["children"] if kept is None or child in kept]
            children.sort(key=lambda child: order[self._by_id[child]["merged_type"]])
            inner = prefix + ("    " if last else "│   ")
            stack += [(child, inner, n == 0) for n, child in enumerate(reversed(children))]

    # Data frames

    def generate_tracediff_report(self) -> None:
        """Creates all data frames and maps. Writes no files.

        As in TraceLens, the data frames for identical traces contain only the first trace and have no column
        ``source``.
        """
        self.generate_diff_stats()
        self.get_df_diff_stats_unique_args()
        self.get_df_diff_stats_by_name()
        self.get_cpu_op_to_kernels_json()
        if self.identical_traces and not self.diff_stats_df.empty:
            for name in ("diff_stats_df", "diff_stats_unique_args_summary_df"):
                frame = getattr(self, name)
                setattr(self, name, frame[frame["source"] != "trace2"].drop(columns=["source"]))

    def get_diff_stats_df(self) -> Any:
        """Returns ``diff_stats_df``; if the report is not generated yet, prints a message and returns ``None``."""
        return generated(self.diff_stats_df, "diff_stats_df")

    def get_diff_stats_summary_df(self) -> Any:
        """Prints a message and returns ``None``, because TraceLens no longer fills ``diff_stats_summary_df``."""
        return generated(self.diff_stats_summary_df, "diff_stats_summary_df")

    def generate_diff_stats(self) -> Any:
        """``diff_stats_df``: one row per GPU event below a CPU op, ordered by lowest common ancestor.

        ``kernel_time`` is the duration of the GPU event. ``busy_time`` is the time during which at least one of the
        trace's GPU events with this lowest common ancestor runs; it is the same in all rows for these events.
        """
        pandas = with_pandas()
        rows: list[dict[str, Any]] = []
        left_out = 0
        groups: dict[int, tuple[list[int], list[int]]] = {}
        sides = (self.baseline, self.variant)
        for side, source in enumerate(sides):
            for node in source.native:
                if node.kind == "gpu" and node.uid is not None:
                    at = self._common(self._ids[side].get(node.uid))
                    groups.setdefault(-1 if at is None else at, ([], []))[side].append(node.uid)
        for at in sorted(groups, key=lambda at: (at < 0, at)):
            ancestor = self._by_id.get(at)
            name = None if ancestor is None else re.sub(r"\(\d+\)", "", ancestor["name"])
            for side, uids in enumerate(groups[at]):
                events = sides[side].events
                # Events without a lowest common ancestor are unrelated to each other, so the busy time of each event is
                # computed separately.
                busy = busy_time([events[uid] for uid in uids]) if at >= 0 else None
                for uid in uids:
                    op = nearest_op(sides[side], uid)
                    if op is None:
                        left_out += 1
                        continue
                    event = events[uid]
                    modules = op.get("nn_module_stack") or ["root"]
                    rows.append(
                        {
                            "name": event["name"],
                            "cpu_op_name": op["name"],
                            "cpu_op_uid": op["UID"],
                            "source": f"trace{side + 1}",
                            **{key: argument(op, key) for key in ARGUMENTS},
                            "kernel_time": event.get("dur", 0),
                            "busy_time": round(busy_time([event]) if busy is None else busy, 3),
                            "lowest_common_ancestor_name": name,
                            "lowest_common_ancestor_id": None if at < 0 else at,
                            "gpu_op_uid": uid,
                            "nn_module_stack": ";".join(modules),
                            "nn_module_parent": modules[-1],
                        }
                    )
        if left_out:
            warnings.warn(
                TraceWarning(
                    f"NO_CPU_OP: {left_out} GPU events are not below a CPU op, so TraceLens's data frames omit them; "
                    "td.comparison.kernels has all events"
                ),
                stacklevel=depth(),
            )
        frame = pandas.DataFrame(rows)
        if frame.empty:
            print("[TraceDiff] No GPU events found in either trace")
            self.identical_traces = True
        else:
            first, second = (
                frame[frame["source"] == source].drop(columns=["source"]).reset_index(drop=True)
                for source in ("trace1", "trace2")
            )
            self.identical_traces = bool(first.equals(second))
        self.diff_stats_df = frame
        return frame

    def _common(self, at: int | None) -> int | None:
        """The nearest node, at or above the given node, that both traces have under the same name."""
        while at is not None:
            node = self._by_id[at]
            if node["merged_type"] == "combined" and not self._is_renamed(node):
                return at
            at = self._parents.get(at)
        return None

    def _is_renamed(self, node: dict[str, Any]) -> bool:
        first, second = self._names(node)
        if first == second:
            return False
        # Two matched frames whose names differ only in line number and address are not renamed. Two matched launches
        # through different APIs are.
        runtime = self.baseline.events[node["uid1"]].get("cat") in ("cuda_runtime", "cuda_driver", "Runtime")
        return runtime or " | " in node["name"]

    def _names(self, node: dict[str, Any]) -> tuple[Any, Any]:
        return (
            self.baseline.events[node["uid1"]].get("name"),
            self.variant.events[node["uid2"]].get("name"),
        )

    def get_df_diff_stats_unique_args(self, op_name: str | None = None, agg_metrics: list[str] | None = None) -> Any:
        """``diff_stats_unique_args_summary_df``: groups the rows in ``diff_stats_df`` that differ only in
        ``kernel_time``, ``lowest_common_ancestor_id`` and ``gpu_op_uid``. Each group has ``operation_count`` and the
        mean and sum of ``kernel_time``.

        ``op_name`` selects the rows for one kernel; ``agg_metrics`` replaces ``mean`` with other functions. The group
        with the most time comes first.
        """
        if generated(self.diff_stats_df, "diff_stats_df") is None:
            return None
        metrics = list(dict.fromkeys([*(["mean"] if agg_metrics is None else agg_metrics), "sum"]))
        frame = self.diff_stats_df
        if op_name:
            frame = frame[frame["name"] == op_name]
        keys = [
            column
            for column in frame.columns
            if column not in ("kernel_time", "lowest_common_ancestor_id", "gpu_op_uid")
        ]
        groups: dict[tuple[str, ...], list[Any]] = {}
        for index, texts in zip(frame.index, frame[keys].astype(str).itertuples(index=False, name=None)):
            groups.setdefault(texts, []).append(index)
        result = frame.loc[[indices[0] for indices in groups.values()], keys].reset_index(drop=True)
        result.insert(1, "operation_count", [len(indices) for indices in groups.values()])
        for metric in metrics:
            values = [frame.loc[indices, "kernel_time"].agg(metric) for indices in groups.values()]
            result[f"kernel_time_{metric}"] = values
        order = sorted(
            range(len(result)),
            key=lambda row: (-result["kernel_time_sum"].iloc[row], *result.iloc[row].astype(str)),
        )
        self.diff_stats_unique_args_summary_df = result.iloc[order].reset_index(drop=True)
        return self.diff_stats_unique_args_summary_df

    def get_df_diff_stats_by_name(self, sort_desc: bool = True) -> Any:
        """``diff_stats_names_summary_df``: the times in ms, grouped by the name of the lowest common ancestor, as in
        tracetree's ``diff_stats_names_summary.csv``. The name with the most time in the first trace comes first.
        """
        frame = table_frame(self.comparison.names)
        frame = frame.sort_values(
            "kernel_time_trace1_sum_ms", ascending=not sort_desc, kind="stable", ignore_index=True
        )
        self.diff_stats_names_summary_df = frame
        return frame

    def get_cpu_op_to_kernels_json(self) -> None:
        """Sets ``cpu_op_map``, ``cpu_op_map_trace1`` and ``cpu_op_map_trace2`` from
        ``diff_stats_unique_args_summary_df``.

        The maps for a single trace contain the kernels of each CPU op. ``cpu_op_map`` contains ``kernels`` and
        ``nn_module_parents`` for each CPU op and trace; an op and the op that replaces it at the same lowest common
        ancestor are listed under one name. If the traces are identical, ``cpu_op_map`` has one entry per op instead of
        one entry per op and trace.
        """
        pandas = with_pandas()
        frame = self.diff_stats_unique_args_summary_df
        if generated(frame, "diff_stats_unique_args_summary_df") is None:
            return
        for number in (1, 2):
            kernels: dict[str, set[str]] = {}
            own = frame[frame["source"] == f"trace{number}"]
            for op, kernel in zip(own["cpu_op_name"], own["name"]):
                kernels.setdefault(op, set()).add(kernel)
            ops = sorted(kernels)
            index = pandas.Index(ops, name="cpu_op_name", dtype=object)
            listed = pandas.DataFrame({"name": [sorted(kernels[op]) for op in ops]}, index=index)
            setattr(self, f"cpu_op_map_trace{number}", listed)
        common = self._common_names()
        found: dict[str, dict[str, tuple[set[str], set[str]]]] = {}
        for op, source, kernel, module in zip(
            frame["cpu_op_name"], frame["source"], frame["name"], frame["nn_module_parent"]
        ):
            sets = found.setdefault(common.get(op, op), {}).setdefault(source, (set(), set()))
            sets[0].add(kernel)
            sets[1].add(module.replace(" ", ""))
        self.cpu_op_map = {
            op: {
                source: {"kernels": sorted(kernels), "nn_module_parents": sorted(modules)}
                for source, (kernels, modules) in sorted(sources.items())
            }
            for op, sources in found.items()
        }
        if self.identical_traces:
            self.cpu_op_map = {op: sources["trace1"] for op, sources in self.cpu_op_map.items()}

    def _common_names(self) -> dict[str, str]:
        """For each op that another op replaces at the same lowest common ancestor, maps both ops to a shared name."""
        frame = self.diff_stats_df
        at_ancestor: dict[Any, tuple[list[str], list[str]]] = {}
        modules: dict[str, set[str]] = {}
        for ancestor, source, op, module in zip(
            frame["lowest_common_ancestor_id"], frame["source"], frame["cpu_op_name"], frame["nn_module_parent"]
        ):
            modules.setdefault(op, set()).add(module)
            if ancestor == ancestor and ancestor is not None:
                ops = at_ancestor.setdefault(ancestor, ([], []))[source == "trace2"]
                if op not in ops:
                    ops.append(op)
        names: dict[str, str] = {}
        for first, second in at_ancestor.values():
            only1 = [op for op in first if op not in second]
            only2 = [op for op in second if op not in first]
            for op in only1:
                for other in only2:
                    name = common_name(op, other, modules)
                    if name is not None and op not in names and other not in names:
                        names[op] = names[other] = name
                        only2.remove(other)
                        break
        return names

    def print_tracediff_report_files(
        self, output_folder: str | os.PathLike[str] = "rprt_diff", prune_non_gpu: bool = False
    ) -> None:
        """Writes the merged tree, the data frames and the maps to ``output_folder``.

        ``td.comparison.report(folder)`` writes tracetree's own report.
        """
        os.makedirs(output_folder, exist_ok=True)

        def path(name: str) -> str:
            return os.path.join(output_folder, name)

        self.print_merged_tree(path("merged_tree_output.txt"), prune_non_gpu)
        for name in ("diff_stats", "diff_stats_unique_args_summary", "diff_stats_names_summary"):
            frame = generated(getattr(self, f"{name}_df"), f"{name}_df")
            if frame is not None:
                frame.to_csv(path(f"{name}.csv"), index=False)
        maps = {
            "cpu_op_map_trace1": self.cpu_op_map_trace1,
            "cpu_op_map_trace2": self.cpu_op_map_trace2,
            "cpu_op_map": self.cpu_op_map,
        }
        for name, found in maps.items():
            if found is None:
                print(f"[TraceDiff] {name} is empty. Please run generate_tracediff_report() first.")
                continue
            content = found if isinstance(found, dict) else found.to_dict()["name"]
            with open(path(f"{name}.json"), "w", encoding="utf-8") as file:
                json.dump(content, file, indent=2, ensure_ascii=False)


#: The columns in ``diff_stats_df`` that contain op arguments.
ARGUMENTS = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")


def as_tree(given: Any) -> TraceTree:
    """Converts an argument of ``TraceDiff`` to a tree."""
    tree = getattr(given, "tree", given)
    if isinstance(tree, Tree):
        return TraceTree(tree.trace)
    if isinstance(tree, TraceTree):
        return tree
    raise TypeError(
        "TraceDiff takes two trees, such as TreePerfAnalyzer.from_file(path).tree, "
        f"not {type(tree).__name__}. To compare paths, use tracetree.diff()"
    )


def argument(op: dict[str, Any], key: str) -> Any:
    """An op argument, with lists converted to tuples; an empty string if the argument was not recorded."""
    value = (op.get("args") or {}).get(key)
    return "" if value is None else tuples(value)


def tuples(value: Any) -> Any:
    """Converts lists to tuples, because only tuples can be used as keys."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def nearest_op(tree: TraceTree, uid: int) -> dict[str, Any] | None:
    """The innermost CPU op above a GPU event."""
    event: dict[str, Any] | None = tree.events[uid]
    while event is not None:
        event = tree.get_parent_event(event)
        if event is not None and tree.event_to_category(event) in ("cpu_op", "Operator"):
            return event
    return None


def busy_time(events: list[dict[str, Any]]) -> float:
    """The time in µs during which at least one of the events runs."""
    spans = sorted((float(event["ts"]), float(event["ts"]) + float(event.get("dur", 0))) for event in events)
    total, end = 0.0, float("-inf")
    for start, stop in spans:
        total += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return total


def common_name(first: str, second: str, modules: dict[str, set[str]]) -> str | None:
    """A shared name for an op and the op that replaces it: the shorter name if the other name contains it, both names
    joined by ``/`` if they begin with the same 20 characters, or the name of the module if both ops occur only in one
    module. Otherwise ``None``."""
    one, other = (name.rsplit("::", 1)[-1] for name in (first, second))
    if one in other or other in one:
        return min(one, other, key=len)
    if one[:20] == other[:20]:
        return f"{one}/{other}"
    around = modules[first] | modules[second]
    return next(iter(around)).replace(" ", "") if len(around) == 1 else None


def generated(frame: Any, name: str) -> Any:
    """Returns the data frame; if the frame is empty, prints a message and returns ``None``."""
    if frame is None or frame.empty:
        print(f"[TraceDiff] {name} is empty. Please run generate_tracediff_report() first.")
        return None
    return frame


def with_pandas() -> Any:
    """The module pandas."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tracetree.tracelens needs pandas: pip install pandas") from None
    return pandas


def table_frame(table: Table) -> Any:
    """The table as a data frame with the same columns and values as the table's CSV file."""
    titles = {column["name"]: column["csv_name"] for column in table.schema}
    return table.to_pandas().rename(columns=titles)
