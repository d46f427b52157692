//! Draws arrows between the matched calls of the rows with the largest differences.

use crate::analysis::Analysis;
use crate::diff::MergedId;
use crate::order::Order as _;
use crate::side::Side;
use crate::trace::Nanos;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of arrows; more arrows would hide the slices.
const ARROWS: usize = 200;

/// The arrows, each identified by a number. An arrow connects the two slices of a matched node, one
/// on each side.
pub(super) struct Arrows {
    numbers: BTreeMap<MergedId, usize>,
}

impl Arrows {
    /// Chooses the nodes to draw arrows for. Both calls of such a node must be in the file.
    pub(super) fn new(analysis: &Analysis, keep: &[bool]) -> Arrows {
        let mut rows: Vec<(usize, Nanos, MergedId)> = analysis
            .rows()
            .iter()
            .enumerate()
            .filter(|(_, row)| row.difference() != Nanos::ZERO)
            .filter_map(|(at, row)| {
                let (first, second) = (row.calls.baseline?, row.calls.candidate?);
                analysis.tree(Side::Baseline).event(first)?;
                analysis.tree(Side::Candidate).event(second)?;
                let id = analysis.diff().merged().of(Side::Baseline, first);
                keep[id.index()].then_some((at, row.difference().abs(), id))
            })
            .collect();
        rows.order_by_key(|&(at, difference, _)| (Reverse(difference), at));
        rows.truncate(ARROWS);
        let numbers = rows.into_iter().enumerate().map(|(at, (_, _, id))| (id, at + 1)).collect();
        Arrows { numbers }
    }

    /// The number that identifies a node's arrow; `None` if the node has no arrow.
    pub(super) fn at(&self, id: MergedId) -> Option<usize> {
        self.numbers.get(&id).copied()
    }
}
