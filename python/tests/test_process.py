"""Tests for the behavior of the package within a process: threads, forks, Ctrl-C, memory and imports."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tracetree
from tracetree import _inputs


def everything(paths: tuple[Path, Path]) -> str:
    d = tracetree.diff(*paths)
    return str(d) + "".join(d.table(name).to_csv() or "" for name in d.table_names)


def test_eight_concurrent_comparisons_give_the_same_bytes(pair: tuple[Path, Path]) -> None:
    wanted = everything(pair)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(everything, [pair] * 8)) == [wanted] * 8


def test_one_comparison_is_read_by_eight_threads_concurrently(d: tracetree.Comparison) -> None:
    def read(_: int) -> list[int]:
        return [len(d.table(name)) for name in d.table_names]

    wanted = read(0)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [wanted] * 8


def resident_kib() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise AssertionError("VmRSS is missing")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system has no /proc")
def test_a_loop_of_comparisons_does_not_grow_memory() -> None:
    """Set TRACETREE_LOOP=1000 for a longer loop."""
    fixture = Path("tests/fixtures/bias_add")
    trace = (fixture / "baseline.json").read_bytes()
    rounds = int(os.environ.get("TRACETREE_LOOP", "200"))

    def once() -> None:
        d = tracetree.diff(trace, fixture / "candidate.json")
        for name in d.table_names:
            len(d.table(name))
            d.table(name).__arrow_c_stream__()
            d.table(name).to_pylist()
        d._repr_html_()
        node = d.node(4)
        assert node.counterpart is not None

    for _ in range(50):
        once()
    gc.collect()
    before = resident_kib()
    for _ in range(rounds):
        once()
    gc.collect()
    # Each comparison of this pair that is not released takes more than 20 KiB.
    assert resident_kib() - before < 4096 + 4 * rounds


def test_no_reference_to_a_large_input_is_kept(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only buffers of at most ``KEPT`` bytes are kept for pickling, so this trace must be released.
    monkeypatch.setattr(_inputs, "KEPT", 1000)
    trace = pair[0].read_bytes()
    before = sys.getrefcount(trace)
    d = tracetree.diff(trace, pair[1])
    # The threads that read the trace may not have released its memory yet.
    for _ in range(100):
        if sys.getrefcount(trace) == before:
            break
        time.sleep(0.01)
        # If another thread releases a reference, the reference count is updated only at the next call into the native
        # half.
        d.corresponding_uid("baseline", 0)
    assert sys.getrefcount(trace) == before


def test_a_comparison_outlives_its_file(pair: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy.json.gz"
    copy.write_bytes(pair[0].read_bytes())
    d = tracetree.diff(copy, pair[1])
    copy.unlink()
    assert len(d.rows) == 469 and d.node(38).counterpart is not None
    assert d.report(tmp_path / "report")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_compare(pair: tuple[Path, Path]) -> None:
    d = tracetree.diff(*pair)
    child = os.fork()
    if child == 0:
        # No pytest code may run in the child process.
        try:
            again = tracetree.diff(*pair)
            os._exit(0 if repr(again) == repr(d) and len(d.bill) == len(again.bill) else 1)
        finally:
            os._exit(2)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process hangs")


def slow_pair(folder: Path) -> tuple[Path, Path]:
    """Two traces that take seconds to compare."""
    paths = (folder / "a.json", folder / "b.json")
    for at, path in enumerate(paths):
        with path.open("w") as file:
            file.write('{"traceEvents": [')
            for event in range(400_000):
                name = f"aten::op{(event * (7 + at)) % 977}"
                file.write(
                    f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,'
                    f'"ts":{10 * event},"dur":5}},'
                )
            file.write("{}]}")
    return paths


def test_ctrl_c_stops_a_long_comparison(tmp_path: Path) -> None:
    a, b = slow_pair(tmp_path)
    program = f"""
import time, tracetree, sys, os, signal, threading
stages = []
def tell(stage, done, total):
    if not stages:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    stages.append(stage)
try:
    tracetree.diff({str(a)!r}, {str(b)!r}, progress=tell)
except KeyboardInterrupt:
    print("stopped", "accounting" in stages)
    d = tracetree.diff("examples/traces/resnet.rocm.json.gz", "examples/traces/resnet.cuda.json.gz")
    print(len(d.rows))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout.split()) == (0, ["stopped", "False", "469"]), done


def test_other_threads_run_while_traces_are_compared(tmp_path: Path) -> None:
    paths = slow_pair(tmp_path)
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.wait(0.005):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.perf_counter()
    tracetree.diff(*paths)
    ended = time.perf_counter()
    stop.set()
    thread.join()
    within = [at for at in ticks if began < at < ended]
    # If the comparison held the GIL, there would be only one or two ticks.
    assert len(within) > 10


def test_progress_reports_the_stages_in_order(pair: tuple[Path, Path]) -> None:
    told: list[tuple[str, int, int | None]] = []
    tracetree.diff(*pair, progress=lambda *about: told.append(about))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert set(stages[:2]) == {"reading baseline", "reading candidate"}
    assert stages[2:] == ["building", "aligning", "accounting"]
    last = {stage: (done, total) for stage, done, total in told}
    size = pair[0].stat().st_size
    assert last["reading baseline"] == (size, size)
    assert last["building"] == (0, None)


def test_an_exception_in_progress_ends_the_comparison(pair: tuple[Path, Path]) -> None:
    def tell(stage: str, done: int, total: int | None) -> None:
        raise LookupError(stage)

    with pytest.raises(LookupError, match="reading"):
        tracetree.diff(*pair, progress=tell)
    assert tracetree.diff(*pair, progress=False).answer


def test_a_bar_is_drawn_if_requested(
    pair: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tqdm")
    assert tracetree.diff(*pair, progress=True).answer
    assert tracetree.diff(*pair).answer
    assert capfd.readouterr().out == ""


def test_nothing_else_is_imported() -> None:
    program = (
        "import sys; before = set(sys.modules); import tracetree; "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(*sorted(name for name in new if name not in sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tracetree"]


def test_the_import_loads_no_slow_module() -> None:
    slow = ["dataclasses", "inspect", "json", "pathlib", "pickle", "shutil", "tempfile", "tracetree._gate"]
    program = f"import sys, tracetree; print(*(name for name in {slow} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {sys.path!r}; {program}"],
                          capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_names_that_are_imported_later_are_there() -> None:
    program = (
        "import tracetree; print(*sorted(set(dir(tracetree)) ^ set(tracetree.__all__))); "
        "print(tracetree.fleet.plan.__module__); "
        "from tracetree import *; print(gate is tracetree.gate, compare.__module__, gate.__module__); "
        "tracetree.missing"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    others, *later = done.stdout.splitlines()
    # Completion offers the public names, and nothing that the module itself imports.
    assert {name for name in others.split() if not name.startswith("__")} == set()
    assert later == ["tracetree.fleet", "True tracetree tracetree"]
    assert "AttributeError: module 'tracetree' has no attribute 'missing'" in done.stderr


def test_the_command_equals_the_binary(pair: tuple[Path, Path]) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tracetree", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    assert run("--version").stdout == f"tracetree {tracetree.__version__}\n"
    assert "Usage: tracetree" in run("--help").stdout
    assert run("diff", "missing.json", str(pair[0])).returncode == 2
    assert "missing.json" in run("diff", "missing.json", str(pair[0])).stderr
    assert run("frobnicate").returncode == 2
    assert "aten::_convolution" in run("tree", str(pair[0])).stdout
    # Closing the pipe early (`head -1`) is not an error.
    shell = f"{sys.executable} -m tracetree tree {pair[0]} | head -1"
    closed = subprocess.run(shell, shell=True, capture_output=True, text=True)
    assert closed.stderr == "" and closed.stdout.count("\n") == 1


def test_the_script_of_the_wheel_runs_the_command() -> None:
    script = Path(sys.executable).parent / "tracetree"
    if not script.exists():
        pytest.skip("the package is not installed: no script")
    done = subprocess.run([str(script), "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"tracetree {tracetree.__version__}\n"
