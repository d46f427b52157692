"""Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.

>>> import tracetree
>>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
...                    "examples/traces/resnet.cuda.json.gz")
>>> print(d.answer)
5.8% faster: 5.336 → 5.024 ms per step; GPU busy −0.629 ms, GPU idle +0.317 ms; the device was idle 22 → 30% of the step

pandas, polars, pyarrow and DuckDB can read every table in ``d`` directly. Every difference is candidate − baseline, so
a positive time difference is a slowdown. If the values in a column have a unit, the column's name ends with the unit.
"""

import typing as _typing

from tracetree._compare import diff, open
from tracetree._errors import TraceError, TraceWarning, TracetreeError, UsageError
from tracetree._native import (
    VERSION as __version__,
    Comparison,
    Explanation,
    Node,
    Table,
    Trace,
    Tree,
    WhatIf,
)

if _typing.TYPE_CHECKING:
    from tracetree import fleet, integrations, tracelens
    from tracetree._gate import (
        Finding,
        GateOutcome,
        RegressionError,
        Site,
        assert_no_regression,
        gate,
    )
    from tracetree._options import Options
    from tracetree._profiling import handler, profile
    from tracetree._steps import BillLine, StepComparison, StepTimes, compare

__all__ = [
    "BillLine",
    "Comparison",
    "Explanation",
    "Finding",
    "GateOutcome",
    "Node",
    "Options",
    "RegressionError",
    "Site",
    "StepComparison",
    "StepTimes",
    "Table",
    "Trace",
    "TraceError",
    "TraceWarning",
    "TracetreeError",
    "Tree",
    "UsageError",
    "WhatIf",
    "__version__",
    "assert_no_regression",
    "compare",
    "diff",
    "fleet",
    "gate",
    "handler",
    "integrations",
    "open",
    "profile",
    "tracelens",
]

#: Public names, each with the module that defines it; an empty string for a module. These modules are imported on first
#: use, because importing them here would double the time that ``import tracetree`` takes.
_LATER = {
    "BillLine": "_steps",
    "Finding": "_gate",
    "GateOutcome": "_gate",
    "Options": "_options",
    "RegressionError": "_gate",
    "Site": "_gate",
    "StepComparison": "_steps",
    "StepTimes": "_steps",
    "assert_no_regression": "_gate",
    "compare": "_steps",
    "fleet": "",
    "gate": "_gate",
    "handler": "_profiling",
    "integrations": "",
    "profile": "_profiling",
    "tracelens": "",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'tracetree' has no attribute {name!r}")
    import importlib

    value: object = importlib.import_module(f"tracetree.{module or name}")
    if module:
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__") and name != "__all__")]
