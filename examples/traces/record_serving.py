"""Records a small inference engine on an NVIDIA GPU: a transformer with a key-value cache and a scheduler.

    python record_serving.py FOLDER               # all, each in a process of its own
    python record_serving.py FOLDER reordered     # one: FOLDER/serving_reordered.pt.trace.json.gz

Each forward pass is annotated as in vLLM (`execute_context_N(K)_generation_M(T)`) or, in the variant `sglang`,
as in SGLang (`step[DECODE bs=M]`). The traces contain no profiler steps.

| variant | change from `base` |
|---|---|
| `base`, `again` | nothing |
| `reordered` | the same requests arrive in a different order |
| `fewer` | two fewer requests |
| `math` | attention uses the math backend |
| `chunked` | a long prompt is prefilled in chunks of 256 tokens, with decodes between the chunks |
| `sglang` | forward passes are annotated as in SGLang |
"""

import sys

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile, record_function

import record_compiled
from record_cuda import record_given

VARIANTS = ["base", "again", "reordered", "fewer", "math", "chunked", "sglang"]
WIDTH, HEADS, LAYERS, WORDS, LONGEST, SLOTS = 512, 8, 4, 8000, 1024, 8

# The prompt length and the number of tokens to generate, for each request.
REQUESTS = [(512, 6), (96, 4), (300, 5), (64, 3), (700, 4), (128, 6)]
ORDERS = {"reordered": [4, 1, 5, 0, 3, 2], "fewer": [0, 1, 2, 3]}


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)
        shape = (SLOTS, HEADS, LONGEST, WIDTH // HEADS)
        self.register_buffer("keys", torch.zeros(shape))
        self.register_buffer("values", torch.zeros(shape))

    def forward(self, x, slots, start, mask):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        for row, slot in enumerate(slots):
            begin = start[row]
            self.keys[slot, :, begin : begin + length] = k[row]
            self.values[slot, :, begin : begin + length] = v[row]
        end = max(start) + length
        keys, values = self.keys[slots, :, :end], self.values[slots, :, :end]
        mixed = nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList([Layer() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, slots, start):
        batch, length = tokens.shape
        places = torch.arange(max(start) + length, device=tokens.device)
        begin = torch.tensor(start, device=tokens.device)[:, None] + torch.arange(length, device=tokens.device)
        mask = (places <= begin[..., None])[:, None]
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, slots, start, mask)
        return self.head(self.norm(x[:, -1])).argmax(-1)


class Engine:
    """In each iteration, prefills a waiting request if a slot is free, then decodes all admitted requests together."""

    def __init__(self, variant):
        self.model = Model().cuda().bfloat16().eval()
        self.variant = variant

    def run(self, requests):
        waiting, active, free = list(requests), [], list(range(SLOTS))
        while waiting or active:
            if waiting and free:
                length, wanted = waiting.pop(0)
                slot = free.pop(0)
                done = 0
                while done < length:
                    chunk = min(256, length - done) if self.variant == "chunked" else length - done
                    self.prefill(slot, done, chunk)
                    done += chunk
                    if done < length:
                        self.decode(active, free)
                active.append({"slot": slot, "length": length, "left": wanted})
            self.decode(active, free)

    def prefill(self, slot, start, length):
        name = f"execute_context_1({length})_generation_0(0)"
        if self.variant == "sglang":
            name = f"step[EXTEND bs=1 toks={length}]"
        with record_function(name):
            tokens = torch.randint(WORDS, (1, length), device="cuda")
            self.model(tokens, [slot], [start]).tolist()

    def decode(self, active, free):
        count = len(active)
        if count == 0:
            return
        name = f"execute_context_0(0)_generation_{count}({count})"
        if self.variant == "sglang":
            name = f"step[DECODE bs={count}]"
        with record_function(name):
            tokens = torch.randint(WORDS, (count, 1), device="cuda")
            slots = [one["slot"] for one in active]
            self.model(tokens, slots, [one["length"] for one in active]).tolist()
        for one in active:
            one["length"] += 1
            one["left"] -= 1
        for one in [one for one in active if one["left"] == 0]:
            active.remove(one)
            free.append(one["slot"])


def record(folder, variant):
    torch.manual_seed(0)
    engine = Engine(variant)
    requests = [REQUESTS[one] for one in ORDERS.get(variant, range(len(REQUESTS)))]
    backend = SDPBackend.MATH if variant == "math" else SDPBackend.EFFICIENT_ATTENTION
    path = folder / f"serving_{variant}.pt.trace.json"
    with torch.inference_mode(), sdpa_kernel(backend):
        engine.run(requests)
        torch.cuda.synchronize()
        with profile(activities=(ProfilerActivity.CPU, ProfilerActivity.CUDA), record_shapes=True) as profiler:
            engine.run(requests)
            torch.cuda.synchronize()
    profiler.export_chrome_trace(str(path))
    record_compiled.tidied(path)


if __name__ == "__main__":
    record_given(__file__, record, [(variant,) for variant in VARIANTS], *sys.argv[1:])
