"""Records training runs of a small transformer on the CPU: a baseline, and runs with one or two typical changes each.

    python record_cpu.py FOLDER               # all variants, each in a process of its own
    python record_cpu.py FOLDER clip          # one: FOLDER/cpu_clip.pt.trace.json.gz
    python record_cpu.py FOLDER bf16+clip     # two changes at once: FOLDER/cpu_bf16+clip.pt.trace.json.gz

The bundled traces were recorded with PyTorch 2.15.0; a C++ compiler is needed for `torch.compile`.

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `length` | sequences of 48 tokens instead of 32 |
| `wider` | the MLP is six times as wide as the model instead of four times |
| `blocks` | four blocks instead of three |
| `accumulate` | each step runs two batches and adds their gradients |
| `checkpoint` | each block is recomputed in the backward pass |
| `hook` | a hook counts the non-finite gradients of each block |
| `zero_grad` | gradients are set to zero instead of being removed |
| `layer_norm` | LayerNorm instead of RMSNorm |
| `plain_attention` | attention is written out as matrix products and a softmax |
| `dropout` | a dropout probability of 0.3 instead of 0.1 |
| `bias` | the linear layers have a bias |
| `bf16` | `torch.autocast` to bfloat16 |
| `clip` | `clip_grad_norm_` before the optimizer |
| `item` | the host reads the loss in each step: `loss.item()` |
| `adam`, `adam_foreach` | Adam instead of SGD, without and with `foreach=True` |
| `compiled`, `compiled_half`, `graph_break` | `torch.compile` for the model, for the first two blocks only, and for the model with a graph break in each block |
| `recompiled` | `torch.compile` for the model; the sequence length changes in the recorded steps |
| `workers` | the data loader runs in a worker process |
| `no_stacks` | the trace is recorded without Python stacks |
"""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import record_compiled
from record_compiled import WARM_UP, profiled
from record_cuda import record_given

VARIANTS = [
    "base", "again", "length", "wider", "blocks", "accumulate", "checkpoint", "hook", "zero_grad", "layer_norm",
    "plain_attention", "dropout", "bias", "bf16", "clip", "item", "adam", "adam_foreach", "compiled",
    "compiled_half", "graph_break", "recompiled", "workers", "no_stacks",
    "bf16+clip", "blocks+item", "length+adam", "checkpoint+layer_norm", "plain_attention+hook", "compiled+clip",
]

WIDTH, HEADS, WORDS, BATCH = 64, 4, 500, 4


class Block(nn.Module):
    def __init__(self, changes):
        super().__init__()
        norm = nn.LayerNorm if "layer_norm" in changes else nn.RMSNorm
        inner = (6 if "wider" in changes else 4) * WIDTH
        bias = "bias" in changes
        self.norm1, self.norm2 = norm(WIDTH), norm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=bias)
        self.out = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.gate = nn.Linear(WIDTH, inner, bias=bias)
        self.up = nn.Linear(WIDTH, inner, bias=bias)
        self.down = nn.Linear(inner, WIDTH, bias=bias)
        self.dropout = nn.Dropout(0.3 if "dropout" in changes else 0.1)
        self.attention = plain_attention if "plain_attention" in changes else attention
        self.breaks = "graph_break" in changes

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        mixed = self.attention(q, k, v)
        x = x + self.dropout(self.out(mixed.transpose(1, 2).reshape(batch, length, width)))
        if self.breaks:
            torch._dynamo.graph_break()
        y = self.norm2(x)
        return x + self.dropout(self.down(nn.functional.silu(self.gate(y)) * self.up(y)))


def attention(q, k, v):
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def plain_attention(q, k, v):
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


class Net(nn.Module):
    def __init__(self, changes):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block(changes) for _ in range(4 if "blocks" in changes else 3)])
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        self.recomputes = "checkpoint" in changes

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recomputes else block(x)
        return self.head(x)


class Sequences(torch.utils.data.Dataset):
    def __init__(self, changes):
        self.length = 48 if "length" in changes else 32
        self.varies = "recompiled" in changes

    def __len__(self):
        return 64 * BATCH

    def __getitem__(self, number):
        # In the variant `recompiled`, each recorded step has a different sequence length; all warm-up steps have the same.
        longer = 7 * max(0, number // BATCH - WARM_UP) if self.varies else 0
        generator = torch.Generator().manual_seed(number // BATCH)
        return torch.randint(WORDS, (self.length + longer + 1,), generator=generator)


def loss_of(net, tokens, changes):
    with torch.autocast("cpu", torch.bfloat16, enabled="bf16" in changes):
        logits = net(tokens[:, :-1])
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())


def count_bad(counts, gradients):
    counts.append((~torch.isfinite(gradients[0])).sum())


def optimizer_of(net, changes):
    if "adam" in changes or "adam_foreach" in changes:
        return torch.optim.Adam(net.parameters(), lr=1e-4, foreach="adam_foreach" in changes)
    return torch.optim.SGD(net.parameters(), lr=1e-3)


def record(folder, variant):
    changes = variant.split("+")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Net(changes)
    counts = []
    if "hook" in changes:
        for block in net.blocks:
            block.register_full_backward_hook(lambda _block, _inputs, outputs: count_bad(counts, outputs))
    if {"compiled", "graph_break", "recompiled"} & set(changes):
        net = torch.compile(net, dynamic=False)
    if "compiled_half" in changes:
        for block in net.blocks[:2]:
            block.compile()
    optimizer = optimizer_of(net, changes)
    workers = {"num_workers": 1, "prefetch_factor": 2} if "workers" in changes else {}
    batches = iter(torch.utils.data.DataLoader(Sequences(changes), BATCH, **workers))

    def step(_number):
        for _ in range(2 if "accumulate" in changes else 1):
            loss = loss_of(net, next(batches), changes)
            loss.backward()
        if "clip" in changes:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none="zero_grad" not in changes)
        counts.append(loss.item() if "item" in changes else loss.detach())

    for number in range(WARM_UP):
        step(number)
    if "no_stacks" in changes:
        record_compiled.RECORDED.update(with_stack=False, with_modules=False)
    profiled(step, folder / f"cpu_{variant}.pt.trace.json")


if __name__ == "__main__":
    record_given(__file__, record, [(variant,) for variant in VARIANTS], *sys.argv[1:])
