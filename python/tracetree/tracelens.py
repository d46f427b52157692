"""Compatibility with TraceLens: the same classes, methods and data frames, from tracetree's tables.

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

The columns of the data frames have the same names and meanings as in TraceLens at the end of August 2026;
docs/reference/tracelens.md lists where their values differ. All other tracetree features are available through
``td.comparison``.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from tracetree import _events
from tracetree._compare import diff
from tracetree._compare import open as read
from tracetree._errors import TraceWarning
from tracetree._native import Comparison, Node, Table, Trace, Tree
from tracetree._notes import depth
from tracetree._perf_tables import PerfTables, tuples, uncovered, with_pandas

__all__ = ["DataLoader", "PyTorchTraceToTree", "TraceDiff", "TraceToTree", "TreePerfAnalyzer"]

#: TraceLens names that tracetree does not offer, each with an alternative or a reason.
NOT_OFFERED = {
    "GPUEventAnalyser": "use TreePerfAnalyzer.from_file(…).get_df_gpu_timeline(), or tracetree.diff(…).idle",
    "JaxAnalyses": "tracetree compares two traces and does not report on a single trace",
    "JaxTreePerfAnalyzer": "tracetree compares two traces and does not report on a single trace",
    "NcclAnalyser": "use tracetree.fleet",
    "EventReplayer": "use tracetree.diff(…).repro(baseline=uid), which writes a script that repeats one call",
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


class TreePerfAnalyzer(PerfTables):
    """Reads a trace, and has tables of its ops and its GPU time. Pass its ``tree`` to ``TraceDiff``."""

    def __init__(
        self,
        tree: Any,
        jax: bool = False,
        *args: Any,
        add_python_func: bool = False,
        include_unlinked_kernels: bool = False,
        **kwargs: Any,
    ) -> None:
        """``add_python_func`` keeps the Python frames in the tree, and ``include_unlinked_kernels`` counts GPU events
        without a launch in the timeline. TraceLens's other arguments are accepted and ignored.

        Raises ``NotImplementedError`` for ``jax=True``.
        """
        if jax:
            raise NotImplementedError("TreePerfAnalyzer reads PyTorch traces: pass XLA profiles to tracetree.diff")
        self.tree = as_tree(tree)
        self.add_python_func = add_python_func
        self.include_unlinked_kernels = include_unlinked_kernels
        self.tree.build_tree(add_python_func=add_python_func)

    @staticmethod
    def from_file(profile_filepath: str | os.PathLike[str], *args: Any, **kwargs: Any) -> TreePerfAnalyzer:
        """Reads a file. The other arguments are those of ``TreePerfAnalyzer``."""
        return TreePerfAnalyzer(TraceTree(read(profile_filepath)), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"TreePerfAnalyzer.{name} is not offered: compare two traces with d = tracetree.diff(…), whose tables "
            "d.kernels, d.kernel_summary, d.ops and d.efficiency have the kernels, the ops, and FLOPs, bytes and rates"
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
        self.add_python_func = False
        self._given = events

    def build_tree(self, add_python_func: bool = False, *args: Any, **kwargs: Any) -> None:
        """Chooses whether the tree has Python frames; as in TraceLens, it has none by default. Calls are nested in
        modules only if it has."""
        if add_python_func != self.add_python_func:
            self.add_python_func = add_python_func
            vars(self).pop("events", None)

    def label_non_gpu_paths(self) -> None:
        """Does nothing, because ``non_gpu_path``, ``fwd_event`` and ``bwd_events`` are already set."""

    link_all_fwd_bwd_events = label_non_gpu_paths

    @property
    def tree(self) -> TraceTree:
        """This object, so that a tree can be passed in place of an analyzer, which has an attribute ``tree``."""
        return self

    @cached_property
    def events(self) -> list[dict[str, Any]]:
        """All events, in order of UID."""
        given = self._given
        if given is None:
            origin = self.trace._origin
            given = _events.load(origin[0] if origin is not None else self.trace.source)
        events = [{**event, "UID": uid} if isinstance(event, dict) else {"UID": uid} for uid, event in enumerate(given)]
        for event in events:
            if isinstance(event.get("ts"), (int, float)) and isinstance(event.get("dur"), (int, float)):
                event["t_end"] = event["ts"] + event["dur"]
        link(self.native, events, self.add_python_func)
        link_backward(events)
        return events

    @property
    def events_by_uid(self) -> dict[int, dict[str, Any]]:
        """A dictionary from UID to event."""
        return dict(enumerate(self.events))

    @cached_property
    def cpu_root_nodes(self) -> list[int]:
        """The UIDs of the ops that no other op calls, ordered by start time."""
        roots = [node for node in outermost_ops(self.native) if node.uid is not None]
        roots.sort(key=lambda node: (node.start_us, node.uid))
        return [node.uid for node in roots if node.uid is not None]

    @property
    def metadata(self) -> dict[Any, dict[Any, dict[str, Any]]]:
        """The names of processes and threads: for each process, for each thread (``None`` for the process itself), the
        metadata events by their names."""
        found: dict[Any, dict[Any, dict[str, Any]]] = {}
        for event in self.events:
            if event.get("ph") == "M":
                values = event.get("args") or {}
                thread = found.setdefault(event.get("pid"), {}).setdefault(event.get("tid"), {})
                thread[event["name"]] = next(iter(values.values()), None)
        return found

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
        for line in drawn(node, self.get_children_events, described):
            print(line)

    def traverse_parents_and_get_callstack(
        self, node: dict[str, Any], filter: Iterable[str] | None = (), follow_fwd_link: bool = False
    ) -> list[str]:
        """The name of an event, and the names of the events around it, innermost first. ``filter`` selects the names that
        contain one of the given strings; ``None`` selects all.

        With ``follow_fwd_link``, the call stack of a backward event continues with ``[FWD]`` and the call stack of its
        forward op.
        """
        frames, root = [str(node.get("name"))], node
        while (above := self.get_parent_event(root)) is not None:
            name, root = str(above.get("name", "Unknown")), above
            if filter is None or any(part in name for part in filter):
                frames.append(name if len(name) <= NAMED else name[:NAMED] + "..")
        if follow_fwd_link and "fwd_event" in root:
            return [*frames, "[FWD]", *self.traverse_parents_and_get_callstack(self.events[root["fwd_event"]], filter)]
        return frames

    def apply_annotation(self, name_filters: Iterable[str] = ()) -> None:
        """Sets ``annotation`` on all events whose names begin with one of the given strings: the name of the first
        annotation around the event, or ``NA``."""
        begins = tuple(name_filters)
        around = [event for event in self.events if "user_annotation" in (event.get("cat") or "") and "t_end" in event]
        around.sort(key=lambda event: event["ts"])
        for event in self.events:
            if str(event.get("name", "")).startswith(begins) and "t_end" in event:
                names = (one["name"] for one in around if one["ts"] <= event["ts"] and event["t_end"] < one["t_end"])
                event["annotation"] = next(names, "NA")

    def get_subtree_bwd_events(self, event_UID: int) -> list[int]:
        """The UIDs of the backward events of an event and of all events below it."""
        found: set[int] = set()
        stack = [self.get_UID2event(event_UID)]
        while stack:
            event = stack.pop()
            found.update(event.get("bwd_events", ()))
            stack += self.get_children_events(event)
        return sorted(found)

    def get_nn_module_children(self, nn_module_event: dict[str, Any]) -> list[int]:
        """The UIDs of the outermost modules below an event."""
        self._needs_frames("get_nn_module_children")
        found: list[int] = []
        for child in self.get_children_events(nn_module_event):
            found += [child["UID"]] if is_module(child) else self.get_nn_module_children(child)
        return found

    def get_nn_module_parent(self, nn_module_event: dict[str, Any]) -> int | None:
        """The UID of the innermost module around an event; ``None`` if there is none."""
        self._needs_frames("get_nn_module_parent")
        above = self.get_parent_event(nn_module_event)
        while above is not None and not is_module(above):
            above = self.get_parent_event(above)
        return None if above is None else int(above["UID"])

    def _needs_frames(self, method: str) -> None:
        if not self.add_python_func:
            raise ValueError(f"{method}() needs the Python frames: pass add_python_func=True to build_tree()")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"the tree has no attribute {name!r} in tracetree.tracelens; tracetree.open(path).tree() offers "
            "parent, children, ancestors, kernels, module and stack of every call"
        )


#: Maximum length of a name in a printed subtree and in a call stack; longer names are truncated.
DRAWN, NAMED = 64, 256


def described(event: dict[str, Any]) -> str:
    """One line for an event in a printed subtree: UID, category, name and, for GPU work, the duration in µs."""
    name, category = str(event.get("name")), event.get("cat")
    shown = name if len(name) <= DRAWN else name[:DRAWN] + ".."
    duration = f", Duration: {event.get('dur')}" if category in GPU_WORK else ""
    return f"UID: {event['UID']}, Category: {category}, Name: {shown}{duration}"


#: Event categories that are GPU work.
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset")


def drawn(root: Any, children: Any, text: Any, is_last: bool = True) -> Iterator[str]:
    """The lines of a subtree; ``children`` and ``text`` are functions of a node."""
    stack = [(root, "", is_last)]
    while stack:
        node, prefix, last = stack.pop()
        yield f"{prefix}{'└── ' if last else '├── '}{text(node)}"
        inner = prefix + ("    " if last else "│   ")
        stack += [(child, inner, at == 0) for at, child in enumerate(reversed(children(node)))]


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


def is_module(event: dict[str, Any]) -> bool:
    """Whether an event is a call of an ``nn.Module``."""
    return event.get("cat") == "python_function" and str(event.get("name")).startswith("nn.Module: ")


def link(tree: Tree, events: list[dict[str, Any]], has_frames: bool) -> None:
    """Adds keys such as ``parent`` and ``children`` to each event in the tree."""
    # Each entry of the stack contains a node, the UID of the node's parent, and the modules that enclose the node.
    stack: list[tuple[Node, int | None, list[str]]] = [(root, None, []) for root in reversed(tree.roots)]
    order: list[tuple[int, int | None, bool]] = []
    while stack:
        node, parent, modules = stack.pop()
        uid, is_frame = node.uid, node.kind == "frame"
        if uid is not None and (has_frames or not is_frame):
            event = events[uid]
            event.update(parent=parent, nn_module_stack=modules or ["root"], children=[], gpu_events=[])
            if parent is not None:
                events[parent]["children"].append(uid)
            order.append((uid, parent, node.kind == "gpu"))
            if is_frame and node.name.startswith("nn.Module: "):
                modules = [*modules, node.name]
            parent = uid
        stack += [(child, parent, modules) for child in reversed(node.children)]
    # Iterate over the preorder in reverse, so that an event is visited after all events below it.
    for uid, above, is_gpu in reversed(order):
        below = events[uid]["gpu_events"]
        if not below and not is_gpu:
            events[uid]["non_gpu_path"] = True
        if above is not None:
            events[above]["gpu_events"][:0] = [uid, *below] if is_gpu else below


def link_backward(events: list[dict[str, Any]]) -> None:
    """Sets ``fwd_event`` on each backward event of autograd to the UID of the last forward op with the same sequence
    number on another thread, and ``bwd_events`` on that op."""
    by_number: dict[Any, list[dict[str, Any]]] = {}
    for event in events:
        number = event["args"].get("Sequence number") if isinstance(event.get("args"), dict) else None
        if number is not None:
            by_number.setdefault(number, []).append(event)
    for same in by_number.values():
        begins = "autograd::engine::evaluate_function:"
        backward = next((event for event in same if str(event.get("name")).startswith(begins)), None)
        if backward is None:
            continue
        thread = (backward.get("pid"), backward.get("tid"))
        forward = [event for event in same if (event.get("pid"), event.get("tid")) != thread]
        if forward:
            last = max(forward, key=lambda event: event.get("ts", 0))
            backward["fwd_event"] = last["UID"]
            last.setdefault("bwd_events", []).append(backward["UID"])


class TraceDiff:
    """The comparison of two trees, with the interface of TraceLens."""

    comparison: Comparison
    """The comparison, as returned by ``tracetree.diff``."""

    def __init__(self, tree1: Any, tree2: Any) -> None:
        self.baseline, self.variant = as_tree(tree1), as_tree(tree2)
        has_frames = self.baseline.add_python_func and self.variant.add_python_func
        self.comparison = diff(self.baseline.trace, self.variant.trace, python=has_frames)
        self.diff_stats_df: Any = with_pandas().DataFrame()
        self.diff_stats_summary_df: Any = self.diff_stats_df
        self.diff_stats_unique_args_summary_df: Any = self.diff_stats_df
        self.diff_stats_names_summary_df: Any = self.diff_stats_df
        self.identical_traces = False
        self.cpu_op_map: dict[str, Any] | None = None
        self.cpu_op_map_trace1: Any = None
        self.cpu_op_map_trace2: Any = None

    @property
    def diff_stats_name_summary_df(self) -> Any:
        """``diff_stats_names_summary_df`` under the name used in TraceLens's documentation."""
        return self.diff_stats_names_summary_df

    # The merged tree

    @cached_property
    def merged_tree(self) -> tuple[list[dict[str, Any]], list[int]] | None:
        """The nodes in the merged tree, and the ids of the roots.

        A node has ``merged_id``, ``uid1``, ``uid2``, ``name``, ``merged_type`` (``combined``, ``trace1``, ``trace2``)
        and ``children``. ``uid1`` or ``uid2`` is ``None`` if that trace has no such event. Ids are the same as in
        tracetree's ``merged_tree_output.txt``; threads, which are not events, are omitted.
        """
        nodes: list[dict[str, Any]] = []
        roots: list[int] = []
        by_id: dict[int, dict[str, Any]] = {}
        for at, (name, uid1, uid2, parent, first, second) in enumerate(self.comparison._merged_nodes()):
            if uid1 is None and uid2 is None:
                continue
            kind = "combined" if first and second else "trace1" if first else "trace2"
            node: dict[str, Any] = {"merged_id": at, "uid1": uid1, "uid2": uid2, "name": name, "merged_type": kind, "children": []}
            nodes.append(node)
            by_id[at] = node
            above = by_id.get(parent) if parent is not None else None
            (roots if above is None else above["children"]).append(at)
        return (nodes, roots)

    def merge_trees(self) -> tuple[list[dict[str, Any]], list[int]]:
        """Returns ``merged_tree``."""
        vars(self).pop("merged_tree", None)
        return self._merged()

    def _merged(self) -> tuple[list[dict[str, Any]], list[int]]:
        if self.merged_tree is None:
            raise ValueError("merged_tree is not initialized. Call merge_trees() first.")
        return self.merged_tree

    @cached_property
    def merged_uid_map(self) -> dict[tuple[int, int], int]:
        """For ``(1, uid)`` and ``(2, uid)`` of each event: the uid of its counterpart, or -1."""
        uids = self.comparison.uid_map
        found: dict[tuple[int, int], int] = {}
        for uid1, uid2 in zip(uids["uid_baseline"], uids["uid_candidate"]):
            if uid1 is not None:
                found[1, uid1] = -1 if uid2 is None else uid2
            if uid2 is not None:
                found[2, uid2] = -1 if uid1 is None else uid1
        return found

    def calculate_diff_boundaries(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], set[int], set[int]]:
        """The outermost events without a counterpart, and the UIDs of all events without a counterpart.

        Returns ``db1``, ``db2``, ``pod1`` and ``pod2``, which are also attributes. The items in ``db1`` and
        ``db2`` are merged nodes with ``UID`` and ``name``. The attributes are computed on first use.
        """
        db: dict[str, list[dict[str, Any]]] = {"trace1": [], "trace2": []}
        pod: dict[str, set[int]] = {"trace1": set(), "trace2": set()}
        nodes, _ = self._merged()
        kinds = {node["merged_id"]: node["merged_type"] for node in nodes}
        inner = {child for node in nodes for child in node["children"] if kinds[child] == node["merged_type"]}
        for node in nodes:
            kind = node["merged_type"]
            if kind != "combined":
                uid = node["uid1" if kind == "trace1" else "uid2"]
                pod[kind].add(uid)
                if node["merged_id"] not in inner:
                    db[kind].append({"UID": uid, "name": node["name"], "merged_id": node["merged_id"]})
        return db["trace1"], db["trace2"], pod["trace1"], pod["trace2"]

    def __getattr__(self, name: str) -> Any:
        names = ("db1", "db2", "pod1", "pod2")
        if name not in names:
            raise AttributeError(f"TraceDiff has no attribute {name!r} in tracetree.tracelens: use td.comparison")
        vars(self).update(zip(names, self.calculate_diff_boundaries()))
        return vars(self)[name]

    def add_to_pod(self, node: dict[str, Any], pod: set[int], tree: TraceTree) -> None:
        """Adds to ``pod`` the UIDs of an event and of all events below it."""
        stack = [node] if isinstance(node, dict) else []
        while stack:
            event = stack.pop()
            pod.add(event["UID"])
            stack += tree.get_children_events(event)

    def wagner_fischer(
        self, items1: list[int], items2: list[int], wf_cache: dict[Any, Any] | None = None, strip_details: bool = False
    ) -> list[tuple[str, int | None, int | None]]:
        """Aligns two lists of UIDs by the names of their events, with the fewest deletions and insertions. Returns a list
        of alignment steps: ``("match", i, j)``, ``("delete", i, None)`` and ``("insert", None, j)``.

        ``strip_details`` ignores line numbers. ``wf_cache`` is accepted and ignored. tracetree itself aligns whole trees:
        see ``get_corresponding_uid``.
        """

        def names(tree: TraceTree, uids: list[int]) -> list[str]:
            found = (str(tree.get_UID2event(uid).get("name")) for uid in uids)
            return [LINE.sub("", name) if strip_details else name for name in found]

        first, second = names(self.baseline, items1), names(self.variant, items2)
        # The number of matches among the last items of both lists.
        matches = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
        for i in reversed(range(len(first))):
            for j in reversed(range(len(second))):
                matches[i][j] = max(
                    matches[i + 1][j], matches[i][j + 1], matches[i + 1][j + 1] + (first[i] == second[j])
                )
        steps: list[tuple[str, int | None, int | None]] = []
        i = j = 0
        while i < len(first) or j < len(second):
            if i < len(first) and j < len(second) and first[i] == second[j]:
                steps.append(("match", i, j))
                i, j = i + 1, j + 1
            elif i < len(first) and (j == len(second) or matches[i][j] == matches[i + 1][j]):
                steps.append(("delete", i, None))
                i += 1
            else:
                steps.append(("insert", None, j))
                j += 1
        return steps

    def get_corresponding_uid(self, tree_num: int, uid: int) -> int:
        """The uid of the counterpart in the other trace; -1 if there is no counterpart.

        ``tree_num`` (1 or 2) says which tree contains ``uid``.
        """
        if tree_num not in (1, 2):
            raise ValueError(f"tree_num must be 1 or 2, not {tree_num!r}")
        found = self.comparison.corresponding_uid("trace1" if tree_num == 1 else "trace2", uid)
        return -1 if found is None else found

    def print_merged_subtree(self, uid_tree1: int | None = None, uid_tree2: int | None = None) -> None:
        """Prints the merged tree below an event of either trace."""
        if uid_tree1 is None and uid_tree2 is None:
            raise ValueError("At least one of uid_tree1 or uid_tree2 must be provided.")
        number, uid = (1, uid_tree1) if uid_tree1 is not None else (2, uid_tree2)
        found = next((node["merged_id"] for node in self._merged()[0] if node[f"uid{number}"] == uid), None)
        if found is None:
            raise ValueError(f"Could not find merged node for the given UID: trace{number} has no call {uid}.")
        for line in self._drawn(found):
            print(line)

    def print_merged_tree(self, output_file: str | os.PathLike[str], prune_non_gpu: bool = False) -> None:
        """Writes the merged tree. ``prune_non_gpu`` omits nodes with no GPU event at or below them."""
        nodes, roots = self._merged()
        kept = self._with_gpu(nodes) if prune_non_gpu else {node["merged_id"] for node in nodes}
        shown = [root for root in roots if root in kept]
        with open(output_file, "w", encoding="utf-8") as file:
            for root in shown:
                for line in self._drawn(root, kept, is_last=root == shown[-1]):
                    file.write(line + "\n")

    def _with_gpu(self, nodes: list[dict[str, Any]]) -> set[int]:
        """The ids of the merged nodes with a GPU event at or below them."""
        kernels = self.comparison.kernels
        uids = set(zip(kernels["source"], kernels["gpu_op_uid"]))
        kept: set[int] = set()
        # The nodes are in preorder.
        for node in reversed(nodes):
            is_gpu = ("trace1", node["uid1"]) in uids or ("trace2", node["uid2"]) in uids
            if is_gpu or not kept.isdisjoint(node["children"]):
                kept.add(node["merged_id"])
        return kept

    def _drawn(self, root: int, kept: set[int] | None = None, is_last: bool = True) -> Iterator[str]:
        """The lines for a merged subtree: matched children first, then the unmatched children of each trace."""
        by_id = self._nodes_by_id
        order = {"combined": 0, "trace1": 1, "trace2": 2}
        marks = {"combined": "", "trace1": ">> trace1: ", "trace2": "<< trace2: "}

        def children(at: int) -> list[int]:
            inner = [child for child in by_id[at]["children"] if kept is None or child in kept]
            return sorted(inner, key=lambda child: order[by_id[child]["merged_type"]])

        def text(at: int) -> str:
            name, kind = by_id[at]["name"], by_id[at]["merged_type"]
            is_renamed = kind == "combined" and " | " in name and not name.startswith("combined: ")
            return f"{marks[kind]}{'combined: ' if is_renamed else ''}{name}"

        return drawn(root, children, text, is_last)

    @cached_property
    def _nodes_by_id(self) -> dict[int, dict[str, Any]]:
        return {node["merged_id"]: node for node in self._merged()[0]}

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
        """``diff_stats_df``: one row per GPU event below a CPU op, ordered by lowest common ancestor and trace.

        ``kernel_time`` is the duration of the GPU event. ``busy_time`` is the time during which at least one of the
        trace's GPU events with this lowest common ancestor runs; it is the same in all rows for these events.
        """
        if "merged_tree" in vars(self):
            self._merged()
        frame = table_frame(self.comparison.kernels)
        if frame.empty or self.comparison.summary()["measure"] != "gpu_time":
            # Without GPU events, the table lists the ops instead.
            print("[TraceDiff] No GPU events found in either trace")
            self.identical_traces = True
            self.diff_stats_df = with_pandas().DataFrame()
            return self.diff_stats_df
        # Threads are not events, so they are not ancestors.
        threads = {root.name for side in SIDES for root in self.comparison.tree(side).roots}
        ancestors = frame["lowest_common_ancestor_id"]
        frame["lowest_common_ancestor_id"] = ancestors.mask(frame["lowest_common_ancestor_name"].isin(threads))
        has_ancestor = frame["lowest_common_ancestor_id"].notna()
        names = frame["lowest_common_ancestor_name"].str.replace(LINE, "", regex=True)
        frame["lowest_common_ancestor_name"] = names.astype(object).where(has_ancestor, None)
        frame["busy_time"] = busy_times(frame)
        has_op = frame["cpu_op_uid"].notna()
        if not has_op.all():
            warnings.warn(
                TraceWarning(
                    f"NO_CPU_OP: {(~has_op).sum()} GPU events are not below a CPU op, so TraceLens's data frames omit "
                    "them; td.comparison.kernels has all events"
                ),
                stacklevel=depth(),
            )
        frame = frame.loc[has_op, COLUMNS].sort_values(
            ["lowest_common_ancestor_id", "source"], kind="stable", na_position="last", ignore_index=True
        )
        for column in ARGUMENTS:
            texts = frame[column].astype(object).where(frame[column].notna(), "")
            frame[column] = texts.map({text: tuples(text) for text in texts.unique()})
        stacks = frame["nn_module_stack"].map(lambda stack: ";".join(["root"] if stack is None else stack))
        frame["nn_module_stack"] = stacks
        frame["nn_module_parent"] = stacks.str.rsplit(";", n=1).str[-1]
        for column in ("name", "cpu_op_name", "source"):
            frame[column] = frame[column].astype(object)
        self.diff_stats_df = frame.astype({"cpu_op_uid": "int64", "gpu_op_uid": "int64"})
        first, second = (
            self.diff_stats_df.query(f"source == {source!r}").drop(columns=["source"]).reset_index(drop=True)
            for source in ("trace1", "trace2")
        )
        self.identical_traces = bool(first.equals(second))
        return self.diff_stats_df

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
        keys = [column for column in frame.columns if column not in NO_KEYS]
        numbers: dict[tuple[Any, ...], int] = {}
        group = [numbers.setdefault(key, len(numbers)) for key in frame[keys].itertuples(index=False, name=None)]
        result = frame[keys].set_axis(group).groupby(level=0).head(1)
        result.insert(1, "operation_count", frame["name"].set_axis(group).groupby(level=0).size())
        times = frame["kernel_time"].set_axis(group).groupby(level=0).agg(metrics).add_prefix("kernel_time_")
        result = result.join(times).sort_values("kernel_time_sum", ascending=False, kind="stable", ignore_index=True)
        self.diff_stats_unique_args_summary_df = result
        return result

    def get_df_diff_stats_by_name(self, sort_desc: bool = True) -> Any:
        """``diff_stats_names_summary_df``: the times in ms, grouped by the name of the lowest common ancestor, as in
        tracetree's ``diff_stats_names_summary.csv``. The name with the most time in the first trace comes first.
        """
        by = {"by": "kernel_time_trace1_sum_ms", "ascending": not sort_desc, "kind": "stable", "ignore_index": True}
        self.diff_stats_names_summary_df = table_frame(self.comparison.names).sort_values(**by)
        return self.diff_stats_names_summary_df

    def get_cpu_op_to_kernels_json(self) -> None:
        """Sets ``cpu_op_map``, ``cpu_op_map_trace1`` and ``cpu_op_map_trace2`` from
        ``diff_stats_unique_args_summary_df``.

        The maps for a single trace contain the kernels of each CPU op. ``cpu_op_map`` contains ``kernels`` and
        ``nn_module_parents`` for each CPU op and trace; an op and the op that replaces it at the same lowest common
        ancestor are listed under one name. If the traces are identical, ``cpu_op_map`` has one entry per op instead of
        one entry per op and trace.
        """
        frame = self.diff_stats_unique_args_summary_df
        if generated(frame, "diff_stats_unique_args_summary_df") is None:
            return
        for number in (1, 2):
            kernels = frame[frame["source"] == f"trace{number}"].groupby("cpu_op_name")["name"]
            setattr(self, f"cpu_op_map_trace{number}", kernels.agg(lambda names: sorted(set(names))).to_frame())
        common = frame["cpu_op_name"].map(self._common_names()).fillna(frame["cpu_op_name"])
        self.cpu_op_map = {}
        for (op, source), rows in frame.groupby([common, "source"], sort=False):
            modules = {module.replace(" ", "") for module in rows["nn_module_parent"]}
            entry = {"kernels": sorted(set(rows["name"])), "nn_module_parents": sorted(modules)}
            self.cpu_op_map.setdefault(op, {})[source] = entry
        if self.identical_traces:
            self.cpu_op_map = {op: sources["trace1"] for op, sources in self.cpu_op_map.items()}

    def _common_names(self) -> dict[str, str]:
        """For each op that another op replaces at the same lowest common ancestor, maps both ops to a shared name. The
        ops of both traces at an ancestor are matched in order, if there are equally many."""
        frame = self.diff_stats_df
        modules = {op: set(rows) for op, rows in frame.groupby("cpu_op_name")["nn_module_parent"]}
        ops = frame.groupby(["lowest_common_ancestor_id", "source"], sort=False)["cpu_op_name"].unique().unstack()
        names: dict[str, str] = {}
        for first, second in zip(ops.get("trace1", ()), ops.get("trace2", ())):
            if isinstance(first, float) or isinstance(second, float) or len(first) != len(second):
                # One of the traces has no GPU event at this ancestor, or the ops cannot be matched in order.
                continue
            for op, other in zip(first, second):
                name = common_name(op, other, modules) if op != other else None
                if name is not None:
                    names.setdefault(op, name)
                    names.setdefault(other, name)
        return names

    def print_tracediff_report_files(
        self, output_folder: str | os.PathLike[str] = "rprt_diff", prune_non_gpu: bool = False
    ) -> None:
        """Writes the merged tree, the data frames and the maps to ``output_folder``.

        ``td.comparison.report(folder)`` writes tracetree's own report.
        """
        folder = Path(output_folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.print_merged_tree(folder / "merged_tree_output.txt", prune_non_gpu)
        for name in ("diff_stats", "diff_stats_unique_args_summary", "diff_stats_names_summary"):
            frame = generated(getattr(self, f"{name}_df"), f"{name}_df")
            if frame is not None:
                frame.to_csv(folder / f"{name}.csv", index=False)
        for name in ("cpu_op_map_trace1", "cpu_op_map_trace2", "cpu_op_map"):
            found = getattr(self, name)
            if found is None:
                print(f"[TraceDiff] {name} is empty. Please run generate_tracediff_report() first.")
                continue
            content = found if isinstance(found, dict) else found.to_dict()["name"]
            text = json.dumps(content, indent=2, ensure_ascii=False)
            (folder / f"{name}.json").write_text(text, encoding="utf-8")


#: The sides of a comparison.
SIDES: tuple[Any, Any] = ("baseline", "candidate")
#: The columns in ``diff_stats_df`` that contain op arguments.
ARGUMENTS = ["Input Dims", "Input Strides", "Input type", "Concrete Inputs"]
#: The columns of ``diff_stats_df``.
COLUMNS = [
    *("name", "cpu_op_name", "cpu_op_uid", "source", *ARGUMENTS, "kernel_time", "busy_time"),
    *("lowest_common_ancestor_name", "lowest_common_ancestor_id", "gpu_op_uid", "nn_module_stack", "nn_module_parent"),
]
#: The columns of ``diff_stats_df`` that differ within a group of ``diff_stats_unique_args_summary_df``.
NO_KEYS = ("kernel_time", "lowest_common_ancestor_id", "gpu_op_uid")
#: The line number in the name of a frame.
LINE = re.compile(r"\(\d+\)")


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


def busy_times(frame: Any) -> Any:
    """For each GPU event, the time in µs during which any event with the same ancestor in the same trace runs. Events
    without an ancestor are unrelated to each other, so only their own time counts."""
    begin = (1e3 * frame["start_us"]).round().astype("int64")
    spans = frame[["source"]].assign(begin=begin, end=begin + (1e3 * frame["kernel_time"]).round().astype("int64"))
    own = (-1 - frame.index.to_series()).astype("Int64")
    spans["ancestor"] = frame["lowest_common_ancestor_id"].fillna(own).astype("int64")
    spans = spans.astype({"source": object}).sort_values("begin", kind="stable")
    part = uncovered(spans, ["ancestor", "source"])
    return part.groupby([spans["ancestor"], spans["source"]]).transform("sum").reindex(frame.index) / 1e3


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


def table_frame(table: Table) -> Any:
    """The table as a data frame with the same columns and values as the table's CSV file."""
    titles = {column["name"]: column["csv_name"] for column in table.schema}
    return table.to_pandas().rename(columns=titles)
