"""Compare the ranks of a job, on the cores of this machine or on a Ray cluster.

>>> from tracetree import fleet                                             # doctest: +SKIP
>>> plan = fleet.plan("runs/before", "runs/after", out="plan.json")         # doctest: +SKIP
>>> result = fleet.run(plan, out="fleet/", backend="ray", cpus_per_pair=1)  # doctest: +SKIP
>>> result.findings[0]["message"]                                           # doctest: +SKIP

Each pair of traces is one task, which writes a shard of a few kilobytes below ``out``. The shards are merged at the
end. A pair that already has a shard is not compared again, so a stopped run can be resumed. An engine schedules the
tasks: the cores of this machine, or a Ray cluster, which also retries a task if its worker is lost.

>>> answers = fleet.outcomes(plan, out="fleet/", backend="ray")             # doctest: +SKIP
>>> for answer in answers: print(answer.folder, answer.status, answer.code) # doctest: +SKIP
"""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tracetree import _native
from tracetree._errors import TraceError, TracetreeError, UsageError

__all__ = ["Answer", "Engine", "FleetResult", "Job", "Local", "Ray", "Task", "compare_pair", "outcomes", "plan",
           "reduce", "run"]

#: A run stops with an error after this many consecutive pairs for which the result could not be written or the worker
#: failed.
_MOST_FAILURES = 10

#: The error codes of the failures that ``_MOST_FAILURES`` counts: the result could not be written, or the worker
#: failed.
_FAILURES = ("SHARD_NOT_WRITTEN", "REPORT_NOT_WRITTEN", "WORKER_FAILED")

#: A comparison needs a constant number of bytes of memory, plus this many bytes per byte of the larger uncompressed
#: trace.
_MEMORY, _MEMORY_PER_BYTE = 64 << 20, 0.36

#: Assumed ratio of the uncompressed size to the compressed size of a trace.
_UNPACKED = 16

#: Maximum number of Ray tasks that are submitted but not finished at any time.
_SUBMITTED = 1000


class _WorkerLost(RuntimeError):
    """Raised if the process that compares a pair is killed. Ray then starts the task again."""


@dataclass(frozen=True)
class Job:
    """The settings that all tasks in a run have in common."""

    #: The plan without its pairs, as JSON.
    plan: str
    #: The folder or address for shards, under the name that the workers use.
    out: str
    #: Number of threads that a comparison uses.
    threads: int
    #: Maximum time for a comparison in seconds.
    timeout: float
    #: Whether pairs are compared in the worker itself instead of in a separate process for each pair.
    in_process: bool = False


@dataclass(frozen=True)
class Task:
    """One pair in a plan."""

    #: The pair, as JSON.
    pair: str
    #: Name of the shard.
    key: str
    #: Estimated memory of the comparison in bytes.
    memory: int


@dataclass(frozen=True)
class Answer:
    """The result for a pair. If a trace of the pair is damaged, the result contains an error code and the pair is not
    retried."""

    key: str
    #: ``ok``, ``damaged`` or ``failed``.
    status: str
    #: The reason if the comparison failed: ``TRUNCATED``, ``NOT_A_TRACE``, …; ``WORKER_LOST`` or ``TIMED_OUT`` if the
    #: worker was lost or the comparison took too long.
    code: str
    message: str
    #: Whether the pair was skipped because its shard already existed.
    was_there: bool = False
    #: The rank's folder in a report, such as ``rank_3``.
    folder: str = ""
    #: The role of the rank; ranks with the same role run the same ops. Empty if the role is unknown.
    role: str = ""
    #: GPU time per step without communication, in µs, of the baseline and of the candidate; ``None`` if it is unknown.
    step_us: tuple[float, float] | None = None
    #: The machine that compared the pair.
    host: str = ""


class Engine(Protocol):
    """Runs the tasks. Executors from ``concurrent.futures`` can also be used as engines."""

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        """Applies ``fn`` to each item and yields the results in any order. If the iteration is closed early, no further
        task is started."""


class Local:
    """Uses the cores of this machine, either with one process for each pair or with threads in this process.

    Threads start faster than processes, but if a comparison in a thread crashes, this process ends as well.
    """

    def __init__(self, cpus_per_pair: int = 1, in_process: bool = False) -> None:
        self._at_once = max(1, (os.cpu_count() or 1) // cpus_per_pair)
        #: Whether pairs are compared in threads of this process.
        self.in_process = in_process

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        threads = ThreadPoolExecutor(self._at_once)
        try:
            for done in as_completed([threads.submit(fn, item) for item in items]):
                yield done.result()
        finally:
            threads.shutdown(cancel_futures=True)


class Ray:
    """Uses the Ray cluster at ``RAY_ADDRESS`` or the cluster that this process already uses; otherwise starts a cluster
    on this machine.

    Ray starts a task for each pair and retries the task if its worker or node is lost or runs out of memory. Ray
    places a task on a node that has the task's estimated memory available. If no task ends for ``timeout`` seconds,
    the remaining tasks are cancelled.
    """

    def __init__(self, cpus_per_pair: int = 1, retries: int = 3, timeout: float = 7200.0) -> None:
        self._cpus, self._retries, self._timeout = cpus_per_pair, retries, timeout

    def map(self, fn: Callable[[Task], Answer], items: Sequence[Task], /) -> Iterable[Answer]:
        try:
            import ray
        except ImportError as error:
            raise UsageError('the Ray backend needs Ray: pip install "ray"') from error
        if not ray.is_initialized():
            ray.init(log_to_driver=False)
        make: Any = ray.remote
        remote = make(num_cpus=self._cpus, max_retries=self._retries, retry_exceptions=[_WorkerLost])(_answer_or_raise)
        shared = ray.put(fn)
        # Limit the requested memory: a task that requests more memory than any node has would never start.
        nodes: Callable[[], list[dict[str, Any]]] = ray.nodes
        most = int(max((node["Resources"].get("memory", 0) for node in nodes() if node["Alive"]), default=0))
        waiting: list[Task] = list(reversed(items))
        running: dict[Any, Task] = {}
        try:
            while waiting or running:
                while waiting and len(running) < _SUBMITTED:
                    item = waiting.pop()
                    running[remote.options(memory=min(item.memory, most)).remote(shared, item)] = item
                ended, _ = ray.wait(list(running), num_returns=1, timeout=self._timeout)
                if not ended:
                    message = (f"no pair ended within {self._timeout:g} s: does any node have {self._cpus} free CPUs and "
                               "enough free memory for a pair?")
                    yield from (Answer(item.key, "failed", "TIMED_OUT", message)
                                for item in [*running.values(), *reversed(waiting)])
                    return
                ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0)
                for one in ended:
                    yield _result(ray, one, running.pop(one))
        finally:
            for one in running:
                ray.cancel(one, force=True)


def _answer_or_raise(fn: Callable[[Task], Answer], item: Task) -> Answer:
    """Runs a task on a Ray worker. Raises an exception if the comparison was killed, so that Ray repeats the task."""
    answer = fn(item)
    if answer.code == "WORKER_LOST":
        raise _WorkerLost(answer.message)
    return answer


def _result(ray: Any, one: Any, item: Task) -> Answer:
    """The result of a Ray task that has ended, either normally or with an error."""
    try:
        answer: Answer = ray.get(one, timeout=60)
        return answer
    except ray.exceptions.RayTaskError as error:
        if not isinstance(error.cause, _WorkerLost):
            return Answer(item.key, "failed", "WORKER_FAILED", _first_line(error.cause))
        return Answer(item.key, "failed", "WORKER_LOST", str(error.cause))
    except ray.exceptions.OutOfMemoryError as error:
        return Answer(item.key, "failed", "OUT_OF_MEMORY", _first_line(error))
    except ray.exceptions.GetTimeoutError:
        return Answer(item.key, "failed", "TIMED_OUT", "the result did not arrive from its worker within 60 s")
    except ray.exceptions.RayError as error:
        return Answer(item.key, "failed", "WORKER_LOST", _first_line(error))


@dataclass(frozen=True)
class FleetResult:
    """The result of a fleet comparison. The tables are files in ``folder``, by default in Parquet format."""

    folder: Path
    #: The content of ``fleet.json``.
    document: dict[str, Any]
    #: The exit code of ``tracetree fleet reduce``: 0, or 3 if the coverage is below ``min_coverage`` or shards are
    #: missing.
    exit_code: int

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings, most important first. Each finding has ``code``, ``ranks``, ``count`` and ``message``."""
        found: list[dict[str, Any]] = self.document["findings"]
        return found

    @property
    def counts(self) -> dict[str, int]:
        """``planned`` = ``ok`` + ``failed`` + ``unmatched``."""
        return {name: self.document[name] for name in ("planned", "ok", "failed", "unmatched")}

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts.items())
        return f"<tracetree.fleet.FleetResult of {self.folder}: {counts}; findings: {len(self.findings)}>"


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


def outcomes(plan: str | os.PathLike[str], *, out: str | os.PathLike[str],
             shards: str | os.PathLike[str] | None = None, backend: str | Engine = "local", cpus_per_pair: int = 1,
             retries: int = 3, timeout: float = 3600.0) -> Iterator[Answer]:
    """Compares all pairs in a plan on an engine, and yields each outcome as soon as it is known.

    ``backend`` is ``"local"`` (one process for each pair), ``"threads"`` (threads of this process), ``"ray"`` or any
    object with ``map(fn, items)``. A comparison that takes longer than ``timeout`` seconds is killed, except with
    ``"threads"``. If the iteration ends early, for example because of an error or Ctrl-C, the remaining pairs are
    cancelled. The other parameters have the same meaning as in ``run``.

    Raises ``TraceError`` if ten pairs in a row fail because their results cannot be written or their workers fail.
    """
    whole = json.loads(Path(plan).read_text())
    pairs = whole["pairs"]
    engine = _engine(backend, cpus_per_pair, retries, timeout)
    head = json.dumps({**whole, "pairs": [], "unmatched": [], "notes": []})
    place = _place(out if shards is None else shards)
    job = Job(head, place, cpus_per_pair, timeout, getattr(engine, "in_process", False))
    # Compare the largest pairs first: if a large pair came last, the other workers would be idle while it is compared.
    tasks = [Task(json.dumps(pair), pair["key"], _memory(pair)) for pair in pairs]
    tasks.sort(key=lambda task: -task.memory)
    failures, answers = 0, engine.map(functools.partial(compare_pair, job), tasks)
    try:
        for answer in answers:
            yield answer
            failures = failures + 1 if answer.code in _FAILURES else failures if answer.was_there else 0
            if failures and failures >= min(_MOST_FAILURES, len(pairs)):
                raise TraceError(f"{failures} pairs in a row failed, the last one: {answer.message}")
    finally:
        close = getattr(answers, "close", None)
        if close:
            close()


def reduce(plan: str | os.PathLike[str], *, out: str | os.PathLike[str],
           shards: str | os.PathLike[str] | None = None, answers: Iterable[Answer] = (), min_coverage: float = 0.0,
           tables: str = "parquet") -> FleetResult:
    """Merges the shards of a plan. ``answers`` are the outcomes of the plan's pairs; without ``answers``, pairs that
    have no shard are reported as not compared.
    """
    folder, place = str(Path(out).resolve()), _place(out if shards is None else shards)
    known = list(answers)
    lost = {answer.key: [answer.code, answer.message] for answer in known if answer.status != "ok"}
    lost |= _not_visible([answer for answer in known if answer.status == "ok"], place)
    with tempfile.TemporaryDirectory() as aside:
        told = Path(aside) / "lost.json"
        told.write_text(json.dumps(lost))
        exit_code = _command("fleet", "reduce", os.fspath(plan), "-o", folder, "--shards", place, "--lost", str(told),
                             "--tables", tables, "--min-coverage", str(min_coverage), allowed=(0, 3)).returncode
    return FleetResult(Path(folder), json.loads((Path(folder) / "fleet.json").read_text()), exit_code)


def run(plan: str | os.PathLike[str], *, out: str | os.PathLike[str], shards: str | os.PathLike[str] | None = None,
        backend: str | Engine = "local", cpus_per_pair: int = 1, retries: int = 3, timeout: float = 3600.0,
        min_coverage: float = 0.0, tables: str = "parquet") -> FleetResult:
    """Compares all pairs in a plan on an engine, and merges the results by passing ``outcomes`` to ``reduce``.

    ``out`` is the folder for the result. ``shards`` (default ``out``) must be accessible to all workers under the
    same name. ``shards`` is a folder, or an address (``"s3://bucket/fleet"``) if ``TRACETREE_COMMAND`` names a command
    that supports addresses.

    Raises ``TraceError`` if results cannot be written.
    """
    answers = outcomes(plan, out=out, shards=shards, backend=backend, cpus_per_pair=cpus_per_pair, retries=retries,
                       timeout=timeout)
    return reduce(plan, out=out, shards=shards, answers=answers, min_coverage=min_coverage, tables=tables)


def compare_pair(job: Job, task: Task) -> Answer:
    """Compares one pair and writes its shard. Every failure is returned as a result, not raised."""
    plan = json.dumps({**json.loads(job.plan), "pairs": [json.loads(task.pair)]})
    host = socket.gethostname()
    try:
        told = json.loads(_native.map_pair(plan, job.out, job.threads) if job.in_process else _map_pair(plan, job))
    except _WorkerLost as error:
        return Answer(task.key, "failed", "WORKER_LOST", f"{host}: {error}", host=host)
    except subprocess.TimeoutExpired:
        message = f"{host}: the comparison took longer than {job.timeout:g} s and was stopped"
        return Answer(task.key, "failed", "TIMED_OUT", message, host=host)
    except (TracetreeError, OSError, ValueError) as error:
        return Answer(task.key, "failed", "WORKER_FAILED", f"{host}: {error}", host=host)
    times = told["step_us"]
    return Answer(task.key, told["status"], told["code"], told["message"], told["was_there"], told["folder"],
                  told["role"] or "", (times[0], times[1]) if times else None, host)


def _map_pair(plan: str, job: Job) -> str:
    """Compares the only pair in a plan in a separate process. Returns the line of JSON that the process prints."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "plan.json"
        path.write_text(plan)
        return _command("fleet", "map", str(path), "--pair", "0", "--json", "-o", job.out, threads=job.threads,
                        timeout=job.timeout).stdout


def _memory(pair: dict[str, Any]) -> int:
    """Estimated memory of a comparison in bytes."""
    files = (pair["baseline"], pair["candidate"])
    texts = (file["size"] * (_UNPACKED if file["path"].endswith((".gz", ".zst")) else 1) for file in files)
    return _MEMORY + int(_MEMORY_PER_BYTE * max(texts))


def _not_visible(compared: Sequence[Answer], place: str) -> dict[str, list[str]]:
    """The error ``SHARD_NOT_VISIBLE`` for each compared pair whose shard is not in the folder. For an address, all
    compared pairs are included, and ``reduce`` reports the error only for pairs without a shard."""
    if "://" not in place:
        compared = [answer for answer in compared if not Path(place, "shards", f"{answer.key}.parquet").exists()]
    hosts = sorted({answer.host for answer in compared})
    workers = "1 worker reports" if len(hosts) == 1 else f"{len(hosts)} workers report"
    named = ", ".join(hosts[:3]) + (", …" if len(hosts) > 3 else "")
    message = (f"{workers} shards that this machine cannot see in {place}: is this folder shared? ({named}) "
               "Pass a shared folder or an address as shards=")
    return {answer.key: ["SHARD_NOT_VISIBLE", message] for answer in compared}


def _place(folder: str | os.PathLike[str]) -> str:
    """Makes the path of a folder absolute, because a worker may have a different working directory. An address is
    returned unchanged."""
    text = os.fspath(folder)
    return text if "://" in text else str(Path(text).resolve())


def _engine(backend: str | Engine, cpus_per_pair: int, retries: int, timeout: float) -> Engine:
    if backend in ("local", "threads"):
        return Local(cpus_per_pair, in_process=backend == "threads")
    if backend == "ray":
        # Wait twice as long as a comparison may take, because a task may be retried or may have to wait for other
        # tasks.
        return Ray(cpus_per_pair, retries, 2 * timeout)
    if isinstance(backend, str):
        raise UsageError(f'there is no backend "{backend}": use "local", "threads", "ray" or any object with '
                         "map(fn, items)")
    return backend


def _command(*arguments: str, threads: int | None = None, timeout: float | None = None,
             allowed: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a separate process, so that a crash does not end this one.

    The environment variable ``TRACETREE_COMMAND`` can name another command, because the command in this package does
    not support addresses.
    """
    environment = {**os.environ, **({"RAYON_NUM_THREADS": str(threads)} if threads else {})}
    named = os.environ.get("TRACETREE_COMMAND")
    command = [named] if named else [sys.executable, "-m", "tracetree"]
    done = subprocess.run([*command, *arguments], env=environment, text=True,
                          capture_output=True, check=False, timeout=timeout)
    if done.returncode < 0 or done.returncode == 137:
        raise _WorkerLost(f"the process was killed by signal {-done.returncode if done.returncode < 0 else 9}")
    if done.returncode not in allowed:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        silent = f"the command failed with exit code {done.returncode}"
        message = lines[-1].removeprefix("tracetree: error: ") if lines else silent
        raise (UsageError if arguments[1] == "plan" else TraceError)(message)
    return done


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
