//! What the program of each side says about a call.

use super::{MergedId, TraceDiff};
use crate::program::memory::MemoryUsage;
use crate::program::{Phases, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, ModuleName};
use rustc_hash::FxHashMap;

/// The tick of a coarse clock, one microsecond.
const COARSE_TICK: Nanos = Nanos(1_000);

impl TraceDiff {
    /// The steps on one side, and the step that contains each call.
    pub fn steps(&self, side: Side) -> &Steps {
        self.program(side).steps()
    }

    /// The phase of each call on one side.
    pub fn phases(&self, side: Side) -> &Phases {
        self.program(side).phases()
    }

    /// The memory allocations and frees on one side; empty if the trace records none.
    pub fn memory(&self, side: Side) -> &MemoryUsage {
        self.program(side).memory()
    }

    /// The clock tick if at least one trace records times in whole microseconds; otherwise `None`.
    #[doc(hidden)]
    pub fn coarse_tick(&self) -> Option<Nanos> {
        let is_coarse = |&side: &Side| self.program(side).evidence().is_coarse;
        Side::BOTH.iter().any(is_coarse).then_some(COARSE_TICK)
    }

    /// The nearest op at or above `call`: the op that launched a GPU event, or the op that contains a host call.
    pub fn op_of(&self, side: Side, call: CallId) -> Option<CallId> {
        let tree = self.tree(side);
        std::iter::once(call)
            .chain(tree.ancestors(call))
            .find(|&above| tree.kind(above) == CallKind::Op)
    }

    /// The forward op of each outermost backward op.
    pub(crate) fn forward_of_backward(&self) -> PerSide<FxHashMap<CallId, CallId>> {
        self.trees().map(|tree| {
            tree.backward_links().iter().map(|&(forward, backward)| (backward, forward)).collect()
        })
    }

    /// Name of the innermost `nn.Module` that encloses a merged node; empty outside of modules.
    pub(crate) fn module_of(&self, id: MergedId) -> &str {
        let node = self.merged().node(id);
        let module = |side: Side| {
            let tree = self.tree(side);
            tree.module(node.call(side)?).map(|module| tree.name(module))
        };
        Side::BOTH.iter().find_map(|&side| module(side)).map_or("", ModuleName::instance_or_name)
    }
}
