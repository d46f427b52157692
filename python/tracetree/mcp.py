"""A Model Context Protocol server, through which agents compare traces.

``python -m tracetree.mcp --root runs/`` serves on standard input and output. Results are text, split into pages of at
most 4 kB by default. Only files below the given folders can be read, and no files are written. The server needs the
package ``mcp`` (``pip install 'tracetree-diff[mcp]'``).
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tracetree._compare import diff
from tracetree._errors import TraceError, TraceWarning, UsageError
from tracetree._gate import gate as check
from tracetree._inputs import files
from tracetree._native import VERSION, Comparison, Node
from tracetree._notes import text
from tracetree._plots import allocated, side_names

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

#: Default and maximum size of a page of a result, in bytes.
USUAL, MOST = 4000, 16000

#: Maximum number of comparisons that are kept in memory.
KEPT = 4

#: Maximum number of calls that a search lists.
LISTED = 200

Side = Literal["baseline", "candidate"]


class Traces:
    """Compares files below the allowed folders, and keeps the latest comparisons in memory."""

    def __init__(self, roots: Sequence[str | os.PathLike[str]]) -> None:
        self.roots = [Path(root).resolve() for root in roots]
        for root in self.roots:
            if not root.is_dir():
                raise UsageError(f"{root}: is not a folder (pass folders with traces as --root)", kind="usage")
        self._known: OrderedDict[tuple[Any, ...], Comparison] = OrderedDict()

    def found(self, given: str) -> list[str]:
        """The files for a path, folder or pattern. Raises ``UsageError`` if a file is not below an allowed folder."""
        path = given if os.path.isabs(given) else os.path.join(self.roots[0], given)
        # Check the path before looking for the file, so that the error does not reveal whether a file outside the
        # folders exists.
        self._refuse_outside(given, os.path.dirname(path) if any(mark in path for mark in "*?[") else path)
        found = [str(one) for one in files(path)]
        for one in found:
            self._refuse_outside(given, one)
        return found

    def _refuse_outside(self, given: str, path: str) -> None:
        resolved = Path(path).resolve()
        if not any(resolved.is_relative_to(root) for root in self.roots):
            allowed = ", ".join(map(str, self.roots))
            raise UsageError(f"{given}: is not below an allowed folder ({allowed})", kind="usage")

    def compared(self, baseline: str, candidate: str) -> Comparison:
        """The comparison of two sides."""
        sides = self.found(baseline), self.found(candidate)
        stats = [(one, os.stat(one)) for side in sides for one in side]
        key = (len(sides[0]), *((one, stat.st_mtime_ns, stat.st_size) for one, stat in stats))
        known = self._known.pop(key, None)
        if known is None:
            known = diff(sides[0], sides[1], progress=False)
        self._known[key] = known
        while len(self._known) > KEPT:
            self._known.popitem(last=False)
        return known


def paged(lines: Sequence[str], page: int, max_bytes: int) -> str:
    """One page of a result, followed by a line that says how to request the next page."""
    room = max(200, min(max_bytes, MOST)) - 80
    pages: list[list[str]] = [[]]
    used = 0
    for line in (piece for line in lines for piece in pieces(line, room)):
        size = len(line.encode()) + 1
        if used + size > room and pages[-1]:
            pages.append([])
            used = 0
        pages[-1].append(line)
        used += size
    if not 1 <= page <= len(pages):
        raise UsageError(f"there is no page {page}: the last page is {len(pages)}", kind="usage")
    body = "\n".join(pages[page - 1])
    if len(pages) == 1:
        return body
    following = f"; for the next page, pass page={page + 1}" if page < len(pages) else ""
    return f"{body}\n(page {page} of {len(pages)}{following})"


def pieces(line: str, room: int) -> list[str]:
    """Splits a line into pieces of at most ``room`` bytes."""
    if len(line.encode()) < room:
        return [line]
    # Limit the number of characters to a quarter of ``room``, because a character takes at most four bytes.
    return [line[at : at + room // 4] for at in range(0, len(line), room // 4)]


def change_lines(d: Comparison) -> list[str]:
    """One line for each change, most expensive change first."""
    lines = []
    for row in d.changes:
        number = "same program" if row["change"] is None else f"change {row['change']}"
        cost = "" if row["cost_us"] is None else f" {row['cost_us'] / 1e3:+.3f} ms per step"
        lines.append(f"{number}:{cost} {row['kind']}: {row['sentence']}")
        lines += [f"  {row[key]}" for key in ("where", "hint") if row[key]]
    return lines or ["The programs are identical, and so are their times."]


def site_lines(d: Comparison, change: int) -> list[str]:
    """The call sites of one change."""
    rows = [row for row in d.change_sites if row["change"] == change]
    if not rows:
        known = sorted({row["change"] for row in d.change_sites if row["change"] is not None})
        raise UsageError(f"there is no change {change} with call sites; known: {known}", kind="usage")
    return [", ".join(f"{key}={value}" for key, value in row.items() if value is not None) for row in rows]


def tree_lines(node: Node, depth: int, prefix: str = "") -> list[str]:
    """One line for a call, and one line for each call that it contains, down to the given depth."""
    uid = "" if node.uid is None else f" uid={node.uid}"
    partner = node.partner
    counterpart = "" if partner is None else f" counterpart={partner.uid}"
    time = f" gpu={node.kernel_time_us:.1f}us" if node.kernel_time_us else ""
    lines = [f"{prefix}{node.kind} {node.name}{uid}{counterpart} {node.duration_us:.1f}us{time}"]
    children = node.children
    if depth > 0:
        for child in children:
            lines += tree_lines(child, depth - 1, prefix + "  ")
    elif children:
        lines.append(f"{prefix}  … {len(children)} calls inside")
    return lines


def memory_lines(d: Comparison) -> list[str]:
    """Peak and final allocated memory on each device, for each side."""
    lines = []
    for side, name in zip((0, 1), side_names(d)):
        for device, points in allocated(d, side).items():
            at, peak = max(points, key=lambda point: point[1])
            lines.append(
                f"{name}, {device}: peak {peak:.3f} MB at {at:.3f} ms, {points[-1][1]:.3f} MB at the end, "
                f"{len(points)} events"
            )
    if not lines:
        raise UsageError("the traces have no memory events: record with profile_memory=True", kind="usage")
    return lines


def server(roots: Sequence[str | os.PathLike[str]]) -> MCPServer:
    """Creates a server for files below the given folders."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError:
        raise ImportError("tracetree.mcp needs mcp 2: pip install 'tracetree-diff[mcp]'") from None

    def told(tool: Callable[..., str]) -> Callable[..., str]:
        """Makes a tool report errors as ``ToolError``, whose message the SDK passes on to the client."""

        @functools.wraps(tool)
        def answered(*arguments: Any, **named: Any) -> str:
            try:
                return tool(*arguments, **named)
            except (TraceError, OSError, ValueError, ImportError) as error:
                raise ToolError(str(error)[: USUAL // 4]) from error

        return answered

    traces = Traces(roots)
    serving = MCPServer(
        "tracetree",
        version=VERSION,
        instructions=(
            "Compares PyTorch profiler traces. Every difference is candidate - baseline, and more time is worse. "
            "A side is a trace file, or a folder or pattern with several runs of one program. Begin with compare."
        ),
    )

    @serving.tool()
    @told
    def compare(baseline: str, candidate: str, page: int = 1, max_bytes: int = USUAL) -> str:
        """The overall result, what changed, where the time went, and warnings."""
        return paged(text(traces.compared(baseline, candidate)).splitlines(), page, max_bytes)

    @serving.tool()
    @told
    def changes(baseline: str, candidate: str, page: int = 1, max_bytes: int = USUAL) -> str:
        """Every change with its number, cost and call site, most expensive first."""
        return paged(change_lines(traces.compared(baseline, candidate)), page, max_bytes)

    @serving.tool()
    @told
    def call_site(baseline: str, candidate: str, change: int, page: int = 1, max_bytes: int = USUAL) -> str:
        """The calls that one change affects: names, modules, files, uids. `change` is a number from `changes`."""
        return paged(site_lines(traces.compared(baseline, candidate), change), page, max_bytes)

    @serving.tool()
    @told
    def tree(
        baseline: str,
        candidate: str,
        uid: int | None = None,
        find: str | None = None,
        side: Side = "baseline",
        depth: int = 3,
        page: int = 1,
        max_bytes: int = USUAL,
    ) -> str:
        """The calls below the event `uid`, or the calls that match the path query `find`, such as
        `op("aten::_convolution") / kernel("*")`; the roots if neither `uid` nor `find` is given."""
        d = traces.compared(baseline, candidate)
        if find is not None:
            nodes, inner = d.find(find, side), 0
        elif uid is not None:
            nodes, inner = [d.node(uid, side)], depth
        else:
            nodes, inner = d.tree(side).roots, min(depth, 1)
        lines = [line for node in nodes[:LISTED] for line in tree_lines(node, inner)]
        if len(nodes) > LISTED:
            lines.append(f"… {len(nodes) - LISTED} more calls: narrow the query")
        return paged(lines or ["no call matches"], page, max_bytes)

    @serving.tool()
    @told
    def explain(
        baseline: str, candidate: str, uid: int, side: Side = "baseline", page: int = 1, max_bytes: int = USUAL
    ) -> str:
        """Why the event `uid` on one side is matched to its counterpart, or why it has no counterpart."""
        d = traces.compared(baseline, candidate)
        found = d.explain(baseline=uid) if side == "baseline" else d.explain(candidate=uid)
        return paged(str(found).splitlines(), page, max_bytes)

    @serving.tool()
    @told
    def gate(
        baseline: str, candidate: str, rules: str | None = None, page: int = 1, max_bytes: int = USUAL
    ) -> str:
        """Checks the candidate against the gate rules: PASS, FAIL or INCONCLUSIVE, and the findings.

        `rules` is the path of a rule file below an allowed folder."""
        paths = None if rules is None else traces.found(rules)[0]
        outcome = check(traces.found(baseline), traces.found(candidate), rules=paths)
        lines = str(outcome).splitlines() + [f"not tested: {untested}" for untested in outcome.not_tested]
        return paged(lines, page, max_bytes)

    @serving.tool()
    @told
    def memory(baseline: str, candidate: str, page: int = 1, max_bytes: int = USUAL) -> str:
        """Peak and final allocated memory on each device, if the traces have memory events."""
        return paged(memory_lines(traces.compared(baseline, candidate)), page, max_bytes)

    return serving


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves on standard input and output until the client disconnects."""
    parser = argparse.ArgumentParser(prog="python -m tracetree.mcp", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--root",
        action="append",
        metavar="DIR",
        help="a folder with traces; may be repeated; relative paths are relative to the first folder (default: .)",
    )
    given = parser.parse_args(arguments)
    # Do not issue Python warnings, because the text of a result already contains the warnings.
    warnings.simplefilter("ignore", TraceWarning)
    try:
        serving = server(given.root or ["."])
    except (ImportError, UsageError) as error:
        print(f"tracetree.mcp: {error}", file=sys.stderr)
        return 2
    serving.run("stdio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
