"""Compare the ranks of a job, on the cores of this machine or on a Ray cluster.

>>> from tracetree import fleet                                             # doctest: +SKIP
>>> plan = fleet.plan("runs/before", "runs/after", out="plan.json")         # doctest: +SKIP
>>> result = fleet.run(plan, out="fleet/", backend="ray", cpus_per_pair=1)  # doctest: +SKIP
>>> result.findings[0]["message"]                                           # doctest: +SKIP

A pair of traces is one task and leaves a shard of a few kilobytes below ``out``; the shards are added up
at the end. What has its shard is not compared again, so a run that was stopped goes on where it was.
Scheduling, retrying and moving data is the engine's.
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
    """The process of a pair was killed, as by a system without memory. Worth another try."""


@dataclass(frozen=True)
class Task:
    """One pair of a plan: all that a worker needs."""

    #: A plan of this pair alone, as JSON.
    plan: str
    #: The folder of the fleet, as the worker sees it.
    out: str
    #: Name of its shard.
    key: str
    #: Threads of the comparison.
    threads: int


@dataclass(frozen=True)
class Answer:
    """What became of a pair. A broken trace is a result, with a code, and is not tried again."""

    key: str
    #: ``ok`` or ``failed``.
    status: str
    #: Why it failed: ``TRUNCATED``, ``NOT_A_TRACE``, …; ``WORKER_LOST`` where the engine gave up.
    code: str
    message: str
    #: Whether its shard was there already, so that nothing was done.
    was_there: bool = False


class Engine(Protocol):
    """What runs the tasks: ``concurrent.futures`` executors and Dask clients will do, too."""

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        """``fn`` of each item, in their order."""


class Local:
    """The cores of this machine: a process for each pair."""

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
    """A Ray cluster: the one that ``RAY_ADDRESS`` names or this process is in, else one of this machine.

    Ray starts a task for each pair and tries it again where its worker, node or memory was lost.
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
    """What was found. The tables are Parquet files in ``folder``."""

    folder: Path
    #: What ``fleet.json`` holds.
    document: dict[str, Any]
    #: 0, or 3 where less was compared than ``min_coverage`` asks for.
    exit_code: int

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What to look at first: ``code``, ``ranks``, ``count``, ``message``."""
        found: list[dict[str, Any]] = self.document["findings"]
        return found

    @property
    def counts(self) -> dict[str, int]:
        """``planned`` = ``ok`` + ``failed`` + ``unmatched``."""
        return {name: self.document[name] for name in ("planned", "ok", "failed", "unmatched")}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"<FleetResult of {self.folder}: {counts}; {len(self.findings)} findings>"


def plan(baseline: str | os.PathLike[str], candidate: str | os.PathLike[str], *,
         out: str | os.PathLike[str] = "plan.json", **options: Any) -> Path:
    """Pairs the traces of two folders; reads the heads of the files only. Returns the path of the plan.

    ``options`` are those of ``tracetree fleet plan``: ``no_python=True``, ``phase="decode"``,
    ``steps="3..8"``, ``reports=True``, …

    Raises ``UsageError`` where nothing has a partner.
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
    """Compares all pairs of a plan on an engine, and adds the results up.

    ``backend`` is ``"local"``, ``"ray"`` or anything with ``map(fn, items)``. ``out`` is the folder of the
    result. All workers must see ``shards``, which is ``out`` where it is not given, under its name: a folder, or
    an address (``"s3://bucket/fleet"``) where ``TRACETREE_COMMAND`` names a command that reads addresses.

    Raises ``TraceError`` where a result cannot be written.
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
    """Compares one pair in a process of its own, and writes its shard.

    Raises ``WorkerLost`` where the process was killed, ``TraceError`` where the shard cannot be written.
    """
    with tempfile.TemporaryDirectory() as place:
        plan = Path(place) / "plan.json"
        plan.write_text(task.plan)
        done = _command("fleet", "map", str(plan), "--pair", "0", "--json", "-o", task.out, threads=task.threads)
    told = json.loads(done.stdout)
    return Answer(task.key, told["status"], told["code"], told["message"], told["was_there"])


def _place(folder: str | os.PathLike[str]) -> str:
    """The whole path of a folder: workers may stand in another one. An address stays what it is."""
    text = os.fspath(folder)
    return text if "://" in text else str(Path(text).resolve())


def _engine(backend: str | Engine, cpus_per_pair: int, retries: int) -> Engine:
    if backend == "local":
        return Local(cpus_per_pair)
    if backend == "ray":
        return Ray(cpus_per_pair, retries)
    if isinstance(backend, str):
        raise UsageError(f'there is no backend "{backend}": "local", "ray", or anything with map(fn, items)')
    return backend


def _command(*arguments: str, threads: int | None = None,
             allowed: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own: what kills it does not kill this one.

    ``TRACETREE_COMMAND`` names the command where it is not that of this package, which knows no addresses.
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
        message = lines[-1].removeprefix("tracetree: error: ") if lines else "unknown"
        raise (UsageError if arguments[1] == "plan" else TraceError)(message)
    return done


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
