//! A table as a value: columns with name, unit, type and meaning, and rows of typed cells.
//!
//! What is written of a table (CSV, workbook, JSON, documentation) is written from this value alone: a
//! writer knows no table by name. Rows are made while they are visited, so that a table of a million
//! rows takes no memory of its own.

use crate::side::Side;
use crate::trace::Nanos;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// What all cells of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnType {
    /// A name, a shape, a sentence.
    Text,
    /// One of a few words.
    Word,
    /// Names in their order.
    Names,
    /// A JSON value.
    Json,
    /// A whole number.
    Whole,
    /// Position in `traceEvents`; -1 where there is none.
    Uid,
    /// A time, to the nanosecond, in the unit of the column.
    Time,
    /// A number that is shown with so many decimals.
    Decimal(u8),
    /// `yes`, or nothing.
    Flag,
}

impl ColumnType {
    /// How many decimals a [`Cell::Decimal`] of such a column is shown with.
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

/// What is known of a column without its cells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// Title in CSV files: where TraceLens has the column, its name.
    pub name: String,
    /// `µs`, `ms`, `%`, or nothing.
    pub unit: &'static str,
    /// What all cells are.
    pub kind: ColumnType,
    /// What a cell says. Columns that differ only in their side say it once.
    pub meaning: &'static str,
    /// The side that the column is about; `None` where it is about both, or neither.
    pub side: Option<Side>,
    /// Whether it is candidate − baseline of something of which more is worse.
    pub is_difference: bool,
}

/// One cell. `Empty` stands for what is undefined or not known, in columns of every type.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Cell<'c> {
    /// Undefined, or not known.
    Empty,
    /// Of [`ColumnType::Text`] and [`ColumnType::Word`].
    Text(Cow<'c, str>),
    /// Of [`ColumnType::Names`].
    Names(Vec<&'c str>),
    /// Of [`ColumnType::Json`].
    Json(String),
    /// Of [`ColumnType::Whole`] and [`ColumnType::Uid`].
    Whole(i64),
    /// Of [`ColumnType::Time`].
    Time(Nanos),
    /// Of [`ColumnType::Decimal`].
    Decimal(f64),
    /// Of [`ColumnType::Flag`].
    Flag(bool),
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

/// Takes the cells of a table, row by row.
pub trait RowSink {
    /// The next cell of the row, of the next column.
    fn cell(&mut self, cell: Cell<'_>);

    /// The row has all its cells.
    ///
    /// # Errors
    /// If it cannot be kept; no row follows then.
    fn end_row(&mut self) -> io::Result<()>;
}

/// A table that is not yet written.
#[derive(Clone)]
pub struct Table {
    name: &'static str,
    about: &'static str,
    columns: Vec<ColumnInfo>,
    rows: Arc<dyn Rows + Send + Sync>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Table({})", self.name)
    }
}

impl Table {
    /// Name of the table: that of its CSV file without the ending.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What a row stands for, and in which order the rows are.
    pub fn about(&self) -> &'static str {
        self.about
    }

    /// The columns in their order.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Makes all rows and hands them to `sink`, in their order.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn visit(&self, sink: &mut dyn RowSink) -> io::Result<()> {
        self.rows.visit(sink)
    }
}

/// Rows whose types are forgotten.
trait Rows {
    fn visit(&self, sink: &mut dyn RowSink) -> io::Result<()>;
}

/// What makes the cell of a row: from what the table is about, and the row.
type CellOf<C, R> = Box<dyn for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync>;

/// A column of tables about a `C` whose rows are `R`.
pub(crate) struct Column<C, R> {
    info: ColumnInfo,
    cell: CellOf<C, R>,
}

impl<C, R> Column<C, R> {
    /// A column; `cell` makes its cell of a row.
    pub(crate) fn new(
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

    /// In this unit.
    pub(crate) fn unit(mut self, unit: &'static str) -> Self {
        self.info.unit = unit;
        self
    }

    /// About this side.
    pub(crate) fn side(mut self, side: Side) -> Self {
        self.info.side = Some(side);
        self
    }

    /// Candidate − baseline; more is worse.
    pub(crate) fn difference(mut self) -> Self {
        self.info.is_difference = true;
        self
    }
}

/// The columns of a table while they are listed.
pub(crate) struct Columns<C, R>(Vec<Column<C, R>>);

impl<C: 'static, R: 'static> Columns<C, R> {
    pub(crate) fn new() -> Self {
        Columns(Vec::new())
    }

    pub(crate) fn column(mut self, column: Column<C, R>) -> Self {
        self.0.push(column);
        self
    }

    /// Text.
    pub(crate) fn text(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Text, meaning, cell))
    }

    /// One of a few words.
    pub(crate) fn word(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Word, meaning, cell))
    }

    /// A whole number.
    pub(crate) fn whole(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Whole, meaning, cell))
    }

    /// A number with `decimals` decimals.
    pub(crate) fn decimal(
        self,
        name: impl Into<String>,
        (decimals, unit): (u8, &'static str),
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Decimal(decimals), meaning, cell).unit(unit))
    }

    /// A ratio: six decimals.
    pub(crate) fn ratio(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Decimal(6), meaning, cell))
    }

    /// A time in µs.
    pub(crate) fn micros(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        self.column(Column::new(name, ColumnType::Time, meaning, cell).unit("µs"))
    }

    /// Candidate − baseline of times, in µs.
    pub(crate) fn micros_difference(
        self,
        name: impl Into<String>,
        meaning: &'static str,
        cell: impl for<'c> Fn(&'c C, &'c R) -> Cell<'c> + Send + Sync + 'static,
    ) -> Self {
        let column = Column::new(name, ColumnType::Time, meaning, cell);
        self.column(column.unit("µs").difference())
    }

    /// A column for each side, baseline first; `name` has a `*` where the side's label stands.
    pub(crate) fn sides(
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

    /// The same with other columns behind these.
    pub(crate) fn and(mut self, others: Columns<C, R>) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The table about `about` with these columns and the rows that `rows` makes.
    pub(crate) fn table(
        self,
        (name, meaning): (&'static str, &'static str),
        about: Arc<C>,
        rows: RowsFn<C, R>,
    ) -> Table
    where
        C: Send + Sync,
    {
        let columns = self.0.iter().map(|column| column.info.clone()).collect();
        let rows = Arc::new(RowsOf { about, rows, columns: self.0 });
        Table { name, about: meaning, columns, rows }
    }
}

/// What makes the rows of a table, in their order.
pub(crate) type RowsFn<C, R> = for<'c> fn(&'c C) -> Box<dyn Iterator<Item = R> + 'c>;

/// Rows with their types.
struct RowsOf<C, R> {
    about: Arc<C>,
    rows: RowsFn<C, R>,
    columns: Vec<Column<C, R>>,
}

impl<C, R> Rows for RowsOf<C, R> {
    fn visit(&self, sink: &mut dyn RowSink) -> io::Result<()> {
        for row in (self.rows)(&self.about) {
            for column in &self.columns {
                sink.cell((column.cell)(&self.about, &row));
            }
            sink.end_row()?;
        }
        Ok(())
    }
}
