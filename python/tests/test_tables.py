"""Tests that every table has the same values as its CSV file, in every package that reads Arrow."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tracetree


def pairs(fixtures: Path) -> list[tuple[Path, Path]]:
    folders = sorted(path.parent for path in fixtures.glob("*/baseline.json"))
    return [(folder / "baseline.json", folder / "candidate.json") for folder in folders]


def shown(value: object, column: dict[str, str], decimals: int | None) -> str:
    """Formats a value of a table in the same way as the CSV file."""
    is_uid = column["name"].endswith("_uid") or column["name"].startswith("uid_")
    if value is None:
        return "-1" if is_uid else ""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.{decimals}f}"
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(value)


def assert_equals_csv(table: tracetree.Table, text: str) -> int:
    """Asserts that each cell of a table equals the cell in the CSV text, and returns the number of cells."""
    titles, *lines = list(csv.reader(io.StringIO(text)))
    schema = table.schema
    assert titles == [column["csv_name"] for column in schema]
    rows = table.to_pylist()
    assert len(rows) == len(lines) == len(table)
    for row, line in zip(rows, lines):
        for column, cell in zip(schema, line):
            decimals = len(cell.partition(".")[2])
            assert shown(row[column["name"]], column, decimals) == cell, (column, cell)
    return len(rows) * len(schema)


def test_every_table_equals_the_csv_file_of_the_command_line(
    pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path: Path
) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pd, duckdb = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
    command = [sys.executable, "-m", "tracetree", "diff", *map(str, pair), "-q"]
    command += ["--emit", "tables", "-o", str(tmp_path / "report")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    files = {path.name for path in (tmp_path / "report").glob("*.csv")}
    assert files == {d.table(name).csv_name for name in d.table_names}
    for name in d.table_names:
        table = d.table(name)
        text = (tmp_path / "report" / table.csv_name).read_text(encoding="utf-8")
        assert_equals_csv(table, text)
        assert table.to_csv() == text


def test_every_table_of_every_fixture_equals_its_csv() -> None:
    cells = 0
    fixtures = Path("tests/fixtures")
    assert len(pairs(fixtures)) > 20
    for baseline, candidate in pairs(fixtures):
        d = tracetree.diff(baseline, candidate)
        for name in d.table_names:
            text = d.table(name).to_csv(raw=True)
            assert text is not None
            cells += assert_equals_csv(d.table(name), text)
    assert cells > 10_000


def test_every_table_of_a_real_pair_equals_its_csv(real: Path) -> None:
    folder = real / "mi300_h100"
    d = tracetree.diff(
        folder / "timesformer.mi300.json.gz", folder / "timesformer.h100.json.gz"
    )
    for name in d.table_names:
        text = d.table(name).to_csv(raw=True)
        assert text is not None
        assert_equals_csv(d.table(name), text)


def test_each_attribute_is_the_table_of_its_name(d: tracetree.Comparison) -> None:
    for name in d.table_names:
        assert getattr(d, name).name == name
        assert d.table(d.table(name).csv_name).name == name


def test_column_names_follow_one_scheme(d: tracetree.Comparison) -> None:
    for name in d.table_names:
        columns = d.table(name).columns
        assert len(set(columns)) == len(columns)
        for column in d.table(name).schema:
            text = column["name"]
            assert text == text.lower() and " " not in text
            assert "trace1" not in text and "trace2" not in text
            unit = {"µs": "_us", "ms": "_ms", "%": "_pct"}.get(column["unit"], "")
            assert text.endswith(unit)
            if "baseline" in text:
                assert text.replace("baseline", "candidate") in columns


def test_tables_about_rows_refer_to_them(d: tracetree.Comparison) -> None:
    rows = len(d.rows)
    assert d.rows.column("row_id") == list(range(rows))
    assert set(d.kernels.column("row_id")) <= set(range(rows))
    assert set(d.unique_args.column("first_row_id")) <= set(range(rows))


def test_kernels_have_their_place_and_time(d: tracetree.Comparison) -> None:
    kernels = d.kernels.to_pylist()
    names = d.rows.column("name")
    for kernel in kernels:
        assert kernel["start_us"] >= 0.0 and kernel["stream"] is not None
        assert kernel["phase"] and kernel["category"]
    # The times of the kernels attributed to a row add up to the row's time.
    sums = [0.0] * len(names)
    for kernel in kernels:
        if kernel["source"] == "trace1":
            sums[kernel["row_id"]] += kernel["kernel_time_us"]
    times = d.rows.column("kernel_time_baseline_us")
    assert all(abs(one - other) < 1e-6 for one, other in zip(sums, times))
    # The kernels of different steps do not overlap in time.
    first = [k["start_us"] for k in kernels if k["source"] == "trace1" and k["step"] == 0]
    third = [k["start_us"] for k in kernels if k["source"] == "trace1" and k["step"] == 2]
    assert first and third and max(first) < min(third)


def test_pyarrow_reads_tables_directly(d: tracetree.Comparison) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for name in d.table_names:
        table = pyarrow.table(d.table(name))
        table.validate(full=True)
        assert table.to_pylist() == d.table(name).to_pylist()
        assert table.schema == pyarrow.schema(d.table(name))
        assert table.schema.metadata[b"table"].decode() + ".csv" == d.table(name).csv_name
    kinds = {field.name: field.type for field in pyarrow.table(d.rows).schema}
    assert pyarrow.types.is_dictionary(kinds["category"])
    assert kinds["uid_baseline"] == pyarrow.int64()
    assert pyarrow.types.is_list(kinds["kernel_names_baseline"])
    assert pyarrow.table(d.rows).schema.field("difference_us").metadata[b"csv_name"] == b"diff"


def test_an_arrow_table_outlives_the_comparison(pair: tuple[Path, Path]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = pyarrow.table(tracetree.diff(*pair).rows)
    import gc

    gc.collect()
    assert rows.num_rows == 469 and rows.column("name")[0].as_py()


def test_pandas_gets_nullable_whole_numbers(d: tracetree.Comparison) -> None:
    pandas = pytest.importorskip("pandas")
    frame = d.uid_map.to_pandas()
    assert frame["uid_baseline"].dtype == pandas.Int64Dtype()
    gone = frame[frame["relation"] == "trace1_only"]
    assert len(gone) and gone["uid_candidate"].isna().all()
    assert isinstance(d.rows.to_pandas()["category"].dtype, pandas.CategoricalDtype)
    assert d.rows.to_pandas()["kernel_names_baseline"].map(len).sum() == 1065


def test_pandas_frames_are_the_same_without_pyarrow(d: tracetree.Comparison) -> None:
    pandas = pytest.importorskip("pandas")
    from tracetree import _frames

    for name in d.table_names:
        with_it, without = d.table(name).to_pandas(), _frames.without_pyarrow(d.table(name), pandas)
        for column in with_it.columns:
            left, right = with_it[column], without[column]
            if isinstance(left.dtype, pandas.CategoricalDtype):
                left, right = left.astype(object), right.astype(object)
            for a, b in zip(left, right):
                same = a == b if isinstance(a, list) else pandas.isna(a) == pandas.isna(b)
                assert same and (isinstance(a, list) or pandas.isna(a) or a == b), (name, column)


def test_polars_reads_tables_directly(d: tracetree.Comparison) -> None:
    polars = pytest.importorskip("polars")
    for name in d.table_names:
        frame = polars.DataFrame(d.table(name))
        assert frame.to_dicts() == d.table(name).to_pylist()
        assert d.table(name).to_polars().equals(frame)


def test_duckdb_queries_tables_directly(d: tracetree.Comparison) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = d.rows
    ((total, count),) = duckdb.sql("select sum(difference_us), count(*) from rows").fetchall()
    assert count == len(rows)
    assert abs(total - d.summary()["gpu_time_difference_us"]) < 1e-6
    kernels = d.kernels
    ((joined,),) = duckdb.sql(
        "select sum(k.kernel_time_us) from kernels k join rows r using (row_id) "
        "where k.source = 'trace2' and r.category = 'convolution'"
    ).fetchall()
    assert len(kernels) == 2088
    wanted = sum(
        row["kernel_time_candidate_us"]
        for row in rows.to_pylist()
        if row["category"] == "convolution"
    )
    assert abs(joined - wanted) < 1e-6


def test_a_stream_can_be_read_again_or_dropped(d: tracetree.Comparison) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = d.rows
    for _ in range(100):
        # These Arrow capsules are never consumed, so the table data is released together with the capsules.
        rows.__arrow_c_stream__()
        rows.__arrow_c_schema__()
    assert pyarrow.table(rows).equals(pyarrow.table(rows))
    assert pyarrow.table(rows, schema=pyarrow.schema(rows)).num_rows == len(rows)


def test_a_table_without_rows_has_its_columns(pair: tuple[Path, Path]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    fusion = tracetree.diff(pair[0], pair[0]).fusion
    assert len(fusion) == 0 and fusion.to_pylist() == []
    assert pyarrow.table(fusion).column_names == fusion.columns
    assert "path" in fusion._repr_html_()


def test_a_table_that_does_not_exist_names_the_nearest(d: tracetree.Comparison) -> None:
    with pytest.raises(KeyError, match="did you mean 'kernels'"):
        d.table("kernel")
    with pytest.raises(KeyError, match="did you mean 'category'"):
        d.rows.column("categories")
    with pytest.raises(KeyError, match="available: rows, "):
        d.table("xyz")


def test_the_first_rows_are_shown_in_a_notebook(d: tracetree.Comparison) -> None:
    html = d.rows._repr_html_()
    assert html.count("<tr>") == 11 and "aten::copy_" in html
    assert "469 rows × 42 columns" in html


def test_a_table_is_written_to_a_file(d: tracetree.Comparison, tmp_path: Path) -> None:
    assert d.names.to_csv(tmp_path / "names.csv") is None
    assert (tmp_path / "names.csv").read_text(encoding="utf-8") == d.names.to_csv()
    with pytest.raises(FileNotFoundError, match="names.csv"):
        d.names.to_csv(tmp_path / "missing" / "names.csv")


def test_texts_that_a_spreadsheet_would_compute_are_neutralised_unless_raw(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "=1+1", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    names = tracetree.diff(trace, trace).names
    assert "'=1+1" in str(names.to_csv())
    raw = str(names.to_csv(raw=True))
    assert "=1+1" in raw and "'=1+1" not in raw
    assert names.to_pylist()[0]["name"] == "=1+1"


def test_a_table_is_not_written_through_a_link(d: tracetree.Comparison, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link.csv"
    target.write_text("mine")
    link.symlink_to(target)
    with pytest.raises(tracetree.UsageError, match="symbolic link"):
        d.names.to_csv(link)
    assert target.read_text() == "mine" and link.is_symlink()


def test_parquet_files_are_the_tables(pair: tuple[Path, Path], d: tracetree.Comparison, tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pd, duckdb = pytest.importorskip("pandas"), pytest.importorskip("duckdb")
    command = [sys.executable, "-m", "tracetree", "diff", *map(str, pair), "-o", str(tmp_path), "--tables", "parquet",
               "--emit", "none"]
    subprocess.run(command, check=True, capture_output=True)
    for path in tmp_path.glob("*.parquet"):
        read, table = pq.read_table(path), pa.table(d.table(f"{path.stem}.csv"))
        assert read.schema.names == table.schema.names
        assert read.to_pylist() == table.to_pylist(), path.name
        assert len(pd.read_parquet(path)) == len(table)
        rows = duckdb.sql(f"select count(*) from '{path}'").fetchall()
        assert rows == [(len(table),)]
    metadata = pq.read_metadata(tmp_path / "diff_stats.parquet").metadata
    assert metadata[b"schema_version"] == str(d.summary()["schema_version"]).encode()
    assert metadata[b"baseline"] == str(pair[0]).encode() and len(metadata[b"candidate_xxh3"]) == 32
    column = pq.read_metadata(tmp_path / "diff_stats.parquet").row_group(0).column(0)
    assert column.compression == "ZSTD" and "RLE_DICTIONARY" in column.encodings
