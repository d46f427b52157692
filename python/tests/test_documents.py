"""Runs the examples in docstrings and in the Python pages of the docs, and checks the notebook and the type stubs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tracetree

MODULES = ["tracetree", "tracetree._native", "tracetree.tracelens"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_correct(name: str) -> None:
    module = importlib.import_module(name)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    found = [test for test in finder.find(module, name) if test.examples]
    found += native_examples(module) if name.endswith("_native") else []
    assert found, "no example found"
    for example in found:
        runner.run(example)
    assert runner.summarize(verbose=False).failed == 0


def native_examples(module: ModuleType) -> list[doctest.DocTest]:
    """The examples in the docstrings of native classes. doctest does not find these examples by itself."""
    parser = doctest.DocTestParser()
    documented: list[tuple[str, Any]] = []
    for name, kind in inspect.getmembers(module, inspect.isclass):
        documented.append((name, kind))
        documented += [(f"{name}.{key}", value) for key, value in vars(kind).items()]
    texts = [(name, inspect.getdoc(value) or "") for name, value in documented]
    tests = [parser.get_doctest(text, {}, name, None, 0) for name, text in texts if ">>>" in text]
    return tests


def test_everything_public_is_documented() -> None:
    for name in tracetree.__all__:
        value = getattr(tracetree, name)
        if name.startswith("__"):
            continue
        assert inspect.getdoc(value), name
        if inspect.isclass(value):
            for key, member in vars(value).items():
                # The fields of a dataclass are described by comments.
                if not key.startswith("_") and key not in getattr(value, "__dataclass_fields__", ()):
                    assert inspect.getdoc(member), f"{name}.{key}"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


PAGES = [
    "docs/guides/python.md",
    "docs/guides/fleet.md",
    "docs/reference/tracelens.md",
    "docs/start/python.md",
    "README.md",
]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore::tracetree.TraceWarning")
def test_the_python_in_the_documents_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars"), pytest.importorskip("duckdb"), pytest.importorskip("pandas")
    code = blocks(Path(page).read_text(encoding="utf-8"), "python")
    assert code
    (tmp_path / "examples").symlink_to(Path("examples").resolve())
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib")
    scope: dict[str, Any] = {"tracetree": tracetree}
    for block in code:
        if not re.search(r"^(import|from) torch", block, re.MULTILINE):
            exec(compile(block, page, "exec"), scope)


def test_the_documents_name_every_table(d: tracetree.Comparison) -> None:
    page = Path("docs/guides/python.md").read_text(encoding="utf-8")
    for name in d.table_names:
        assert f"| `d.{name}` | `{d.table(name).csv_name}` |" in page


def test_the_example_notebook_runs(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read("examples/tracetree.ipynb", as_version=4)
    (tmp_path / "traces").symlink_to(Path("examples/traces").resolve())
    client = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    html = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    printed = "".join(output.get("text", "") for output in outputs if output["output_type"] == "stream")
    assert any("5.336 → 5.024 ms per step" in text for text in html)
    assert sum("image/png" in output.get("data", {}) for output in outputs) == 4
    assert any("<iframe" in text and "aten::_convolution" in text for text in html)
    for part in (
        "TraceWarning: LAUNCH_NOT_CAPTURED",
        "warning baseline LAUNCH_NOT_CAPTURED",
        "aten::miopen_convolution → aten::cudnn_convolution\nrenamed likely",
        "pinned",
        "{'host': 0.0} {'baseline': 4.93, 'candidate': 3.86} ms",
        "medians of 3 and 2 runs",
        "raised with",
    ):
        assert part in printed, printed
    (cpu,) = [text for text in html if "cnn_extra_op" in text]
    assert "aten::" in cpu and "GPU" not in cpu and "TB/s" not in cpu


def test_the_stubs_are_precise() -> None:
    stub = Path("python/tracetree/_native.pyi").read_text(encoding="utf-8")
    uses = [line for line in stub.splitlines() if re.search(r"\bAny\b", line) and "import" not in line]
    assert uses == ["_Json: TypeAlias = dict[str, Any]", "_Cell: TypeAlias = Any"]


def test_the_types_of_options_are_those_of_the_functions() -> None:
    from tracetree import _options

    for function, options in ((tracetree.diff, _options.DiffOptions), (tracetree.gate, _options.GateOptions)):
        keywords = {
            name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY
        }
        assert set(options.__annotations__) == keywords


def test_versions_agree() -> None:
    for manifest in ("Cargo.toml", "python/Cargo.toml"):
        found = re.search(r'^version = "(.*)"', Path(manifest).read_text(), re.MULTILINE)
        assert found and found[1] == tracetree.__version__
