"""Records a small ResNet and a small transformer on an NVIDIA GPU, each in several variants.

    python record_cuda.py FOLDER                   # all variants, each in a process of its own
    python record_cuda.py FOLDER resnet eager      # one: FOLDER/resnet_eager.pt.trace.json.gz

| program | variants |
|---|---|
| `resnet`: training, float32 | `eager`, `amp` (autocast to bfloat16), `channels_last`, `compiled`, `reduce_overhead`, `tf32_off`, `benchmark`; `…_again`, `…_third`: the same variant, run again |
| `tfm`: training of a transformer, bfloat16 | `math`, `flash`, `efficient` and `cudnn`, named after the backend for scaled dot product attention; `compiled` |
| `decode`: inference of the transformer in `tfm`, few tokens | `eager`, `compiled`, `eager_streams` (attention and MLP on two streams); `graph`, `graph_streams`, `reduce_overhead`: replays of CUDA graphs; `decode_….capture.pt.trace.json.gz` is the trace of the capture |

A model is built and warmed up in the same way on both sides of a pair; only the variant differs.
"""

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, record_function

import record_compiled

ACTIVITIES = (ProfilerActivity.CPU, ProfilerActivity.CUDA)
WARM_UP = 6
DECODE_BATCHES = (4, 8)

VARIANTS = {
    "resnet": [
        "eager", "eager_again", "eager_third", "amp", "channels_last", "compiled", "reduce_overhead",
        "tf32_off", "tf32_off_again", "benchmark",
    ],
    "tfm": ["math", "flash", "efficient", "cudnn", "compiled"],
    "decode": ["eager", "eager_streams", "compiled", "graph", "graph_streams", "reduce_overhead"],
}

BACKENDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}


class BasicBlock(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.shortcut = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Conv2d(inside, outside, 1, stride)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.norm = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layers = nn.Sequential(
            BasicBlock(64, 64, 1), BasicBlock(64, 128, 2), BasicBlock(128, 128, 1), BasicBlock(128, 256, 2)
        )
        self.head = nn.Linear(256, 100)

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.stem(x))))
        return self.head(self.layers(x).mean(dim=(2, 3)))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width)
        self.k = nn.Linear(width, width)
        self.v = nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Branched(nn.Module):
    """A block whose attention and MLP run concurrently on two streams."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = Mlp(width)
        self.side = torch.cuda.Stream()

    def forward(self, x):
        y = self.norm(x)
        here = torch.cuda.current_stream()
        self.side.wait_stream(here)
        with torch.cuda.stream(self.side):
            beside = self.mlp(y)
        straight = self.attention(y)
        here.wait_stream(self.side)
        return x + straight + beside


class Tfm(nn.Module):
    def __init__(self, block=Block, layers=3, width=768, heads=12, words=4096):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def profiled(step, path, steps=record_compiled.STEPS):
    """Runs `step(number)` once without recording, then records `steps` steps and writes the trace to `path` + ".gz"."""

    def whole_step(number):
        step(number)
        torch.cuda.synchronize()

    record_compiled.profiled(whole_step, path, ACTIVITIES, steps)


def captured(capture, path):
    """Records the calls that `capture()` makes. The trace contains no steps."""
    with profile(activities=ACTIVITIES, **record_compiled.RECORDED) as profiler:
        capture()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    record_compiled.tidied(path)


def train(model, batch, path):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    inputs, target = batch

    def step(_number):
        with record_function("## forward ##"):
            output = model(inputs)
            loss = nn.functional.cross_entropy(output.flatten(0, -2).float(), target.flatten())
        with record_function("## backward ##"):
            loss.backward()
        with record_function("## optimizer ##"):
            optimizer.step()
            optimizer.zero_grad()

    for _ in range(WARM_UP):
        step(0)
    profiled(step, path)


def record_resnet(variant, path):
    torch.backends.cudnn.allow_tf32 = not variant.startswith("tf32_off")
    torch.backends.cudnn.benchmark = variant == "benchmark"
    model = ResNet().cuda()
    images = torch.randn(128, 3, 128, 128, device="cuda")
    if variant == "channels_last":
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    if variant == "amp":
        model.forward = torch.autocast("cuda", torch.bfloat16)(model.forward)
    if variant == "compiled":
        model = torch.compile(model)
    if variant == "reduce_overhead":
        model = torch.compile(model, mode="reduce-overhead")
    train(model, (images, torch.randint(100, (128,), device="cuda")), path)


def record_tfm(variant, path):
    model = Tfm().cuda().bfloat16()
    tokens = torch.randint(4096, (8, 1024), device="cuda")
    target = torch.randint(4096, (8, 1024), device="cuda")
    if variant == "compiled":
        model = torch.compile(model)
    with sdpa_kernel(BACKENDS.get(variant, SDPBackend.FLASH_ATTENTION)):
        train(model, (tokens, target), path)


def record_decode(variant, path):
    capture_path = path.with_name(path.name.replace(".pt.trace", ".capture.pt.trace"))
    block = Branched if variant.endswith("streams") else Block
    model = Tfm(block, layers=4).cuda().bfloat16().eval()
    tokens = {batch: torch.randint(4096, (batch, 16), device="cuda") for batch in DECODE_BATCHES}

    # Each step runs both batch sizes, so both captured graphs are replayed.
    def step_of(run):
        def step(_number):
            for batch in DECODE_BATCHES:
                with record_function(f"decode_{batch}"):
                    run(batch)
        return step

    with torch.inference_mode():
        if variant.startswith("graph"):
            aside = torch.cuda.Stream()
            with torch.cuda.stream(aside):
                for _ in range(WARM_UP):
                    for batch in DECODE_BATCHES:
                        model(tokens[batch])
            torch.cuda.synchronize()
            graphs = {batch: torch.cuda.CUDAGraph() for batch in DECODE_BATCHES}

            def capture():
                for batch in DECODE_BATCHES:
                    with record_function(f"capture_{batch}"), torch.cuda.graph(graphs[batch]):
                        model(tokens[batch])

            captured(capture, capture_path)
            step = step_of(lambda batch: graphs[batch].replay())
        else:
            if not variant.startswith("eager"):
                mode = "reduce-overhead" if variant == "reduce_overhead" else None
                # With dynamic shapes, the two batch sizes would share one compiled graph.
                model = torch.compile(model, mode=mode, dynamic=False)
            step = step_of(lambda batch: model(tokens[batch]))
        if variant == "reduce_overhead":
            step(0)  # compiles the model and warms up; the next step captures the graphs
            captured(lambda: step(1), capture_path)
        for _ in range(WARM_UP):
            step(0)
        profiled(step, path)


def record(folder, program, variant):
    torch.manual_seed(0)
    path = folder / f"{program}_{variant}.pt.trace.json"
    {"resnet": record_resnet, "tfm": record_tfm, "decode": record_decode}[program](variant, path)


def record_each(script, folder, recordings):
    """Runs `script FOLDER …` once per recording."""
    failed = []
    for recording in recordings:
        # Each recording needs a new process, because a process caches compiled code and selected algorithms.
        done = subprocess.run([sys.executable, script, str(folder), *recording])
        print(*recording, "failed" if done.returncode else "recorded", flush=True)
        if done.returncode:
            failed.append(" ".join(recording))
    if failed:
        sys.exit(f"not recorded: {', '.join(failed)}")


def record_given(script, record, recordings, folder, *only):
    """Makes the recording given by `only`; without `only`, makes all recordings, each in a separate process."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if only:
        return record(folder, *only)
    record_each(script, folder, recordings)


if __name__ == "__main__":
    recordings = [(program, one) for program, variants in VARIANTS.items() for one in variants]
    record_given(__file__, record, recordings, *sys.argv[1:])
