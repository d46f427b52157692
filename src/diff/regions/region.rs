//! A compiled region, a graph launch or a multi-tensor op, and what it replaced.

use crate::diff::relation::NONE;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

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
pub(in crate::diff) struct Regions {
    pub(in crate::diff) list: Vec<Region>,
    /// For each call, the position in `list` of the region that contains the call or replaced it; `NONE` if there is no
    /// such region.
    pub(super) of: PerSide<Vec<u32>>,
}

impl Regions {
    /// The position in `list` of the region that contains a call or replaced it.
    pub(in crate::diff) fn of(&self, side: Side, call: CallId) -> Option<usize> {
        let at = *self.of[side].get(call.index())?;
        (at != NONE).then_some(at as usize)
    }

    pub(in crate::diff) fn mirrored(mut self) -> Regions {
        // The list is sorted by side, so the regions of the two sides change places.
        let count = self.list.len();
        let first = self.list.partition_point(|region| region.side == Side::Baseline);
        self.list.rotate_left(first);
        self.list.iter_mut().for_each(|region| region.side = region.side.other());
        let renumber = |at: &mut u32| *at = ((*at as usize + count - first) % count) as u32;
        let mut of = self.of.swap();
        for side in Side::BOTH {
            of[side].iter_mut().filter(|at| **at != NONE).for_each(renumber);
        }
        Regions { list: self.list, of }
    }
}
