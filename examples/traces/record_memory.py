"""Records the memory use of training runs on an NVIDIA GPU: a baseline, and runs with one change each.

    python record_memory.py FOLDER             # all, each in a process of its own
    python record_memory.py FOLDER leak        # one: FOLDER/memory_leak.pt.trace.json.gz and .pickle.gz

Each variant is recorded twice: a trace with `profile_memory=True`, and a memory snapshot of the same steps.

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `checkpoint` | each block is recomputed in the backward pass (`torch.utils.checkpoint`) |
| `batch` | twice as many sequences in a batch |
| `empty_cache` | `torch.cuda.empty_cache()` after each step |
| `leak` | the loss of each step is kept, which also keeps the tensors for the backward pass alive |
| `fragments` | tensors of many sizes are allocated before the first step, and every second tensor is freed |
"""

import gzip
import pickle
import re
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.checkpoint import checkpoint

import record_changes
import record_compiled
from record_cuda import WARM_UP, record_given

VARIANTS = ["base", "again", "checkpoint", "batch", "empty_cache", "leak", "fragments"]
STEPS = 3


class Recomputed(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


def tidied(value, seen):
    """Shortens the file names in a snapshot in place: removes the folders of installed files."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        name = value.get("filename")
        if isinstance(name, str):
            name = re.sub(r"^/.*?/site-packages/", "", name)
            name = re.sub(r"^/.*?/(lib/python3\.\d+)/", r"\1/", name)
            value["filename"] = name.rsplit("/", 1)[-1] if name.startswith("/") else name
        for one in value.values():
            tidied(one, seen)
    elif isinstance(value, list):
        for one in value:
            tidied(one, seen)


def write_snapshot(path):
    snapshot = torch.cuda.memory._snapshot()
    tidied(snapshot, set())
    path.write_bytes(gzip.compress(pickle.dumps(snapshot, protocol=4), mtime=0))


def record(folder, variant):
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    net = record_changes.Net("base").cuda()
    if variant == "checkpoint":
        net.blocks = nn.ModuleList([Recomputed(block) for block in net.blocks])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    sequences = 16 if variant == "batch" else 8
    length = record_changes.LENGTH
    batches = [torch.randint(record_changes.WORDS, (sequences, length + 1)).cuda() for _ in range(4)]
    kept = []
    if variant == "fragments":
        several = [torch.empty(size * 300_000, device="cuda") for size in range(1, 40)]
        kept.extend(several[::2])
        del several

    def step(number):
        tokens = batches[number % len(batches)]
        logits = net(tokens[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, record_changes.WORDS), tokens[:, 1:].reshape(-1)
        )
        loss.backward(retain_graph=variant == "leak")
        optimizer.step()
        optimizer.zero_grad()
        if variant == "leak":
            kept.append(loss)
        if variant == "empty_cache":
            torch.cuda.empty_cache()

    for number in range(WARM_UP):
        step(number)
    path = folder / f"memory_{variant}.pt.trace.json"
    with profile(
        activities=(ProfilerActivity.CPU, ProfilerActivity.CUDA),
        schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
        profile_memory=True,
        record_shapes=True,
    ) as profiler:
        for number in range(STEPS + 1):
            step(number)
            torch.cuda.synchronize()
            profiler.step()
    record_compiled.tidied(path)

    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    for number in range(2):
        step(number)
    torch.cuda.synchronize()
    write_snapshot(folder / f"memory_{variant}.pickle.gz")


if __name__ == "__main__":
    record_given(__file__, record, [(variant,) for variant in VARIANTS], *sys.argv[1:])
