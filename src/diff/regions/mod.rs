//! Finds the calls in one trace that a compiled region or graph launch in the other trace replaced.
//!
//! ```text
//! trace1                     trace2
//! mm                         mm                          the matched call with work before the region
//! add, mul, mean             Torch-Compiled Region       the region replaced add, mul and mean
//! softmax                    softmax                     the matched call with work after the region
//! ```
//! The calls that a region replaced are unmatched. They are below the counterpart of the region's nearest matched
//! ancestor, between the counterparts of two calls: the nearest matched calls with GPU work before and after the
//! region. If several regions are between the same two matched calls, the names of their kernels determine which calls
//! each region replaced (`divide`). A backward region replaced the backward steps of the forward ops that its forward
//! region replaced, regardless of where these steps are (`backward`).
//!
//! A multi-tensor op replaced ops that did the same work one tensor at a time (`multi_tensor`).
//!
//! Calls inside a region have no counterparts. A region does its work in a different order, so a
//! call inside it cannot be identified with a similar call on the opposite side.

mod backward;
mod divide;
mod finder;
mod multi_tensor;
mod names;
mod place;
mod region;

pub(crate) use names::{is_fused, is_generated};
pub(super) use names::{is_opaque, is_region, names_region, single_tensor_op};

pub(super) use region::Regions;
pub use region::{Region, RegionKind};

use super::pairing::Pairing;
use super::relation::{NONE, Relation};
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};
use finder::{Finder, WRAPPER};
use std::ops::Range;

/// Limit on the difference in GPU work between a region and the calls that it replaced: the larger amount is at most
/// `RATIO` times the smaller amount plus `FEW`. The limit does not apply if the kernels and ops in the region name the
/// ops that it replaced.
const RATIO: usize = 16;
const FEW: usize = 16;

/// Finds the calls that each region replaced, and dissolves all matches inside the region and inside the replaced
/// calls. Calls in `left_out` are ignored: they replace no calls, and no region replaced them.
pub(super) fn find(
    trees: PerSide<&CallTree>,
    pairing: &mut Pairing,
    left_out: PerSide<&Vec<bool>>,
) -> Regions {
    let mut finder = Finder::new(trees, pairing, left_out);
    let looks = &finder;
    let roots = PerSide::from_fn_at_once(|side| (looks.roots(side), looks.multi_tensor_ops(side)));
    let is_empty = |side: Side| roots[side].0.is_empty() && roots[side].1.is_empty();
    if Side::BOTH.into_iter().all(is_empty) {
        return Regions::default();
    }
    finder.taken = trees.map(|tree| vec![NONE; tree.len()]);
    for side in Side::BOTH {
        finder.face(side, &roots[side].0);
    }
    for side in Side::BOTH {
        finder.face_multi_tensor_ops(side, &roots[side].1);
    }
    finder.list.sort_by_key(|region| (region.side, region.call));
    finder.finish()
}

impl Finder<'_> {
    /// Finds the calls that each region on a side replaced.
    fn face(&mut self, side: Side, roots: &[CallId]) {
        let inner: Vec<(CallId, CallId, Relation)> =
            roots.iter().flat_map(|&root| self.cut_off(side, root)).collect();
        let links = PerSide::from_fn(|side| self.trees[side].backward_links());
        let (backward, forward): (Vec<CallId>, Vec<CallId>) =
            roots.iter().partition(|&&root| backward::is_backward(self.trees[side], root));
        let stretches: Vec<(CallId, Option<Range<CallId>>)> =
            forward.iter().map(|&root| (root, self.stretch(side, root))).collect();
        for run in stretches.chunk_by(|one, two| one.1.is_some() && one.1 == two.1) {
            let Some(stretch) = &run[0].1 else { continue };
            let regions: Vec<CallId> = run.iter().map(|&(root, _)| root).collect();
            let free = self.free_calls(side.other(), stretch);
            for (region, replaced) in self.divided(side, &regions, free) {
                self.add(side, region, replaced);
            }
        }
        for root in backward {
            let replaced = self.backward_steps(side, root, &links);
            self.add(side, root, replaced);
        }
        self.restore(side, inner);
    }

    /// Restores the dissolved matches whose calls are still unmatched and belong to no region.
    fn restore(&mut self, side: Side, cut: Vec<(CallId, CallId, Relation)>) {
        for (one, other, relation) in cut {
            let is_free = self.counterpart(side, one).is_none()
                && self.counterpart(side.other(), other).is_none()
                && self.taken[side][one.index()] == NONE
                && self.taken[side.other()][other.index()] == NONE;
            if is_free {
                let pass = self.pairing.passes[side][one.index()];
                let calls = PerSide::seen_from(side, one.0, other.0);
                self.pairing.link(calls.baseline, calls.candidate, (relation, pass));
            }
        }
    }

    fn add(&mut self, side: Side, call: CallId, replaced: Vec<CallId>) {
        let mut replaced = replaced;
        replaced.retain(|&gone| self.taken[side.other()][gone.index()] == NONE);
        if self.taken[side][call.index()] != NONE {
            return;
        }
        let count = |side: Side, call: CallId| self.work(side, call).count();
        let work = PerSide::new(
            count(side, call),
            replaced.iter().map(|&call| count(side.other(), call)).sum(),
        );
        let (less, more) = (work.baseline.min(work.candidate), work.baseline.max(work.candidate));
        let is_far_apart = || more > RATIO * less + FEW;
        if less == 0 || is_far_apart() && !self.is_named(side, call, &replaced) {
            return;
        }
        // A region without generated kernels only wraps ops, and replaces no calls, if it does about as much GPU work
        // as the calls on the opposite side.
        let has_generated = || self.work(side, call).any(|work| self.is_generated(side, work));
        if more > FEW && more - less <= more / WRAPPER && !has_generated() {
            return;
        }
        for &gone in &replaced {
            self.cut_off(side.other(), gone);
        }
        self.take(RegionKind::Compiled, side, call, replaced);
    }
}
