"""Makes pairs of small traces in which one quantity can grow: steps, changes, kernel names or shuffled siblings."""

import json
import random
from pathlib import Path
from typing import Any


class _Writer:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.launches = 0
        self.gpu_free = 0.0

    def event(self, category: str, name: str, start: float, time: float, thread: int = 1, **args: Any) -> None:
        self.events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": start, "dur": time, "args": args}
        )

    def op(self, name: str, start: float, kernel: str, kernel_time: float = 2.0, **args: Any) -> None:
        """An op of 8 µs that launches one kernel."""
        self.launches += 1
        self.event("cpu_op", name, start, 8, **args)
        self.event("cuda_runtime", "cudaLaunchKernel", start + 2, 3, correlation=self.launches)
        begin = max(self.gpu_free, start + 5)
        self.gpu_free = begin + kernel_time
        self.event("kernel", kernel, begin, kernel_time, 7, correlation=self.launches, device=0, stream=7)

    def write(self, path: Path) -> None:
        devices = [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]
        path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": devices, "traceEvents": self.events}))


def steps(count: int, is_candidate: bool) -> _Writer:
    """Steps with one op each; the kernels of the candidate take longer, each step by another time."""
    out = _Writer()
    for at in range(count):
        out.event("user_annotation", f"ProfilerStep#{at + 1}", at * 20, 19)
        out.op("aten::add", at * 20 + 2, "add_kernel", 2 + (at % 7) * 0.01 * is_candidate)
    return out


def changes(count: int, is_candidate: bool) -> _Writer:
    """Modules of different classes; in the candidate, each calls one more op."""
    out = _Writer()
    out.event("user_annotation", "ProfilerStep#1", 0, count * 100 + 10)
    for at in range(count):
        start = 5 + at * 100
        out.event("python_function", f"nn.Module: Block{at}_0", start, 95)
        for part in range(5):
            out.op("aten::mm", start + 1 + part * 12, "gemm", 6)
        if is_candidate:
            out.op(f"aten::own{at}", start + 70, f"own_{at}", 6)
    return out


def names(count: int, is_candidate: bool) -> _Writer:
    """Kernels with different names; every second one has another name in the candidate."""
    out = _Writer()
    out.event("user_annotation", "ProfilerStep#1", 0, count * 10 + 10)
    for at in range(count):
        out.op(f"aten::op{at % 50}", 5 + at * 10, f"triton_poi_fused_{at}{'x' * (is_candidate and at % 2)}")
    return out


def shuffled(count: int, is_candidate: bool) -> _Writer:
    """Layers of different widths; the candidate runs them in a random order."""
    out = _Writer()
    out.event("user_annotation", "ProfilerStep#1", 0, count * 20 + 10)
    layers = list(range(count))
    if is_candidate:
        random.Random(1).shuffle(layers)
    for at, layer in enumerate(layers):
        start = 5 + at * 20
        out.event("python_function", f"nn.Module: Linear_{layer}", start, 18)
        out.op("aten::linear", start + 1, "gemm", **{"Input Dims": [[4, layer + 1], [layer + 1, 64]]})
    return out


KINDS = [(steps, 1_000), (changes, 200), (names, 2_000), (shuffled, 5_000)]
