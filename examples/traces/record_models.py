"""Records steps of four small models on the CPU: a baseline for each model, and runs that each make one typical change.

    python record_models.py FOLDER                # all variants, each in a process of its own
    python record_models.py FOLDER unet silu      # one: FOLDER/unet_silu.pt.trace.json.gz

The bundled traces were recorded with PyTorch 2.15.0; a C++ compiler is needed for `torch.compile`.

| model | variant | change from `base` |
|---|---|---|
| `unet`: training | `silu` | SiLU instead of ReLU |
| | `groups` | two groups in one convolution of each block |
| | `upsample` | `Upsample` and a convolution instead of `ConvTranspose2d` |
| | `frozen_norm` | `model.eval()`: batch norms use running statistics |
| | `bf16` | `torch.autocast` to bfloat16 |
| | `channels_last` | the model and the images use the channels_last format |
| | `accumulate` | each step runs two batches and adds their gradients |
| | `compiled` | `torch.compile` of the model |
| | `schedule` | a learning rate schedule |
| `lstm`: training | `gru` | a GRU instead of an LSTM |
| | `bidirectional` | `bidirectional=True` |
| `dlrm`: training | `mean` | the embedding bags average the vectors instead of adding them up |
| | `compiled` | `torch.compile` of the model |
| `gpt`: decoding | `plain_attention` | attention is written out as matrix products and a softmax |
| | `inference` | `torch.inference_mode` instead of `torch.no_grad` |
| | `top_k` | the next word is sampled from the 20 most likely words |
"""

import sys

import torch
from torch import nn
from torch.nn import functional

from record_compiled import WARM_UP, profiled
from record_cpu import plain_attention
from record_cuda import record_given

VARIANTS = {
    "unet": [
        "base", "silu", "groups", "upsample", "frozen_norm", "bf16", "channels_last", "accumulate", "compiled",
        "schedule",
    ],
    "lstm": ["base", "gru", "bidirectional"],
    "dlrm": ["base", "mean", "compiled"],
    "gpt": ["base", "plain_attention", "inference", "top_k"],
}

WORDS, WIDTH, BATCH = 200, 32, 8


class Conv(nn.Module):
    def __init__(self, inputs, outputs, change):
        super().__init__()
        groups = 2 if change == "groups" and inputs % 2 == 0 else 1
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1, groups=groups)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)
        self.act = nn.SiLU() if change == "silu" else nn.ReLU()

    def forward(self, x):
        return self.act(self.norm2(self.second(self.act(self.norm1(self.first(x))))))


class UNet(nn.Module):
    def __init__(self, change):
        super().__init__()
        widths = [8, 16, 32]
        steps = list(zip(widths, widths[1:]))
        self.down = nn.ModuleList([Conv(inputs, outputs, change) for inputs, outputs in [(3, 8), *steps]])
        self.up = nn.ModuleList([self.doubled(wide, narrow, change) for narrow, wide in reversed(steps)])
        self.merge = nn.ModuleList([Conv(2 * narrow, narrow, change) for narrow, _ in reversed(steps)])
        self.head = nn.Conv2d(8, 2, 1)

    @staticmethod
    def doubled(wide, narrow, change):
        if change == "upsample":
            return nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(wide, narrow, 1))
        return nn.ConvTranspose2d(wide, narrow, 2, stride=2)

    def forward(self, x):
        kept = []
        for number, block in enumerate(self.down):
            x = block(functional.max_pool2d(x, 2) if number else x)
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, reversed(kept[:-1])):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x)

    def batch(self):
        return torch.randn(BATCH, 3, 32, 32), torch.randint(2, (BATCH, 32, 32))


class Words(nn.Module):
    def __init__(self, change):
        super().__init__()
        kind = nn.GRU if change == "gru" else nn.LSTM
        both = change == "bidirectional"
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.recurrent = kind(WIDTH, 2 * WIDTH, num_layers=2, bidirectional=both)
        self.head = nn.Linear((4 if both else 2) * WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.recurrent(self.embed(words))[0]).flatten(0, 1)

    def batch(self):
        words = torch.randint(WORDS, (17, BATCH))
        return words[:-1], words[1:].flatten()


class Clicks(nn.Module):
    def __init__(self, change):
        super().__init__()
        mode = "mean" if change == "mean" else "sum"
        self.tables = nn.ModuleList([nn.EmbeddingBag(100, 16, mode=mode) for _ in range(8)])
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 81, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, inputs):
        numbers, ids = inputs
        dense = self.bottom(numbers)
        rows = torch.stack([dense] + [table(one) for table, one in zip(self.tables, ids)], 1)
        return self.top(torch.cat([dense, (rows @ rows.mT).flatten(1)], 1))

    def batch(self):
        ids = torch.randint(100, (8, BATCH, 3)).unbind()
        return (torch.randn(BATCH, 13), ids), torch.randint(2, (BATCH,))


class Block(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.attention = functional.scaled_dot_product_attention
        if change == "plain_attention":
            self.attention = plain_attention

    def forward(self, x, keys, values):
        y = self.norm1(x)
        q, k, v = (part(y).unflatten(-1, (4, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        mixed = self.attention(q, torch.cat([keys, k], 2), torch.cat([values, v], 2))
        x = x + self.out(mixed.transpose(1, 2).flatten(-2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, change):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList([Block(change) for _ in range(4)])
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words, keys, values):
        x = self.embed(words)
        for block in self.blocks:
            x = block(x, keys, values)
        return self.head(x)[:, -1]


def training(model, change):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    run = torch.compile(model) if change == "compiled" else model
    layout = {"memory_format": torch.channels_last} if change == "channels_last" else {}
    if layout:
        model.to(**layout)
    if change == "frozen_norm":
        model.eval()

    def step(_number):
        for _ in range(2 if change == "accumulate" else 1):
            inputs, target = model.batch()
            if layout:
                inputs = inputs.to(**layout)
            with torch.autocast("cpu", torch.bfloat16, enabled=change == "bf16"):
                loss = functional.cross_entropy(run(inputs), target)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if change == "schedule":
            schedule.step()

    return step


def decoding(model, change):
    without_gradients = torch.inference_mode if change == "inference" else torch.no_grad
    keys, values = torch.randn(2, 2, 4, 24, WIDTH // 4)

    def step(_number):
        words = torch.zeros(2, 1, dtype=torch.long)
        with without_gradients():
            for _ in range(3):
                scores = model(words, keys, values)
                if change == "top_k":
                    best, places = scores.topk(20)
                    words = places.gather(-1, torch.multinomial(best.softmax(-1), 1))
                else:
                    words = scores.argmax(-1, keepdim=True)

    return step


def record(folder, name, change):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = {"unet": UNet, "lstm": Words, "dlrm": Clicks, "gpt": Gpt}[name](change)
    step = (decoding if name == "gpt" else training)(model, change)
    for number in range(WARM_UP):
        step(number)
    profiled(step, folder / f"{name}_{change}.pt.trace.json")


if __name__ == "__main__":
    recordings = [(model, change) for model, changes in VARIANTS.items() for change in changes]
    record_given(__file__, record, recordings, *sys.argv[1:])
