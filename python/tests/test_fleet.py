"""Tests for fleets: the local backend and the Ray backend write the same bytes, even if workers or the driver are
killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tracetree import TraceError, fleet

RANKS = 8


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of eight ranks before and after a change, and a plan. After the change, one trace is damaged."""
    examples = Path(__file__).resolve().parents[2] / "examples" / "traces"
    place = tmp_path_factory.mktemp("job")
    for folder, name in (("before", "resnet.rocm.json.gz"), ("after", "resnet.cuda.json.gz")):
        (place / folder).mkdir()
        for rank in range(RANKS):
            shutil.copy(examples / name, place / folder / f"rank_{rank}.json.gz")
    (place / "after" / "rank_5.json.gz").write_bytes(b'{"no": "trace"}')
    fleet.plan(place / "before", place / "after", out=place / "plan.json")
    return place


@pytest.fixture(scope="session")
def expected(job: Path) -> dict[str, bytes]:
    fleet.run(job / "plan.json", out=job / "expected")
    return contents(job / "expected")


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A Ray cluster on this machine with two workers."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_broken_trace_is_a_result_and_everything_adds_up(job: Path, expected: dict[str, bytes]) -> None:
    result = fleet.run(job / "plan.json", out=job / "expected", min_coverage=0.9)
    assert result.counts == {"planned": 8, "ok": 7, "failed": 1, "unmatched": 0}
    assert result.exit_code == 3
    assert [finding["code"] for finding in result.findings][0] == "NOT_A_TRACE"
    assert "ranks.csv" in expected and "7 ok" in repr(result)


def test_any_executor_works(job: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        fleet.run(job / "plan.json", out=tmp_path, backend=threads)
    assert contents(tmp_path) == expected


def test_shards_can_be_elsewhere_and_another_command_can_do_the_work(
    job: Path, expected: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    command = tmp_path / "command"
    command.write_text(f'#!/bin/sh\necho "$2" >> {calls}\nexec {sys.executable} -m tracetree "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("TRACETREE_COMMAND", str(command))
    result = fleet.run(job / "plan.json", out=tmp_path / "out", shards=tmp_path / "there")
    assert sorted(calls.read_text().split()) == ["map"] * RANKS + ["reduce"]
    written = contents(result.folder)
    shards = {f"shards/{name}": content for name, content in contents(tmp_path / "there" / "shards").items()}
    assert {**written, **shards} == expected and not any(name.startswith("shards") for name in written)


def test_threads_of_this_process_write_the_same_bytes(job: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    fleet.run(job / "plan.json", out=tmp_path, backend="threads")
    assert contents(tmp_path) == expected


def test_outcomes_arrive_one_by_one_and_the_rest_is_cancelled(job: Path, tmp_path: Path) -> None:
    answers = fleet.outcomes(job / "plan.json", out=tmp_path, cpus_per_pair=os.cpu_count() or 1)
    first = next(answers)
    assert first.status == "ok" and first.folder.startswith("rank_") and first.host and first.role
    assert first.step_us and min(first.step_us) > 0
    answers.close()
    # By now, a second pair may have been started.
    assert len(list((tmp_path / "shards").iterdir())) <= 2
    rest = list(fleet.outcomes(job / "plan.json", out=tmp_path))
    assert len(rest) == RANKS and [one for one in rest if one.key == first.key][0].was_there
    result = fleet.reduce(job / "plan.json", out=tmp_path, answers=rest)
    assert result.counts["ok"] == RANKS - 1


def command(place: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Makes the workers run a shell script instead of the command; in the script, ``run`` runs the real command."""
    path = place / "command"
    path.write_text(f'#!/bin/sh\nrun() {{ {sys.executable} -m tracetree "$@"; }}\n{script}\n')
    path.chmod(0o755)
    monkeypatch.setenv("TRACETREE_COMMAND", str(path))


def test_a_comparison_that_hangs_is_stopped(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, monkeypatch, """grep -q '"rank": 3,' "$3" && [ "$2" = map ] && exec sleep 600; run "$@" """)
    result = fleet.run(job / "plan.json", out=tmp_path / "out", timeout=10)
    assert result.counts["ok"] == RANKS - 2
    finding = next(finding for finding in result.findings if finding["code"] == "TIMED_OUT")
    assert finding["ranks"] == "3" and "took longer than 10 s" in finding["message"]


def test_workers_that_do_not_work_end_the_run(job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path, monkeypatch, "echo 'tracetree: error: no such library' >&2; exit 2")
    with pytest.raises(TraceError, match="8 pairs in a row failed, the last one: .*: no such library"):
        fleet.run(job / "plan.json", out=tmp_path / "out")


def test_a_folder_that_is_not_shared_is_reported_as_such(
    job: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The script replaces the last arguments of `map`, `-o FOLDER`, as if the workers did not share the folder.
    elsewhere = """[ "$2" = map ] && { run fleet map "$3" --pair 0 --json -o "$OTHER"; exit; }; run "$@" """
    command(tmp_path, monkeypatch, elsewhere)
    monkeypatch.setenv("OTHER", str(tmp_path / "of_the_worker"))
    unseen = "1 worker reports shards that this machine cannot see in .*out: is this folder shared"
    with pytest.raises(TraceError, match=unseen):
        fleet.run(job / "plan.json", out=tmp_path / "out")
    # Only half of the workers write to the shared folder.
    command(tmp_path, monkeypatch, f"""grep -q '"rank": [0-3],' "$3" && {elsewhere}; run "$@" """)
    result = fleet.run(job / "plan.json", out=tmp_path / "half")
    assert result.exit_code == 3 and result.counts["ok"] == 3
    finding = next(finding for finding in result.findings if finding["code"] == "SHARD_NOT_VISIBLE")
    assert (finding["ranks"], finding["count"]) == ("0-3", 4)
    assert "NO_SHARD" not in [finding["code"] for finding in result.findings]


def test_an_unknown_backend_and_a_missing_folder_are_reported(job: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='no backend "slurm"'):
        fleet.run(job / "plan.json", out=tmp_path, backend="slurm")
    with pytest.raises(ValueError, match="nowhere"):
        fleet.plan(tmp_path / "nowhere", job / "after", out=tmp_path / "plan.json")


@pytest.mark.usefixtures("cluster")
def test_ray_writes_the_same_bytes(job: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    fleet.run(job / "plan.json", out=tmp_path, backend="ray")
    assert contents(tmp_path) == expected


class Killing(fleet.Ray):
    """A Ray backend that kills the worker during two pairs: only at the first attempt, or at every attempt."""

    def __init__(self, marks: Path, retries: int, always: bool) -> None:
        super().__init__(retries=retries)
        self._marks, self._always = marks, always

    def map(self, fn: Callable[[fleet.Task], fleet.Answer], items: Sequence[fleet.Task], /) -> Iterable[fleet.Answer]:
        marks, always, victims = str(self._marks), self._always, [items[2].key, items[6].key]

        def killed(task: fleet.Task) -> fleet.Answer:
            mark = Path(marks) / task.key
            if task.key in victims and (always or not mark.exists()):
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return fn(task)

        return super().map(killed, items)


@pytest.mark.usefixtures("cluster")
def test_a_killed_worker_is_replaced(job: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    fleet.run(job / "plan.json", out=out, backend=Killing(marks, retries=3, always=False))
    assert len(list(marks.iterdir())) == 2
    assert contents(out) == expected


@pytest.mark.usefixtures("cluster")
def test_a_pair_that_kills_every_worker_fails_and_the_rest_is_done(job: Path, tmp_path: Path) -> None:
    marks, out = tmp_path / "marks", tmp_path / "out"
    marks.mkdir()
    result = fleet.run(job / "plan.json", out=out, backend=Killing(marks, retries=1, always=True))
    assert result.counts == {"planned": 8, "ok": 5, "failed": 3, "unmatched": 0}
    assert sorted(finding["code"] for finding in result.findings[:3]) == ["NOT_A_TRACE", "WORKER_LOST", "WORKER_LOST"]


def test_a_killed_driver_resumes_and_repeats_nothing(job: Path, expected: dict[str, bytes], tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    program = (
        "import ray, sys; from tracetree import fleet\n"
        "ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)\n"
        "fleet.run(sys.argv[1], out=sys.argv[2], backend='ray')\n"
    )
    driver = subprocess.Popen([sys.executable, "-c", program, str(job / "plan.json"), str(tmp_path)])
    shards = tmp_path / "shards"
    deadline = time.monotonic() + 120
    while len(list(shards.glob("*.parquet"))) < 2 and time.monotonic() < deadline and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    time.sleep(2)  # When the driver is killed, the driver's workers end as well.
    before = {path: path.stat().st_mtime_ns for path in shards.glob("*.parquet")}
    assert before
    fleet.run(job / "plan.json", out=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert contents(tmp_path) == expected
