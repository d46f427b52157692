"""Converts tables to the data frames of optional packages."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracetree._native import Table


def to_arrow(table: Table) -> Any:
    """The table as a ``pyarrow.Table``, without copying the data."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("to_arrow() needs pyarrow: pip install pyarrow") from None
    return pyarrow.table(table)


def to_polars(table: Table) -> Any:
    """The table as a polars data frame."""
    try:
        import polars
    except ImportError:
        raise ImportError("to_polars() needs polars: pip install polars") from None
    return polars.DataFrame(table)


def to_pandas(table: Table) -> Any:
    """The table as a pandas data frame; the result is the same with and without pyarrow."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() needs pandas: pip install pandas") from None
    try:
        import pyarrow
    except ImportError:
        return without_pyarrow(table, pandas)
    nullable = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}
    frame = pyarrow.table(table).to_pandas(types_mapper=nullable.get)
    for column in table.schema:
        if column["type"] == "names":
            frame[column["name"]] = frame[column["name"]].map(as_list)
    return frame


def to_parquet(table: Table, path: str | os.PathLike[str]) -> None:
    """Writes the table as Parquet."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError("to_parquet() needs pyarrow: pip install pyarrow") from None
    pyarrow.parquet.write_table(to_arrow(table), os.fspath(path))


def dataframe(table: Table, nan_as_null: bool, allow_copy: bool) -> Any:
    """The table as an object of the data frame interchange protocol (``__dataframe__``)."""
    return to_arrow(table).__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def item(table: Table, key: Any) -> Any:
    """Implements ``table[key]``: a name returns a column, a position returns a row, and a slice returns a list of
    rows."""
    if isinstance(key, str):
        return table.column(key)
    if isinstance(key, slice):
        wanted = range(*key.indices(len(table)))
        if not wanted:
            return []
        first = min(wanted[0], wanted[-1])
        rows = table._rows(first, max(wanted[0], wanted[-1]) + 1 - first)
        return [rows[at - first] for at in wanted]
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise TypeError(
            "a table is indexed by a column name, a row position or a slice, "
            f"not {type(key).__name__}"
        )
    at, count = operator.index(key), len(table)
    if not -count <= at < count:
        raise IndexError(f"there is no row {at}: the table {table.name!r} has {count} rows")
    return table._rows(at % count, 1)[0]


#: Number of rows that an iteration converts first.
FIRST = 64


def iterate(table: Table) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table. They are converted in portions that double in size, because users often need only the
    first rows."""
    start, size = 0, FIRST
    while rows := table._rows(start, size):
        yield from rows
        start, size = start + size, 2 * size


def as_list(names: Any) -> Any:
    """Converts an array of names to a list, because lists can be compared with ``==``; ``None`` stays ``None``."""
    return None if names is None else list(names)


def without_pyarrow(table: Table, pandas: Any) -> Any:
    """Builds the data frame that ``to_pandas`` returns from Python values, for use if pyarrow is not installed."""
    columns = {}
    for column in table.schema:
        values = table.column(column["name"])
        dtype = {"int": "Int64", "bool": "boolean", "float": "float64", "word": "category"}.get(
            column["type"]
        )
        if dtype is None and column["type"] == "names":
            dtype = "object"
        columns[column["name"]] = pandas.Series(values, dtype=dtype)
    return pandas.DataFrame(columns)
