//! Formats table cells as strings, identically for every text-based format.

use crate::tables::{Cell, ColumnInfo, ColumnType};
use crate::trace::{Nanos, push_fixed, push_whole};
use std::fmt::Write as _;

pub(crate) fn push_cell(text: &mut String, column: &ColumnInfo, cell: &Cell<'_>) {
    match cell {
        Cell::Empty if column.kind == ColumnType::Uid => text.push_str("-1"),
        Cell::Empty => {}
        Cell::Text(words) => text.push_str(words),
        Cell::Names(names) => push_names(text, names),
        Cell::Json(json) => text.push_str(json),
        Cell::Whole(number) => push_whole(text, *number),
        Cell::Time(time) if column.unit == "ms" => push_millis(text, *time),
        Cell::Time(time) => time.push_micros(text),
        Cell::Decimal(number) => {
            push_decimal(text, *number, column.kind.decimals());
        }
        Cell::Flag(true) => text.push_str("yes"),
        Cell::Flag(false) => {}
    }
}

/// Formats names as a JSON array.
fn push_names(text: &mut String, names: &[&str]) {
    text.push('[');
    for (at, name) in names.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        // The check covers all bytes without an early exit, so the compiler can vectorize the loop. Most
        // names need no escape.
        let needs_escape = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        if name.bytes().fold(false, |any, byte| any | needs_escape(byte)) {
            text.push_str(&serde_json::to_string(name).expect("a text"))
        } else {
            text.extend(["\"", name, "\""])
        }
    }
    text.push(']');
}

/// Appends a time in milliseconds with six decimals.
fn push_millis(text: &mut String, time: Nanos) {
    push_fixed(text, time.0 < 0, time.0.unsigned_abs(), 6);
}

/// Appends the string that `{number:.decimals$}` would produce. Integer arithmetic is used wherever it is sure to round
/// the same way, because the exact formatting takes ten times as long and a report contains a million decimal numbers.
fn push_decimal(text: &mut String, number: f64, decimals: usize) {
    /// Scaled numbers below this limit have a rounding error of less than [`MIDDLE`].
    const LARGEST: f64 = (1_u64 << 40) as f64;
    const MIDDLE: f64 = 1e-3;
    let scaled = number.abs() * 10_f64.powi(decimals as i32);
    let rest = scaled.fract() - 0.5;
    if scaled < LARGEST && rest.abs() > MIDDLE {
        let whole = scaled as u64 + u64::from(rest > 0.0);
        push_fixed(text, number.is_sign_negative(), whole, decimals);
    } else {
        write!(text, "{number:.decimals$}").expect("writing to memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::push_decimal;
    use proptest::prelude::*;

    fn decimal(number: f64, decimals: usize) -> String {
        let mut text = String::new();
        push_decimal(&mut text, number, decimals);
        text
    }

    #[test]
    fn numbers_in_the_middle_are_rounded_like_any_other() {
        let numbers =
            [0.0, -0.0, 0.5, 1.5, 2.5, 0.125, -0.125, 0.375, 1.005, -0.0004, 0.9995, 1e9 + 0.5];
        let odd =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, f64::MIN_POSITIVE, 9.999_999_9e15];
        for number in numbers.into_iter().chain(odd) {
            for decimals in 0..8 {
                assert_eq!(decimal(number, decimals), format!("{number:.decimals$}"));
            }
        }
    }

    proptest! {
        #[test]
        fn decimals_are_those_of_the_standard_library(
            number in any::<f64>(), small in -1e9..1e9_f64, thousandths in any::<i32>(), decimals in 0_usize..8,
        ) {
            for number in [number, small, f64::from(thousandths) / 1000.0, f64::from(thousandths) / 2048.0] {
                prop_assert_eq!(decimal(number, decimals), format!("{number:.decimals$}"));
            }
        }
    }
}
