"""Records the training of two small models on the CPU, in eager mode and with `torch.compile`.

    python record_compiled.py cnn eager    # writes cnn_eager.pt.trace.json.gz next to this file
    python record_compiled.py cnn compiled
    python record_compiled.py tfm eager
    python record_compiled.py tfm compiled
    python record_compiled.py tfm compiled_blocks   # compiles each block separately

The bundled traces were recorded with PyTorch 2.6.0; any PyTorch 2.x works if a C++ compiler is installed. The model is
built and warmed up in the same way on both sides; only the call to `torch.compile` differs.
"""

import gzip
import json
import re
import sys
from pathlib import Path

import torch
import torch._inductor.config
from torch import nn
from torch.profiler import ProfilerActivity, profile, record_function, schedule

STEPS = 2
WARM_UP = 4

# The profiler options for all traces.
RECORDED = {"record_shapes": True, "with_stack": True, "with_modules": True}


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1)
        self.norm = nn.BatchNorm2d(width)

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x)) + x)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.layers = nn.ModuleList([Residual(16) for _ in range(3)])
        self.last = nn.Linear(16, 10)

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return self.last(x.mean(dim=(2, 3)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, 4, width // 4).unbind(2)
        scores = q.transpose(1, 2) @ k.transpose(1, 2).transpose(-1, -2) / (width // 4) ** 0.5
        mixed = torch.softmax(scores, dim=-1) @ v.transpose(1, 2)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Tfm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(1000, 128)
        self.blocks = nn.ModuleList([Block(128) for _ in range(3)])
        self.head = nn.Linear(128, 1000)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def batch_of(name):
    if name == "cnn":
        return torch.randn(8, 3, 32, 32), torch.randint(10, (8,))
    return torch.randint(1000, (4, 64)), torch.randint(1000, (4, 64))


def compiled(model, how):
    if how == "compiled":
        return torch.compile(model)
    if how == "compiled_blocks":
        for block in model.blocks:
            block.compile()
    return model


def record(name, how, path):
    torch.manual_seed(0)
    model = compiled({"cnn": Cnn, "tfm": Tfm}[name](), how)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(_number):
        inputs, target = batch_of(name)
        with record_function("## forward ##"):
            output = model(inputs)
            loss = nn.functional.cross_entropy(output.flatten(0, -2), target.flatten())
        with record_function("## backward ##"):
            loss.backward()
        with record_function("## optimizer ##"):
            optimizer.step()
            optimizer.zero_grad()

    for number in range(WARM_UP):
        step(number)
    profiled(step, path)


def profiled(step, path, activities=(ProfilerActivity.CPU,), steps=STEPS):
    """Runs `step(number)` once without recording, then records `steps` steps and writes the trace to `path` + ".gz"."""
    with profile(
        activities=activities,
        schedule=schedule(wait=0, warmup=1, active=steps, repeat=1),
        on_trace_ready=lambda done: done.export_chrome_trace(str(path)),
        **RECORDED,
    ) as profiler:
        for number in range(steps + 1):
            step(number)
            profiler.step()
    tidied(path)


def tidied(path):
    """Removes all data that identifies the machine from the trace at `path`, and compresses the file with gzip."""
    text = path.read_text()
    text = text.replace(f"{Path(__file__).resolve().parent}/", "")
    text = re.sub(r"/[^\s\"]*?/site-packages/", "", text)
    text = re.sub(r"/[^\s\"]*?/(lib/python3\.\d+)/", r"\1/", text)
    text = re.sub(r"/[^\s\"]*?/([a-z0-9]{2}/c[a-z0-9]{40,60}\.py)", r"\1", text)
    trace = json.loads(text)
    for key in ("traceName", "host_name", "trace_id"):
        trace.pop(key, None)
    packed = path.with_name(path.name + ".gz")
    body = json.dumps(trace, separators=(",", ":")).encode()
    packed.write_bytes(gzip.compress(body, mtime=0))
    path.unlink()


if __name__ == "__main__":
    name, how = sys.argv[1:]
    torch.set_num_threads(1)
    # Without `enable_kernel_profile`, the profiler does not record the loops that Inductor
    # generates.
    torch._inductor.config.cpp.enable_kernel_profile = True
    path = Path(__file__).with_name(f"{name}_{how}.pt.trace.json")
    record(name, how, path)
