"""Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.

>>> import tracetree
>>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
...                    "examples/traces/resnet.cuda.json.gz")
>>> print(d.answer)
5.8% faster: 5.336 → 5.024 ms per step; GPU busy −0.629 ms, GPU idle +0.317 ms; the device was idle 22 → 30% of the step

pandas, polars, pyarrow and DuckDB can read every table of ``d`` directly. Differences are candidate −
baseline, more time is worse, and the name of a column ends in its unit, if it has one.
"""

from tracetree._compare import diff, open
from tracetree._errors import TraceError, TraceWarning, UsageError
from tracetree._gate import (
    Finding,
    GateOutcome,
    RegressionError,
    Site,
    assert_no_regression,
    gate,
)
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
