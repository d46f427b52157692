"""Records models on an NVIDIA GPU, without Python stacks. Each variant changes the layers so that they are hard to
match with the layers of the baseline.

    python record_layers.py FOLDER                  # all, each in a process of its own
    python record_layers.py FOLDER gpt half         # one: FOLDER/gpt_half.pt.trace.json.gz

| program | variants |
|---|---|
| `gpt`: inference, 8 equal layers | `base`; `half`: every second layer is compiled; `more`: 12 layers; `gone`: the third layer is missing; `ranges`: `record_function` around some layers and some submodules of layers |
| `experts`: inference, 6 experts of different widths | `base`; `shuffled`: the experts run in a different order |
| `optimizer`: training | `foreach`, `loop`: AdamW with and without multi-tensor ops |
"""

import contextlib
import sys

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

import record_changes
import record_compiled
from record_cuda import WARM_UP, record_given

VARIANTS = {
    "gpt": ["base", "half", "more", "gone", "ranges"],
    "experts": ["base", "shuffled"],
    "optimizer": ["foreach", "loop"],
}


class Ranged(nn.Module):
    def __init__(self, part, name):
        super().__init__()
        self.part, self.name = part, name

    def forward(self, x):
        with record_function(self.name):
            return self.part(x)


def gpt(variant):
    layers = {"more": 12}.get(variant, 8)
    blocks = [record_changes.Block("base") for _ in range(layers)]
    if variant == "gone":
        del blocks[2]
    model = nn.Sequential(*blocks).cuda().bfloat16()
    if variant == "half":
        for block in model[1::2]:
            block.compile()
    if variant == "ranges":
        for number in (1, 2, 5):
            model[number] = Ranged(model[number], f"layer {number}")
        model[3].mlp = Ranged(model[3].mlp, "mlp of the fourth")
        model[6].attention = Ranged(model[6].attention, "attention")
        model[6].mlp.down = Ranged(model[6].mlp.down, "down")
    x = torch.randn(4, 256, record_changes.WIDTH, device="cuda", dtype=torch.bfloat16)
    return lambda: model(x)


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(record_changes.WIDTH, width)
        self.down = nn.Linear(width, record_changes.WIDTH)

    def forward(self, x):
        return self.down(nn.functional.silu(self.up(x)))


def experts(variant):
    all_experts = [Expert(width).cuda().bfloat16() for width in (1024, 1536, 2048, 2560, 3072, 3584)]
    order = [3, 0, 5, 1, 4, 2] if variant == "shuffled" else range(6)
    norm = nn.LayerNorm(record_changes.WIDTH).cuda().bfloat16()
    x = torch.randn(4096, record_changes.WIDTH, device="cuda", dtype=torch.bfloat16)

    def run():
        y = norm(x)
        return sum(all_experts[one](y) for one in order)

    return run


def optimizer(variant):
    net = record_changes.Net("base").cuda()
    adam = torch.optim.AdamW(net.parameters(), lr=1e-4, foreach=variant == "foreach")
    tokens = torch.randint(record_changes.WORDS, (8, 257), device="cuda")

    def run():
        logits = net(tokens[:, :-1])
        loss = nn.functional.cross_entropy(
            logits.reshape(-1, record_changes.WORDS), tokens[:, 1:].reshape(-1)
        )
        loss.backward()
        adam.step()
        adam.zero_grad()

    return run


def record(folder, program, variant):
    torch.manual_seed(0)
    run = {"gpt": gpt, "experts": experts, "optimizer": optimizer}[program](variant)
    path = folder / f"{program}_{variant}.pt.trace.json"
    with contextlib.nullcontext() if program == "optimizer" else torch.inference_mode():
        for _ in range(WARM_UP):
            run()
        with profile(
            activities=(ProfilerActivity.CPU, ProfilerActivity.CUDA),
            schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
            on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
            record_shapes=True,
        ) as profiler:
            for _ in range(3):
                run()
                torch.cuda.synchronize()
                profiler.step()
    record_compiled.tidied(path)


if __name__ == "__main__":
    recordings = [(program, variant) for program, variants in VARIANTS.items() for variant in variants]
    record_given(__file__, record, recordings, *sys.argv[1:])
