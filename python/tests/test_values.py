"""Tests that use traces, comparisons and tables as Python values: pickles, copies, weak references and rows."""

from __future__ import annotations

import copy
import gc
import gzip
import io
import pickle
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
from conftest import EXAMPLES, H100

import tracetree


def assert_same(one: tracetree.Comparison, other: tracetree.Comparison) -> None:
    for name in one.table_names:
        assert one.table(name).to_csv() == other.table(name).to_csv(), name
    assert str(one) == str(other)


def test_a_comparison_can_be_pickled_in_another_process(
    pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path: Path
) -> None:
    before = tmp_path / "before.json.gz"
    shutil.copy(pair[0], before)
    made = tracetree.diff(before, pair[1].read_bytes(), names=("old", "new"), options=tracetree.Options(stacks=1))
    saved = pickle.dumps(made)
    before.unlink()
    code = (
        "import pickle, sys; d = pickle.load(sys.stdin.buffer);"
        "sys.stdout.buffer.write(pickle.dumps((d.answer, d.rows.to_csv(), d.baseline.source, d.rows)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=saved, capture_output=True, check=True, cwd=tmp_path)
    answer, csv, source, rows = pickle.loads(ran.stdout)
    assert (answer, csv, source) == (made.answer, made.rows.to_csv(), str(before))
    assert rows.to_csv() == csv and rows.name == "rows"
    # Unpickled values can be pickled again.
    assert_same(pickle.loads(pickle.dumps(pickle.loads(saved))), made)
    assert_same(pickle.loads(pickle.dumps(d)), d)


def test_options_that_name_files_are_pickled_with_their_content(pair: tuple[Path, Path], tmp_path: Path) -> None:
    rules = tmp_path / "categories.toml"
    rules.write_text('[[category]]\nname = "convolutions"\nops = ["aten::miopen_convolution"]\nkernels = ["igemm_fwd"]\n')
    made = tracetree.diff(*pair, options=tracetree.Options(categories=rules))
    assert "convolutions" in made.kernels["category"]
    saved = pickle.dumps(made)
    rules.unlink()
    assert_same(pickle.loads(saved), made)


def test_captures_are_pickled(tmp_path: Path) -> None:
    graph = H100 / "decode_graph.pt.trace.json.gz"
    capture = tmp_path / "capture.json.gz"
    shutil.copy(H100 / "decode_graph.capture.pt.trace.json.gz", capture)
    eager = H100 / "decode_eager.pt.trace.json.gz"
    made = tracetree.diff(eager, graph, options=tracetree.Options(candidate_captures=capture))
    saved = pickle.dumps(made)
    capture.unlink()
    again = pickle.loads(saved)
    assert len(again.graphs) == 4 and again.summary()["points_of_difference"] == made.summary()["points_of_difference"]


def test_traces_can_be_pickled(pair: tuple[Path, Path]) -> None:
    for given in (pair[0], pair[0].read_bytes(), gzip.decompress(pair[0].read_bytes())):
        trace = tracetree.open(given)
        again = pickle.loads(pickle.dumps(trace))
        assert (again.source, len(again), again.info()["gpu_time_us"]) == (
            trace.source,
            len(trace),
            trace.info()["gpu_time_us"],
        )
    d = tracetree.diff(tracetree.open(pair[0]), pair[1])
    assert_same(pickle.loads(pickle.dumps(d)), d)


def test_what_is_not_kept_is_not_pickled(pair: tuple[Path, Path], tmp_path: Path) -> None:
    trace = tracetree.open(io.BytesIO(pair[0].read_bytes()))
    with pytest.raises(pickle.PicklingError, match="read from a file object.*pass a path"):
        pickle.dumps(trace)
    with pytest.raises(pickle.PicklingError, match="compared part of .*pickle the comparison"):
        pickle.dumps(tracetree.diff(*pair).baseline)
    moved = tmp_path / "moved.json.gz"
    shutil.copy(pair[0], moved)
    trace = tracetree.open(moved)
    moved.unlink()
    with pytest.raises(pickle.PicklingError, match="moved.json.gz cannot be read again"):
        pickle.dumps(trace)


def test_copies_are_the_same_object(pair: tuple[Path, Path], d: tracetree.Comparison) -> None:
    for value in (d, tracetree.open(pair[0]), d.rows):
        assert copy.copy(value) is value and copy.deepcopy(value) is value
    assert copy.deepcopy({"d": [d]})["d"][0] is d


def test_weak_references_end_with_the_value(pair: tuple[Path, Path]) -> None:
    d = tracetree.diff(*pair)
    values: list[Any] = [d, tracetree.open(pair[0]), d.names]
    references = [weakref.ref(value) for value in values]
    assert [reference() for reference in references] == values
    del d, values
    gc.collect()
    assert [reference() for reference in references] == [None, None, None]


def test_a_table_has_rows(d: tracetree.Comparison) -> None:
    table = d.names
    rows = table.to_pylist()
    assert list(table) == rows and table[0] == rows[0] and table[-1] == rows[-1]
    for part in (slice(2, 5), slice(None, None, -1), slice(-3, None), slice(5, 2), slice(1, 9, 3), slice(0)):
        assert table[part] == rows[part], part
    assert table["name"] == [row["name"] for row in rows]
    with pytest.raises(IndexError, match="no row 23: the table 'names' has 23 rows"):
        table[23]
    with pytest.raises(IndexError):
        table[-24]
    with pytest.raises(TypeError, match="not float"):
        table[1.5]  # type: ignore[call-overload]


def test_a_table_is_a_data_frame(d: tracetree.Comparison, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = d.names
    direct = pandas.DataFrame(table)
    assert list(direct.columns) == table.columns and direct.to_dict("records") == table.to_pylist()
    exchanged = pandas.api.interchange.from_dataframe(table)
    assert list(exchanged["name"]) == table["name"]
    table.to_parquet(tmp_path / "names.parquet")
    read = pandas.read_parquet(tmp_path / "names.parquet")
    assert list(read["difference_sum_ms"]) == table["difference_sum_ms"]


def test_a_table_is_created_once(d: tracetree.Comparison) -> None:
    for name in d.table_names:
        assert getattr(d, name) is getattr(d, name) is d.table(name)
    assert isinstance(d.what_if, tracetree.WhatIf)


def test_rows_are_converted_on_demand(d: tracetree.Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    table = d.kernels
    whole = table.to_pylist()
    assert len(whole) > 1000 and list(table) == whole
    rows = iter(table)
    assert [next(rows) for _ in range(100)] == whole[:100]
    for at in (0, 700, -1):
        assert table[at] == whole[at]
    assert table[1000:1003] == whole[1000:1003] and table[1003:1000:-1] == whole[1003:1000:-1]
    assert table._rows(len(whole), 5) == [] and table._rows(len(whole) - 2, 5) == whole[-2:]


def test_every_value_is_one_line_in_a_debugger(pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path: Path) -> None:
    assert repr(d) == f"<tracetree.Comparison MI300X → H100: {d._card()['headline']}>"
    odd = tmp_path / "two\nlines.json.gz"
    shutil.copy(pair[0], odd)
    outcome = tracetree.gate(pair[0], pair[1])
    explanation = d.explain(baseline=39)
    assert repr(outcome) == f"<tracetree.GateOutcome inconclusive: {outcome.headline}>"
    trace = tracetree.open(odd)
    for value in (d, d.rows, d.what_if, d.baseline, d.tree("baseline"), d.node(38), explanation, outcome, trace,
                  trace.tree(), d.plot):
        assert "\n" not in repr(value) and repr(value).startswith("<tracetree."), repr(value)
    # The answer is what `print` shows.
    assert len(str(d).splitlines()) > 15 and len(str(explanation).splitlines()) > 3
    assert len(str(outcome).splitlines()) > 3


def test_errors_have_one_base_and_public_names() -> None:
    for error in (tracetree.TraceError, tracetree.UsageError):
        assert issubclass(error, tracetree.TracetreeError)
    assert not issubclass(tracetree.UsageError, tracetree.TraceError)
    for name in tracetree.__all__:
        value = getattr(tracetree, name)
        if callable(value):
            assert value.__module__ == "tracetree", name
            assert pickle.loads(pickle.dumps(value)) is value
    code = "import tracetree; tracetree.diff('README.md', 'README.md')"
    failed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert failed.stderr.splitlines()[-1].startswith("tracetree.TraceError: ")


def test_the_ratio_is_that_of_the_headline(d: tracetree.Comparison) -> None:
    summary = d.summary()
    faster = 100 * (1 - summary["ratio"])
    assert d.answer.startswith(f"{faster:.1f}% faster: ")
    times = [summary[side]["kernel_time_us"] for side in ("trace2", "trace1")]
    assert summary["gpu_time_ratio"] == pytest.approx(times[0] / times[1])
    assert summary["gpu_time_difference_us"] == pytest.approx(times[0] - times[1])
    cpu = tracetree.diff(*[EXAMPLES / "cpu" / f"cpu_{name}.pt.trace.json.gz" for name in ("base", "bias")]).summary()
    assert cpu["gpu_time_ratio"] is None and cpu["gpu_time_difference_us"] is None and cpu["ratio"] > 0


def test_a_call_is_repeated_by_a_script(d: tracetree.Comparison) -> None:
    script = d.repro(baseline=38)
    compile(script, "call.py", "exec")
    assert "aten::_convolution" in script and d.repro(candidate=35) != script
    line = next(row["bill_line"] for row in d.bill if row["change"] is not None and row["uid_baseline"] is not None)
    compile(d.repro(line=line), "call.py", "exec")
    with pytest.raises(tracetree.UsageError, match="there is no line 999"):
        d.repro(line=999)
    with pytest.raises(TypeError, match="exactly one of line=number, baseline=uid and candidate=uid"):
        d.repro(baseline=38, candidate=35)
