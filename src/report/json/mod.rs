//! Writes all JSON files except the summary: dictionaries, stacks, and any table.

pub(super) mod op_map;
mod rows;
pub(super) mod stacks;

pub use rows::write_rows_json;

use crate::escape::JsonWriter;
use serde::Serialize;
use std::io::{self, Write};

/// Writes a value as indented JSON with a final newline.
pub(super) fn write_json(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(JsonWriter(out), value)?;
    out.write_all(b"\n")
}
