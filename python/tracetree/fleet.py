"""Compare the ranks of a job, on the cores of this machine or on a Ray cluster.

>>> from tracetree import fleet                                             # doctest: +SKIP
>>> plan = fleet.plan("runs/before", "runs/after", out="plan.json")         # doctest: +SKIP
>>> result = fleet.run(plan, out="fleet/", backend="ray", cpus_per_pair=1)  # doctest: +SKIP
>>> result.findings[0]["message"]                                           # doctest: +SKIP

Each pair of traces is one task, which writes a shard of a few kilobytes below ``out``. The shards are merged
at the end. A pair that already has a shard is not compared again, so a stopped run can be resumed. The engine
schedules tasks, retries them and moves data.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tracetree._errors import TraceError, UsageError

__all__ = ["Answer", "Engine", "FleetResult", "Local", "Ray", "Task", "WorkerLost", "compare_pair", "plan", "run"]


class WorkerLost(RuntimeError):
    """Raised if the process that compares a pair is killed, for example for lack of memory. The task can be retried."""


@dataclass(frozen=True)
class Task:
    """One pair in a plan, with everything that a worker needs."""

    #: A plan that contains only this pair, as JSON.
    plan: str
    #: The folder or address for shards, as the worker accesses it.
    out: str
    #: The shard's name.
    key: str
    #: How many threads the comparison uses.
    threads: int


@dataclass(frozen=True)
class Answer:
    """The result for a pair. A pair with a damaged trace has a result with an error code and is not retried."""

    key: str
    #: ``ok`` or ``failed``.
    status: str
    #: Why the comparison failed: ``TRUNCATED``, ``NOT_A_TRACE``, …; ``WORKER_LOST`` if the engine gave up.
    code: str
    message: str
    #: Whether the pair was skipped because its shard already existed.
    was_there: bool = False


class Engine(Protocol):
    """Runs the tasks. Executors from ``concurrent.futures`` and Dask clients can also be used as engines."""

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        """Applies ``fn`` to each item and returns the results in order."""


class Local:
    """Uses the cores of this machine, with one process for each pair."""

    def __init__(self, cpus_per_pair: int = 1) -> None:
        self._at_once = max(1, (os.cpu_count() or 1) // cpus_per_pair)

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        def answer(item: Task) -> Answer:
            try:
                return fn(item)
            except WorkerLost as error:
                return Answer(item.key, "failed", "WORKER_LOST", str(error))

        with ThreadPoolExecutor(self._at_once) as threads:
            yield from threads.map(answer, items)


class Ray:
    """Uses the Ray cluster at ``RAY_ADDRESS`` or the cluster that this process already uses; otherwise starts a cluster
    on this machine.

    Ray starts a task for each pair and retries the task if its worker or node is lost or runs out of memory.
    """

    def __init__(self, cpus_per_pair: int = 1, retries: int = 3) -> None:
        self._cpus, self._retries = cpus_per_pair, retries

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        try:
            import ray
        except ImportError as error:
            raise UsageError('the Ray backend needs Ray: pip install "ray"') from error
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        task: Any = ray.remote
        remote = task(num_cpus=self._cpus, max_retries=self._retries, retry_exceptions=[WorkerLost])(fn)
        for item, answer in zip(items, [remote.remote(item) for item in items]):
            try:
                yield ray.get(answer)
            except ray.exceptions.RayTaskError as error:
                if not isinstance(error.cause, WorkerLost):
                    raise error.cause from error
                yield Answer(item.key, "failed", "WORKER_LOST", str(error.cause))
            except ray.exceptions.OutOfMemoryError as error:
                yield Answer(item.key, "failed", "OUT_OF_MEMORY", _first_line(error))
            except ray.exceptions.RayError as error:
                yield Answer(item.key, "failed", "WORKER_LOST", _first_line(error))


@dataclass(frozen=True)
class FleetResult:
    """The result of a fleet comparison. The tables are files in ``folder``, by default in Parquet format."""

    folder: Path
    #: The content of ``fleet.json``.
    document: dict[str, Any]
    #: 0, or 3 if the coverage is below ``min_coverage``.
    exit_code: int

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, most important first: ``code``, ``ranks``, ``count``, ``message``."""
        found: list[dict[str, Any]] = self.document["findings"]
        return found

    @property
    def counts(self) -> dict[str, int]:
        """``planned`` = ``ok`` + ``failed`` + ``unmatched``."""
        return {name: self.document[name] for name in ("planned", "ok", "failed", "unmatched")}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"<FleetResult of {self.folder}: {counts}; findings: {len(self.findings)}>"


def plan(baseline: str | os.PathLike[str], candidate: str | os.PathLike[str], *,
         out: str | os.PathLike[str] = "plan.json", **options: Any) -> Path:
    """Matches the traces in two folders, reading only the start of each file. Returns the path of the plan.

    ``options`` are the options of ``tracetree fleet plan``: ``no_python=True``, ``phase="decode"``,
    ``steps="3..8"``, ``reports=True``, …

    Raises ``UsageError`` if no trace has a counterpart.
    """
    flags = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        flags += [flag] if value is True else [] if value in (False, None) else [flag, str(value)]
    _command("fleet", "plan", os.fspath(baseline), os.fspath(candidate), "-o", os.fspath(out), *flags)
    return Path(out)


def run(plan: str | os.PathLike[str], *, out: str | os.PathLike[str], shards: str | os.PathLike[str] | None = None,
        backend: str | Engine = "local", cpus_per_pair: int = 1, retries: int = 3, min_coverage: float = 0.0,
        tables: str = "parquet") -> FleetResult:
    """Compares all pairs in a plan on an engine, and merges the results.

    ``backend`` is ``"local"``, ``"ray"`` or any object with ``map(fn, items)``. ``out`` is the folder for the
    result. ``shards`` (default ``out``) is a folder that all workers can access under the same name. It can be an
    address such as ``"s3://bucket/fleet"`` if ``TRACETREE_COMMAND`` names a command that supports addresses.

    Raises ``TraceError`` if a result cannot be written.
    """
    text = Path(plan).read_text()
    whole = json.loads(text)
    folder = str(Path(out).resolve())
    place = _place(out if shards is None else shards)
    items = [
        Task(json.dumps({**whole, "pairs": [pair], "unmatched": [], "notes": []}), place, pair["key"], cpus_per_pair)
        for pair in whole["pairs"]
    ]
    engine = _engine(backend, cpus_per_pair, retries)
    lost = {answer.key: [answer.code, answer.message]
            for answer in engine.map(compare_pair, items) if answer.status != "ok"}
    with tempfile.TemporaryDirectory() as aside:
        told = Path(aside) / "lost.json"
        told.write_text(json.dumps(lost))
        exit_code = _command("fleet", "reduce", os.fspath(plan), "-o", folder, "--shards", place, "--lost", str(told),
                             "--tables", tables, "--min-coverage", str(min_coverage), allowed=(0, 3)).returncode
    return FleetResult(Path(folder), json.loads((Path(folder) / "fleet.json").read_text()), exit_code)


def compare_pair(task: Task) -> Answer:
    """Compares one pair in a separate process, and writes its shard.

    Raises ``WorkerLost`` if the process is killed, ``TraceError`` if the shard cannot be written.
    """
    with tempfile.TemporaryDirectory() as place:
        plan = Path(place) / "plan.json"
        plan.write_text(task.plan)
        done = _command("fleet", "map", str(plan), "--pair", "0", "--json", "-o", task.out, threads=task.threads)
    told = json.loads(done.stdout)
    return Answer(task.key, told["status"], told["code"], told["message"], told["was_there"])


def _place(folder: str | os.PathLike[str]) -> str:
    """The absolute path of a folder, because a worker may have another working directory; addresses stay unchanged."""
    text = os.fspath(folder)
    return text if "://" in text else str(Path(text).resolve())


def _engine(backend: str | Engine, cpus_per_pair: int, retries: int) -> Engine:
    if backend == "local":
        return Local(cpus_per_pair)
    if backend == "ray":
        return Ray(cpus_per_pair, retries)
    if isinstance(backend, str):
        raise UsageError(f'there is no backend "{backend}": use "local", "ray" or any object with map(fn, items)')
    return backend


def _command(*arguments: str, threads: int | None = None,
             allowed: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a separate process, so that a crash does not end this one.

    ``TRACETREE_COMMAND`` can name another command, because the command in this package does not support addresses.
    """
    environment = {**os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {})}
    named = os.environ.get("TRACETREE_COMMAND")
    command = [named] if named else [sys.executable, "-m", "tracetree"]
    done = subprocess.run([*command, *arguments], env=environment, text=True,
                          capture_output=True, check=False)
    if done.returncode < 0 or done.returncode == 137:
        raise WorkerLost(f"the process was killed by signal {-done.returncode if done.returncode < 0 else 9}")
    if done.returncode not in allowed:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        silent = f"the command failed with exit code {done.returncode}"
        message = lines[-1].removeprefix("tracetree: error: ") if lines else silent
        raise (UsageError if arguments[1] == "plan" else TraceError)(message)
    return done


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
