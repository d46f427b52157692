
# Below this line, every script is the same; above it are only literals.
import argparse
import ast
import bisect
import importlib
import json
import os
import platform
import statistics
import sys
import tempfile
import time

try:
    import torch
except ImportError:
    torch = None

# A measurement within this share of the recording reproduces it.
TOLERANCE = 0.15
# Bytes that are written before each call, more than any L2 cache has.
FLUSH = 256 * 2**20
WARM_UP, PROFILED, MOST_SECONDS = 5, 20, 10
MARK = "tracetree::call"
# Ops that need probabilities; other floating-point inputs are normally distributed.
UNIT = ("bernoulli", "multinomial", "poisson", "normal", "binary_cross_entropy", "binomial", "_standard_gamma")
NUMBERS = {"int": (int,), "SymInt": (int,), "float": (int, float), "bool": (bool,), "number": (int, float, bool, complex)}


class CannotRun(Exception):
    """The call cannot run here; the script ends with exit code 2."""


def stop(message):
    raise CannotRun(message)


def options(arguments=None):
    replayable = [side for side, case in CASES.items() if case["args"] is not None]
    cli = argparse.ArgumentParser(
        description="Repeats one recorded call, and compares its time with the recording.",
        epilog="Exit codes: 0 reproduced, or no recording is from this device; 1 not reproduced; 2 the call cannot run.",
    )
    cli.add_argument("--side", choices=replayable, help="whose arguments to use (default: the side from this device)")
    cli.add_argument("--device", help="where to run (default: cuda, if there is a GPU and the recording has GPU time)")
    cli.add_argument("--repeat", type=int, default=50, help="number of measured calls (default: 50)")
    cli.add_argument("--max-bytes", type=float, default=8e9, help="refuse inputs larger than this (default: 8e9)")
    cli.add_argument("--set", action="append", default=[], metavar="ARG=VALUE", help="an argument, as a Python literal")
    help_import = "a module that registers custom ops"
    cli.add_argument("--import", dest="imports", action="append", default=[], metavar="MODULE", help=help_import)
    cli.add_argument("--no-variants", action="store_true", help="measure only the recorded call")
    cli.add_argument("--json", action="store_true", default=JSON, help="print JSON")
    chosen = cli.parse_args(arguments)
    chosen.values = dict(SET)
    for pair in chosen.set:
        name, equals, value = pair.partition("=")
        if not equals:
            cli.error(f"--set {pair}: expected ARG=VALUE")
        chosen.values[name] = value
    for name, value in chosen.values.items():
        try:
            chosen.values[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            cli.error(f"--set {name}={value}: not a Python literal; quote strings twice: --set \"approximate='tanh'\"")
    chosen.imports = IMPORTS + chosen.imports
    chosen.sides = replayable
    return chosen


# --- Which overload of the op takes the recorded arguments ---


def misfit(kind, arg):
    """How badly a recorded argument fits a parameter: 0 fits, larger numbers are guesses, None is impossible."""
    if kind.startswith("Optional["):
        return 0 if arg[0] == "absent" else misfit(kind[9:-1], arg)
    if arg[0] == "absent":
        # Profilers do not record strings, devices, generators, undefined tensors and lists of optional tensors.
        if kind in ("str", "Device", "Generator", "Stream", "Layout", "List[Optional[Tensor]]"):
            return 0
        return 1 if kind == "Tensor" else 2
    if arg[0] == "unknown":
        names = {"int": ("int", "SymInt", "number"), "bool": ("bool", "number"), "float": ("float", "number")}
        fits = kind.startswith("List[") if arg[1] == "list" else kind in names.get(arg[1], NUMBERS)
        return 0 if fits and kind != "List[Tensor]" else None
    if arg[0] == "tensor":
        return 0 if kind == "Tensor" else None
    if arg[0] == "tensors":
        return 0 if kind in ("List[Tensor]", "List[Optional[Tensor]]") else None
    if arg[0] == "list":
        allowed = NUMBERS.get(kind[5:-1], ()) if kind.startswith("List[") else ()
        return 0 if allowed and all(type(number(v)) in allowed for v in arg[1]) else None
    return 0 if type(number(arg[1])) in NUMBERS.get(kind, ()) else None


def number(value):
    """A recorded number; those that have no Python literal are recorded as text."""
    if isinstance(value, str):
        return float(value)
    return complex(*value) if isinstance(value, tuple) else value


def given(parameter, index, args, values):
    """The recorded or requested argument for a parameter."""
    if parameter.name in values:
        return ("set", values[parameter.name])
    return args[index] if index < len(args) else ("absent",)


def choose(schemas, args, values):
    """The schema with the fewest surplus parameters and guesses whose parameters fit the recorded arguments."""
    found = []
    for order, schema in enumerate(schemas):
        parameters = schema.arguments
        if len(parameters) < len(args):
            continue
        surplus = [p for p in parameters[len(args) :] if p.name not in values]
        if any(not p.has_default_value() and not str(p.type).startswith("Optional[") for p in surplus):
            continue
        pairs = [(p, given(p, i, args, values)) for i, p in enumerate(parameters[: len(args)])]
        costs = [0 if arg[0] == "set" else misfit(str(p.type), arg) for p, arg in pairs]
        if None not in costs:
            is_out = any(p.is_out for p in parameters)
            found.append((is_out, len(parameters) - len(args), sum(costs), order, schema))
    return min(found, key=lambda f: f[:4])[4] if found else None


# --- Arguments ---


class Builder:
    """Builds the arguments of a call with the recorded shapes, strides and types, and random values."""

    def __init__(self, case, schema, device, chosen):
        self.args, self.schema, self.device, self.chosen = case["args"], schema, device, chosen
        self.kernels = " ".join(name for name, _ in case["recorded"]["kernels"])
        self.op = OP.split("::")[1]
        self.names = [p.name for p in schema.arguments]
        self.assumed = list(case["assumed"])
        self.bytes = 0
        self.scalars_on_host = True

    def recorded(self, name):
        index = self.names.index(name) if name in self.names else len(self.args)
        return self.args[index] if index < len(self.args) else ("absent",)

    def dims(self, name):
        arg = self.recorded(name)
        return arg[2] if arg[0] == "tensor" else []

    def value(self, name, default):
        arg = self.recorded(name)
        return number(arg[1]) if arg[0] == "value" else default

    def limit(self, name, position):
        """Integers are often indices: the number of rows that they may address."""
        op = self.op.rstrip("_")
        if op.startswith(("embedding", "_embedding")) and name == "indices":
            return self.value("num_weights", None) or (self.dims("weight") or [1])[0]
        if op.startswith(("nll_loss", "cross_entropy", "multi_margin")) and name == "target":
            dims = self.dims("self")
            return dims[1] if len(dims) > 1 else (dims or [1])[0]
        if "max_pool" in op and name == "indices":
            return product(self.dims("self")[-3 if "3d" in op else -2 :])
        if op == "one_hot":
            return max(1, self.value("num_classes", 2))
        if name == "index" and self.dims("self"):
            return self.dims("self")[self.value("dim", 0)]
        if name == "indices" and self.dims("self"):
            dims = self.dims("self")
            return dims[position] if op.startswith(("index", "_index")) and position < len(dims) else min(dims)
        sizes = [arg[2] for arg in self.args if arg[0] == "tensor" and arg[2]]
        return min((size for dims in sizes for size in dims if size > 0), default=2)

    def place(self, name, kind, dims):
        """Copies between host and device have one side on the host, and Python numbers are there, too."""
        source = "src" if self.op == "copy_" else "self"
        if "HtoD" in self.kernels and name == source:
            return torch.device("cpu")
        if "DtoH" in self.kernels and self.op == "copy_" and name == "self":
            return torch.device("cpu")
        is_number = kind in ("float64", "int64") and not dims
        if is_number and self.scalars_on_host and any(arg[0] == "tensor" and arg[2] for arg in self.args):
            return torch.device("cpu")
        return self.device

    def tensor(self, name, kind, dims, strides, position=0):
        dtype = getattr(torch, kind, None)
        if dtype is None:
            stop(f"PyTorch {torch.__version__} has no element type {kind}")
        if strides is None:
            strides = contiguous(dims)
            if dims:
                self.assumed.append("strides (contiguous)")
        length = span(dims, strides)
        if self.op.startswith("as_strided") and name == "self":
            view = [self.recorded(key) for key in ("size", "stride", "storage_offset")]
            if view[0][0] == view[1][0] == "list":
                length = max(length, span(view[0][1], view[1][1]) + self.value("storage_offset", 0))
        self.bytes += length * torch.empty((), dtype=dtype).element_size()
        if self.bytes > self.chosen.max_bytes:
            stop(f"the inputs need {self.bytes:,} bytes or more; raise --max-bytes")
        device = self.place(name, kind, dims)
        flat = self.filled(name, dtype, length, device, position)
        if device != self.device and "Pinned" in self.kernels:
            flat = flat.pin_memory()
        # In place, because some ops refuse views.
        return flat.as_strided_(dims, strides)

    def filled(self, name, dtype, length, device, position):
        if dtype.is_floating_point or dtype.is_complex:
            exact = (torch.float32, torch.float64, torch.complex64, torch.complex128)
            half = (torch.float16, torch.bfloat16) if device.type != "cpu" else ()
            wide = dtype if dtype in exact + half else torch.complex64 if dtype.is_complex else torch.float32
            random = torch.rand if self.op.rstrip("_").startswith(UNIT) else torch.randn
            return random(length, device=device, dtype=wide).to(dtype)
        if dtype == torch.bool:
            return torch.randint(0, 2, (length,), device=device, dtype=torch.uint8).bool()
        limit = self.limit(name, position)
        if name.startswith(("cum_seq", "cu_seqlens", "offsets")):
            # Starts of sequences: the last one is the number of rows, except for the offsets of bags.
            rows = (self.dims("indices") or self.dims("query") or self.dims("q") or [length])[0]
            last = rows if name != "offsets" else rows - rows // max(1, length)
            return torch.linspace(0, last, length, device=device).to(dtype)
        low = 1 if name == "other" else 0
        high = max(low + 1, min(limit, torch.iinfo(dtype).max))
        return torch.randint(low, high, (length,), device=device, dtype=torch.int64).to(dtype)

    def argument(self, parameter, index):
        kind, arg = str(parameter.type), given(parameter, index, self.args, self.chosen.values)
        if arg[0] == "set":
            return as_tensors(kind, arg[1], self.device)
        if arg[0] == "tensor":
            return self.tensor(parameter.name, *arg[1:])
        if arg[0] == "tensors":
            return [self.tensor(parameter.name, *item, position=at) for at, item in enumerate(arg[1])]
        if arg[0] == "value":
            return number(arg[1])
        if arg[0] == "list":
            return [number(v) for v in arg[1]]
        if kind in ("Device", "Optional[Device]"):
            to_host = "DtoH" in self.kernels and self.op in ("to", "_to_copy")
            return torch.device("cpu") if to_host else self.device
        has_value = parameter.has_default_value() and parameter.default_value is not None
        if arg[0] == "unknown" and not has_value and kind.removeprefix("Optional[").startswith(("number", "float")):
            self.assumed.append(f"{parameter.name}=1")
            return 1
        if parameter.has_default_value():
            if arg[0] == "unknown" or kind == "str":
                self.assumed.append(f"{parameter.name}={parameter.default_value!r} (default)")
            return parameter.default_value
        if kind.startswith("Optional["):
            return None
        if kind == "Tensor":
            self.assumed.append(f"{parameter.name}: an undefined tensor")
            return None
        return stop(f"argument {parameter.name} ({kind}) is not recorded: pass --set {parameter.name}=VALUE")

    def arguments(self):
        positional, named = [], {}
        for index, parameter in enumerate(self.schema.arguments):
            if parameter.kwarg_only:
                named[parameter.name] = self.argument(parameter, index)
            else:
                positional.append(self.argument(parameter, index))
        return positional, named


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


def contiguous(dims):
    return [product(max(1, size) for size in dims[at + 1 :]) for at in range(len(dims))]


def span(dims, strides):
    """Number of elements of memory that a tensor covers."""
    return 1 + sum((size - 1) * stride for size, stride in zip(dims, strides)) if all(dims) else 0


def as_tensors(kind, value, device):
    """A literal that the user passes, as a tensor where the parameter requires one."""
    if "Tensor" not in kind or value is None:
        return value
    if kind.startswith("List["):
        return [None if item is None else torch.tensor(item, device=device) for item in value]
    return torch.tensor(value, device=device)


class Call:
    """The recorded call with its arguments, ready to run."""

    def __init__(self, side, device, chosen):
        case = CASES[side]
        schemas = torch._C._jit_get_schemas_for_operator(OP)
        if not schemas:
            stop(f"PyTorch {torch.__version__} has no op {OP}; pass --import MODULE if a package registers it")
        self.schema = choose(schemas, case["args"], chosen.values)
        if self.schema is None:
            known = "; ".join(str(schema) for schema in schemas[:8])
            stop(f"no overload of {OP} in PyTorch {torch.__version__} takes the recorded arguments: {known}")
        space, name = OP.split("::")
        self.overload = self.schema.overload_name or "default"
        self.function = getattr(getattr(getattr(torch.ops, space), name), self.overload)
        self.builder = Builder(case, self.schema, device, chosen)
        self.args, self.named = self.builder.arguments()

    def __call__(self):
        return self.function(*self.args, **self.named)

    def changed(self, change):
        """The same call after `change` of each tensor."""
        other = object.__new__(Call)
        other.__dict__.update(self.__dict__)
        other.args = [mapped(change, arg) for arg in self.args]
        return other

    def with_argument(self, name, value):
        other = self.changed(lambda tensor: tensor)
        index = next((at for at, p in enumerate(self.schema.arguments) if p.name == name), None)
        if index is not None and index < len(other.args):
            other.args[index] = value
        return other


def mapped(change, arg):
    if isinstance(arg, list):
        return [mapped(change, item) for item in arg]
    return change(arg) if torch is not None and isinstance(arg, torch.Tensor) else arg


def attempt(call):
    """Runs a call once, and stops with a reason if it cannot run."""
    try:
        call()
        return
    except NotImplementedError:
        stop(f"{OP} has no kernel for {call.builder.device.type} in PyTorch {torch.__version__}")
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
    if not call.builder.scalars_on_host:
        stop(reason)
    # Some ops take no scalar from the host.
    call.builder.scalars_on_host = False
    call.builder.bytes = 0
    call.args, call.named = call.builder.arguments()
    attempt(call)


# --- Measurements ---


def figures(times):
    """Median, quartiles and number of some times, in microseconds."""
    if len(times) < 2:
        return {"median": times[0], "low": times[0], "high": times[0], "count": len(times)}
    low, median, high = statistics.quantiles(times, n=4, method="inclusive")
    return {"median": median, "low": low, "high": high, "count": len(times)}


def launched(events, mark):
    """The GPU work of each marked call in a recording: lists of (name, microseconds), in order of start."""
    work, starts = {}, []
    spans = [e for e in events if e.get("cat") == "user_annotation" and e.get("name") == mark and e.get("ph") == "X"]
    spans.sort(key=lambda e: float(e["ts"]))
    starts = [float(e["ts"]) for e in spans]
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            work.setdefault(event.get("args", {}).get("correlation"), []).append(event)
    calls = [[] for _ in spans]
    for event in events:
        if event.get("ph") == "X" and str(event.get("cat")).endswith(("_runtime", "_driver")):
            at = bisect.bisect_right(starts, float(event["ts"])) - 1
            if at >= 0 and float(event["ts"]) < starts[at] + float(spans[at]["dur"]):
                calls[at] += work.pop(event.get("args", {}).get("correlation"), [])
    for call in calls:
        call.sort(key=lambda e: float(e["ts"]))
    return [[(str(e["name"]), float(e["dur"])) for e in call] for call in calls]


def typical(calls):
    """The total times of calls with GPU work, and the kernels of the call with the median time."""
    calls = [call for call in calls if call]
    if not calls:
        return None, []
    by_time = sorted(calls, key=lambda call: sum(time for _, time in call))
    return figures([sum(time for _, time in call) for call in calls]), by_time[len(by_time) // 2]


def profile(call, flush, count):
    """The GPU work of `count` calls, from PyTorch's profiler."""
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(count):
            flush.zero_()
            with torch.profiler.record_function(MARK):
                call()
        torch.cuda.synchronize()
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            return launched(json.load(file)["traceEvents"], MARK)
    finally:
        os.remove(path)


def on_gpu(call, repeat):
    flush = torch.empty(FLUSH, dtype=torch.uint8, device=call.builder.device)
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(WARM_UP + repeat)]
    begin, done = time.perf_counter(), 0
    for start, end in pairs:
        flush.zero_()
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        done += 1
        if done >= WARM_UP + 2 and time.perf_counter() - begin > MOST_SECONDS:
            break
    elapsed = figures([start.elapsed_time(end) * 1e3 for start, end in pairs[WARM_UP:done]])
    count = max(3, min(PROFILED, repeat, int(MOST_SECONDS * 1e6 / max(1.0, elapsed["median"]))))
    kernel_time, kernels = typical(profile(call, flush, count))
    return {"here": kernel_time or elapsed, "elapsed": elapsed, "kernels": kernels}


def on_host(call, repeat):
    times, begin = [], time.perf_counter()
    for at in range(WARM_UP + repeat):
        start = time.perf_counter()
        call()
        end = time.perf_counter()
        if at >= WARM_UP or end - begin > MOST_SECONDS / 2:
            times.append((end - start) * 1e6)
        if end - begin > MOST_SECONDS and len(times) >= 2:
            break
    return {"here": figures(times), "elapsed": None, "kernels": []}


def measure(call, repeat):
    return (on_host if call.builder.device.type == "cpu" else on_gpu)(call, repeat)


# --- Variants: why the call might be slow ---


def variants(call, side, chosen):
    """Yields (name, function that returns the call, settings) for each hypothesis that applies."""
    op, device = OP.split("::")[1], call.builder.device
    gpu = device.type != "cpu"
    tensors = [t for arg in call.args for t in (arg if isinstance(arg, list) else [arg]) if isinstance(t, torch.Tensor)]
    if any(not t.is_contiguous() for t in tensors):
        yield "contiguous inputs", lambda: call.changed(lambda t: t.contiguous()), {}
    spatial = [t for t in tensors if t.dim() == 4]
    if spatial and any(word in op for word in ("conv", "pool", "norm", "upsample")):
        if not all(t.is_contiguous(memory_format=torch.channels_last) for t in spatial):
            yield "channels_last", lambda: call.changed(in_channels_last), {}
    is_matrix = op in ("mm", "bmm", "addmm", "linear", "matmul", "baddbmm")
    if gpu and any(t.dtype == torch.float32 for t in tensors) and (is_matrix or "conv" in op):
        backend = torch.backends.cudnn if "conv" in op else torch.backends.cuda.matmul
        old = call.builder.value("allow_tf32", backend.allow_tf32)
        name = "TF32 off" if old else "TF32 on"
        yield name, lambda: call.with_argument("allow_tf32", not old), {"tf32": not old}
    if gpu and "conv" in op and not call.builder.value("benchmark", torch.backends.cudnn.benchmark):
        yield "cudnn.benchmark (autotuned)", lambda: call.with_argument("benchmark", True), {"benchmark": True}
    if op in ("mm", "bmm", "addmm", "linear") and any(size % 8 for t in tensors for size in t.shape[-2:]):
        yield "sizes padded to multiples of 8", lambda: call.changed(padded), {}
    if gpu and op == "scaled_dot_product_attention":
        for backend in ("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"):
            yield "SDPA " + backend.lower(), lambda: call, {"sdpa": backend}
    for other in chosen.sides:
        if other != side and CASES[other]["args"] != CASES[side]["args"]:
            yield f"arguments of the {other}", lambda other=other: Call(other, device, chosen), {}


def in_channels_last(tensor):
    return tensor.contiguous(memory_format=torch.channels_last) if tensor.dim() == 4 else tensor


def padded(tensor):
    pads = [pad for size in reversed(tensor.shape[-2:]) for pad in (0, -size % 8)]
    return torch.nn.functional.pad(tensor, pads).contiguous()


def with_settings(call, settings, repeat):
    b = torch.backends
    old = b.cuda.matmul.allow_tf32, b.cudnn.allow_tf32, b.cudnn.benchmark
    try:
        if "tf32" in settings:
            b.cuda.matmul.allow_tf32 = b.cudnn.allow_tf32 = settings["tf32"]
        if "benchmark" in settings:
            b.cudnn.benchmark = settings["benchmark"]
        if "sdpa" in settings:
            attention = importlib.import_module("torch.nn.attention")
            with attention.sdpa_kernel(getattr(attention.SDPBackend, settings["sdpa"])):
                return measure(call, repeat)
        return measure(call, repeat)
    finally:
        b.cuda.matmul.allow_tf32, b.cudnn.allow_tf32, b.cudnn.benchmark = old


def variant_rows(call, here, side, chosen):
    rows = []
    for name, make, settings in variants(call, side, chosen):
        try:
            result = with_settings(make(), settings, chosen.repeat)["here"]
            apart = is_apart(result, here)
            rows.append({"name": name, **result, "ratio": result["median"] / here["median"], "differs": apart})
        except Exception as error:
            rows.append({"name": name, "error": (str(error).splitlines() or ["failed"])[0][:100]})
    return rows


def is_apart(one, other):
    """Whether the quartiles of two measurements do not overlap."""
    return one["low"] > other["high"] or one["high"] < other["low"]


# --- The answer ---


def shown(text, most=160):
    """A kernel name as the head of the script writes it."""
    return "".join(c if " " <= c <= "~" else "?" for c in text[:most])


def verdicts(here, kernels, where, side):
    """One verdict for each recording of the same arguments on this device."""
    found = []
    names = [shown(name) for name, _ in kernels]
    for other, case in CASES.items():
        recorded = case["recorded"]
        if not is_device(where, recorded["device"]) or case["args"] != CASES[side]["args"] or not recorded["median_us"]:
            continue
        ratio = here["median"] / recorded["median_us"]
        listed = [name for name, _ in recorded["kernels"]]
        same = names[: len(listed)] == listed and len(names) == len(listed) + recorded["more_kernels"]
        found.append({"side": other, "ratio": ratio, "reproduced": abs(ratio - 1) <= TOLERANCE, "same_kernels": same})
    return found


def exit_code(found, side):
    """1 if the recording whose arguments were used is from this device and is not reproduced."""
    mine = [one for one in found if one["side"] == side] or found
    return 0 if not mine or any(one["reproduced"] for one in mine) else 1


def is_device(where, recorded):
    """Devices are equal by name, or by architecture where a trace has no name."""
    if where["name"] and recorded["name"]:
        return where["name"] == recorded["name"]
    return bool(where["arch"]) and where["arch"] == recorded["arch"]


def this_device(device):
    if device.type == "cpu":
        return {"name": "", "arch": "", "shown": f"CPU {platform.processor() or platform.machine()}"}
    name = torch.cuda.get_device_name(device)
    major, minor = torch.cuda.get_device_capability(device)
    maker = "amd" if torch.version.hip else "nvidia"
    return {"name": name, "arch": f"{maker} {major}.{minor}", "shown": name or f"{maker} {major}.{minor}"}


def recorded_here(where, sides):
    """The side whose recording is from this device, otherwise the first one."""
    return next((s for s in sides if is_device(where, CASES[s]["recorded"]["device"])), sides[0])


def line(name, result, note, recorded):
    flops, size = recorded["gflops"], recorded["mbytes"]
    time = result["median"] or float("inf")
    rates = [f"{flops * 1e3 / time:8.1f} TFLOP/s"] if flops >= 0.1 else []
    rates += [f"{size * 1e3 / time:8.1f} GB/s"] if size >= 0.1 else []
    text = f"  {name[:44]:44} {result['median']:10.1f} µs [{result['low']:.1f} … {result['high']:.1f}]"
    return "  ".join([text, *rates, note])


def kernel_lines(kernels, more, most=12):
    lines = [f"      {time:10.1f} µs  {shown(name, 100)}" for name, time in kernels[:most]]
    left = len(kernels) - most + more if len(kernels) > most else more
    return lines + ([f"      … {left} more"] if left else [])


def counted(count, unit):
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def answer(result):
    """The lines of the answer for people."""
    side = result["side"]
    mine = CASES[side]["recorded"]
    yield f"{OP} ({result['overload']}) with the arguments of the {side}, PyTorch {result['torch']}"
    yield f"  {NOTE}"
    for name, case in CASES.items():
        r = case["recorded"]
        figures = {"median": r["median_us"], "low": r["low_us"], "high": r["high_us"]}
        note = counted(r["count"], "call") + (f", {r['op']}" if r["op"] != OP else "")
        yield line(f"recorded, {name}: {r['device']['shown']}", figures, note, r)
        yield from kernel_lines(r["kernels"], r["more_kernels"])
    cold = ", cold L2" if result["elapsed"] else ""
    yield line(f"here: {result['device']}", result["here"], counted(result["here"]["count"], "call") + cold, mine)
    yield from kernel_lines(result["kernels"], 0)
    if result["elapsed"]:
        e = result["elapsed"]
        yield f"  {'  between events':44} {e['median']:10.1f} µs [{e['low']:.1f} … {e['high']:.1f}]"
    for row in result["variants"]:
        if "error" in row:
            yield f"  {row['name']:44} not possible: {row['error']}"
        else:
            effect = f"{row['ratio']:.2f} × as recorded" if row["differs"] else "no clear difference"
            yield f"  {row['name']:44} {row['median']:10.1f} µs  {effect}"
    if result["assumed"]:
        yield "Not recorded, assumed: " + ", ".join(result["assumed"])
    yield from verdict_lines(result)


def verdict_lines(result):
    if not result["verdicts"]:
        yield "no verdict: no recording is from this device; the arguments ran, but times of other devices do not compare"
    for one in result["verdicts"]:
        word = "reproduced" if one["reproduced"] else "NOT reproduced"
        same = "the same kernels" if one["same_kernels"] else "OTHER kernels"
        yield f"{word}: {one['ratio']:.2f} × the {one['side']}'s recording; {same}"
        recorded = CASES[one["side"]]["recorded"]["median_us"]
        for row in result["variants"] if not one["reproduced"] else []:
            if row.get("differs") and abs(row["median"] / recorded - 1) <= TOLERANCE:
                yield f"  but with {row['name']}: {row['median'] / recorded:.2f} × the {one['side']}'s recording"


def run(chosen):
    has_gpu_time = any(case["recorded"]["measure"] == "gpu" for case in CASES.values())
    default = "cuda" if has_gpu_time and torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(chosen.device or default)
    except RuntimeError as error:
        stop(f"--device {chosen.device}: {str(error).splitlines()[0][:100]}")
    if device.type == "cuda":
        if not torch.cuda.is_available():
            stop(f"--device {device}: PyTorch {torch.__version__} finds no GPU")
        device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        torch.cuda.set_device(device)
    elif device.type != "cpu":
        stop(f"--device {chosen.device}: only cpu and cuda (which includes ROCm) are supported")
    for module in chosen.imports:
        try:
            importlib.import_module(module)
        except ImportError as error:
            stop(f"--import {module}: {error}")
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    where = this_device(device)
    side = chosen.side or recorded_here(where, chosen.sides)
    call = Call(side, device, chosen)
    attempt(call)
    measured = measure(call, chosen.repeat)
    rows = [] if chosen.no_variants else variant_rows(call, measured["here"], side, chosen)
    found = verdicts(measured["here"], measured["kernels"], where, side)
    about = {"op": OP, "overload": call.overload, "side": side, "device": where["shown"], "torch": torch.__version__}
    recorded = {name: case["recorded"] for name, case in CASES.items()}
    assumed = sorted(set(call.builder.assumed))
    return {**about, **measured, "recorded": recorded, "variants": rows, "assumed": assumed, "verdicts": found}


def main():
    chosen = options()
    try:
        if torch is None:
            stop("PyTorch is not installed")
        result = run(chosen)
    except Exception as error:
        kind = "" if isinstance(error, CannotRun) else type(error).__name__ + ": "
        print(f"tracetree repro: {kind}{error}", file=sys.stderr)
        sys.exit(2)
    code = exit_code(result["verdicts"], result["side"])
    if chosen.json:
        print(json.dumps({"version": 1, **result, "exit_code": code}))
    else:
        sys.stdout.reconfigure(errors="replace")
        for text in answer(result):
            print(text)
    sys.exit(code)


if __name__ == "__main__":
    main()
