//! Numbers → text in tables, with one decimal, a sign on differences, and nothing if undefined.

use crate::trace::Nanos;

/// Microseconds with one decimal.
pub(super) fn micros(time: Nanos) -> String {
    format!("{:.1}", time.as_micros())
}

/// A difference in percent, with its sign; empty if undefined.
pub(super) fn difference(percent: Option<f64>) -> String {
    match percent {
        None => String::new(),
        Some(value) if is_shown_as_zero(value) => "0.0%".to_owned(),
        Some(value) => format!("{value:+.1}%"),
    }
}

/// A share in percent; empty if undefined.
pub(super) fn share(percent: Option<f64>) -> String {
    percent.map(|value| format!("{value:.1}%")).unwrap_or_default()
}

/// A number of kernels, with a decimal only if it is not whole.
pub(super) fn count(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count:.0}") } else { format!("{count:.1}") }
}

/// The value rounded to three decimals, for files that programs read.
pub(super) fn rounded(value: f64) -> f64 {
    // Adding zero turns -0 into 0.
    (value * 1e3).round() / 1e3 + 0.0
}

/// Whether it is 0 with one decimal, which has no sign.
fn is_shown_as_zero(value: f64) -> bool {
    value.abs() < 0.05
}

/// `1 op`, `2 ops`, `2 passes`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// A figure inside a sentence, where an empty text would look like a mistake.
pub(super) fn stated(figure: String) -> String {
    if figure.is_empty() { "undefined".to_owned() } else { figure }
}
