"""Tests for the command on a bucket: which objects it reads and writes, and what it prints if it fails."""

from __future__ import annotations

import functools
import http.server
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import AFTER, BEFORE, BUCKET, EXAMPLES, Refusal, Request, Storage

MIB = 1024 * 1024
#: Trailing spaces in a trace are ignored, but the file is still read to its end.
PLAIN = b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5}]}'
LARGE = PLAIN + b" " * (20 * MIB)


def s3(key: str) -> str:
    return f"s3://{BUCKET}/{key}"


def whole(contents: dict[str, bytes]) -> dict[str, bytes]:
    """Returns the shards, after checking that each shard is a complete Parquet file."""
    shards = {name: content for name, content in contents.items() if name.startswith("shards/")}
    for name, content in shards.items():
        assert content[:4] == content[-4:] == b"PAR1", name
    return shards


# Reading


def test_an_object_is_read_like_a_file(storage: Storage, tmp_path: Path) -> None:
    key = "odd names/run=1/100% ä+b.json.gz"
    storage.put(key, BEFORE)
    files = (EXAMPLES / "resnet.rocm.json.gz", EXAMPLES / "resnet.cuda.json.gz")
    told = [
        json.loads(storage.run("diff", before, files[1], "--format", "json", "-o", tmp_path / "report").out)
        for before in (s3(key), files[0])
    ]
    assert told[0]["trace1"]["path"] == s3(key)
    for summary in told:
        del summary["trace1"]["path"]
    assert told[0] == told[1]
    assert (tmp_path / "report" / "diff_stats.csv").is_file()


def test_a_large_object_is_read_range_by_range(storage: Storage) -> None:
    storage.put("large.json", LARGE)
    storage.run("info", s3("large.json"))
    first, *others = storage.asked("GET", "large.json")
    assert first.range == "bytes=0-262143"
    # The remaining ranges are requested concurrently, so the order of these requests varies.
    last = f"bytes=17039360-{len(LARGE) - 1}"
    assert sorted(request.range for request in others) == [last, "bytes=262144-8650751", "bytes=8650752-17039359"]
    etag = storage.client.head_object(Bucket=BUCKET, Key="large.json")["ETag"]
    assert {request.headers.get("if-match") for request in others} == {etag}


def test_memory_does_not_grow_with_the_object(storage: Storage) -> None:
    def peak(content: bytes) -> int:
        storage.put("trace.json", content)
        # The peak memory of a forked process includes the peak memory of its parent, so a small process runs the
        # command.
        small = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2);" \
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)"
        command = [sys.executable, "-c", small, os.environ["TRACETREE"], "info", s3("trace.json")]
        done = subprocess.run(command, env=storage.environment(), capture_output=True, text=True, check=True)
        return int(done.stdout)

    small, large = peak(PLAIN), peak(PLAIN + b" " * (160 * MIB))
    # Three ranges of 8 MiB are requested while a fourth range is read, and not all freed memory is returned to the
    # system.
    assert large - small < 64, (small, large)


def test_of_an_object_that_is_planned_the_head_alone_is_read(storage: Storage, tmp_path: Path) -> None:
    head = b'{"distributedInfo": {"rank": 0, "world_size": 1}, '
    event = PLAIN[PLAIN.index(b"[") + 1 : PLAIN.rindex(b"]")]
    for folder in ("before", "after"):
        storage.put(f"{folder}/rank_0.json", head + b'"traceEvents": [' + b",".join([event] * 30_000) + b"]}")
    storage.run("fleet", "plan", s3("before"), s3("after/"), "-o", tmp_path / "plan.json")
    assert [request.range for request in storage.asked("GET", "rank_0")] == ["bytes=0-262143"] * 2
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["pairs"][0]["candidate"]["path"] == s3("after/rank_0.json")
    assert plan["pairs"][0]["baseline"]["world_size"] == 1


def test_an_object_that_is_written_while_it_is_read_is_an_error(storage: Storage, tmp_path: Path) -> None:
    storage.put("large.json", LARGE)

    def watch(request: Request) -> None:
        if request.range.startswith("bytes=8650752-"):
            storage.put("large.json", LARGE + b" ")

    storage.watch = watch
    done = storage.run("info", s3("large.json"), code=2)
    assert s3("large.json") in done.told and "the object changed while it was being read" in done.told
    assert len(done.told.splitlines()) == 1


def test_a_pair_that_changes_while_it_is_read_has_a_status_and_no_shard(storage: Storage) -> None:
    for folder in ("before", "after"):
        storage.put(f"{folder}/rank_0.json.gz", BEFORE)
        storage.put(f"{folder}/rank_1.json", LARGE)
    storage.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))

    def watch(request: Request) -> None:
        if "after/rank_1" in request.path and request.range.startswith("bytes=16777216-"):
            storage.put("after/rank_1.json", LARGE + b" ")

    storage.watch = watch
    done = storage.run("fleet", "map", s3("plan.json"), "-o", s3("out"))
    assert "CHANGED" in done.told
    assert len(whole(storage.contents("out/"))) == 1


def test_a_change_between_plan_and_map_is_told(job: Storage) -> None:
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    job.put("after/rank_0.json.gz", BEFORE)
    done = job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "0")
    assert "failed" in done.out and "CHANGED" in done.out
    assert job.keys("out/") == []


def test_a_web_server_is_read_from_and_not_listed(storage: Storage, tmp_path: Path) -> None:
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(EXAMPLES))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_address[1]}"
        done = storage.run("diff", f"{root}/resnet.rocm.json.gz", EXAMPLES / "resnet.cuda.json.gz", "--no-report")
        assert "http://127.0.0.1" in done.out or done.out
        missing = storage.run("info", f"{root}/none.json.gz", code=2)
        assert "nothing found at this address" in missing.told
        listed = storage.run("fleet", "plan", root, root, "-o", tmp_path / "plan.json", code=2)
        assert "a web server has no folder listings" in listed.told
        server.shutdown()


# Listing


def test_a_listing_has_as_many_pages_as_it_needs(storage: Storage, tmp_path: Path) -> None:
    for folder, content in (("before", BEFORE), ("after", AFTER)):
        storage.put(f"{folder}/rank_0.json.gz", content)
        storage.put(f"{folder}/zz_rank_1.json.gz", content)
        storage.put(f"{folder}/deeper/rank_2.json.gz", content)
    for number in range(2500):
        storage.put(f"after/log_{number}.txt", b"")
    storage.run("fleet", "plan", s3("before"), s3("after"), "-o", tmp_path / "plan.json")
    pages = [request for request in storage.asked("GET", "list-type=2") if "after" in request.path]
    assert len(pages) == 3
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert [pair["rank"] for pair in plan["pairs"]] == [0, 1]


# Writing


def test_a_fleet_in_a_bucket_is_the_fleet_in_a_folder(job: Storage, tmp_path: Path) -> None:
    done = job.run("fleet", "run", s3("before"), s3("after"), "-o", s3("out"))
    assert "4 planned = 3 ok + 1 failed + 0 unmatched" in done.told
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
        for name, content in job.contents(f"{folder}/").items():
            (tmp_path / folder / name).write_bytes(content)
    job.run("fleet", "run", tmp_path / "before", tmp_path / "after", "-o", tmp_path / "out")
    files = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    contents = job.contents("out/")
    # The shard names depend on the paths of the traces.
    tables = {name for name in files if not name.startswith("shards/")}
    assert {name for name in contents if not name.startswith("shards/")} == tables
    assert len(whole(contents)) == len(files - tables) == 4
    remote, local = json.loads(contents["fleet.json"]), json.loads((tmp_path / "out" / "fleet.json").read_text())
    place = str(tmp_path)
    for document in (remote, local):
        del document["baseline"], document["candidate"]
    assert json.dumps(remote).replace(f"s3://{BUCKET}", place) == json.dumps(local)


def test_steps_on_several_machines_give_the_same_bytes_and_nothing_is_done_twice(job: Storage) -> None:
    job.run("fleet", "run", s3("before"), s3("after"), "-o", s3("one"))
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    for pair in (2, 0, 2):
        job.run("fleet", "map", s3("plan.json"), "-o", s3("two"), "--pair", str(pair))
    job.requests.clear()
    done = job.run("fleet", "map", s3("plan.json"), "-o", s3("two"))
    assert "2 pairs compared, 2 skipped (shard exists)" in done.told
    written = job.asked("PUT", "/two/shards/")
    assert len(written) == 2
    job.run("fleet", "reduce", s3("plan.json"), "-o", s3("two"))
    assert job.contents("two/") == job.contents("one/")


def test_a_shard_is_written_where_there_is_none_and_never_over_one(job: Storage) -> None:
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    faster: list[str] = []

    def watch(request: Request) -> None:
        if request.method == "PUT" and "/shards/" in request.path and not faster:
            if request.headers.get("if-none-match") == "*":
                faster.append(request.path.split("?")[0].removeprefix(f"/{BUCKET}/"))
                job.put(faster[0], b"of somebody who was faster")

    job.watch = watch
    job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "0")
    assert job.get(faster[0]) == b"of somebody who was faster"
    # Another program created the object first, but its content is not a shard, so the next run writes the shard again.
    job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "0")
    assert len(whole(job.contents("out/"))) == 1


def test_a_run_that_is_killed_leaves_whole_shards_and_goes_on(job: Storage) -> None:
    job.run("fleet", "run", s3("before"), s3("after"), "-o", s3("one"))
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    released = threading.Event()

    def watch(request: Request) -> Refusal | None:
        if request.method == "PUT" and "/two/shards/" in request.path and len(job.keys("two/")) >= 2:
            released.wait(60)
            return Refusal(500, "Killed")
        return None

    job.watch = watch
    process = job.start("fleet", "map", s3("plan.json"), "-o", s3("two"), RAYON_NUM_THREADS="1")
    deadline = time.monotonic() + 60
    while len(job.asked("PUT", "/two/shards/")) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    released.set()
    job.watch = lambda request: None
    before = whole(job.contents("two/"))
    assert len(before) == 2
    job.requests.clear()
    done = job.run("fleet", "map", s3("plan.json"), "-o", s3("two"))
    assert "2 pairs compared, 2 skipped (shard exists)" in done.told
    assert not {request.path.rsplit("/", 1)[-1] for request in job.asked("PUT", "/two/")} & {name.removeprefix("shards/") for name in before}
    job.run("fleet", "reduce", s3("plan.json"), "-o", s3("two"))
    assert job.contents("two/") == job.contents("one/")


def test_half_a_shard_is_no_shard(job: Storage) -> None:
    job.run("fleet", "run", s3("before"), s3("after"), "-o", s3("out"))
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    good = job.contents("out/")
    shard = next(name for name in good if name.startswith("shards/"))
    job.put(f"out/{shard}", good[shard][: len(good[shard]) // 2])
    done = job.run("fleet", "reduce", s3("plan.json"), "-o", s3("half"), code=2)
    assert "NO_SHARD" in done.told
    done = job.run("fleet", "reduce", s3("plan.json"), "-o", s3("out"))
    assert "BROKEN_SHARD" in done.told
    job.run("fleet", "map", s3("plan.json"), "-o", s3("out"))
    job.run("fleet", "reduce", s3("plan.json"), "-o", s3("out"))
    assert job.contents("out/") == good


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    """A category file that makes the plan 20 MiB large. Objects over 16 MiB are uploaded in parts."""
    path = tmp_path / "categories.toml"
    path.write_text("# " + "x" * (20 * MIB) + "\n")
    return path


def test_what_is_large_is_written_in_parts(job: Storage, rules: Path, tmp_path: Path) -> None:
    options = ("fleet", "plan", s3("before"), s3("after"), "--categories", rules, "-o")
    job.run(*options, s3("plan.json"))
    assert len(job.asked("PUT", "plan.json?partNumber")) == 2
    job.run(*options, tmp_path / "plan.json")
    assert job.get("plan.json") == (tmp_path / "plan.json").read_bytes()


def test_parts_of_a_killed_run_are_no_object(job: Storage, rules: Path) -> None:
    released = threading.Event()

    def watch(request: Request) -> Refusal | None:
        if "partNumber=2" in request.path:
            released.wait(60)
            return Refusal(500, "Killed")
        return None

    job.watch = watch
    process = job.start("fleet", "plan", s3("before"), s3("after"), "--categories", rules, "-o", s3("plan.json"))
    deadline = time.monotonic() + 60
    while not job.asked("PUT", "partNumber=2") and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    released.set()
    assert job.asked("PUT", "partNumber=1") and "plan.json" not in job.keys()


def test_parts_that_cannot_become_an_object_are_removed(job: Storage, rules: Path) -> None:
    job.watch = lambda request: Refusal(403, "AccessDenied") if "partNumber=2" in request.path else None
    done = job.run("fleet", "plan", s3("before"), s3("after"), "--categories", rules, "-o", s3("plan.json"), code=2)
    assert f"{s3('plan.json')}: cannot write the file: no permission (AccessDenied)" in done.told
    assert job.asked("DELETE", "uploadId") and "plan.json" not in job.keys()
    assert not job.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads")


def test_reports_go_there_and_the_shard_comes_last(job: Storage, tmp_path: Path) -> None:
    job.run("fleet", "run", s3("before"), s3("after"), "-o", s3("out"), "--reports", RAYON_NUM_THREADS="1",
            TMPDIR=str(tmp_path))
    keys = job.keys("out/rank_0/")
    assert "out/rank_0/report.html" in keys and "out/rank_0/summary.json" in keys
    order = [request.path.split("?")[0] for request in job.requests if request.method == "PUT"]
    of_rank = [path for path in order if "/rank_0/" in path]
    assert of_rank[0].endswith("/manifest.json"), "the folder first says that its files are being replaced"
    assert of_rank[-1].endswith("/manifest.json"), "and last that all of them are in place"
    assert of_rank[-2].endswith("/summary.json")
    first_shard = next(at for at, path in enumerate(order) if "/shards/" in path)
    assert order.index(of_rank[-1]) < first_shard
    assert list(tmp_path.iterdir()) == [], "nothing is left on this machine"


def test_a_report_of_two_traces_goes_there(job: Storage) -> None:
    job.run("diff", s3("before/rank_0.json.gz"), s3("after/rank_0.json.gz"), "-o", s3("report"), "--emit", "html")
    assert {"report/report.html", "report/summary.json", "report/diff_stats.csv"} <= set(job.keys("report/"))


def test_two_folders_in_a_bucket_are_a_fleet(job: Storage) -> None:
    done = job.run("diff", s3("before"), s3("after"), "-o", s3("out"), "--emit", "none")
    assert "4 planned = 3 ok + 1 failed + 0 unmatched" in done.told
    assert "out/ranks.csv" in job.keys("out/") and "out/rank_2/summary.json" in job.keys("out/")


# What fails


def one_line(told: str) -> str:
    assert len(told.splitlines()) == 1, told
    return told


def test_a_missing_bucket_is_named(job: Storage, tmp_path: Path) -> None:
    listed = job.run("fleet", "plan", "s3://none/before", s3("after"), "-o", tmp_path / "plan.json", code=2)
    assert "s3://none/before: cannot list the folder: the bucket does not exist" in one_line(listed.told)
    assert "AWS_ENDPOINT_URL" in listed.told
    read = job.run("info", "s3://none/a.json", code=2)
    assert "s3://none/a.json: cannot open the trace: the bucket does not exist" in one_line(read.told)
    written = job.run("fleet", "plan", s3("before"), s3("after"), "-o", "s3://none/plan.json", code=2)
    assert "s3://none/plan.json: cannot write the file: the bucket does not exist" in written.told


def test_a_missing_object_and_an_empty_folder_say_so(job: Storage, tmp_path: Path) -> None:
    read = job.run("info", s3("none.json"), code=2)
    assert f"{s3('none.json')}: cannot open the trace: nothing found at this address" in one_line(read.told)
    listed = job.run("fleet", "plan", s3("none"), s3("after"), "-o", tmp_path / "plan.json", code=2)
    assert f"{s3('none')}: no trace in this folder" in one_line(listed.told)
    plan = job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), code=2)
    assert f"{s3('plan.json')}: cannot read the plan" in one_line(plan.told)


def test_no_permission_is_told_for_a_folder_and_is_a_status_for_a_pair(job: Storage, tmp_path: Path) -> None:
    job.watch = lambda request: Refusal(403, "AccessDenied") if "list-type" in request.path else None
    listed = job.run("fleet", "plan", s3("before"), s3("after"), "-o", tmp_path / "plan.json", code=2)
    assert f"{s3('before')}: cannot list the folder: no permission (AccessDenied)" in one_line(listed.told)
    job.watch = lambda request: None
    job.run("fleet", "plan", s3("before"), s3("after"), "-o", s3("plan.json"))
    job.watch = lambda request: Refusal(403, "AccessDenied") if "after/rank_1" in request.path else None
    done = job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), "--pair", "1")
    assert "failed" in done.out and "NO_PERMISSION" in done.out
    job.watch = lambda request: Refusal(403, "AccessDenied") if request.method == "PUT" else None
    written = job.run("fleet", "map", s3("plan.json"), "-o", s3("out"), code=2)
    assert "cannot write the file: no permission (AccessDenied)" in one_line(written.told)


def test_credentials_that_are_refused_name_what_to_set(job: Storage) -> None:
    job.watch = lambda request: Refusal(403, "InvalidAccessKeyId")
    done = job.run("info", s3("before/rank_0.json.gz"), code=2)
    assert "no permission (InvalidAccessKeyId)" in one_line(done.told) and "AWS_ACCESS_KEY_ID" in done.told


def test_without_credentials_nothing_is_asked(job: Storage) -> None:
    process = job.environment(AWS_METADATA_ENDPOINT="http://127.0.0.1:9")
    del process["AWS_ACCESS_KEY_ID"], process["AWS_SECRET_ACCESS_KEY"]
    command = [os.environ["TRACETREE"], "info", s3("before/rank_0.json.gz")]
    done = subprocess.run(command, env=process, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"{s3('before/rank_0.json.gz')}: cannot find credentials" in one_line(done.stderr)
    assert "AWS_SECRET_ACCESS_KEY" in done.stderr and job.requests == []
    job.client.put_object_acl(Bucket=BUCKET, Key="before/rank_0.json.gz", ACL="public-read")
    public = subprocess.run(command, env={**process, "AWS_SKIP_SIGNATURE": "true"}, capture_output=True, timeout=60, check=False)
    assert public.returncode == 0


def test_a_server_that_is_not_there_is_told(job: Storage) -> None:
    done = job.run("info", s3("before/rank_0.json.gz"), code=2, AWS_ENDPOINT_URL="http://127.0.0.1:9")
    assert "refused" in one_line(done.told) and "AWS_ENDPOINT_URL" in done.told


def test_a_server_that_fails_once_is_asked_again(job: Storage) -> None:
    failed: list[Request] = []

    def watch(request: Request) -> Refusal | None:
        if request.method == "GET" and not failed:
            failed.append(request)
            return Refusal(503, "SlowDown")
        return None

    job.watch = watch
    job.run("info", s3("before/rank_0.json.gz"))
    assert [request.range for request in job.asked("GET", "rank_0")] == ["bytes=0-262143"] * 2
