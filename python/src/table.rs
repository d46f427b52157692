//! The Python class for a table. It provides the rows as Arrow data, as CSV and as Python values.

use crate::errors::{raise, unknown};
use crate::origin::Origin;
use arrow_array::RecordBatchReader;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList};
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use tracetree::report::{ArrowTable, CsvTexts, column_name, write_csv_with};
use tracetree::tables::{self, Cell, ColumnType, RowSink};
use tracetree::write_file;

/// A table of a comparison.
///
/// pandas, polars, pyarrow, DuckDB and all other readers of the Arrow C stream can read a table directly. `to_pylist`,
/// `column` and `to_csv` need no other package. `columns` and `schema` describe the columns. Values that are undefined
/// or unknown are null. If the values in a column have a unit, the column's name ends with the unit.
///
/// >>> import tracetree
/// >>> d = tracetree.diff("examples/traces/resnet.rocm.json.gz",
/// ...                    "examples/traces/resnet.cuda.json.gz")
/// >>> d.names
/// <tracetree.Table names: 23 rows x 6 columns>
/// >>> d.names.column("name")[0]
/// 'aten::convolution_backward'
#[pyclass(frozen, subclass, weakref, module = "tracetree")]
pub(crate) struct Table {
    name: &'static str,
    table: tables::Table,
    /// The arguments that the comparison was made from. A pickle of the table contains these arguments instead of the
    /// rows.
    origin: Origin,
    arrow: OnceLock<ArrowTable>,
    /// Number of rows.
    rows: OnceLock<usize>,
}

impl Table {
    pub(crate) fn new(name: &'static str, table: tables::Table, origin: Origin) -> Table {
        Table { name, table, origin, arrow: OnceLock::new(), rows: OnceLock::new() }
    }

    /// Number of rows, counted without exporting them.
    fn count(&self) -> usize {
        let mut counter = Counter(0);
        self.table.visit(&mut counter).expect("counting cannot fail");
        counter.0
    }

    /// The table as Arrow data in memory, built on first use. Other Python threads can run while the data is built.
    fn arrow(&self, py: Python<'_>) -> &ArrowTable {
        match self.arrow.get() {
            Some(arrow) => arrow,
            None => py.detach(|| self.arrow.get_or_init(|| ArrowTable::new(&self.table))),
        }
    }

    /// Position of a column.
    fn position(&self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let names = self.columns();
        match names.iter().position(|known| known == name) {
            Some(at) => Ok(at),
            None => Err(unknown(py, "column", name, &names)),
        }
    }

    fn visit(&self, sink: &mut dyn RowSink) -> PyResult<()> {
        self.table.visit(sink).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Table {
    /// Name of the table. The attribute of a comparison that returns the table has the same name.
    #[getter]
    fn name(&self) -> &'static str {
        self.name
    }

    /// Name of the table's file in the report folder.
    #[getter]
    fn csv_name(&self) -> String {
        format!("{}.csv", self.table.name())
    }

    /// What a row represents, and how the rows are ordered.
    #[getter]
    fn description(&self) -> &'static str {
        self.table.about()
    }

    /// Names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.table.columns().iter().map(column_name).collect()
    }

    /// A dictionary with `name`, `type`, `unit`, `description` and `csv_name` for each column.
    ///
    /// Types are `text`, `word` (one of a fixed set of words), `names` (a list of strings), `json`, `int`, `float`
    /// and `bool`.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let columns = self.table.columns().iter().map(|column| {
            let about = PyDict::new(py);
            about.set_item("name", column_name(column))?;
            about.set_item("type", type_name(column.kind))?;
            about.set_item("unit", column.unit)?;
            about.set_item("description", column.meaning)?;
            about.set_item("csv_name", &column.name)?;
            Ok(about)
        });
        PyList::new(py, columns.collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        match (self.rows.get(), self.arrow.get()) {
            (Some(&rows), _) => rows,
            (None, Some(arrow)) => arrow.row_count(),
            (None, None) => *py.detach(|| self.rows.get_or_init(|| self.count())),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (rows, columns) = (self.__len__(py), self.table.columns().len());
        format!("<tracetree.Table {}: {rows} rows x {columns} columns>", self.name)
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._card")?.call_method1("table", (slf,))
    }

    /// The schema, for readers of the Arrow C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.arrow(py).reader().schema().as_ref())
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The rows, for readers of the Arrow C stream interface. The table's memory is not copied. `requested_schema` is
    /// ignored, so the reader has to convert the columns itself.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(self.arrow(py).reader()));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// The values of one column as a list; `None` for undefined and unknown values.
    ///
    /// Raises `KeyError` if there is no such column; the message suggests the most similar name.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let values = PyList::empty(py);
        let mut one = OneColumn {
            py,
            wanted: self.position(py, name)?,
            unit: "",
            cell: 0,
            values: &values,
            failed: None,
        };
        one.unit = self.table.columns()[one.wanted].unit;
        let visited = self.visit(&mut one);
        one.failed.map_or(visited, Err)?;
        Ok(values)
    }

    /// Returns a column for a name, a row for a position, or a list of rows for a slice.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("item", (slf, key))
    }

    /// Iterates over the rows, as dictionaries.
    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("iterate", (slf,))
    }

    /// At most `limit` rows, beginning with the row at the position `start`.
    fn _rows<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        limit: usize,
    ) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        let units = self.table.columns().iter().map(|column| column.unit).collect();
        if limit == 0 {
            return Ok(rows);
        }
        let mut dictionaries = Dictionaries {
            py,
            names: self.columns(),
            units,
            cell: 0,
            row: PyDict::new(py),
            rows: &rows,
            before: start,
            left: limit,
            failed: None,
        };
        let visited = self.visit(&mut dictionaries);
        match (dictionaries.failed, dictionaries.left) {
            (Some(error), _) => Err(error),
            // `visited` is an error here, because `end_row` stopped the visitor after the last requested row.
            (None, 0) => Ok(rows),
            (None, _) => visited.map(|()| rows),
        }
    }

    /// The table as an object of the data frame interchange protocol. Raises `ImportError` if pyarrow is not installed.
    #[pyo3(signature = (nan_as_null=false, allow_copy=true))]
    fn __dataframe__<'py>(
        slf: &Bound<'py, Self>,
        nan_as_null: bool,
        allow_copy: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frames = slf.py().import("tracetree._frames")?;
        frames.call_method1("dataframe", (slf, nan_as_null, allow_copy))
    }

    /// Writes the table to `path` as Parquet. Raises `ImportError` if pyarrow is not installed.
    fn to_parquet<'py>(slf: &Bound<'py, Self>, path: PathBuf) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("to_parquet", (slf, path))
    }

    /// The arguments that the comparison was made from, for pickling.
    #[getter]
    fn _origin(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.origin.as_ref().map(|origin| origin.clone_ref(py))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._pickle")?.call_method1("table", (slf,))
    }

    /// Returns the table itself, because a table never changes.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// Returns the table itself, because a table never changes.
    fn __deepcopy__<'py>(slf: Bound<'py, Self>, memo: Bound<'py, PyAny>) -> Bound<'py, Self> {
        drop(memo);
        slf
    }

    /// The rows as a list of dictionaries; only the first `limit` rows if `limit` is given.
    #[pyo3(signature = (limit=None))]
    fn to_pylist<'py>(
        &self,
        py: Python<'py>,
        limit: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        self._rows(py, 0, limit.unwrap_or(usize::MAX))
    }

    /// The table as a pandas data frame: whole numbers as `Int64` with `<NA>`, enumerations as
    /// categories. The conversion is faster if pyarrow is installed.
    ///
    /// Raises `ImportError` if pandas is not installed.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("to_pandas", (slf,))
    }

    /// The table as a polars data frame. Raises `ImportError` if polars is not installed.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("to_polars", (slf,))
    }

    /// The table as a `pyarrow.Table`. Raises `ImportError` if pyarrow is not installed.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("tracetree._frames")?.call_method1("to_arrow", (slf,))
    }

    /// The table as CSV, with the same columns as the file in the report folder. Returns the CSV text; if `path` is
    /// given, writes the text to that file instead and returns `None`.
    ///
    /// As in the report folder, a string that a spreadsheet would treat as a formula is prefixed with `'`, and
    /// control characters are escaped. `raw=True` keeps all strings as they are in the trace.
    #[pyo3(signature = (path=None, *, raw=false))]
    fn to_csv(&self, py: Python<'_>, path: Option<PathBuf>, raw: bool) -> PyResult<Option<String>> {
        let texts = if raw { CsvTexts::AsTheyAre } else { CsvTexts::default() };
        let text = py.detach(|| {
            let mut text = Vec::new();
            write_csv_with(&self.table, texts, &mut text).map(|()| text)
        });
        let text = text.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let Some(path) = path else {
            return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
        };
        let written = py.detach(|| write_file(&path, &text));
        written.map(|()| None).map_err(|error| raise(py, &error))
    }
}

fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Word => "word",
        ColumnType::Names => "names",
        ColumnType::Json => "json",
        ColumnType::Whole | ColumnType::Uid => "int",
        ColumnType::Time | ColumnType::Decimal(_) => "float",
        ColumnType::Flag => "bool",
        _ => "text",
    }
}

/// Converts a cell to a Python value that equals the Arrow value.
fn value<'py>(py: Python<'py>, cell: &Cell<'_>, unit: &str) -> PyResult<Bound<'py, PyAny>> {
    let text = |text: &str| match text {
        "" => Ok(py.None().into_bound(py)),
        text => text.into_pyobject(py).map(Bound::into_any).map_err(PyErr::from),
    };
    Ok(match cell {
        Cell::Text(words) => text(words)?,
        Cell::Json(json) => text(json)?,
        Cell::Names(names) => PyList::new(py, names)?.into_any(),
        Cell::Whole(number) => number.into_pyobject(py)?.into_any(),
        Cell::Time(time) if unit == "ms" => time.as_millis().into_pyobject(py)?.into_any(),
        Cell::Time(time) => time.as_micros().into_pyobject(py)?.into_any(),
        Cell::Decimal(number) => number.into_pyobject(py)?.into_any(),
        Cell::Flag(flag) => flag.into_pyobject(py)?.to_owned().into_any(),
        _ => py.None().into_bound(py),
    })
}

/// Collects the values of one column.
struct OneColumn<'a, 'py> {
    py: Python<'py>,
    wanted: usize,
    unit: &'a str,
    cell: usize,
    values: &'a Bound<'py, PyList>,
    failed: Option<PyErr>,
}

impl RowSink for OneColumn<'_, '_> {
    fn cell(&mut self, cell: Cell<'_>) {
        if self.cell == self.wanted && self.failed.is_none() {
            let added =
                value(self.py, &cell, self.unit).and_then(|value| self.values.append(value));
            self.failed = added.err();
        }
        self.cell += 1;
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.cell = 0;
        stop_if(self.failed.is_some())
    }
}

/// Counts rows.
struct Counter(usize);

impl RowSink for Counter {
    fn cell(&mut self, _: Cell<'_>) {}

    fn end_row(&mut self) -> io::Result<()> {
        self.0 += 1;
        Ok(())
    }
}

/// Collects rows as dictionaries.
struct Dictionaries<'a, 'py> {
    py: Python<'py>,
    names: Vec<String>,
    units: Vec<&'static str>,
    cell: usize,
    row: Bound<'py, PyDict>,
    rows: &'a Bound<'py, PyList>,
    /// Number of rows that are skipped first.
    before: usize,
    left: usize,
    failed: Option<PyErr>,
}

impl RowSink for Dictionaries<'_, '_> {
    fn cell(&mut self, cell: Cell<'_>) {
        if self.before > 0 {
            return;
        }
        let added = value(self.py, &cell, self.units[self.cell])
            .and_then(|value| self.row.set_item(&self.names[self.cell], value));
        self.cell += 1;
        if let Err(error) = added {
            self.failed = Some(error);
        }
    }

    fn end_row(&mut self) -> io::Result<()> {
        if self.before > 0 {
            self.before -= 1;
            return Ok(());
        }
        let row = std::mem::replace(&mut self.row, PyDict::new(self.py));
        if let Err(error) = self.rows.append(row) {
            self.failed = Some(error);
        }
        self.cell = 0;
        self.left -= 1;
        stop_if(self.failed.is_some() || self.left == 0)
    }
}

/// Returns an error if `enough` is true. The error stops the visitor.
fn stop_if(enough: bool) -> io::Result<()> {
    if enough { Err(io::Error::other("no more rows are wanted")) } else { Ok(()) }
}
