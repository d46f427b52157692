//! Finds the ops that a multi-tensor op replaced.
//!
//! ```text
//! trace1   add_ mul_ add_  add_ mul_ add_  …      one tensor at a time
//! trace2   _foreach_add_ _foreach_mul_ _foreach_add_
//! ```
//! The first `_foreach_add_` replaced the first `add_` of each tensor, and the second `_foreach_add_` replaced the
//! second `add_` of each tensor.

use super::finder::Finder;
use super::{RegionKind, names};
use crate::diff::relation::Relation;
use crate::side::Side;
use crate::tree::{CallId, CallKind};
use std::collections::BTreeMap;
use std::ops::Range;

impl Finder<'_> {
    /// A side's unmatched multi-tensor ops that do GPU work.
    pub(super) fn multi_tensor_ops(&self, side: Side) -> Vec<CallId> {
        let tree = self.trees[side];
        let is_root = |&call: &CallId| {
            tree.kind(call) == CallKind::Op
                && self.counterpart(side, call).is_none()
                && self.works(side, call)
                && !self.is_left_out(side, call)
                && names::single_tensor_op(tree.name(call)).is_some()
        };
        tree.calls().filter(is_root).collect()
    }

    /// Finds the calls that each multi-tensor op on a side replaced. These are unmatched calls to the corresponding
    /// single-tensor op, within the stretch of calls that the multi-tensor op may have replaced.
    pub(super) fn face_multi_tensor_ops(&mut self, side: Side, ops: &[CallId]) {
        let (tree, other) = (self.trees[side], self.trees[side.other()]);
        let inner: Vec<(CallId, CallId, Relation)> =
            ops.iter().flat_map(|&op| self.cut_off(side, op)).collect();
        let mut groups: BTreeMap<(CallId, CallId, &str), Vec<CallId>> = BTreeMap::new();
        for &op in ops {
            let (Some(name), Some(stretch)) =
                (names::single_tensor_op(tree.name(op)), self.opposite(side, op))
            else {
                continue;
            };
            groups.entry((stretch.start, stretch.end, name)).or_default().push(op);
        }
        for ((start, end, name), ops) in groups {
            let is_single = |&call: &CallId| {
                other.kind(call) == CallKind::Op
                    && names::last_part(other.name(call)) == name
                    && self.works(side.other(), call)
                    && self.is_all_free(side.other(), call)
            };
            let mut calls: Vec<CallId> = Vec::new();
            for call in (start.0..end.0).map(CallId).filter(is_single) {
                // In traces from 2021, an op may contain itself. Only the outermost call counts.
                if calls.last().is_none_or(|&last| other.end(last) <= call) {
                    calls.push(call);
                }
            }
            // The single-tensor code runs all ops of the group for one tensor, then all of them for the next tensor.
            // The calls that one multi-tensor op replaced are therefore evenly spaced.
            if calls.len() < 2 * ops.len() || !calls.len().is_multiple_of(ops.len()) {
                continue;
            }
            for (at, &op) in ops.iter().enumerate() {
                let replaced = calls.iter().copied().skip(at).step_by(ops.len()).collect();
                self.take(RegionKind::MultiTensor, side, op, replaced);
            }
        }
        self.restore(side, inner);
    }

    /// The calls that a multi-tensor op may have replaced: all calls below the counterpart of the op's nearest matched
    /// caller. If this caller is the thread itself, only the calls between the nearest matched calls with GPU work are
    /// returned.
    fn opposite(&self, side: Side, op: CallId) -> Option<Range<CallId>> {
        let tree = self.trees[side];
        let above = tree
            .ancestors(op)
            .find(|above| self.pairing.relations[side][above.index()] == Relation::Same)?;
        if tree.kind(above) == CallKind::Thread {
            return self.stretch(side, op);
        }
        let below = self.counterpart(side, above)?;
        let end = self.trees[side.other()].end(below);
        Some(CallId(below.0 + 1)..end)
    }
}
