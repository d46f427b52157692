"""Shared fixtures: the bundled pair of traces, the comparison of this pair, and the real traces if available."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import tracetree

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "traces"
H100 = EXAMPLES / "h100"
FIXTURES = ROOT / "tests" / "fixtures"


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
