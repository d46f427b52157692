//! Writes all JSON files except the summary: dictionaries, stacks, any table, and the descriptions of traces that
//! `tracetree info` prints.

pub(super) mod op_map;
pub(super) mod stacks;

use crate::analysis::efficiency::EfficiencyInfo;
use crate::analysis::memory::MemorySummary;
use crate::escape::JsonWriter;
use crate::program::TraceInfo;
use crate::report::cell::push_cell;
use crate::tables::{Cell, ColumnInfo, ColumnType, RowSink, Table};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Writes a value as indented JSON with a final newline.
pub(super) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonWriter(out), value)?;
    out.write_all(b"\n")
}

/// Writes the rows of a table as JSON objects keyed by column. Numbers are JSON numbers; undefined values
/// are `null`.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_rows_json(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut objects = Objects { columns: table.columns(), row: Map::new(), rows: Vec::new() };
    table.visit(&mut objects)?;
    write_json(&objects.rows, out)
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

/// The description of a trace, the efficiency of the trace's ops, and the trace's memory use.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct DescribedTrace {
    /// The contents of the trace.
    #[serde(flatten)]
    pub info: TraceInfo,
    /// How close the trace's ops come to the peak rates of the device.
    pub efficiency: EfficiencyInfo,
    /// The memory use of each device; empty if the trace has no memory events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemorySummary>,
}

/// Writes a JSON array with one object per trace.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_info_json(traces: &[DescribedTrace], out: &mut dyn Write) -> io::Result<()> {
    write_json(&traces, out)
}
