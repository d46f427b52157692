"""The options of ``tracetree.diff``, and the keyword arguments of functions that are forwarded by other functions."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, Union

from tracetree._inputs import Captures
from tracetree._names import public

#: A progress callback. The arguments are the stage (``reading baseline``, ``aligning``, …), the number of bytes read so
#: far, and the total number of bytes.
Progress = Callable[[str, int, Union[int, None]], object]

_Path = Union[str, "os.PathLike[str]"]
_Steps = Union[int, str, range, None]


@public
@dataclass(frozen=True, kw_only=True)
class Options:
    """Further options of ``tracetree.diff``. They are the same as for ``tracetree diff``."""

    #: Whether the repetitions of a call are the steps of a trace without recorded steps.
    repeats: bool = True
    #: The steps of the baseline, if they differ from ``steps``.
    baseline_steps: _Steps = None
    #: The steps of the candidate, if they differ from ``steps``.
    candidate_steps: _Steps = None
    #: Traces that were recorded while the graphs of the baseline were captured: paths, folders, or traces returned by
    #: ``tracetree.open``. The default is the folder ``capture_traces`` next to the trace; ``False`` ignores captures.
    baseline_captures: Captures = None
    #: The same for the candidate.
    candidate_captures: Captures = None
    #: A TOML file that lists names to treat as equal.
    aliases: _Path | None = None
    #: A TOML file with rules for the categories of kernels.
    categories: _Path | None = None
    #: A TOML file with efficiency models for ops.
    efficiency: _Path | None = None
    #: A TOML file with the peak rates of devices.
    peaks: _Path | None = None
    #: Number of Python stacks reported for each op and kernel.
    stacks: int = 3
    #: Differences below this share are ignored; 0.02 is 2%.
    relative_threshold: float = 0.02
    #: Differences below this time are ignored.
    absolute_threshold_us: float | None = None
    #: Whether damaged traces are rejected.
    strict: bool = False
    #: Maximum size of an uncompressed trace in bytes.
    max_unpacked: int | None = None
    #: Whether folders above the project, users and hosts are replaced by pseudonyms in all results; a list contains
    #: further names to replace. A trace that ``tracetree.open`` returned is used as it is.
    anonymize: bool | Sequence[str] = False


class RecordedOptions(TypedDict, total=False):
    """The keyword arguments of ``tracetree.diff`` without ``steps``, because ``compare`` has a parameter ``steps`` with a
    different meaning."""

    rank: int | None
    python: bool
    match: str | Sequence[str] | None
    phase: str | None
    names: tuple[str, str] | None
    progress: Progress | bool | None
    options: Options | None


class DiffOptions(RecordedOptions, total=False):
    """The keyword arguments of ``tracetree.diff``."""

    steps: _Steps


class GateOptions(TypedDict, total=False):
    """The keyword arguments of ``tracetree.gate``."""

    rules: _Path | None
    inconclusive: Literal["fail", "pass"] | None
    rank: int | None
    baseline_captures: Captures
    candidate_captures: Captures
    anonymize: bool | Sequence[str]
