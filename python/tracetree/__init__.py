"""Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.

>>> import tracetree
>>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
...                    "examples/traces/resnet.cuda.json.gz")
>>> print(d.answer)
5.8% faster: 5.336 → 5.024 ms per step; GPU busy −0.629 ms, GPU idle +0.317 ms; the device was idle 22 → 30% of the step

pandas, polars, pyarrow and DuckDB can read every table in ``d`` directly. Every difference is candidate − baseline, so
a positive time difference is a slowdown. If the values in a column have a unit, the column's name ends with the unit.
"""

from typing import TYPE_CHECKING

from tracetree._compare import diff, open
from tracetree._errors import TraceError, TraceWarning, UsageError
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

if TYPE_CHECKING:
    from tracetree._gate import (
        Finding,
        GateOutcome,
        RegressionError,
        Site,
        assert_no_regression,
        gate,
    )
    from tracetree._profiling import profile, trace_handler
    from tracetree._steps import compare_steps

__all__ = [
    "Comparison",
    "Explanation",
    "Finding",
    "GateOutcome",
    "Node",
    "RegressionError",
    "Site",
    "Table",
    "Trace",
    "TraceError",
    "TraceWarning",
    "Tree",
    "UsageError",
    "WhatIf",
    "__version__",
    "assert_no_regression",
    "compare_steps",
    "diff",
    "gate",
    "open",
    "profile",
    "trace_handler",
]

#: Public names, each with the module that defines it. These modules are imported on first use, because importing them
#: here would double the time that ``import tracetree`` takes.
_LATER = {
    "Finding": "_gate",
    "GateOutcome": "_gate",
    "RegressionError": "_gate",
    "Site": "_gate",
    "assert_no_regression": "_gate",
    "compare_steps": "_steps",
    "gate": "_gate",
    "profile": "_profiling",
    "trace_handler": "_profiling",
}


def __getattr__(name: str) -> object:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'tracetree' has no attribute {name!r}")
    import importlib

    value: object = getattr(importlib.import_module(f"tracetree.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
