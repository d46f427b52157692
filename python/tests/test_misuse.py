"""Tests that each mistake in mistakes.md raises the exception and the message that this file lists."""

from __future__ import annotations

import pickle
import re
import shutil
import warnings
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, ROOT

import tracetree

PAGE = ROOT / "python" / "tests" / "mistakes.md"
#: Maximum length of a message. A message must not repeat a large argument in full.
LONGEST = 2000


def rows() -> list[tuple[str, str, str]]:
    """The code, the exception and the message from each row of the table of common mistakes."""
    table = PAGE.read_text(encoding="utf-8")
    found = re.findall(r"^\| `(.+?)` \| `(\w+)` \| (.+) \|$", table, re.MULTILINE)
    return [(code, exception, unescape(message)) for code, exception, message in found]


@pytest.fixture(scope="module")
def scope(
    pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("misuse")
    (folder / "ranks").mkdir()
    for rank in range(2):
        shutil.copy(pair[0], folder / "ranks" / f"rank{rank}.json.gz")
    for name in ("README.md", "docs"):
        (folder / name).symlink_to(ROOT / name)
    closed = pair[0].open("rb")
    closed.close()
    with pytest.MonkeyPatch.context() as patch, pair[0].open("rb") as file:
        yield {
            "folder": folder,
            "tracetree": tracetree,
            "pickle": pickle,
            "a": str(pair[0].resolve()),
            "b": str(pair[1].resolve()),
            "d": d,
            "file": file,
            "closed": closed,
            "step": lambda: None,
        }
        patch.undo()


def test_the_page_lists_more_than_thirty_mistakes() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(rows()) == sum(line.startswith("| `") for line in lines) > 30
    assert len({code for code, _, _ in rows()}) == len(rows())


@pytest.mark.parametrize(("code", "exception", "message"), rows(), ids=[code for code, _, _ in rows()])
def test_a_mistake_raises_what_the_page_states(
    code: str, exception: str, message: str, scope: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scope["folder"])
    with warnings.catch_warnings(), pytest.raises(Exception) as raised:
        warnings.simplefilter("ignore", tracetree.TraceWarning)
        eval(code, scope)
    assert type(raised.value).__name__ == exception, raised.value
    assert message in str(raised.value)
    assert len(str(raised.value)) < LONGEST


@pytest.mark.parametrize(
    "option", ["aliases", "match", "phase", "steps", "names", "stacks", "relative_threshold", "strict", "progress"]
)
def test_a_large_argument_is_not_repeated_in_the_message(option: str) -> None:
    path = EXAMPLES / "resnet.rocm.json.gz"
    for large in ("x" * 5_000_000, b"x" * 5_000_000, {"a": "x" * 5_000_000}, ["x" * 5_000_000]):
        with pytest.raises((TypeError, ValueError, OSError)) as raised:
            is_further = option in tracetree.Options.__dataclass_fields__
            given = {"options": tracetree.Options(**{option: large})} if is_further else {option: large}
            tracetree.diff(path, path, **given)
        assert len(str(raised.value)) < LONGEST, (option, type(large))
