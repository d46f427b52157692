"""``tracetree run`` records a program at two revisions of its repository and compares the recordings.

::

    python -m tracetree run --revisions main HEAD -- python train.py --steps 20

Both revisions are checked out into a temporary folder; your working tree is not touched. The profiler is attached from
outside, through a ``sitecustomize`` module that starts it at the first step of an optimizer; a program that uses
``tracetree.profile`` or ``tracetree.handler`` records itself. A Markdown comment for the pull request is printed.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tracetree._errors import TracetreeError, UsageError
from tracetree._profiling import FOLDER, handler

#: The environment variable with the numbers of steps.
COUNTS = "TRACETREE_RECORD_STEPS"

#: The module that Python imports when it starts. It also runs the ``sitecustomize`` that it hides.
HOOK = """\
import importlib.machinery, importlib.util, os, sys
here = os.path.dirname(os.path.abspath(__file__))
others = [path for path in sys.path if os.path.abspath(path or ".") != here]
sys.path.append({package!r})
from tracetree import _run
_run.attach()
spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
if spec is not None and spec.loader is not None:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
"""


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tracetree run", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--revisions", nargs=2, required=True, metavar=("BASELINE", "CANDIDATE"),
                        help="two revisions of the git repository that contains the current folder")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="recordings of each revision (default: 3)")
    parser.add_argument("--steps", default="1,2,5", metavar="WAIT,WARMUP,ACTIVE",
                        help="optimizer steps before the profiler, under it, and recorded (default: 1,2,5)")
    parser.add_argument("-o", "--output", metavar="DIR",
                        help="write the recordings and the report to this folder (default: a new temporary folder)")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the program, such as: python train.py")
    given = parser.parse_args(arguments)
    try:
        print(run(given.revisions, given.command, given.runs, given.steps, given.output), end="")
    except (TracetreeError, OSError) as error:
        print(f"tracetree run: error: {error}", file=sys.stderr)
        return 2
    return 0


def run(revisions: Sequence[str], command: Sequence[str], runs: int, steps: str, output: str | None) -> str:
    """Records and compares two revisions. Returns the Markdown comment."""
    from tracetree._compare import diff

    counts(steps)
    if runs < 1:
        raise UsageError(f"--runs must be at least 1, not {runs}", kind="usage")
    root = git(os.curdir, "rev-parse", "--show-toplevel")
    inside = os.path.relpath(os.path.realpath(os.curdir), os.path.realpath(root))
    commits = [git(root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", name=name) for name in revisions]
    with tempfile.TemporaryDirectory(prefix="tracetree-run-") as aside:
        # The recordings are kept, because the comment contains commands that read them.
        place = Path(output or tempfile.mkdtemp(prefix="tracetree-recordings-")).absolute()
        hook = Path(aside, "hook")
        hook.mkdir()
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        (hook / "sitecustomize.py").write_text(HOOK.format(package=package), encoding="utf-8")
        trees = [Path(aside, "trees", side) for side in SIDES]
        try:
            for tree, commit in zip(trees, commits):
                git(root, "worktree", "add", "--quiet", "--detach", str(tree), commit)
            for number in range(runs):
                # The order alternates, so a steady slowdown or speedup of the machine cancels out.
                for side in (0, 1) if number % 2 == 0 else (1, 0):
                    recordings = place / SIDES[side] / f"run{number}"
                    record(command, trees[side] / inside, hook, recordings, steps, revisions[side])
        finally:
            for tree in trees:
                git(root, "worktree", "remove", "--force", str(tree), may_fail=True)
        recorded = [[recording(place / side / f"run{number}") for number in range(runs)] for side in SIDES]
        baseline, candidate = (shown(name, commit) for name, commit in zip(revisions, commits))
        d = diff(recorded[0], recorded[1], names=None if baseline == candidate else (baseline, candidate))
        d.report(place / "report")
        print(f"tracetree run: the recordings and the report are in {place}", file=sys.stderr)
        return (place / "report" / "report.md").read_text(encoding="utf-8")


#: The folders of the two sides.
SIDES = ("baseline", "candidate")


def record(command: Sequence[str], folder: Path, hook: Path, recordings: Path, steps: str, revision: str) -> None:
    """Runs the program once, and checks that it was recorded. Its output goes to standard error."""
    if recordings.exists():
        raise UsageError(f"{recordings} already exists: pass a new folder as --output", kind="usage")
    paths = [str(hook), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, FOLDER: str(recordings), COUNTS: steps, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=sys.stderr, check=False)
    if done.returncode != 0:
        raise UsageError(f"{revision}: {' '.join(command)} failed with exit code {done.returncode}", kind="usage")
    if not list(recordings.glob("run0/rank0*.json.gz")):
        raise UsageError(
            f"{revision}: {' '.join(command)} recorded nothing: it must run at least {sum(counts(steps)) + 1} steps of a "
            "PyTorch optimizer (see --steps), or record itself with tracetree.profile()",
            kind="usage",
        )


def shown(name: str, commit: str) -> str:
    """The name of a side: the revision as it was passed, and its commit."""
    short = commit[:9]
    return short if commit.startswith(name) or len(name) > 25 else f"{name} ({short})"


def recording(folder: Path) -> Path:
    """The recording of the first rank; if it has several cycles, the first one."""
    return min(folder.glob("run0/rank0*.json.gz"), key=lambda path: path.stat().st_mtime_ns)


def counts(steps: str) -> tuple[int, int, int]:
    """The numbers of steps before the profiler, under it without being recorded, and recorded."""
    parts = steps.split(",")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts) or int(parts[2]) < 1:
        raise UsageError(f"--steps must be three numbers such as 1,2,5, the last at least 1, not {steps!r}", kind="usage")
    return (int(parts[0]), int(parts[1]), int(parts[2]))


def git(folder: str, *arguments: str, name: str | None = None, may_fail: bool = False) -> str:
    """Runs git in a folder and returns what it prints."""
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0 and not may_fail:
        reason = f"{name} is not a revision of this repository" if name else done.stderr.strip()
        raise UsageError(f"{reason}: run tracetree run inside a git repository, with two of its revisions", kind="usage")
    return done.stdout.strip()


def attach() -> None:
    """Prepares this process, which ``tracetree run`` started: when PyTorch is imported, its optimizers start the
    recording."""
    if FOLDER in os.environ:
        sys.meta_path.insert(0, OptimizerImport())


class OptimizerImport(importlib.abc.MetaPathFinder):
    """Adds a hook to all optimizers when the module that defines them is imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None, /
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds the module as usual, and adds the hook after the module was imported."""
        if name != "torch.optim.optimizer":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            run_module = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                run_module(module)
                module.register_optimizer_step_post_hook(Steps())

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


class Steps:
    """Records the steps of the first optimizer that steps, unless the program records itself."""

    def __init__(self) -> None:
        self._first: object = None

    def __call__(self, optimizer: object, *args: object) -> None:
        if self._first is None:
            import atexit

            from tracetree.integrations import Recorder

            self._first = optimizer
            if handler.exists:
                self._first = self
                return
            wait, warmup, active = counts(os.environ[COUNTS])
            self._recorder = Recorder(os.environ[FOLDER], {"wait": wait, "warmup": warmup, "active": active}, {})
            atexit.register(self._recorder.stop)
            self._recorder.start()
        elif optimizer is self._first:
            self._recorder.step()
