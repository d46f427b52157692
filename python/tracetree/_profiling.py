"""Records traces with ``torch.profiler`` for later comparison."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tracetree._errors import TraceWarning
from tracetree._names import kind, public


#: The environment variable with the folder into which all recordings are written.
FOLDER = "TRACETREE_RECORD"


@public
class handler:
    """A handler for ``torch.profiler.profile(on_trace_ready=…)`` that writes traces to ``folder``.

    Nothing is overwritten: each handler writes to the next free folder, ``run0``, ``run1``, …, unless ``run`` is given.
    A run is free if this rank has no file in it and in no later one, so ranks that record equally often agree. In it,
    each rank writes its own compressed files: ``rank0.json.gz``, or ``rank0.step5.json.gz`` if the profiler's schedule
    has several cycles. ``tracetree diff runs/old runs/new`` takes the folders' runs as the runs of both sides. A file
    appears only when it is complete.

    ``log_to`` also logs each file: ``wandb.run`` and ``mlflow`` as an artifact, and a
    ``SummaryWriter`` of TensorBoard as the path in a text. A function is called with the path.

    Raises ``FileExistsError`` if this rank already has a file in the given run, ``TypeError`` if ``log_to`` cannot log.
    """

    #: Whether this process has a handler.
    exists = False

    def __init__(self, folder: str | os.PathLike[str], *, run: int | None = None, log_to: Any = None) -> None:
        # ``tracetree run`` collects the recordings of programs that record themselves.
        folder = os.environ.get(FOLDER, folder)
        if run is not None:
            check_counts({"run": run})
            if run in runs_of(folder, rank()):
                raise FileExistsError(
                    f"{os.path.join(os.fspath(folder), f'run{run}')} already has a trace of rank {rank()}: omit run= to "
                    "record the next run, or remove the file"
                )
        self.paths: list[str] = []
        """The paths of the traces that have been written so far."""
        self._folder, self._run, self._log = os.fspath(folder), run, logger(log_to)
        handler.exists = True
        self._is_ending = False

    def __call__(self, profiler: Any) -> None:
        """Writes the trace of a profiler."""
        if self._run is None:
            self._run = max(runs_of(self._folder, rank()), default=-1) + 1
        place = os.path.join(self._folder, f"run{self._run}")
        step = getattr(profiler, "step_num", 0)
        target = trace_path(place, rank(), step if has_cycles(profiler) else 0)
        if target in self.paths:
            # An earlier trace already has this name: add the step to the name.
            target = trace_path(place, rank(), step)
        name = os.path.basename(target)
        os.makedirs(place, exist_ok=True)
        # Write to a new temporary folder first: an attacker cannot place a link there, and a partial file cannot be
        # mistaken for a trace.
        with tempfile.TemporaryDirectory(prefix=".tracetree-", dir=place) as aside:
            # The profiler compresses files whose name ends in .gz.
            exported = os.path.join(aside, name)
            profiler.export_chrome_trace(exported)
            if self._is_ending:
                forget_empty_step(profiler, exported)
            os.replace(os.path.join(aside, name), target)
        self.paths.append(target)
        self._log(target)


def logger(log_to: Any) -> Callable[[str], object]:
    """A function that logs the file at a path."""
    if log_to is None:
        return lambda path: None
    if hasattr(log_to, "log_artifact"):
        if type(log_to).__module__.partition(".")[0] == "wandb":
            # Names of artifacts consist of letters, digits, hyphens, underscores and dots.
            return lambda path: log_to.log_artifact(path, name=f"trace-{os.path.basename(path)}", type="profile")
        return lambda path: log_to.log_artifact(path, "traces")
    if hasattr(log_to, "add_text"):
        return lambda path: log_to.add_text("trace", f"`{path}`")
    if callable(log_to):
        return log_to  # type: ignore[no-any-return]
    raise TypeError(
        f"log_to must be wandb.run, mlflow, a SummaryWriter or a function of the path, not {kind(log_to)}"
    )


def runs_of(folder: str | os.PathLike[str], rank: int) -> list[int]:
    """The numbers of the runs in ``folder`` that have a file of a rank."""
    try:
        places = [entry for entry in os.scandir(folder) if entry.is_dir()]
    except FileNotFoundError:
        return []
    numbers = [int(place.name[3:]) for place in places if is_run(place.name)]
    own = re.compile(rf"rank{rank}(\.step\d+)?\.json(\.gz)?")
    return [
        number
        for number in numbers
        if any(own.fullmatch(name) for name in os.listdir(os.path.join(folder, f"run{number}")))
    ]


def is_run(name: str) -> bool:
    """Whether ``name`` is the name of a run's folder, such as ``run0``."""
    return re.fullmatch(r"run(0|[1-9]\d*)", name) is not None


def trace_path(folder: str | os.PathLike[str], rank: int, step: int) -> str:
    """The path of the trace file for a rank and a step. If the step is 0, the file name does not contain the step."""
    name = f"rank{rank}.step{step}.json.gz" if step else f"rank{rank}.json.gz"
    return os.path.join(os.fspath(folder), name)


def forget_empty_step(profiler: Any, path: str) -> None:
    """Renames the last step in a trace, which the last call of ``step()`` opens, if this step contains no op.

    PyTorch opens a step at every call of ``step()``, including the last call. Without the renaming, a loop with 5 steps
    would produce a trace with 6 steps, the last of which is empty.
    """
    last = f"ProfilerStep#{profiler.step_num}"
    events = profiler.profiler.kineto_results.events()
    begins = [event.start_ns() for event in events if event.name() == last]
    if not begins or any(
        event.start_ns() >= begins[0] and event.name() != last and not is_frame(event.name())
        for event in events
    ):
        return
    with gzip.open(path, "rb") as file:
        text = file.read()
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(text.replace(f'"{last}"'.encode(), b'"after the last step"'))


def is_frame(name: str) -> bool:
    """Whether ``name`` is the name of a Python frame, such as ``train.py(12): step``, or of a built-in function."""
    return "): " in name or name.startswith("<built-in")


#: Number of steps that are searched for a second cycle of the profiler's schedule. In practice, a second cycle ends
#: much sooner.
HORIZON = 10_000


def has_cycles(profiler: Any) -> bool:
    """Whether the profiler's schedule produces more than one trace."""
    if not getattr(profiler, "record_steps", False):
        return False
    ends = (step for step in range(HORIZON) if action(profiler, step) == "RECORD_AND_SAVE")
    return next(ends, None) is not None and next(ends, None) is not None


def action(profiler: Any, step: int) -> str:
    """What the profiler's schedule does in a step: ``NONE``, ``WARMUP``, ``RECORD`` or ``RECORD_AND_SAVE``."""
    return str(profiler.schedule(step).name)


def rank() -> int:
    """The rank of this process as reported by ``torch.distributed`` or by the environment variables of the launcher; 0
    if the rank is unknown."""
    import sys

    # Ask torch for the rank only if torch is already imported, because the import takes seconds.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    number = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    return int(number) if number.isdecimal() else 0


#: Default value of ``schedule``: the schedule is built from ``wait``, ``warmup``, ``active`` and ``repeat``.
OF_COUNTS: Any = object()


@public
class profile:
    """Records the steps in a ``with`` block, with all data that a comparison needs, and writes the traces to
    ``folder``.

    ``with tracetree.profile("runs/new") as p:`` wraps ``torch.profiler.profile`` with shapes and Python stacks, and
    writes one file for each rank, ``runs/new/run0/rank0.json.gz``. Nothing is overwritten: the next recording into the
    same folder is ``run1``; ``run`` chooses the number, and ``log_to`` is where
    each file is also logged, as in ``tracetree.handler``. Call ``p.step()`` after each step of the program. The first ``wait`` steps run
    without the profiler. The next ``warmup`` steps run under the profiler without being recorded, and the next
    ``active`` steps are recorded. This cycle runs ``repeat`` times; if ``repeat`` is 0, it is repeated until the block
    ends. Each cycle is recorded to its own file. ``schedule=None`` records the whole block instead. Any other value of
    ``schedule`` is passed on to ``torch.profiler.profile``, as are all other keyword arguments.

    ``p.path`` is the path of the last trace that was written. The profiler waits for the GPU before and after the
    recorded steps, so that the trace contains all work from these steps and no earlier work. If the block raises an
    exception, no file is written for the unfinished cycle. If no file is written because the block has too few steps, a
    ``TraceWarning`` is issued.

    Raises ``ImportError`` if torch is not installed, ``ValueError`` for a negative number of steps.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        run: int | None = None,
        log_to: Any = None,
        wait: int = 1,
        warmup: int = 2,
        active: int = 5,
        repeat: int = 1,
        schedule: Callable[[int], Any] | None = OF_COUNTS,
        **options: Any,
    ) -> None:
        try:
            import torch.profiler as profiler
        except ImportError:
            raise ImportError(
                "tracetree.profile() needs torch.profiler: install torch"
            ) from None
        if "on_trace_ready" in options:
            raise TypeError(
                "tracetree.profile() sets on_trace_ready itself; to use your own handler, call "
                "torch.profiler.profile(on_trace_ready=…)"
            )
        self._unrecorded = 0
        if schedule is OF_COUNTS:
            counts = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat}
            check_counts(counts)
            self._unrecorded = wait + warmup
            schedule = profiler.schedule(**counts)
        elif schedule is None:
            # PyTorch records step boundaries only if there is a schedule.
            everything = profiler.ProfilerAction.RECORD
            schedule = lambda step: everything  # noqa: E731
        self._handler = handler(folder, run=run, log_to=log_to)
        self._steps = 0
        wanted: dict[str, Any] = {"record_shapes": True, "with_stack": True, **options}
        self.profiler: Any = profiler.profile(
            on_trace_ready=self._handler, schedule=schedule, **wanted
        )
        """The ``torch.profiler.profile``."""

    @property
    def paths(self) -> list[str]:
        """The paths of the traces that have been written so far."""
        return list(self._handler.paths)

    @property
    def path(self) -> str | None:
        """The path of the last trace that was written; ``None`` if none has been written yet."""
        paths = self.paths
        return paths[-1] if paths else None

    def step(self) -> None:
        """Call this method when a step of the program has ended."""
        now, following = (action(self.profiler, self._steps + more) for more in (0, 1))
        is_first = following.startswith("RECORD") and not now.startswith("RECORD")
        if is_first or now == "RECORD_AND_SAVE":
            synchronise()
        self._steps += 1
        self.profiler.step()

    def __enter__(self) -> profile:
        synchronise()
        self.profiler.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            synchronise()
        self._handler._is_ending = True
        if error is not None or 0 < self._steps <= self._unrecorded:
            # Write no trace if the block was interrupted by an exception, or if the first recorded step had only just
            # begun.
            self.profiler.on_trace_ready = None
        self.profiler.__exit__(kind, error, traceback)
        if error is None and not self.paths:
            import warnings

            warnings.warn(TraceWarning(self._nothing_recorded()), stacklevel=2)

    def _nothing_recorded(self) -> str:
        times = "1 time" if self._steps == 1 else f"{self._steps} times"
        return (
            f"NOTHING_RECORDED: step() was called {times}, but recording begins after "
            f"{self._unrecorded} steps, so no file was written. Call step() after each step of the program, "
            "lower wait and warmup, or record the whole block with schedule=None"
        )


def check_counts(counts: dict[str, int]) -> None:
    """Raises an exception if a number of steps or runs is not an integer or is too small."""
    for name, count in counts.items():
        if isinstance(count, bool) or not hasattr(count, "__index__"):
            raise TypeError(f"{name} must be a whole number, not {type(count).__name__}")
        least = 1 if name in ("active", "runs") else 0
        if count < least:
            raise ValueError(f"{name} must be at least {least}, not {count}")


def synchronise() -> None:
    """Waits for the GPU, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
