"""Tests a fleet on Ray with a store that fails at random. The result must be identical to the result of a local run
without failures, byte for byte.

``TRACETREE_PYTHON`` is the path of a Python interpreter that has the tracetree package and Ray installed.
``python/test`` installs both into ``target/python/tools``.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import Storage, assert_same
from test_faults import RANKS, Chaos, fleet, s3

DRIVER = Path(__file__).with_name("ray_driver.py")

__all__ = ["fleet"]


@pytest.fixture
def python() -> str:
    """The path of a Python interpreter with tracetree and Ray."""
    python = os.environ.get("TRACETREE_PYTHON")
    if not python:
        pytest.skip("TRACETREE_PYTHON names no interpreter")
    if subprocess.run([python, "-c", "import ray, tracetree"], capture_output=True).returncode != 0:
        pytest.skip("Ray or tracetree is not installed")
    return python


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_ray_kills_and_a_faulty_store_change_no_byte(fleet: Storage, python: str, tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    plan = tmp_path / "plan.json"
    plan.write_bytes(fleet.get("plan.json"))

    def run(backend: str, name: str) -> dict[str, int]:
        command = [python, DRIVER, backend, plan, s3(name), tmp_path / name, tmp_path / "marks"]
        environment = fleet.environment(TRACETREE_COMMAND=os.environ["TRACETREE"], TRACETREE_RETRY_SECONDS="120")
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        # If the test fails, pytest shows this output, which contains the findings and the warnings.
        print(done.stderr)
        counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
        return counts

    everything = {"planned": RANKS, "ok": RANKS, "failed": 0, "unmatched": 0}
    assert run("local", "calm") == everything
    fleet.watch = chaos = Chaos(4)
    assert run("ray", "storm") == everything
    fleet.watch = lambda request: None
    assert {"throttle", "fail", "closed", "cut", "lost", "slow"} <= set(chaos.counts)
    assert len(list((tmp_path / "marks").iterdir())) == RANKS // 10
    assert_same(files(tmp_path / "storm"), files(tmp_path / "calm"))
    fleet.assert_same("storm/", "calm/")
