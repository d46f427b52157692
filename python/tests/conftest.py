"""Shared fixtures: the bundled pair of traces, the comparison of this pair, and the real traces if available."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import tracetree

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "traces"
H100 = EXAMPLES / "h100"
FIXTURES = ROOT / "tests" / "fixtures"


def reruns(trace: Path, folder: Path) -> list[Path]:
    """Writes three files with the same trace that count as runs, because their bytes differ."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"run{run}.json.gz" for run in range(3)]
    for run, file in enumerate(files):
        file.write_bytes(gzip.compress(gzip.decompress(trace.read_bytes()) + b"\n" * run))
    return files


@pytest.fixture(scope="session")
def pair() -> tuple[Path, Path]:
    """The bundled pair of traces: the same training program on ROCm and on CUDA."""
    return EXAMPLES / "resnet.rocm.json.gz", EXAMPLES / "resnet.cuda.json.gz"


@pytest.fixture(scope="session")
def d(pair: tuple[Path, Path]) -> tracetree.Comparison:
    return tracetree.diff(*pair)


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder with real traces, which are too large for the repository."""
    folder = os.environ.get("TRACETREE_TRACES")
    if not folder:
        pytest.skip("TRACETREE_TRACES is not set: no real traces")
    path = Path(folder)
    return path if path.is_absolute() else ROOT / path


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
