//! Formats the numbers in tables: times and percentages have one decimal, differences have a sign, and undefined
//! values are empty.

use tracetree_trace::trace::Nanos;

/// Formats a time as microseconds with one decimal.
pub(super) fn micros(time: Nanos) -> String {
    format!("{:.1}", time.as_micros())
}

/// Formats a difference in percent with its sign; empty if undefined.
pub(super) fn difference(percent: Option<f64>) -> String {
    match percent {
        None => String::new(),
        Some(value) if is_shown_as_zero(value) => "0.0%".to_owned(),
        Some(value) => format!("{value:+.1}%"),
    }
}

/// Formats a share in percent; empty if undefined.
pub(super) fn share(percent: Option<f64>) -> String {
    percent.map(|value| format!("{value:.1}%")).unwrap_or_default()
}

/// Formats a number of kernels, with a decimal only if the number is not whole.
pub(super) fn count(count: f64) -> String {
    if count.fract() == 0.0 { format!("{count:.0}") } else { format!("{count:.1}") }
}

/// Rounds a value to three decimals, for files that programs read.
pub(super) fn rounded(value: f64) -> f64 {
    // Adding zero turns −0 into 0.
    (value * 1e3).round() / 1e3 + 0.0
}

/// Whether a value rounds to 0.0 and therefore needs no sign.
fn is_shown_as_zero(value: f64) -> bool {
    value.abs() < 0.05
}

/// Formats a count with its noun, such as `1 op`, `2 ops` or `2 passes`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with('s')) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Formats a figure for use in a sentence, where an empty string would look like a mistake.
pub(super) fn stated(figure: String) -> String {
    if figure.is_empty() { "undefined".to_owned() } else { figure }
}
