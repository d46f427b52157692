"""Tables → data frames of optional packages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracetree._native import Table


def to_arrow(table: Table) -> Any:
    """The table as a ``pyarrow.Table`` that shares its memory."""
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


def as_list(names: Any) -> Any:
    """Names as a list, which can be compared with ``==``; ``None`` stays ``None``."""
    return None if names is None else list(names)


def without_pyarrow(table: Table, pandas: Any) -> Any:
    """The same data frame, built from Python values."""
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
