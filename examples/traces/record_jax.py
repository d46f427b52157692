"""Records the training of a small network with JAX's profiler.

    python record_jax.py FOLDER             # all, each in a process of its own
    python record_jax.py FOLDER relu        # one: FOLDER/jax_relu.xplane.pb.gz and FOLDER/jax_relu.trace.json.gz

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `relu` | ReLU instead of GELU |
| `batch` | twice as many rows in a batch |
| `layer_more` | four layers instead of three |
"""

import gzip
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

from record_cuda import record_given

VARIANTS = ["base", "again", "relu", "batch", "layer_more"]
WIDTH = 1024


def record(folder, variant):
    layers = 4 if variant == "layer_more" else 3
    rows = 4096 if variant == "batch" else 2048
    activation = jax.nn.relu if variant == "relu" else jax.nn.gelu
    keys = jax.random.split(jax.random.key(0), layers + 1)
    weights = [jax.random.normal(key, (WIDTH, WIDTH), jnp.bfloat16) * 0.02 for key in keys[1:]]
    x = jax.random.normal(keys[0], (rows, WIDTH), jnp.bfloat16)

    def loss(weights, x):
        for number, weight in enumerate(weights):
            with jax.named_scope(f"layer_{number}"):
                x = x + activation(x @ weight)
        return jnp.mean(x.astype(jnp.float32) ** 2)

    @jax.jit
    def train_step(weights, x):
        gradients = jax.grad(loss)(weights, x)
        return [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients)]

    for _ in range(3):
        weights = train_step(weights, x)
    jax.block_until_ready(weights)
    with tempfile.TemporaryDirectory() as out:
        with jax.profiler.trace(out, create_perfetto_trace=False):
            for number in range(3):
                with jax.profiler.StepTraceAnnotation("train", step_num=number):
                    weights = train_step(weights, x)
                    jax.block_until_ready(weights)
        (planes,) = Path(out).rglob("*.xplane.pb")
        (folder / f"jax_{variant}.xplane.pb.gz").write_bytes(gzip.compress(planes.read_bytes(), mtime=0))
        (trace,) = Path(out).rglob("*.trace.json.gz")
        body = gzip.decompress(trace.read_bytes())
        (folder / f"jax_{variant}.trace.json.gz").write_bytes(gzip.compress(body, mtime=0))


if __name__ == "__main__":
    record_given(__file__, record, [(variant,) for variant in VARIANTS], *sys.argv[1:])
