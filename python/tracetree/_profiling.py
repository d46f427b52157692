"""Recording traces with ``torch.profiler``, ready to be compared."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import Any


def trace_handler(folder: str | os.PathLike[str]) -> Callable[[Any], None]:
    """What ``torch.profiler.profile(on_trace_ready=…)`` takes to write traces into ``folder``.

    Each rank writes files of its own, packed: ``rank0.json.gz``; where a profiler has several cycles,
    ``rank0.step5.json.gz``. ``tracetree diff runs/old runs/new`` pairs them. A file appears when it is
    complete.
    """

    def write(profiler: Any) -> None:
        target = trace_path(folder, rank(), getattr(profiler, "step_num", 0))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        # The profiler packs what ends in .gz. A name that begins with a dot is no trace yet.
        partial = os.path.join(os.path.dirname(target), f".{os.getpid()}.{os.path.basename(target)}")
        try:
            profiler.export_chrome_trace(partial)
            os.replace(partial, target)
        finally:
            if os.path.exists(partial):
                os.remove(partial)
        write.paths.append(target)  # type: ignore[attr-defined]

    write.paths = []  # type: ignore[attr-defined]
    return write


def trace_path(folder: str | os.PathLike[str], rank: int, step: int) -> str:
    """The file of a rank and a step; step 0 is that of a profiler without cycles."""
    name = f"rank{rank}.step{step}.json.gz" if step else f"rank{rank}.json.gz"
    return os.path.join(os.fspath(folder), name)


def rank() -> int:
    """The rank of this process: of ``torch.distributed``, else of the launcher, else 0."""
    import sys

    # Only where the program has it already: importing torch takes seconds.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    told = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    return int(told) if told.isdecimal() else 0


class profile:
    """Records what runs in its block, into ``folder``, with what a comparison wants to know.

    ``with tracetree.profile("runs/new") as p:`` wraps ``torch.profiler.profile`` with shapes and Python
    stacks, waits for the GPU at both ends so that nothing of before is in it and nothing of it is
    missing, and writes one file for each rank. ``p.step()`` ends a step, ``p.path`` is the last file.
    Keyword arguments go to ``torch.profiler.profile``.

    Raises ``ImportError`` without torch.
    """

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        try:
            import torch.profiler as profiler
        except ImportError:
            raise ImportError(
                "tracetree.profile() records with torch.profiler: install torch"
            ) from None
        if "on_trace_ready" in options:
            raise TypeError(
                "tracetree.profile() writes the traces itself; for a handler of your own use "
                "torch.profiler.profile(on_trace_ready=…)"
            )
        self._handler = trace_handler(folder)
        wanted: dict[str, Any] = {"record_shapes": True, "with_stack": True, **options}
        self.profiler: Any = profiler.profile(on_trace_ready=self._handler, **wanted)
        """The ``torch.profiler.profile``."""

    @property
    def paths(self) -> list[str]:
        """The files that were written."""
        return list(self._handler.paths)  # type: ignore[attr-defined]

    @property
    def path(self) -> str | None:
        """The last file that was written; ``None`` before the first."""
        paths = self.paths
        return paths[-1] if paths else None

    def step(self) -> None:
        """Ends a step of the program."""
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
        self.profiler.__exit__(kind, error, traceback)


def synchronise() -> None:
    """Waits for the GPU, where there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
