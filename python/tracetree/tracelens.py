"""Compatibility with TraceLens: the same classes and methods, implemented by tracetree.

Change the import, and a script that uses ``TraceDiff`` runs:

>>> from tracetree.tracelens import TraceDiff, TreePerfAnalyzer
>>> tree1 = TreePerfAnalyzer.from_file("examples/traces/resnet.rocm.json.gz").tree
>>> tree2 = TreePerfAnalyzer.from_file("examples/traces/resnet.cuda.json.gz").tree
>>> td = TraceDiff(tree1, tree2)
>>> td.generate_tracediff_report()
>>> td.get_corresponding_uid(1, 38)
35

Data frames have the columns of the CSV files, with -1 for missing uids. Everything else that tracetree
offers is in ``td.comparison``.
"""

from __future__ import annotations

import os
from typing import Any

from tracetree._compare import diff
from tracetree._compare import open as read
from tracetree._native import Comparison, Table, Tree

__all__ = ["TraceDiff", "TraceToTree", "TreePerfAnalyzer"]


class TreePerfAnalyzer:
    """Reads a trace. Pass its ``tree`` to ``TraceDiff``."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    @staticmethod
    def from_file(profile_filepath: str | os.PathLike[str], *args: Any, **kwargs: Any) -> TreePerfAnalyzer:
        """Reads a file. Further arguments of TraceLens are accepted and ignored."""
        return TreePerfAnalyzer(read(profile_filepath).tree())


def TraceToTree(events_data: list[dict[str, Any]], *args: Any, **kwargs: Any) -> _BuiltTree:
    """The tree of a list of events, such as ``json.load(file)["traceEvents"]``."""
    return _BuiltTree(read({"traceEvents": events_data}).tree())


class _BuiltTree:
    """A tree that is already built."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def build_tree(self, *args: Any, **kwargs: Any) -> None:
        """Does nothing: the tree is already built."""


class TraceDiff:
    """The comparison of two trees, with the interface of TraceLens."""

    comparison: Comparison
    """The comparison, as returned by ``tracetree.diff``."""

    def __init__(self, tree1: Any, tree2: Any) -> None:
        first, second = (getattr(tree, "tree", tree) for tree in (tree1, tree2))
        for tree in (first, second):
            if not isinstance(tree, Tree):
                raise TypeError(
                    "TraceDiff takes two trees, such as TreePerfAnalyzer.from_file(path).tree, "
                    f"not {type(tree).__name__}. To compare paths, use tracetree.diff()"
                )
        self.comparison = diff(first.trace, second.trace)

    def generate_tracediff_report(self) -> None:
        """Does nothing: tables are created when they are first used."""

    def print_tracediff_report_files(
        self, output_folder: str | os.PathLike[str] = "rprt_diff", *args: Any, **kwargs: Any
    ) -> None:
        """Writes the report to ``output_folder``."""
        self.comparison.report(output_folder)

    def get_corresponding_uid(self, tree_num: int, uid: int) -> int:
        """The uid of the counterpart in the other trace; -1 if there is none.

        ``tree_num`` is the tree that ``uid`` belongs to: 1 or 2.
        """
        if tree_num not in (1, 2):
            raise ValueError(f"tree_num must be 1 or 2, not {tree_num!r}")
        if uid < 0:
            return -1
        side = "baseline" if tree_num == 1 else "candidate"
        partner = self.comparison.corresponding_uid(side, uid)
        return -1 if partner is None else partner

    @property
    def merged_tree(self) -> tuple[list[dict[str, Any]], list[int]]:
        """All nodes of both trees, and the ids of the roots.

        A node has ``merged_id``, ``uid1`` and ``uid2`` (``None`` if that trace has no such event), ``name``,
        ``merged_type`` (``combined``, ``trace1``, ``trace2``) and ``children``.
        """
        nodes: list[dict[str, Any]] = []
        roots = []
        for name, uid1, uid2, parent, first, second in self.comparison._merged_nodes():
            kind = "combined" if first and second else "trace1" if first else "trace2"
            node = {"merged_id": len(nodes), "uid1": uid1, "uid2": uid2, "name": name}
            nodes.append({**node, "merged_type": kind, "children": []})
            if parent is None:
                roots.append(len(nodes) - 1)
            else:
                nodes[parent]["children"].append(len(nodes) - 1)
        return nodes, roots

    @property
    def diff_stats_df(self) -> Any:
        """``diff_stats.csv`` as a pandas data frame."""
        return frame(self.comparison.rows)

    @property
    def diff_stats_unique_args_summary_df(self) -> Any:
        """``diff_stats_unique_args_summary.csv`` as a pandas data frame."""
        return frame(self.comparison.unique_args)

    @property
    def diff_stats_names_summary_df(self) -> Any:
        """``diff_stats_names_summary.csv`` as a pandas data frame."""
        return frame(self.comparison.names)

    @property
    def diff_stats_kernels_df(self) -> Any:
        """``diff_stats_kernels.csv`` as a pandas data frame."""
        return frame(self.comparison.kernels)


def frame(table: Table) -> Any:
    """The table as a data frame with the columns and values of its CSV file."""
    result = table.to_pandas()
    titles = {column["name"]: column["csv_name"] for column in table.schema}
    for column in table.schema:
        name = column["name"]
        if column["type"] == "word":
            result[name] = result[name].astype(object)
        if is_uid(name):
            result[name] = result[name].fillna(-1).astype("int64")
    return result.rename(columns=titles)


def is_uid(name: str) -> bool:
    """Whether a column contains positions in ``traceEvents``."""
    return name.endswith("_uid") or name.startswith("uid_")
