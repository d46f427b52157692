//! Intermediate results that many tables share, computed once per analysis when first needed.
//!
//! A report uses these results about thirty times. Computing a result again would be slow, because the
//! computation visits all calls in a tree.

use super::Analysis;
use super::causes::Causes;
use super::changes::Changes;
use super::comparability::Comparability;
use super::efficiency::EfficiencyRow;
use super::fusion::FusionRow;
use super::kernels::SameKernels;
use super::kernels::Stacks;
use super::layers::LayerPairs;
use super::memory::MemoryUsage;
use super::replay::{Effect, Effects, Reason};
use super::runs::StepTime;
use super::steps::StepRow;
use super::verdict::Verdicts;
use super::wall::Wall;
use crate::program::{Layers, Phases, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::sync::{Arc, OnceLock};

/// The tick of a coarse clock, one microsecond.
const COARSE_TICK: Nanos = Nanos(1_000);

#[derive(Debug, Clone, Default)]
pub(super) struct Cached {
    accounted: PerSide<OnceLock<Vec<CallId>>>,
    pub(super) comparability: OnceLock<Comparability>,
    pub(super) verdicts: OnceLock<Verdicts>,
    layer_pairs: OnceLock<LayerPairs>,
    pub(super) by_efficiency: OnceLock<Vec<EfficiencyRow>>,
    /// Step times in the median run, for each side.
    pub(super) step_times: PerSide<OnceLock<Vec<Option<StepTime>>>>,
    wall: OnceLock<Wall>,
    causes: OnceLock<Causes>,
    changes: OnceLock<Changes>,
    effects: OnceLock<Result<Effects, (Option<Side>, Reason)>>,
    pub(super) stacks: PerSide<OnceLock<Stacks>>,
    pub(super) fusions: OnceLock<Vec<FusionRow>>,
    pub(super) step_rows: OnceLock<Vec<StepRow>>,
    pub(super) same_kernels: OnceLock<SameKernels>,
}

impl Analysis {
    /// The measured calls on one side, in preorder.
    pub(super) fn accounted_calls(&self, side: Side) -> &[CallId] {
        let find = || self.measure().calls(self.tree(side)).collect();
        self.cached.accounted[side].get_or_init(find)
    }

    /// The clock tick if at least one trace records times in whole microseconds; otherwise `None`.
    #[doc(hidden)]
    pub fn coarse_tick(&self) -> Option<Nanos> {
        let is_coarse = |&side: &Side| self.diff.program(side).evidence().is_coarse;
        Side::BOTH.iter().any(is_coarse).then_some(COARSE_TICK)
    }

    /// The steps on one side, and the step that contains each call.
    pub fn steps(&self, side: Side) -> &Steps {
        self.diff.program(side).steps()
    }

    /// The phase of each call on one side.
    pub fn phases(&self, side: Side) -> &Phases {
        self.diff.program(side).phases()
    }

    /// The layers on one side, and the layer that contains each call.
    pub fn layers(&self, side: Side) -> &Layers {
        self.shared_layers(side)
    }

    pub(super) fn shared_layers(&self, side: Side) -> &Arc<Layers> {
        self.diff.program(side).layers(self.measure())
    }

    /// The layers of both sides, matched with each other.
    #[doc(hidden)]
    pub fn layer_pairs(&self) -> &LayerPairs {
        self.cached.layer_pairs.get_or_init(|| LayerPairs::of(self))
    }

    /// The memory allocations and frees on one side; empty if the trace records none.
    pub fn memory(&self, side: Side) -> &MemoryUsage {
        self.diff.program(side).memory()
    }

    /// The wall-time attribution for both sides.
    pub fn wall(&self) -> &Wall {
        self.cached.wall.get_or_init(|| Wall::of(self))
    }

    /// The causes of the wall-time difference. The costs of all causes add up to the wall-time
    /// difference.
    pub fn causes(&self) -> &Causes {
        self.cached.causes.get_or_init(|| Causes::of(self))
    }

    /// What changed between the programs, and the cost of each change per step.
    pub fn changes(&self) -> &Changes {
        self.cached.changes.get_or_init(|| Changes::of(self))
    }

    /// The effect of each change on the step time, computed by replay.
    ///
    /// # Errors
    /// Why the traces cannot be replayed, and which side has the problem; the side is `None` if the problem
    /// concerns the comparison as a whole.
    pub fn effects(&self) -> Result<&Effects, (Option<Side>, Reason)> {
        let effects = self.cached.effects.get_or_init(|| Effects::of(self));
        effects.as_ref().map_err(|&reason| reason)
    }

    /// The effect of the change at a given position in [`Changes::list`](crate::analysis::changes::Changes::list).
    /// Returns `None` if the traces cannot be replayed.
    #[doc(hidden)]
    pub fn effect_of_change(&self, at: usize) -> Option<Effect> {
        self.effects().ok().map(|effects| effects.of_changes[at])
    }
}
