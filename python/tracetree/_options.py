"""The keyword arguments of ``tracetree.diff`` and ``tracetree.gate``, for functions that forward these arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    from tracetree._inputs import Captures

#: A progress callback. The arguments are the stage (``reading baseline``, ``aligning``, …), the number of bytes read so
#: far, and the total number of bytes.
Progress = Callable[[str, int, Union[int, None]], object]

_Path = Union[str, "os.PathLike[str]"]
_Steps = Union[int, str, range, None]


class RecordedOptions(TypedDict, total=False):
    """The options of ``tracetree.diff`` without ``steps``, because ``compare`` has a parameter ``steps`` with a
    different meaning."""

    rank: int | None
    python: bool
    repeats: bool
    aliases: _Path | None
    match: str | Sequence[str] | None
    phase: str | None
    baseline_steps: _Steps
    candidate_steps: _Steps
    names: tuple[str, str] | None
    baseline_captures: Captures
    candidate_captures: Captures
    categories: _Path | None
    efficiency: _Path | None
    peaks: _Path | None
    stacks: int
    relative_threshold: float
    absolute_threshold_us: float | None
    strict: bool
    max_unpacked: int | None
    anonymize: bool | Sequence[str]
    progress: Progress | bool | None


class DiffOptions(RecordedOptions, total=False):
    """The options of ``tracetree.diff``."""

    steps: _Steps


class GateOptions(TypedDict, total=False):
    """The options of ``tracetree.gate``."""

    rules: _Path | None
    inconclusive: Literal["fail", "pass"] | None
    rank: int | None
    baseline_captures: Captures
    candidate_captures: Captures
    anonymize: bool | Sequence[str]
