"""Records the training of a small network with JAX's profiler.

    python record_jax.py FOLDER             # all, each in a process of its own
    python record_jax.py FOLDER relu        # one: FOLDER/jax_relu.xplane.pb.gz and FOLDER/jax_relu.trace.json.gz

Without a GPU, the network is smaller and uses float32, and the files are named jax_cpu_….

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `relu` | ReLU instead of GELU |
| `batch` | twice as many rows in a batch |
| `layer_more` | four layers instead of three |
| `bfloat16` | bfloat16 instead of float32 (CPU only, because the GPU recordings always use bfloat16) |
| `checkpoint` | `jax.checkpoint` around each layer (CPU only) |
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

IS_CPU = jax.default_backend() == "cpu"
VARIANTS = ["base", "again", "relu", "batch", "layer_more"] + ["bfloat16", "checkpoint"] * IS_CPU
WIDTH, ROWS = (128, 256) if IS_CPU else (1024, 2048)


def record(folder, variant):
    layers = 4 if variant == "layer_more" else 3
    rows = 2 * ROWS if variant == "batch" else ROWS
    dtype = jnp.float32 if IS_CPU and variant != "bfloat16" else jnp.bfloat16
    activation = jax.nn.relu if variant == "relu" else jax.nn.gelu
    keys = jax.random.split(jax.random.key(0), layers + 1)
    weights = [jax.random.normal(key, (WIDTH, WIDTH), dtype) * 0.02 for key in keys[1:]]
    x = jax.random.normal(keys[0], (rows, WIDTH), dtype)

    def layer(x, weight):
        return x + activation(x @ weight)

    if variant == "checkpoint":
        layer = jax.checkpoint(layer)

    def loss(weights, x):
        for number, weight in enumerate(weights):
            with jax.named_scope(f"layer_{number}"):
                x = layer(x, weight)
        return jnp.mean(x.astype(jnp.float32) ** 2)

    @jax.jit
    def train_step(weights, x):
        gradients = jax.grad(loss)(weights, x)
        return [(weight - 0.01 * gradient).astype(weight.dtype) for weight, gradient in zip(weights, gradients)]

    for _ in range(3):
        weights = train_step(weights, x)
    jax.block_until_ready(weights)
    with tempfile.TemporaryDirectory() as out:
        with jax.profiler.trace(out, create_perfetto_trace=False):
            for number in range(3):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = train_step(weights, x)
                    jax.block_until_ready(weights)
        name = f"jax_cpu_{variant}" if IS_CPU else f"jax_{variant}"
        (planes,) = Path(out).rglob("*.xplane.pb")
        (folder / f"{name}.xplane.pb.gz").write_bytes(gzip.compress(planes.read_bytes(), mtime=0))
        if IS_CPU:
            return
        (trace,) = Path(out).rglob("*.trace.json.gz")
        body = gzip.decompress(trace.read_bytes())
        (folder / f"{name}.trace.json.gz").write_bytes(gzip.compress(body, mtime=0))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:]:
        record(folder, sys.argv[2])
    else:
        for variant in VARIANTS:
            subprocess.run([sys.executable, __file__, str(folder), variant], check=True)
