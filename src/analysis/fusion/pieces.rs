//! Selects the pieces of work that a fusion may combine. The pieces are kernels or, if host time is compared, the ops
//! that do the work of kernels.
//!
//! ```text
//! aten::linear            a shell: it contains an op that is work in its own right
//! ├── aten::t             bookkeeping: moves no data
//! └── aten::addmm         a piece: the innermost product
//!     └── aten::copy_     part of it
//! ```

use super::leaves::Leaves;
use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::diff::TraceDiff;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{ByName, Category};
use crate::tree::{CallId, CallKind, CallTree};
use std::ops::Range;

/// The pieces of work on both sides.
pub(super) struct Pieces<'a> {
    pub(super) diff: &'a TraceDiff,
    pub(super) ledger: &'a Ledger,
    pub(super) categories: &'a CategoryTable,
    pub(super) leaves: Leaves<'a>,
    /// For each call, the number of pieces that are ops before the call in preorder; the last entry is the number of
    /// all such pieces. Empty if GPU time is compared, because the pieces are then kernels.
    ops_before: PerSide<Vec<u32>>,
}

impl<'a> Pieces<'a> {
    pub(super) fn of(
        diff: &'a TraceDiff,
        ledger: &'a Ledger,
        categories: &'a CategoryTable,
    ) -> Pieces<'a> {
        let ops_before = match ledger.measure() {
            Measure::GpuTime => PerSide::default(),
            Measure::HostSelfTime => {
                PerSide::from_fn(|side| counts_before(&working_ops(diff, categories, side)))
            }
        };
        Pieces { diff, ledger, categories, leaves: Leaves::new(diff, categories), ops_before }
    }

    /// Whether a measured event is a piece of work: a kernel that is not a memcpy or memset or, if host time is
    /// compared, an op that does the work of such a kernel.
    pub(super) fn has(&self, side: Side, event: CallId) -> bool {
        let tree = self.diff.tree(side);
        match self.ledger.measure() {
            Measure::HostSelfTime => self.ops_in(side, event.index()..event.index() + 1) > 0,
            Measure::GpuTime => {
                let kind = tree.event(event).map(|event| tree.trace().category(event));
                kind == Some(Category::Kernel)
                    && !matches!(self.categories.name(self.diff, side, event), "memcpy" | "memset")
            }
        }
    }

    /// Whether a call is a measured event and a piece of work.
    pub(super) fn is_piece(&self, side: Side, call: CallId) -> bool {
        self.ledger.row_index(self.diff, side, call).is_some() && self.has(side, call)
    }

    /// Whether there is a piece at or below a call.
    pub(super) fn is_above(&self, side: Side, call: CallId) -> bool {
        let tree = self.diff.tree(side);
        match self.ledger.measure() {
            Measure::GpuTime => tree.is_gpu_path(call),
            Measure::HostSelfTime => self.ops_in(side, call.index()..end(tree, call)) > 0,
        }
    }

    fn ops_in(&self, side: Side, calls: Range<usize>) -> u32 {
        self.ops_before[side][calls.end] - self.ops_before[side][calls.start]
    }
}

fn counts_before(pieces: &[bool]) -> Vec<u32> {
    let counts = pieces.iter().scan(0, |count, &is_piece| {
        *count += u32::from(is_piece);
        Some(*count)
    });
    std::iter::once(0).chain(counts).collect()
}

/// Marks the innermost ops that do specific work, and the outermost ops that do auxiliary work. An op with auxiliary
/// work is not marked if it contains an op with specific work, or is inside a marked op.
fn working_ops(diff: &TraceDiff, categories: &CategoryTable, side: Side) -> Vec<bool> {
    let tree = diff.tree(side);
    let mut known = ByName::new(tree.trace());
    let mut works = |call: CallId| -> Option<bool> {
        let event = tree.event(call).filter(|_| tree.kind(call) == CallKind::Op)?;
        let find = || categories.rules().work_of(tree.name(call));
        known.get(tree.trace().name_id(event), find)
    };
    let mut pieces = vec![false; tree.len()];
    let mut holds_specific = vec![false; tree.len()];
    for call in (0..tree.len() as u32).rev().map(CallId) {
        let is_specific = works(call) == Some(true);
        let holds = is_specific || holds_specific[call.index()];
        if let Some(parent) = tree.parent(call).filter(|_| holds) {
            holds_specific[parent.index()] = true;
        }
    }
    let mut next = 0;
    while next < tree.len() {
        let call = CallId(next as u32);
        let is_piece = works(call).is_some() && !holds_specific[next];
        pieces[next] = is_piece;
        next = if is_piece { end(tree, call) } else { next + 1 };
    }
    pieces
}

fn end(tree: &CallTree, call: CallId) -> usize {
    call.index() + tree.size(call)
}
