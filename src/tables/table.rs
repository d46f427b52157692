//! Represents a table as a value. Each column has a name, a unit, a type and a meaning; each row consists of typed
//! cells.
//!
//! The code that writes CSV files, workbooks, JSON and documentation uses only these values, so it works for every
//! table. Rows are generated only when they are visited, so even a table with a million rows uses little memory.

use crate::side::Side;
use crate::trace::Nanos;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// The type of all cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// A string, such as a name, a shape or a sentence.
    Text,
    /// One of a few fixed words.
    Word,
    /// An ordered list of names.
    Names,
    /// A JSON value.
    Json,
    /// A whole number.
    Whole,
    /// The position of an event in `traceEvents`; -1 if there is no event.
    Uid,
    /// A time with nanosecond precision, in the unit of the column.
    Time,
    /// A number that is shown with the given number of decimals.
    Decimal(u8),
    /// A flag, shown as `yes` or as an empty cell.
    Flag,
}

impl ColumnType {
    /// The number of decimals shown for a [`Cell::Decimal`] in a column of this type.
    pub(crate) fn decimals(self) -> usize {
        match self {
            ColumnType::Decimal(decimals) => usize::from(decimals),
            ColumnType::Text
            | ColumnType::Word
            | ColumnType::Names
            | ColumnType::Json
            | ColumnType::Whole
            | ColumnType::Uid
            | ColumnType::Time
            | ColumnType::Flag => 3,
        }
    }
}

/// The description of a column, without the cells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// Title of the column in CSV files. If TraceLens has the same column, the column keeps its TraceLens
    /// title.
    pub name: String,
    /// Unit of the column: `µs`, `ms`, `%`, or empty.
    pub unit: &'static str,
    /// Type of the cells in the column.
    pub kind: ColumnType,
    /// Meaning of the column's cells. Columns that differ only in their side share one description.
    pub meaning: &'static str,
    /// The side that the column describes; `None` if the column does not describe a single side.
    pub side: Option<Side>,
    /// Whether the column contains a difference (candidate − baseline) of a quantity for which larger values
    /// are worse.
    pub is_difference: bool,
}

/// A cell of a table; columns of every type may contain `Empty`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cell<'c> {
    /// The value is undefined or unknown.
    Empty,
    /// A cell of a [`ColumnType::Text`] or [`ColumnType::Word`] column. An empty string is written like `Empty`.
    Text(Cow<'c, str>),
    /// A cell of a [`ColumnType::Names`] column.
    Names(Vec<&'c str>),
    /// A cell of a [`ColumnType::Json`] column.
    Json(String),
    /// A cell of a [`ColumnType::Whole`] or [`ColumnType::Uid`] column.
    Whole(i64),
    /// A cell of a [`ColumnType::Time`] column.
    Time(Nanos),
    /// A cell of a [`ColumnType::Decimal`] column.
    Decimal(f64),
    /// A cell of a [`ColumnType::Flag`] column.
    Flag(bool),
}

impl Cell<'_> {
    /// The difference of two numbers of the same type; empty if one of the cells is no number.
    fn minus(self, other: Cell<'_>) -> Cell<'static> {
        match (self, other) {
            (Cell::Whole(one), Cell::Whole(other)) => Cell::Whole(one.saturating_sub(other)),
            (Cell::Time(one), Cell::Time(other)) => Cell::Time(one - other),
            (Cell::Decimal(one), Cell::Decimal(other)) => Cell::Decimal(one - other),
            (_, _) => Cell::Empty,
        }
    }
}

impl<'c> From<&'c str> for Cell<'c> {
    fn from(text: &'c str) -> Self {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl<'c> From<Cow<'c, str>> for Cell<'c> {
    fn from(text: Cow<'c, str>) -> Self {
        Cell::Text(text)
    }
}

impl From<Nanos> for Cell<'_> {
    fn from(time: Nanos) -> Self {
        Cell::Time(time)
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Cell::Whole(number)
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Cell::Whole(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Cell<'_> {
    fn from(number: usize) -> Self {
        Cell::from(number as u64)
    }
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Cell::Whole(i64::from(number))
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Cell::Decimal(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(is_so: bool) -> Self {
        Cell::Flag(is_so)
    }
}

impl<'c, T: Into<Cell<'c>>> From<Option<T>> for Cell<'c> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Empty, Into::into)
    }
}

/// Receives the cells of a table, row by row.
pub trait RowSink {
    /// Receives the next cell of the current row, in column order.
    fn cell(&mut self, cell: Cell<'_>);

    /// Ends the current row, after all of its cells.
    ///
    /// # Errors
    /// Fails if the row cannot be written; no further rows are then generated.
    fn end_row(&mut self) -> io::Result<()>;
}

/// A table whose rows have not been generated yet.
#[derive(Clone)]
pub struct Table {
    name: &'static str,
    about: &'static str,
    columns: Vec<ColumnInfo>,
    visit: Arc<Visit>,
}

/// Generates the rows of a table and passes them to a sink, so that a [`Table`] does not depend on the type of the rows.
type Visit = dyn Fn(&mut dyn RowSink) -> io::Result<()> + Send + Sync;

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({})", self.name)
    }
}

impl Table {
    /// Name of the table: its CSV file name without the extension.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A short text that states what each row represents and how the rows are sorted.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// The columns of the table, in order.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        // The first row ends the visit with an error.
        self.visit(&mut FirstRow).is_ok()
    }

    /// Generates all rows and passes them to `sink`, in order.
    ///
    /// # Errors
    /// Fails with any error that the sink returns.
    pub fn visit(&self, sink: &mut dyn RowSink) -> io::Result<()> {
        (self.visit)(sink)
    }
}

/// Accepts no row.
struct FirstRow;

impl RowSink for FirstRow {
    fn cell(&mut self, _: Cell<'_>) {}

    fn end_row(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Other.into())
    }
}

/// Creates a cell from the table's subject (usually an [`Analysis`](crate::Analysis)) and a row.
type CellOf<C, R> = Box<dyn for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync>;

/// A column of a table whose subject is a `C` and whose rows are of type `R`.
pub struct Column<C, R> {
    info: ColumnInfo,
    cell: CellOf<C, R>,
}

impl<C, R> Column<C, R> {
    /// Creates a column; the function `cell` returns the column's cell for a row.
    pub fn new(
        name: impl Into<String>,
        kind: ColumnType,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        let info = ColumnInfo {
            name: name.into(),
            unit: "",
            kind,
            meaning,
            side: None,
            is_difference: false,
        };
        Column { info, cell: Box::new(cell) }
    }

    pub fn unit(mut self, unit: &'static str) -> Self {
        self.info.unit = unit;
        self
    }

    pub(crate) fn side(mut self, side: Side) -> Self {
        self.info.side = Some(side);
        self
    }

    /// Marks the column as a difference (candidate − baseline) of a quantity for which larger values are
    /// worse.
    pub fn difference(mut self) -> Self {
        self.info.is_difference = true;
        self
    }
}

/// Builds the list of columns of a table.
pub struct Columns<C, R>(Vec<Column<C, R>>);

impl<C, R> Default for Columns<C, R> {
    fn default() -> Self {
        Columns(Vec::new())
    }
}

impl<C: 'static, R: 'static> Columns<C, R> {
    pub fn column(mut self, column: Column<C, R>) -> Self {
        self.0.push(column);
        self
    }

    pub fn text(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Text, meaning, cell))
    }

    /// Adds a column whose cells contain one of a few fixed words.
    pub fn word(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Word, meaning, cell))
    }

    pub fn whole(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Whole, meaning, cell))
    }

    /// Adds a column with the positions of events in `traceEvents`.
    pub(crate) fn uid(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Uid, meaning, cell))
    }

    /// Adds a column of numbers with a given number of decimals.
    pub fn decimal(
        self,
        name: impl Into<String>,
        (decimals, unit): (u8, &'static str),
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Decimal(decimals), meaning, cell).unit(unit))
    }

    /// Adds a column of ratios with six decimals.
    pub fn ratio(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Decimal(6), meaning, cell))
    }

    /// Adds a column of times in µs.
    pub fn micros(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Time, meaning, cell).unit("µs"))
    }

    /// Adds a column with time differences (candidate − baseline) in µs.
    pub fn micros_difference(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        let column = Column::new(name, ColumnType::Time, meaning, cell);
        self.column(column.unit("µs").difference())
    }

    /// Adds two columns, one for each side; the baseline's column comes first. The `*` in `name` is replaced by the
    /// side's label.
    pub fn sides(
        mut self,
        name: &str,
        (kind, unit): (ColumnType, &'static str),
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R, Side) -> Cell<'c> + Send + Sync + Copy + 'static,
    ) -> Self {
        for side in Side::BOTH {
            let name = name.replace('*', side.label());
            let column = Column::new(name, kind, meaning, move |about, row| cell(about, row, side));
            self.0.push(column.unit(unit).side(side));
        }
        self
    }

    /// Adds three columns for a quantity of which larger values are worse: one for each side, and candidate − baseline,
    /// which is empty unless both sides have a value.
    pub(crate) fn compared(
        self,
        stem: &str,
        (kind, unit): (ColumnType, &'static str),
        [meaning, difference]: [&'static str; 2],
        cell: impl for<'c> Fn(&'c C, &'c R, Side) -> Cell<'c> + Send + Sync + Copy + 'static,
    ) -> Self {
        let delta = Column::new(format!("{stem}_diff"), kind, difference, move |about, row| {
            cell(about, row, Side::Candidate).minus(cell(about, row, Side::Baseline))
        });
        self.sides(&format!("{stem}_*"), (kind, unit), meaning, cell)
            .column(delta.unit(unit).difference())
    }

    pub fn and(mut self, others: Columns<C, R>) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Creates a table with the columns added so far, and with the rows generated by `rows`.
    pub fn table(
        self,
        (name, meaning): (&'static str, &'static str),
        about: Arc<C>,
        rows: RowsFn<C, R>,
    ) -> Table
    where
        C: Send + Sync,
    {
        let columns = self.0.iter().map(|column| column.info.clone()).collect();
        let visit = move |sink: &mut dyn RowSink| -> io::Result<()> {
            for row in rows(&about) {
                for column in &self.0 {
                    sink.cell((column.cell)(&about, &row));
                }
                sink.end_row()?;
            }
            Ok(())
        };
        Table { name, about: meaning, columns, visit: Arc::new(visit) }
    }
}

/// A function that generates the rows of a table, in order.
pub(crate) type RowsFn<C, R> = for<'c> fn(&'c C) -> Box<dyn Iterator<Item = R> + 'c>;
