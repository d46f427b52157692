//! A [`Tally`] → the cells that several tables share.

use super::csv_table::optional_ratio;
use crate::analysis::Tally;
use crate::side::Side;

/// Counts and totals, baseline before candidate.
pub(super) fn counts_and_totals(tally: &Tally) -> Vec<String> {
    let counts = Side::BOTH.map(|side| tally.count(side).to_string());
    let totals = Side::BOTH.map(|side| tally.total(side).to_string());
    counts.into_iter().chain(totals).collect()
}

/// Means, baseline before candidate; empty without events.
pub(super) fn means(tally: &Tally) -> [String; 2] {
    Side::BOTH.map(|side| micros(tally.mean_us(side)))
}

/// Difference and ratio of the totals.
pub(super) fn delta_and_ratio(tally: &Tally) -> [String; 2] {
    [tally.difference().to_string(), optional_ratio(tally.ratio())]
}

/// µs with three decimals, or nothing.
pub(super) fn micros(time: Option<f64>) -> String {
    time.map_or_else(String::new, |time| format!("{time:.3}"))
}

/// Share of a whole in percent with three decimals; empty where the whole is zero.
pub(super) fn percent(part: crate::trace::Nanos, whole: crate::trace::Nanos) -> String {
    if whole.0 == 0 {
        return String::new();
    }
    format!("{:.3}", 100.0 * part.0 as f64 / whole.0 as f64)
}
