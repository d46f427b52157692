"""Tests with a fleet on a faulty store (throttling, failures, truncation, stalls): each pair must either be compared or
be reported as failed."""

from __future__ import annotations

import collections
import contextlib
import json
import random
import re
import threading
import time
from pathlib import Path

import pytest
from conftest import BUCKET, Fault, Refusal, Request, Storage

RANKS = 210


def s3(key: str) -> str:
    return f"s3://{BUCKET}/{key}"


def trace(rank: int, duration: int) -> bytes:
    """The trace of a rank with one op and one kernel."""
    def event(cat: str, name: str, ts: int, dur: int, thread: int) -> dict[str, object]:
        return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": thread, "ts": ts, "dur": dur,
                "args": {"correlation": 1, "External id": 1}}

    events = [event("cpu_op", "aten::mm", 10, 50, 1), event("cuda_runtime", "cudaLaunchKernel", 20, 5, 1),
              event("kernel", "gemm", 40, duration, 7)]
    return json.dumps({"distributedInfo": {"rank": rank, "world_size": RANKS}, "traceEvents": events}).encode()


@pytest.fixture
def fleet(storage: Storage, tmp_path: Path) -> Storage:
    """A bucket with the small traces of many ranks, and with a plan for them."""
    for rank in range(RANKS):
        storage.put(f"before/rank_{rank}.json", trace(rank, 100))
        storage.put(f"after/rank_{rank}.json", trace(rank, 100 + rank % 7))
    storage.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    storage.requests.clear()
    return storage


def shard(storage: Storage, at: int) -> str:
    key: str = json.loads(storage.get("plan.json"))["pairs"][at]["key"]
    return f"{key}.parquet"


def document(storage: Storage, folder: str) -> dict[str, object]:
    told: dict[str, object] = json.loads(storage.get(f"{folder}/fleet.json"))
    return told


def test_a_pair_takes_three_requests_and_many_are_on_their_way_at_once(fleet: Storage) -> None:
    # A read of a trace waits until so many reads are on their way. A run that waits for each response before it asks
    # again never gets there.
    together = threading.Barrier(8, timeout=60)
    reached = threading.Event()

    def watch(request: Request) -> None:
        if request.method != "GET" or "/rank_" not in request.path or reached.is_set():
            return
        with contextlib.suppress(threading.BrokenBarrierError):
            together.wait()
            reached.set()

    fleet.watch = watch
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"), RAYON_NUM_THREADS="1")
    asked = collections.Counter(request.method for request in fleet.requests)
    # For each pair, the run reads two traces and writes a shard. The run also reads the plan once and lists the shards
    # once.
    assert asked == {"GET": 2 * RANKS + 2, "PUT": RANKS}
    assert reached.is_set(), "one core waits for one request at a time"


def test_a_shard_that_cannot_be_written_is_a_status(fleet: Storage) -> None:
    bad = shard(fleet, 5)
    fleet.watch = lambda request: Refusal(503, "SlowDown") if request.method == "PUT" and bad in request.path else None
    done = fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"))
    assert f"{RANKS} pairs compared, 0 skipped" in done.told
    told = next(line for line in done.told.splitlines() if "SHARD_NOT_WRITTEN" in line)
    assert "the store throttles requests (SlowDown), even after 6 s of retries" in told
    assert "fewer comparisons at once" in told and "AWS_REGION" not in told and "<" not in told
    assert len(fleet.keys("out/shards/")) == RANKS - 1
    fleet.watch = lambda request: None
    fleet.requests.clear()
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"))
    assert len(fleet.asked("PUT", "/shards/")) == 1, "only that pair is repeated"


def test_a_run_with_a_bad_shard_and_a_bad_trace_adds_up(fleet: Storage) -> None:
    bad = shard(fleet, 5)

    def watch(request: Request) -> Refusal | None:
        is_bad = (request.method == "PUT" and bad in request.path) or "after/rank_9.json" in request.path
        return Refusal(500, "InternalError") if is_bad else None

    # The run creates its own plan, which has the same keys as the fleet's plan. To create the plan, the run reads
    # only the start of each trace; in this test, these reads do not fail.
    fleet.watch = lambda request: watch(request) if request.range != "bytes=0-262143" else None
    done = fleet.run("fleet", "run", s3("before"), s3("after"), "-o", s3("out"))
    assert f"{RANKS} planned = {RANKS - 2} ok + 2 failed + 0 unmatched" in done.told
    findings = document(fleet, "out")["findings"]
    assert isinstance(findings, list)
    assert sorted(finding["code"] for finding in findings[:2]) == ["SHARD_NOT_WRITTEN", "UNREADABLE"]
    assert all("the server fails (InternalError)" in finding["message"] for finding in findings[:2])


def test_a_shard_that_cannot_be_read_is_a_status(fleet: Storage) -> None:
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"))
    bad = shard(fleet, 5)
    fleet.watch = lambda request: Refusal(503, "SlowDown") if bad in request.path else None
    done = fleet.run("fleet", "reduce", s3("plan.json"), "-o", s3("out"))
    assert f"{RANKS - 1} ok + 1 failed" in done.told and "SHARD_UNREADABLE" in done.told


def test_a_folder_that_takes_nothing_ends_the_run_early(fleet: Storage) -> None:
    fleet.watch = lambda request: Refusal(403, "AccessDenied") if request.method == "PUT" else None
    done = fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"), code=2)
    told = done.told.splitlines()[-1]
    assert "10 consecutive results could not be written" in told and "no permission (AccessDenied)" in told
    assert f"0 of {RANKS} pairs are done; run the command again to continue" in told
    assert len(fleet.asked("PUT", "/shards/")) < RANKS


def test_a_truncated_response_that_a_shard_is_missing_is_repeated(fleet: Storage) -> None:
    cut = []

    def watch(request: Request) -> Fault | None:
        if request.method == "GET" and "/shards/" in request.path and not cut:
            cut.append(request)
            return Fault.CUT
        return None

    fleet.watch = watch
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "3")
    assert cut and len(fleet.keys("out/shards/")) == 1


def test_missing_shards_are_no_success(fleet: Storage) -> None:
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "3")
    done = fleet.run("fleet", "reduce", s3("plan.json"), "-o", s3("out"), code=3)
    assert f"1 ok + {RANKS - 1} failed" in done.told and "does not share this folder" in done.told


class Chaos:
    """Makes a fifth of all requests fail, but never more than two consecutive requests for the same key. The same seed
    causes the same failures."""

    def __init__(self, seed: int, stalls: int = 0) -> None:
        self.counts: collections.Counter[str] = collections.Counter()
        self._random, self._in_a_row = random.Random(seed), collections.Counter[str]()
        self._lock = threading.Lock()
        self._stalls = stalls

    def __call__(self, request: Request) -> Refusal | Fault | None:
        what = f"{request.method} {request.path} {request.range}"
        with self._lock:
            if self._in_a_row[what] >= 2 or self._random.random() > 0.2:
                self._in_a_row[what] = 0
                return None
            self._in_a_row[what] += 1
            kinds = ["throttle", "fail", "closed", "cut", "lost", "slow"]
            kind = self._random.choice(kinds)
            if self._stalls and request.method == "GET" and "rank_" in request.path:
                self._stalls, kind = self._stalls - 1, "stall"
            self.counts[kind] += 1
        match kind:
            case "throttle":
                return Refusal(503, "SlowDown")
            case "fail":
                return Refusal(500, "InternalError")
            case "closed":
                return Fault.CLOSED
            case "cut":
                return Fault.CUT if request.method == "GET" else Fault.CLOSED
            case "lost":
                return Fault.LOST
            case "slow":
                time.sleep(0.5)
                return None
            case _:
                # The stall lasts longer than the command's timeout for a response.
                time.sleep(40)
                return Fault.CLOSED


@pytest.mark.parametrize(("seed", "stalls"), [(1, 2), (2, 0)])
def test_random_faults_change_no_byte(fleet: Storage, seed: int, stalls: int) -> None:
    fleet.run("fleet", "run", s3("before"), s3("after"), "-o", s3("calm"))
    fleet.watch = chaos = Chaos(seed, stalls)
    done = fleet.run("fleet", "run", s3("before"), s3("after"), "-o", s3("storm"), TRACETREE_RETRY_SECONDS="120")
    assert {"throttle", "fail", "closed", "cut", "lost", "slow"} <= set(chaos.counts)
    assert chaos.counts["stall"] == stalls
    assert sum(chaos.counts.values()) > 80
    assert f"{RANKS} planned = {RANKS} ok + 0 failed + 0 unmatched" in done.told
    fleet.watch = lambda request: None
    fleet.assert_same("storm/", "calm/")


def test_kills_in_a_storm_repeat_no_finished_pair(fleet: Storage) -> None:
    fleet.run("fleet", "map", s3("plan.json"), "-o", s3("calm"))
    fleet.watch = Chaos(3)
    random_pause = random.Random(3)
    for _ in range(3):
        process = fleet.start("fleet", "map", s3("plan.json"), "-o", s3("storm"), RAYON_NUM_THREADS="1")
        time.sleep(0.5 + random_pause.random())
        process.kill()
        process.wait()
    before = set(fleet.keys("storm/shards/"))
    fleet.requests.clear()
    done = fleet.run("fleet", "map", s3("plan.json"), "-o", s3("storm"), TRACETREE_RETRY_SECONDS="120")
    found = re.search(r"(\d+) pairs? compared, (\d+) skipped", done.told)
    assert found and int(found[1]) + int(found[2]) == RANKS and int(found[2]) >= len(before)
    written = {request.path.split("/shards/")[1] for request in fleet.asked("PUT", "/shards/")}
    assert not written & {key.split("/shards/")[1] for key in before}
    fleet.watch = lambda request: None
    fleet.assert_same("storm/", "calm/")
