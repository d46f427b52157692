"""Records traces with ``torch.profiler`` for later comparison."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from types import TracebackType
from typing import Any


def trace_handler(folder: str | os.PathLike[str]) -> Callable[[Any], None]:
    """A handler for ``torch.profiler.profile(on_trace_ready=…)`` that writes traces to ``folder``.

    Each rank writes its own compressed files: ``rank0.json.gz``, or ``rank0.step5.json.gz`` if the profiler
    has several cycles. ``tracetree diff runs/old runs/new`` matches them. A file appears only when it is
    complete.
    """

    def write(profiler: Any) -> None:
        target = trace_path(folder, rank(), getattr(profiler, "step_num", 0))
        place, name = os.path.split(target)
        os.makedirs(place, exist_ok=True)
        # In a folder of its own: no planted link can have the name, and no partial file looks like a trace.
        with tempfile.TemporaryDirectory(prefix=".tracetree-", dir=place) as aside:
            # The profiler compresses files named .gz.
            profiler.export_chrome_trace(os.path.join(aside, name))
            os.replace(os.path.join(aside, name), target)
        write.paths.append(target)  # type: ignore[attr-defined]

    write.paths = []  # type: ignore[attr-defined]
    return write


def trace_path(folder: str | os.PathLike[str], rank: int, step: int) -> str:
    """The file of a rank and a step; step 0 means a profiler without cycles."""
    name = f"rank{rank}.step{step}.json.gz" if step else f"rank{rank}.json.gz"
    return os.path.join(os.fspath(folder), name)


def rank() -> int:
    """The rank of this process from ``torch.distributed``, otherwise from the launcher, otherwise 0."""
    import sys

    # Only if torch is already imported, because importing it takes seconds.
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    told = os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0"))
    return int(told) if told.isdecimal() else 0


class profile:
    """Records the code in its block to ``folder``, with everything that a comparison needs.

    ``with tracetree.profile("runs/new") as p:`` wraps ``torch.profiler.profile`` with shapes and Python
    stacks, and writes one file for each rank. It waits for the GPU at both ends, so that the trace contains
    no earlier work and all work of the block. ``p.step()`` ends a step, ``p.path`` is the last file.
    Keyword arguments are passed to ``torch.profiler.profile``.

    Raises ``ImportError`` if torch is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
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
        self._handler = trace_handler(folder)
        wanted: dict[str, Any] = {"record_shapes": True, "with_stack": True, **options}
        self.profiler: Any = profiler.profile(on_trace_ready=self._handler, **wanted)
        """The ``torch.profiler.profile``."""

    @property
    def paths(self) -> list[str]:
        """The files written so far."""
        return list(self._handler.paths)  # type: ignore[attr-defined]

    @property
    def path(self) -> str | None:
        """The last file written; ``None`` before the first one."""
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
    """Waits for the GPU, if there is one."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.synchronize()
