"""Tests of `tracetree run`: two revisions of a repository are recorded and compared. The tests that record are skipped
without PyTorch and run by `python/test-torch`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tracetree

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: run python/test-torch"
)

PROGRAM = """\
import sys
import torch

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
print("a line of the program")


def step(x):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for _ in range(int(sys.argv[1])):
    step(torch.randn(32, 64))
"""


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    done = subprocess.run(["git", *names, "-C", folder, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two revisions of a program, and with changes that are not committed."""
    folder = tmp_path / "repository"
    (folder / "training").mkdir(parents=True)
    program = folder / "training" / "train.py"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(folder))
    for change in ("", ".cumsum(0)"):
        program.write_text(PROGRAM.replace("model(x)", f"model(x){change}"))
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", f"step{change}")
    program.write_text("this is not Python")
    (folder / "new.txt").write_text("mine")
    return folder


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tracetree", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})


@needs_torch
def test_two_revisions_are_compared_without_touching_the_tree(repository: Path, tmp_path: Path) -> None:
    before = git(repository, "status", "--porcelain"), sorted(path.name for path in repository.rglob("*"))
    out = tmp_path / "out"
    done = run(repository / "training", "--revisions", "main~1", "HEAD", "--runs", "2", "-o", str(out), "--",
               sys.executable, "train.py", "12")
    assert done.returncode == 0, done.stderr
    # The comment is the only output; the program's own output is on standard error.
    assert done.stdout == (out / "report" / "report.md").read_text(encoding="utf-8")
    assert "aten::cumsum" in done.stdout and f"HEAD ({git(repository, 'rev-parse', 'HEAD')[:9]})" in done.stdout
    assert done.stderr.count("a line of the program") == 4 and "a line of the program" not in done.stdout
    assert (git(repository, "status", "--porcelain"), sorted(path.name for path in repository.rglob("*"))) == before
    assert git(repository, "worktree", "list").count("\n") == 1
    traces = sorted(str(path.relative_to(out)) for path in out.glob("*/run*/run0/*.gz"))
    assert traces == [f"{side}/run{run}/run0/rank0.json.gz" for side in ("baseline", "candidate") for run in range(2)]
    info = tracetree.open(out / traces[0]).info()
    assert info["steps"] == 5 and info["contents"]["stacks"]
    again = run(repository, "--revisions", "main~1", "HEAD", "-o", str(out), "--", sys.executable, "training/train.py", "12")
    assert again.returncode == 2 and "already exists: pass a new folder as --output" in again.stderr


@needs_torch
def test_a_program_that_records_itself_is_not_recorded_twice(repository: Path, tmp_path: Path) -> None:
    git(repository, "checkout", "--quiet", "--", ".")
    program = PROGRAM.replace("for _ in", "import tracetree\n\nwith tracetree.profile('mine', active=3) as p:\n  for _ in")
    (repository / "training" / "train.py").write_text(program.replace("    step(torch", "    step(torch") + "    p.step()\n")
    git(repository, "commit", "--quiet", "-am", "record")
    done = run(repository, "--revisions", "HEAD", "HEAD", "--runs", "1", "-o", str(tmp_path / "out"), "--",
               sys.executable, "training/train.py", "12")
    assert done.returncode == 0, done.stderr
    (trace,) = (tmp_path / "out" / "baseline").rglob("*.gz")
    assert tracetree.open(trace).info()["steps"] == 3


@needs_torch
def test_another_sitecustomize_still_runs(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text("print('the own sitecustomize')")
    command = [sys.executable, "-m", "tracetree", "run", "--revisions", "HEAD", "HEAD", "--runs", "1", "--"]
    done = subprocess.run([*command, sys.executable, "training/train.py", "12"], cwd=repository, capture_output=True,
                          text=True, env={**os.environ, "PYTHONPATH": str(tmp_path / "site")})
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the own sitecustomize") == 2
    # The recordings are kept, because the comment contains commands that read them.
    kept = Path(done.stderr.splitlines()[-1].removeprefix("tracetree run: the recordings and the report are in "))
    assert (kept / "report" / "report.html").is_file()
    shutil.rmtree(kept)


@needs_torch
def test_too_few_steps_are_reported(repository: Path) -> None:
    done = run(repository, "--revisions", "HEAD", "HEAD", "--", sys.executable, "training/train.py", "3")
    assert done.returncode == 2
    assert "recorded nothing: it must run at least 9 steps of a PyTorch optimizer (see --steps)" in done.stderr
    assert git(repository, "worktree", "list").count("\n") == 1


def test_a_program_that_fails_or_records_nothing_is_reported(repository: Path) -> None:
    failed = run(repository, "--revisions", "HEAD", "HEAD", "--", sys.executable, "-c", "raise SystemExit(7)")
    assert failed.returncode == 2 and "failed with exit code 7" in failed.stderr
    nothing = run(repository, "--revisions", "HEAD", "HEAD", "--", sys.executable, "-c", "pass")
    assert nothing.returncode == 2 and "HEAD: " in nothing.stderr and "recorded nothing" in nothing.stderr
    # The work trees are gone.
    assert git(repository, "worktree", "list").count("\n") == 1


def test_mistakes_name_the_remedy(repository: Path, tmp_path: Path) -> None:
    cases = {
        ("--revisions", "HEAD", "nowhere"): "nowhere is not a revision of this repository",
        ("--revisions", "HEAD", "HEAD", "--steps", "1,2"): "--steps must be three numbers such as 1,2,5",
        ("--revisions", "HEAD", "HEAD", "--steps", "1,2,0"): "--steps must be three numbers such as 1,2,5",
        ("--revisions", "HEAD", "HEAD", "--runs", "0"): "--runs must be at least 1, not 0",
        ("--revisions", "HEAD"): "expected 2 arguments",
    }
    for arguments, message in cases.items():
        done = run(repository, *arguments, "--", sys.executable, "-c", "pass")
        assert done.returncode == 2 and message in done.stderr, done.stderr
    outside = run(tmp_path, "--revisions", "HEAD", "HEAD", "--", sys.executable, "-c", "pass")
    assert outside.returncode == 2 and "run tracetree run inside a git repository" in outside.stderr
