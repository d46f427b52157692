"""Records training runs of a small transformer on an NVIDIA GPU: a baseline, and runs with one typical change each.

    python record_changes.py FOLDER          # all variants, each in a process of its own
    python record_changes.py FOLDER item     # one: FOLDER/train_item.pt.trace.json.gz

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `item` | the host reads the loss in each step: `loss.item()` instead of `loss.detach()` |
| `layer_gone` | two blocks instead of three |
| `batch` | twice as many sequences in a batch |
| `fused_adam` | `AdamW(fused=True)` |
| `foreach_off` | `AdamW(foreach=False)` |
| `clip` | `clip_grad_norm_` before the optimizer |
| `loader` | the data loader takes 4 ms longer |
| `gelu` | the GELU is computed by separate elementary ops |
| `dropout` | a dropout layer after each attention layer |
| `relu` | ReLU instead of GELU |
| `five_steps` | five steps are recorded instead of two |
"""

import sys
import time

import torch
from torch import nn

from record_compiled import STEPS
from record_cuda import WARM_UP, profiled, record_given

VARIANTS = [
    "base", "again", "item", "layer_gone", "batch", "fused_adam", "foreach_off", "clip", "loader", "gelu",
    "dropout", "relu", "five_steps",
]

WIDTH, HEADS, WORDS, LENGTH = 512, 8, 8000, 256


class Attention(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.dropout = nn.Dropout(0.1) if variant == "dropout" else None

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        x = self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x if self.dropout is None else self.dropout(x)


class Mlp(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        self.activation = {"gelu": written_out, "relu": torch.relu}.get(variant, nn.functional.gelu)

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


def written_out(x):
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3)))


class Block(nn.Module):
    def __init__(self, variant):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.attention = Attention(variant)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mlp = Mlp(variant)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Net(nn.Module):
    def __init__(self, variant):
        super().__init__()
        layers = 2 if variant == "layer_gone" else 3
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block(variant) for _ in range(layers)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def load(batches, number, variant):
    """Returns the next batch, on the GPU."""
    if variant == "loader":
        time.sleep(0.004)
    return batches[number % len(batches)].cuda(non_blocking=True)


def record(folder, variant):
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    net = Net(variant).cuda()
    choice = {"fused_adam": {"fused": True}, "foreach_off": {"foreach": False}}.get(variant, {})
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, **choice)
    sequences = 16 if variant == "batch" else 8
    batches = [torch.randint(WORDS, (sequences, LENGTH + 1)) for _ in range(4)]
    losses = []

    def step(number):
        tokens = load(batches, number, variant)
        logits = net(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        loss.backward()
        if variant == "clip":
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item() if variant == "item" else loss.detach())

    for number in range(WARM_UP):
        step(number)
    steps = 5 if variant == "five_steps" else STEPS
    profiled(step, folder / f"train_{variant}.pt.trace.json", steps)


if __name__ == "__main__":
    record_given(__file__, record, [(variant,) for variant in VARIANTS], *sys.argv[1:])
