//! Finds the calls between two matched pairs that a region on the opposite side may have replaced.

use super::finder::Finder;
use crate::diff::relation::{NONE, Relation};
use crate::side::Side;
use crate::tree::{CallId, CallKind};
use std::ops::Range;

impl Finder<'_> {
    /// The stretch of calls (in preorder) that a region may have replaced. It is below the counterpart of the region's
    /// nearest matched ancestor, between the counterparts of two calls: the nearest matched calls with GPU work before
    /// and after the region.
    pub(super) fn stretch(&self, side: Side, region: CallId) -> Option<Range<CallId>> {
        let tree = self.trees[side];
        let is_paired = |&above: &CallId| self.pairing.relations[side][above.index()].is_common();
        let above = tree.ancestors(region).find(is_paired)?;
        let below = self.counterpart(side, above)?;
        let other = self.trees[side.other()];
        let end = other.end(below);
        let holds = |counterpart: CallId| counterpart > below && counterpart < end;
        let start = self
            .last_before(side, above, region, &holds)
            .map_or(CallId(below.0 + 1), |counterpart| other.end(counterpart));
        let end = self
            .first_behind(side, above, region, &|counterpart| {
                holds(counterpart) && counterpart >= start
            })
            .unwrap_or(end);
        (start < end).then_some(start..end)
    }

    /// Finds the last matched call with GPU work that is below `above` and ends before `call`, and
    /// returns its counterpart. If several such calls are nested, the outermost call is used.
    fn last_before(
        &self,
        side: Side,
        above: CallId,
        call: CallId,
        holds: &dyn Fn(CallId) -> bool,
    ) -> Option<CallId> {
        let tree = self.trees[side];
        let last = (above.0 + 1..call.0)
            .rev()
            .map(CallId)
            .find(|&before| !tree.is_below(call, before) && self.bounds(side, before, holds))?;
        let outer =
            tree.ancestors(last).take_while(|&outer| outer > above && !tree.is_below(call, outer));
        let outermost = outer.filter(|&outer| self.bounds(side, outer, holds)).last();
        self.counterpart(side, outermost.unwrap_or(last))
    }

    /// Finds the first matched call with GPU work that is below `above` and comes after `call`, and
    /// returns its counterpart.
    fn first_behind(
        &self,
        side: Side,
        above: CallId,
        call: CallId,
        holds: &dyn Fn(CallId) -> bool,
    ) -> Option<CallId> {
        let tree = self.trees[side];
        let mut behind = (tree.end(call).0..tree.end(above).0).map(CallId);
        let first = behind.find(|&behind| self.bounds(side, behind, holds))?;
        self.counterpart(side, first)
    }

    /// Whether a call can bound a stretch: the call contains GPU work and is matched in place.
    fn bounds(&self, side: Side, call: CallId, holds: &dyn Fn(CallId) -> bool) -> bool {
        let is_call = !matches!(self.trees[side].kind(call), CallKind::Gpu | CallKind::Thread);
        let in_place = self.pairing.relations[side][call.index()] == Relation::Same;
        is_call
            && in_place
            && self.counterpart(side, call).is_some_and(holds)
            && self.works(side, call)
    }

    /// Returns the outermost calls in a stretch whose whole subtrees are unmatched. The result extends from the first
    /// to the last such call with GPU work. At both ends, it also includes the adjacent calls without GPU work, up to
    /// the nearest matched call.
    pub(super) fn free_calls(&self, side: Side, stretch: &Range<CallId>) -> Vec<CallId> {
        let tree = self.trees[side];
        let mut calls: Vec<Option<CallId>> = Vec::new();
        let mut next = stretch.start;
        while next < stretch.end {
            let call = next;
            let fits = tree.end(call) <= stretch.end;
            let is_structure = matches!(tree.kind(call), CallKind::Op | CallKind::Frame)
                || (tree.kind(call) == CallKind::Runtime && tree.is_gpu_path(call));
            let is_free = fits && is_structure && self.is_all_free(side, call);
            next = if is_free { tree.end(call) } else { CallId(call.0 + 1) };
            match is_free {
                true => calls.push(Some(call)),
                // A matched call is a boundary: at both ends, calls without GPU work are included only up to the
                // boundary.
                false if is_structure && self.counterpart(side, call).is_some() => calls.push(None),
                false => {}
            }
        }
        let works = |call: &Option<CallId>| call.is_some_and(|call| self.works(side, call));
        let Some(first) = calls.iter().position(works) else { return Vec::new() };
        let last = calls.iter().rposition(works).unwrap_or(first);
        let before = calls[..first].iter().rposition(Option::is_none).map_or(0, |at| at + 1);
        let behind = calls[last..].iter().position(Option::is_none);
        let behind = behind.map_or(calls.len(), |at| last + at);
        calls[before..behind].iter().flatten().copied().collect()
    }

    /// Whether a call and all calls below it are unmatched and outside of all other regions.
    /// Runtime calls without GPU work are ignored, so they may be matched.
    pub(super) fn is_all_free(&self, side: Side, call: CallId) -> bool {
        let tree = self.trees[side];
        tree.subtree(call).all(|below| {
            let is_query = tree.kind(below) == CallKind::Runtime && !tree.is_gpu_path(below);
            is_query
                || (self.counterpart(side, below).is_none()
                    && self.taken[side][below.index()] == NONE
                    && !self.is_left_out(side, below))
        })
    }
}
