"""Records training runs of a small transformer on an NVIDIA GPU: baselines, and runs with one change of known duration.

    python record_known.py FOLDER                # all, each in a process of its own
    python record_known.py FOLDER host sleep     # one: FOLDER/host_sleep.pt.trace.json.gz

In `host`, the batch is so small that the GPU waits for the host. In `gpu`, the batch is so large that the host
waits for the GPU.

| variant | change from `base` |
|---|---|
| `base`, `again`, `third` | nothing |
| `sleep` | the host sleeps 3 ms before each forward pass |
| `spin` | a kernel of 1 ms runs at the end of each forward pass |
| `sync` | `torch.cuda.synchronize()` after each block of the forward pass |
"""

import sys
import time

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, schedule

import record_changes
import record_compiled
from record_cuda import WARM_UP, record_given

VARIANTS = ["base", "again", "third", "sleep", "spin", "sync"]
PROGRAMS = {"host": (1, 32), "gpu": (32, 512)}
STEPS = 4


def cycles_of(milliseconds):
    """Returns how many cycles `torch.cuda._sleep` must spin in order to take `milliseconds`."""
    cycles = 10_000_000
    torch.cuda._sleep(cycles)
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    torch.cuda._sleep(cycles)
    end.record()
    torch.cuda.synchronize()
    return int(cycles * milliseconds / start.elapsed_time(end))


class Synchronised(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        x = self.block(x)
        torch.cuda.synchronize()
        return x


def record(folder, program, variant):
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    sequences, length = PROGRAMS[program]
    net = record_changes.Net("base").cuda()
    if variant == "sync":
        net.blocks = nn.ModuleList([Synchronised(block) for block in net.blocks])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    batches = [torch.randint(record_changes.WORDS, (sequences, length + 1)).cuda() for _ in range(4)]
    cycles = cycles_of(1.0)

    def step(number):
        tokens = batches[number % len(batches)]
        if variant == "sleep":
            time.sleep(0.003)
        logits = net(tokens[:, :-1])
        if variant == "spin":
            torch.cuda._sleep(cycles)
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, record_changes.WORDS), tokens[:, 1:].reshape(-1)
        )
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    for number in range(10 * WARM_UP):
        step(number)
    torch.cuda.synchronize()
    path = folder / f"{program}_{variant}.pt.trace.json"
    with profile(
        activities=(ProfilerActivity.CPU, ProfilerActivity.CUDA),
        schedule=schedule(wait=0, warmup=3, active=STEPS, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
        record_shapes=True,
    ) as profiler:
        for number in range(STEPS + 3):
            step(number)
            profiler.step()
    record_compiled.tidied(path)


if __name__ == "__main__":
    recordings = [(program, variant) for program in PROGRAMS for variant in VARIANTS]
    record_given(__file__, record, recordings, *sys.argv[1:])
