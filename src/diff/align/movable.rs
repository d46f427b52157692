//! Decides whether a call may have moved: an op to another caller, a repeated frame past its repetitions.

use super::aligner::Aligner;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};

impl Aligner<'_> {
    /// Whether the baseline call `a` may have moved to the position of the candidate call `b`. If the ops
    /// that call `a` and `b` have different names, the counterpart of `a`'s caller must contain `b`, or the
    /// counterpart of `b`'s caller must contain `a`. The shapes of `a` and `b` must be equal if the op moved
    /// to a different caller, or if no op calls it and it moved within the top level of a thread.
    pub(super) fn can_have_moved(&self, a: u32, b: u32) -> bool {
        if self.outlines.baseline.kind(a) != CallKind::Op {
            let shape = |side: Side, call: u32| self.outlines[side].shape[call as usize];
            return !self.are_repetitions(a, b)
                || shape(Side::Baseline, a) == shape(Side::Candidate, b);
        }
        let calls = PerSide::new(a, b);
        let above = PerSide::from_fn(|side| {
            let (tree, scope) = (self.trees[side], &self.scope[side]);
            let inside = tree.ancestors(CallId(calls[side])).take_while(|op| scope.contains(&op.0));
            inside.map(|op| op.0).find(|&op| self.outlines[side].kind(op) == CallKind::Op)
        });
        let is_common = match (above.baseline, above.candidate) {
            (Some(one), Some(two)) => {
                let (x, y) = (self.outlines.baseline, self.outlines.candidate);
                let is_below = |side: Side, caller: u32, call: u32| {
                    let counterpart = self.both.links.counterpart(side, caller);
                    let outline = self.outlines[side.other()];
                    counterpart.is_some_and(|above| (above + 1..outline.end(above)).contains(&call))
                };
                let is_common =
                    is_below(Side::Baseline, one, b) || is_below(Side::Candidate, two, a);
                if !is_common && x.keys[one as usize] != y.keys[two as usize] {
                    return false;
                }
                is_common
            }
            (None, _) | (_, None) => {
                let caller = self.scope.baseline.start.checked_sub(1);
                caller.is_some_and(|caller| self.outlines.baseline.is_op_or_frame(caller))
            }
        };
        is_common || self.have_equal_shapes(a, b)
    }

    /// Whether two frames are repetitions that differ, in a loop whose other repetitions are matched: `f(1)` did not
    /// become `f(5)` and move past `f(2)` to `f(4)`.
    fn are_repetitions(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        let name = |side: Side, call: u32| self.trees[side].name(CallId(call));
        let is_repeated = |side: Side| {
            let (outline, call) = (self.outlines[side], calls[side]);
            let next = outline.end(call);
            self.scope[side].contains(&next)
                && outline.kind(next) == CallKind::Frame
                && !self.is_free(side, next)
                && name(side, next) == name(side, call)
        };
        let alike = self.outlines.baseline.kind(a) == CallKind::Frame
            && name(Side::Baseline, a) == name(Side::Candidate, b);
        alike && Side::BOTH.into_iter().any(is_repeated)
    }

    /// Whether the inputs of two calls have equal shapes. Calls without recorded shapes count as equal.
    fn have_equal_shapes(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        let [mine, theirs] = Side::BOTH.map(|side| {
            let (tree, trace) = (self.trees[side], self.trees[side].trace());
            let event = tree.event(CallId(calls[side]));
            let id = event.and_then(|event| trace.arguments_id(event));
            id.map(|id| trace.text(trace.arguments(id).dims))
        });
        mine.zip(theirs).is_none_or(|(mine, theirs)| mine == theirs)
    }
}
