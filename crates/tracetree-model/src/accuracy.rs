//! Computes how much of the profile's time the model covers, and how large the model's error is. Both are computed from
//! the rows of a comparison.

use super::compare::{Row, percent};
use super::status::Status;
use tracetree_trace::order::Order as _;
use tracetree_trace::trace::Nanos;

/// Maximum number of rows that a report lists as contributors to the error.
pub const CONTRIBUTORS: usize = 10;

/// Coverage and error of a whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    /// How much of the profile's time has each status, in the order of [`Status::ALL`].
    pub coverage: [Coverage; 4],
    /// The mean absolute error of the rows in percent, weighted by their shares of the profile's time; `None` if the
    /// profile has no time. Kernel types that are not in the profile are ignored. Errors in opposite directions do not
    /// cancel, unlike in the total error.
    pub weighted_error_pct: Option<f64>,
    /// Predicted time of kernel types that are not in the profile. The error of these kernel types is undefined.
    pub model_only: Nanos,
    /// The rows that contribute most to the weighted error, largest first; at most [`CONTRIBUTORS`].
    pub contributors: Vec<Contributor>,
}

/// How many kernel types in the profile have a given status, and how much time these kernel types take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coverage {
    /// Status of the kernel types.
    pub status: Status,
    /// Number of kernel types with this status in the profile.
    pub kernel_types: usize,
    /// Time that the kernel types with this status take in a forward pass.
    pub profile: Nanos,
    /// Share of the profile's time that the kernel types with this status take, in percent; `None` if the profile has
    /// no time.
    pub share_pct: Option<f64>,
}

/// A row's contribution to the weighted error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contributor {
    /// Index of the row in the comparison.
    pub row: RowId,
    /// The row's absolute error divided by the profile's total time, in percentage points. The contributions of
    /// all rows add up to the weighted error.
    pub points: f64,
}

/// Index of a row in its comparison, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub usize);

/// Computes the coverage and error of a comparison from its rows.
pub(crate) fn accuracy(rows: &[Row]) -> Accuracy {
    let whole: Nanos = rows.iter().map(|row| row.amounts.profile).sum();
    let whole = whole.0 as f64;
    let unmeasured = rows.iter().filter(|row| !row.amounts.is_measured());
    Accuracy {
        coverage: Status::ALL.map(|status| coverage(status, rows, whole)),
        weighted_error_pct: percent(rows.iter().map(|row| missed(row) as f64).sum(), whole),
        model_only: unmeasured.map(|row| row.amounts.model).sum(),
        contributors: contributors(rows, whole),
    }
}

fn coverage(status: Status, rows: &[Row], whole: f64) -> Coverage {
    let rows = rows.iter().filter(|row| row.status == status && row.amounts.is_measured());
    let profile: Nanos = rows.clone().map(|row| row.amounts.profile).sum();
    let share_pct = percent(profile.0 as f64, whole);
    Coverage { status, kernel_types: rows.count(), profile, share_pct }
}

/// The absolute error of a row in nanoseconds; 0 if the profile has no time for the row.
fn missed(row: &Row) -> u64 {
    if row.amounts.is_measured() { row.amounts.difference().unsigned_abs() } else { 0 }
}

fn contributors(rows: &[Row], whole: f64) -> Vec<Contributor> {
    let mut order: Vec<usize> = (0..rows.len()).filter(|&at| missed(&rows[at]) > 0).collect();
    order.order_by_key(|&at| (std::cmp::Reverse(missed(&rows[at])), at));
    let largest = order.into_iter().take(CONTRIBUTORS);
    largest
        .filter_map(|at| {
            let points = percent(missed(&rows[at]) as f64, whole)?;
            Some(Contributor { row: RowId(at), points })
        })
        .collect()
}
