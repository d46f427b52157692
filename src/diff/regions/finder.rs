//! The state of the search for regions, and its elementary steps: what counts as work, and how matches are dissolved.

use super::names;
use super::region::{Region, RegionKind, Regions};
use crate::diff::pairing::Pairing;
use crate::diff::relation::{NONE, Relation};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};

/// A region is treated as a mere wrapper, which replaced nothing, in two cases: at most 1 / `WRAPPER` of its GPU events
/// are unmatched, or its amount of GPU work differs by at most 1 / `WRAPPER` from that of the calls on the opposite
/// side.
pub(super) const WRAPPER: usize = 5;

pub(super) struct Finder<'a> {
    pub(super) trees: PerSide<&'a CallTree>,
    pub(super) pairing: &'a mut Pairing,
    /// Calls of steps that are not compared; empty if all steps are compared.
    left_out: PerSide<&'a Vec<bool>>,
    measure: Measure,
    /// For each call, the position in `list` of the region that contains the call or replaced it; `NONE` if there is no
    /// such region.
    pub(super) taken: PerSide<Vec<u32>>,
    pub(super) list: Vec<Region>,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        trees: PerSide<&'a CallTree>,
        pairing: &'a mut Pairing,
        left_out: PerSide<&'a Vec<bool>>,
    ) -> Self {
        let measure = Measure::of(trees);
        Finder { trees, pairing, left_out, measure, taken: PerSide::default(), list: Vec::new() }
    }

    pub(super) fn is_left_out(&self, side: Side, call: CallId) -> bool {
        self.left_out[side].get(call.index()).copied().unwrap_or(false)
    }

    pub(super) fn counterpart(&self, side: Side, call: CallId) -> Option<CallId> {
        let counterpart = self.pairing.counterparts[side][call.index()];
        (counterpart != NONE).then_some(CallId(counterpart))
    }

    /// Whether time is attributed to the call itself, not to a call inside it.
    pub(super) fn is_work(&self, side: Side, call: CallId) -> bool {
        let tree = self.trees[side];
        match self.measure {
            Measure::GpuTime => tree.kind(call) == CallKind::Gpu,
            Measure::HostSelfTime => {
                tree.kind(call) == CallKind::Op
                    && tree.subtree(call).skip(1).all(|below| tree.kind(below) != CallKind::Op)
            }
        }
    }

    /// All calls with attributed time in the subtree of `call`.
    pub(super) fn work(&self, side: Side, call: CallId) -> impl Iterator<Item = CallId> {
        self.trees[side].subtree(call).filter(move |&below| self.is_work(side, below))
    }

    pub(super) fn works(&self, side: Side, call: CallId) -> bool {
        match self.measure {
            Measure::GpuTime => self.trees[side].is_gpu_path(call),
            Measure::HostSelfTime => self.work(side, call).next().is_some(),
        }
    }

    /// A side's outermost unmatched regions that contain unmatched GPU work.
    pub(super) fn roots(&self, side: Side) -> Vec<CallId> {
        let tree = self.trees[side];
        let mut roots = Vec::new();
        let mut next = 0;
        while next < tree.len() {
            let call = CallId(next as u32);
            let is_root = self.counterpart(side, call).is_none()
                && !self.is_left_out(side, call)
                && names::is_region(tree, call)
                && self.fused_something(side, call);
            if is_root {
                roots.push(call);
            }
            next = if is_root { tree.end(call).index() } else { next + 1 };
        }
        roots
    }

    /// Whether a region is more than a wrapper. If nearly all of its GPU work is matched, the region only wraps ops
    /// that the opposite side runs without a wrapper; its few unmatched ops were renamed or added. However, a single
    /// unmatched generated kernel shows that a region is not a wrapper, because such a kernel replaces several ops.
    pub(super) fn fused_something(&self, side: Side, region: CallId) -> bool {
        let tree = self.trees[side];
        // Launches and kernels may have been matched just because of their order. A launch or kernel inside an op of
        // the region therefore counts as matched only if the op is matched.
        let is_paired = |call: CallId| {
            let mut path = std::iter::once(call).chain(tree.ancestors(call));
            let is_op =
                |above: CallId| tree.kind(above) == CallKind::Op && !names::is_region(tree, above);
            match path.find(|&above| above <= region || is_op(above)) {
                Some(op) if op > region => self.counterpart(side, op).is_some(),
                _ => self.pairing.relations[side][call.index()].is_common(),
            }
        };
        let alone: Vec<CallId> = self.work(side, region).filter(|&call| !is_paired(call)).collect();
        alone.iter().any(|&call| self.is_generated(side, call))
            || alone.len() * WRAPPER > self.work(side, region).count()
    }

    /// Whether a compiler generated a call from ops and named the call after these ops.
    pub(super) fn is_generated(&self, side: Side, call: CallId) -> bool {
        names::is_fused(self.trees[side].name(call))
    }

    /// Adds a region to the list.
    pub(super) fn take(
        &mut self,
        kind: RegionKind,
        side: Side,
        call: CallId,
        replaced: Vec<CallId>,
    ) {
        let at = self.list.len() as u32;
        let mut take = |side: Side, call: CallId| {
            for below in self.trees[side].subtree(call) {
                self.taken[side][below.index()] = at;
            }
        };
        take(side, call);
        replaced.iter().for_each(|&gone| take(side.other(), gone));
        self.list.push(Region { kind, side, call, replaced });
    }

    /// Dissolves the matches of a call and all calls below it; returns the dissolved matches.
    pub(super) fn cut_off(&mut self, side: Side, call: CallId) -> Vec<(CallId, CallId, Relation)> {
        let mut cut = Vec::new();
        for below in self.trees[side].subtree(call) {
            if let Some(counterpart) = self.counterpart(side, below) {
                cut.push((below, counterpart, self.pairing.relations[side][below.index()]));
                self.pairing.part(side, below.0);
            }
        }
        cut
    }

    /// Sets the relation of all unmatched calls in regions to *replaced*.
    pub(super) fn finish(self) -> Regions {
        let mut of = self.trees.map(|tree| vec![NONE; tree.len()]);
        for (at, region) in self.list.iter().enumerate() {
            let (side, other) = (region.side, region.side.other());
            let calls = std::iter::once((side, region.call))
                .chain(region.replaced.iter().map(|&call| (other, call)));
            for (side, call) in calls {
                for below in self.trees[side].subtree(call) {
                    of[side][below.index()] = at as u32;
                    if self.pairing.counterparts[side][below.index()] == NONE {
                        self.pairing.relations[side][below.index()] = Relation::Replaced;
                    }
                }
            }
        }
        Regions { list: self.list, of }
    }
}
