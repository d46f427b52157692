//! The total measured time of each trace, and the sum over all rows, which must be equal.

use super::rows::{Row, RowKind, span};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, busy_time};
use crate::tree::CallTree;

/// Totals over the measured events of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Number of measured events in the trace.
    pub events: u64,
    /// Total time of the measured events in the trace.
    pub time: Nanos,
    /// Time during which at least one measured event runs. If host self time is measured instead of GPU time, `busy`
    /// equals `time`.
    pub busy: Nanos,
    /// The part of `time` that belongs to attribution rows with events on both sides. The fields `paired`, `one_sided`
    /// and `unlinked` add up to `time`.
    pub paired: Nanos,
    /// The part of `time` that belongs to attribution rows with events only on this side.
    pub one_sided: Nanos,
    /// The part of `time` that belongs to events whose launch is not in the trace.
    pub unlinked: Nanos,
}

/// The total measured time of each trace, and the sum of the times of the attribution rows. Both must be equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Totals over the measured events in each trace, computed independently of the rows.
    pub totals: PerSide<Totals>,
    /// Sum of the times of all attribution rows, for each side.
    pub rows: PerSide<Nanos>,
}

impl Account {
    /// Whether the times of the attribution rows add up exactly to the total measured time, on both sides.
    pub fn is_exact(&self) -> bool {
        Side::BOTH.iter().all(|&side| self.rows[side] == self.totals[side].time)
    }

    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.totals.candidate.time - self.totals.baseline.time
    }

    /// Ratio of the total measured times, candidate / baseline; `None` unless both times are positive.
    #[doc(hidden)]
    pub fn ratio(&self) -> Option<f64> {
        self.totals.map(|totals| totals.time).ratio()
    }
}

pub(super) fn totals(tree: &CallTree, measure: Measure, rows: &[Row], side: Side) -> Totals {
    let time: Nanos = measure.calls(tree).map(|call| measure.time(tree, call)).sum();
    let is_linked = |row: &Row| row.kind != RowKind::Unlinked;
    let part = |wanted: &dyn Fn(&Row) -> bool| -> Nanos {
        rows.iter().filter(|row| wanted(row)).map(|row| row.time[side]).sum()
    };
    Totals {
        events: measure.calls(tree).count() as u64,
        time,
        busy: match measure {
            Measure::GpuTime => {
                busy_time(measure.calls(tree).map(|call| span(tree, call)).collect())
            }
            Measure::HostSelfTime => time,
        },
        paired: part(&|row| is_linked(row) && !row.events[side.other()].is_empty()),
        one_sided: part(&|row| is_linked(row) && row.events[side.other()].is_empty()),
        unlinked: part(&|row| !is_linked(row)),
    }
}
