//! A cell of a table → its text, the same in every format that is text.

use crate::tables::{Cell, ColumnInfo, ColumnType};
use crate::trace::Nanos;
use std::fmt::Write as _;

/// Appends the text of a cell.
pub(crate) fn push_cell(text: &mut String, column: &ColumnInfo, cell: &Cell<'_>) {
    match cell {
        Cell::Empty if column.kind == ColumnType::Uid => text.push_str("-1"),
        Cell::Empty => {}
        Cell::Text(words) => text.push_str(words),
        Cell::Names(names) => {
            text.push_str(&serde_json::to_string(names).expect("names are text"));
        }
        Cell::Json(json) => text.push_str(json),
        Cell::Whole(number) => text.push_str(itoa::Buffer::new().format(*number)),
        Cell::Time(time) if column.unit == "ms" => push_millis(text, *time),
        Cell::Time(time) => time.push_micros(text),
        Cell::Decimal(number) => {
            let decimals = column.kind.decimals();
            push(text, format_args!("{number:.decimals$}"));
        }
        Cell::Flag(true) => text.push_str("yes"),
        Cell::Flag(false) => {}
    }
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a text takes all");
}

/// Milliseconds with every digit: six decimals.
fn push_millis(text: &mut String, time: Nanos) {
    let sign = if time.0 < 0 { "-" } else { "" };
    let nanos = time.0.unsigned_abs();
    push(text, format_args!("{sign}{}.{:06}", nanos / 1_000_000, nanos % 1_000_000));
}
