//! The ledger of a comparison: each measured event of both traces is entered in exactly one row.

use super::rows::{Row, assign, span};
use super::totals::{Account, totals};
use crate::diff::TraceDiff;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, newly_busy};
use crate::tree::CallId;

/// The attribution of the measured time: one row for each lowest common op, and the totals that the rows add up to.
#[derive(Debug, Clone)]
pub struct Ledger {
    measure: Measure,
    rows: Vec<Row>,
    /// The position of each measured call's row. The index is the call's slot: its position among the measured
    /// calls.
    row_of: PerSide<Vec<u32>>,
    /// The measured calls on each side, in preorder.
    calls: PerSide<Vec<CallId>>,
    account: Account,
}

/// Attributes all measured time to rows.
pub(in crate::analysis) fn ledger(diff: &TraceDiff) -> Ledger {
    let measure = Measure::of(diff.trees());
    let (rows, row_of) = assign(diff, measure);
    Ledger {
        measure,
        account: Account {
            totals: PerSide::from_fn_at_once(|side| totals(diff.tree(side), measure, &rows, side)),
            rows: PerSide::from_fn(|side| rows.iter().map(|row| row.time[side]).sum()),
        },
        rows,
        row_of,
        calls: diff.trees().map(|tree| measure.calls(tree).collect()),
    }
}

impl Ledger {
    /// What the rows measure: GPU time, or host self time if neither trace has GPU events.
    #[doc(hidden)]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// All rows in the order of the merged tree. The position of a row is its id.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The total times of both traces, and the sums over all rows, which must equal these totals.
    pub fn account(&self) -> &Account {
        &self.account
    }

    /// The measured calls on one side, in preorder.
    pub(crate) fn calls(&self, side: Side) -> &[CallId] {
        &self.calls[side]
    }

    /// The row that a call is attributed to; `None` for calls that are not measured.
    pub(crate) fn row_of(&self, diff: &TraceDiff, side: Side, call: CallId) -> Option<&Row> {
        self.row_index(diff, side, call).map(|row| &self.rows[row])
    }

    /// Position in [`Ledger::rows`] of the row that a call is attributed to.
    #[doc(hidden)]
    pub fn row_index(&self, diff: &TraceDiff, side: Side, call: CallId) -> Option<usize> {
        self.slot(diff, side, call).map(|slot| self.row_of[side][slot] as usize)
    }

    /// The slot of a call: its index in columns that have one entry for each measured call.
    pub(in crate::analysis) fn slot(
        &self,
        diff: &TraceDiff,
        side: Side,
        call: CallId,
    ) -> Option<usize> {
        self.measure.slot(diff.tree(side), call)
    }

    /// Number of slots: the length of columns that have one entry for each measured call.
    pub(in crate::analysis) fn slots(&self, side: Side) -> usize {
        self.row_of[side].len()
    }

    /// The measured time of a call: the duration of a GPU event, or the self time of an op.
    #[doc(hidden)]
    pub fn time_of(&self, diff: &TraceDiff, side: Side, call: CallId) -> Nanos {
        self.measure.time(diff.tree(side), call)
    }

    /// For each event in a row, the part of its time during which no earlier event in the row ran. These
    /// parts add up to the row's busy time.
    #[doc(hidden)]
    pub fn busy_shares(&self, diff: &TraceDiff, row: &Row, side: Side) -> Vec<Nanos> {
        let tree = diff.tree(side);
        let calls = row.events[side].iter();
        match self.measure {
            Measure::GpuTime => {
                newly_busy(&calls.map(|&call| span(tree, call)).collect::<Vec<_>>())
            }
            Measure::HostSelfTime => calls.map(|&call| self.measure.time(tree, call)).collect(),
        }
    }
}
