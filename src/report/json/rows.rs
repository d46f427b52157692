//! Writes a table as a JSON array with one object per row.

use crate::report::cell::push_cell;
use crate::tables::{Cell, ColumnInfo, ColumnType, RowSink, Table};
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes the rows of a table as JSON objects keyed by column. Numbers are JSON numbers; undefined values
/// are `null`.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_rows_json(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut objects = Objects { columns: table.columns(), row: Map::new(), rows: Vec::new() };
    table.visit(&mut objects)?;
    super::write_json(&objects.rows, out)
}

struct Objects<'t> {
    columns: &'t [ColumnInfo],
    row: Map<String, Value>,
    rows: Vec<Value>,
}

impl RowSink for Objects<'_> {
    fn cell(&mut self, cell: Cell<'_>) {
        let column = &self.columns[self.row.len()];
        self.row.insert(column.name.clone(), value(column, &cell));
    }

    fn end_row(&mut self) -> io::Result<()> {
        self.rows.push(Value::Object(std::mem::take(&mut self.row)));
        Ok(())
    }
}

fn value(column: &ColumnInfo, cell: &Cell<'_>) -> Value {
    let mut text = String::new();
    push_cell(&mut text, column, cell);
    match column.kind {
        _ if text.is_empty() => Value::Null,
        ColumnType::Whole | ColumnType::Uid | ColumnType::Time | ColumnType::Decimal(_) => {
            text.parse().map_or(Value::Null, Value::Number)
        }
        ColumnType::Names | ColumnType::Json => serde_json::from_str(&text).unwrap_or_default(),
        ColumnType::Text | ColumnType::Word | ColumnType::Flag => Value::String(text),
    }
}
