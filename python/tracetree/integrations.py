"""Records in training frameworks, into the same folders as ``tracetree.profile``.

Each function needs the package of its framework only when it is called::

    Trainer(…, callbacks=[tracetree.integrations.huggingface("runs/new")])
    lightning.Trainer(…, profiler=tracetree.integrations.lightning("runs/new"))
    Accelerator(kwargs_handlers=[tracetree.integrations.accelerate("runs/new")])

For ``torch.profiler`` itself, pass ``on_trace_ready=tracetree.handler("runs/new")``.
"""

from __future__ import annotations

import os
from typing import Any

from tracetree._profiling import check_counts, handler, profile


class Recorder:
    """Records the first steps of a loop that calls ``step`` after each step. The profiler ends with the last recorded
    step, so it does not slow down the rest of the training."""

    def __init__(self, folder: str | os.PathLike[str], counts: dict[str, int], options: dict[str, Any]) -> None:
        check_counts(counts)
        self._folder, self._options = folder, {**counts, **options}
        self._left = sum(counts.values())
        self._profile: profile | None = None

    def start(self) -> None:
        """Starts the profiler, once."""
        if self._profile is None and self._left > 0:
            self._profile = profile(self._folder, **self._options)
            self._profile.__enter__()

    def step(self) -> None:
        """Call this method when a step has ended."""
        if self._profile is not None:
            self._profile.step()
            self._left -= 1
            if self._left <= 0:
                self.stop()

    def stop(self) -> None:
        """Ends the recording. If the training had too few steps, a ``TraceWarning`` is issued."""
        recorded, self._profile = self._profile, None
        self._left = 0
        if recorded is not None:
            recorded.__exit__(None, None, None)


def huggingface(
    folder: str | os.PathLike[str], *, wait: int = 1, warmup: int = 2, active: int = 5, **options: Any
) -> Any:
    """A ``TrainerCallback`` for the ``Trainer`` of transformers that records ``active`` training steps.

    The first ``wait`` steps run without the profiler, and ``warmup`` steps run under the profiler without being recorded.
    All other keyword arguments are those of ``tracetree.profile``, such as ``log_to``.

    Raises ``ImportError`` if transformers is not installed.
    """
    try:
        from transformers import TrainerCallback
    except ImportError:
        raise ImportError("tracetree.integrations.huggingface() needs transformers: pip install transformers") from None
    recorder = Recorder(folder, {"wait": wait, "warmup": warmup, "active": active}, options)

    class TraceCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
        """Records training steps."""

        def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
            recorder.start()

        def on_step_end(self, *args: Any, **kwargs: Any) -> None:
            recorder.step()

        def on_train_end(self, *args: Any, **kwargs: Any) -> None:
            recorder.stop()

    return TraceCallback()


#: What Lightning calls a training step.
BATCH = "run_training_batch"


def lightning(
    folder: str | os.PathLike[str], *, wait: int = 1, warmup: int = 2, active: int = 5, **options: Any
) -> Any:
    """A profiler for the ``Trainer`` of Lightning that records ``active`` training steps. The arguments are those of
    ``huggingface``.

    Raises ``ImportError`` if neither lightning nor pytorch_lightning is installed.
    """
    try:
        from lightning.pytorch.profilers import Profiler
    except ImportError:
        try:
            from pytorch_lightning.profilers import Profiler
        except ImportError:
            raise ImportError("tracetree.integrations.lightning() needs Lightning: pip install lightning") from None
    recorder = Recorder(folder, {"wait": wait, "warmup": warmup, "active": active}, options)

    class TraceProfiler(Profiler):  # type: ignore[misc, unused-ignore]
        """Records training steps."""

        def start(self, action_name: str) -> None:
            if action_name == BATCH:
                recorder.start()

        def stop(self, action_name: str) -> None:
            if action_name == BATCH:
                recorder.step()

        def teardown(self, stage: str | None) -> None:
            recorder.stop()
            super().teardown(stage)

    return TraceProfiler()


def accelerate(
    folder: str | os.PathLike[str],
    *,
    run: int | None = None,
    log_to: Any = None,
    wait: int = 1,
    warmup: int = 2,
    active: int = 5,
    **options: Any,
) -> Any:
    """A ``ProfileKwargs`` for the ``Accelerator`` of Accelerate. ``accelerator.profile()`` then records shapes and stacks
    into ``folder``; call ``step()`` on the profiler after each step.

    All other keyword arguments are passed to ``ProfileKwargs``. Raises ``ImportError`` if Accelerate is not installed.
    """
    try:
        from accelerate import ProfileKwargs
    except ImportError:
        raise ImportError("tracetree.integrations.accelerate() needs Accelerate: pip install accelerate") from None
    counts = {"wait": wait, "warmup": warmup, "active": active}
    check_counts(counts)
    wanted = {"record_shapes": True, "with_stack": True, "schedule_option": {**counts, "repeat": 1}, **options}
    return ProfileKwargs(on_trace_ready=handler(folder, run=run, log_to=log_to), **wanted)
