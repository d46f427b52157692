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
mod multi_tensor;
mod names;
mod place;

pub(crate) use names::{is_fused, is_generated};
pub(super) use names::{is_opaque, is_region, names_region, single_tensor_op};

use super::pairing::Pairing;
use super::{NONE, Relation};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};
use place::Stretch;

/// Limit on the difference in GPU work between a region and the calls that it replaced: the larger amount is at most
/// `RATIO` times the smaller amount plus `FEW`. The limit does not apply if the kernels and ops in the region name the
/// ops that it replaced.
const RATIO: usize = 16;
const FEW: usize = 16;

/// A region is treated as a mere wrapper, which replaced nothing, in two cases: at most 1 / `WRAPPER` of its GPU events
/// are unmatched, or its amount of GPU work differs by at most 1 / `WRAPPER` from that of the calls on the opposite
/// side.
const WRAPPER: usize = 5;

/// The kind of call that replaced calls in the opposite trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RegionKind {
    /// A compiled region or a graph launch.
    Compiled,
    /// An op on a list of tensors, such as `aten::_foreach_add_`, which replaced one op per tensor.
    MultiTensor,
}

/// A compiled region, a graph launch or a multi-tensor op, and the calls in the opposite trace that it replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Whether a compiled region (or graph launch) or a multi-tensor op replaced the calls.
    pub kind: RegionKind,
    /// The side that has the region.
    pub side: Side,
    /// The outermost call of the region.
    pub call: CallId,
    /// The outermost calls that the region replaced on the opposite side, in preorder.
    pub replaced: Vec<CallId>,
}

/// All regions that replaced calls, sorted by side and call.
#[derive(Debug, Clone, Default)]
pub(super) struct Regions {
    pub(super) list: Vec<Region>,
    /// For each call, the position in `list` of the region that contains the call or replaced it; `NONE` if there is no
    /// such region.
    of: PerSide<Vec<u32>>,
}

impl Regions {
    /// The position in `list` of the region that contains a call or replaced it.
    pub(super) fn of(&self, side: Side, call: CallId) -> Option<usize> {
        let at = *self.of[side].get(call.index())?;
        (at != NONE).then_some(at as usize)
    }

    pub(super) fn mirrored(self) -> Regions {
        let turn = |region: Region| Region { side: region.side.other(), ..region };
        let mut list: Vec<Region> = self.list.into_iter().map(turn).collect();
        let mut order: Vec<usize> = (0..list.len()).collect();
        order.sort_by_key(|&at| (list[at].side, list[at].call));
        let mut new_at = vec![NONE; list.len()];
        for (new, &old) in order.iter().enumerate() {
            new_at[old] = new as u32;
        }
        let renumber = |column: Vec<u32>| -> Vec<u32> {
            column
                .into_iter()
                .map(|at| if at == NONE { NONE } else { new_at[at as usize] })
                .collect()
        };
        let of = self.of.swap().map(renumber);
        list.sort_by_key(|region| (region.side, region.call));
        Regions { list, of }
    }
}

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

struct Finder<'a> {
    trees: PerSide<&'a CallTree>,
    pairing: &'a mut Pairing,
    /// Calls of steps that are not compared; empty if all steps are compared.
    left_out: PerSide<&'a Vec<bool>>,
    measure: Measure,
    /// For each call, the position in `list` of the region that contains the call or replaced it; `NONE` if there is no
    /// such region.
    taken: PerSide<Vec<u32>>,
    list: Vec<Region>,
}

impl<'a> Finder<'a> {
    fn new(
        trees: PerSide<&'a CallTree>,
        pairing: &'a mut Pairing,
        left_out: PerSide<&'a Vec<bool>>,
    ) -> Self {
        let measure = Measure::of(trees);
        Finder { trees, pairing, left_out, measure, taken: PerSide::default(), list: Vec::new() }
    }

    fn is_left_out(&self, side: Side, call: CallId) -> bool {
        self.left_out[side].get(call.index()).copied().unwrap_or(false)
    }

    fn partner(&self, side: Side, call: CallId) -> Option<CallId> {
        let partner = self.pairing.partners[side][call.index()];
        (partner != NONE).then_some(CallId(partner))
    }

    /// Whether time is attributed to the call itself, not to a call inside it.
    fn is_work(&self, side: Side, call: CallId) -> bool {
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
    fn work(&self, side: Side, call: CallId) -> impl Iterator<Item = CallId> {
        self.trees[side].subtree(call).filter(move |&below| self.is_work(side, below))
    }

    fn works(&self, side: Side, call: CallId) -> bool {
        match self.measure {
            Measure::GpuTime => self.trees[side].is_gpu_path(call),
            Measure::HostSelfTime => self.work(side, call).next().is_some(),
        }
    }

    /// A side's outermost unmatched regions that contain unmatched GPU work.
    fn roots(&self, side: Side) -> Vec<CallId> {
        let tree = self.trees[side];
        let mut roots = Vec::new();
        let mut next = 0;
        while next < tree.len() {
            let call = CallId(next as u32);
            let is_root = self.partner(side, call).is_none()
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
    fn fused_something(&self, side: Side, region: CallId) -> bool {
        let tree = self.trees[side];
        // Launches and kernels may have been matched just because of their order. A launch or kernel inside an op of
        // the region therefore counts as matched only if the op is matched.
        let is_paired = |call: CallId| {
            let mut path = std::iter::once(call).chain(tree.ancestors(call));
            let is_op =
                |above: CallId| tree.kind(above) == CallKind::Op && !names::is_region(tree, above);
            match path.find(|&above| above <= region || is_op(above)) {
                Some(op) if op > region => self.partner(side, op).is_some(),
                _ => self.pairing.relations[side][call.index()].is_common(),
            }
        };
        let alone: Vec<CallId> = self.work(side, region).filter(|&call| !is_paired(call)).collect();
        alone.iter().any(|&call| self.is_generated(side, call))
            || alone.len() * WRAPPER > self.work(side, region).count()
    }

    /// Whether a compiler generated a call from ops and named the call after these ops.
    fn is_generated(&self, side: Side, call: CallId) -> bool {
        names::is_fused(self.trees[side].name(call))
    }

    /// Finds the calls that each region on a side replaced.
    fn face(&mut self, side: Side, roots: &[CallId]) {
        let inner: Vec<(CallId, CallId, Relation)> =
            roots.iter().flat_map(|&root| self.cut_off(side, root)).collect();
        let links = PerSide::from_fn(|side| self.trees[side].backward_links());
        let (backward, forward): (Vec<CallId>, Vec<CallId>) =
            roots.iter().partition(|&&root| backward::is_backward(self.trees[side], root));
        let stretches: Vec<(CallId, Option<Stretch>)> =
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
            let is_free = self.partner(side, one).is_none()
                && self.partner(side.other(), other).is_none()
                && self.taken[side][one.index()] == NONE
                && self.taken[side.other()][other.index()] == NONE;
            if is_free {
                self.link(side, one, other, relation);
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

    /// Adds a region to the list.
    fn take(&mut self, kind: RegionKind, side: Side, call: CallId, replaced: Vec<CallId>) {
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

    fn link(&mut self, side: Side, one: CallId, other: CallId, relation: Relation) {
        self.pairing.partners[side][one.index()] = other.0;
        self.pairing.partners[side.other()][other.index()] = one.0;
        self.pairing.relations[side][one.index()] = relation;
        self.pairing.relations[side.other()][other.index()] = relation;
    }

    /// Dissolves the matches of a call and all calls below it; returns the dissolved matches.
    fn cut_off(&mut self, side: Side, call: CallId) -> Vec<(CallId, CallId, Relation)> {
        let mut cut = Vec::new();
        for below in self.trees[side].subtree(call) {
            if let Some(partner) = self.partner(side, below) {
                cut.push((below, partner, self.pairing.relations[side][below.index()]));
                self.part(side, below);
            }
        }
        cut
    }

    /// Dissolves one match.
    fn part(&mut self, side: Side, call: CallId) {
        let Some(partner) = self.partner(side, call) else { return };
        self.pairing.partners[side][call.index()] = NONE;
        self.pairing.partners[side.other()][partner.index()] = NONE;
        self.pairing.relations[side][call.index()] = Relation::only(side);
        self.pairing.relations[side.other()][partner.index()] = Relation::only(side.other());
    }

    /// Sets the relation of all unmatched calls in regions to *replaced*.
    fn finish(self) -> Regions {
        let mut of = self.trees.map(|tree| vec![NONE; tree.len()]);
        for (at, region) in self.list.iter().enumerate() {
            let (side, other) = (region.side, region.side.other());
            let calls = std::iter::once((side, region.call))
                .chain(region.replaced.iter().map(|&call| (other, call)));
            for (side, call) in calls {
                for below in self.trees[side].subtree(call) {
                    of[side][below.index()] = at as u32;
                    if self.pairing.partners[side][below.index()] == NONE {
                        self.pairing.relations[side][below.index()] = Relation::Replaced;
                    }
                }
            }
        }
        Regions { list: self.list, of }
    }
}
