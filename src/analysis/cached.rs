//! What many tables are made from: found once for an analysis, when the first of them asks.
//!
//! Each of these walks all calls of a tree, and a report asks some thirty times.

use super::{
    Analysis, AnalysisOptions, Causes, Comparability, EfficiencyRow, FusionRow, LayerPairs, Models,
    Peaks, SameKernels, StepRow, StepTime, TraceEfficiency, Verdicts, Wall,
};
use crate::diff::TraceDiff;
use crate::program::{Layers, Measure, Phases, Program, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallTree};
use std::sync::{Arc, OnceLock};

/// The tick of a coarse clock.
const COARSE_TICK: Nanos = Nanos(1_000);

#[derive(Debug, Clone, Default)]
pub(super) struct Cached {
    accounted: PerSide<OnceLock<Vec<CallId>>>,
    pub(super) comparability: OnceLock<Comparability>,
    has_coarse_clock: OnceLock<bool>,
    pub(super) verdicts: OnceLock<Verdicts>,
    layer_pairs: OnceLock<LayerPairs>,
    /// The built-in ones are read when the first table needs them, and no sooner.
    yardstick: OnceLock<(Models, Peaks)>,
    efficiency: PerSide<OnceLock<TraceEfficiency>>,
    pub(super) by_efficiency: OnceLock<Vec<EfficiencyRow>>,
    /// What the steps of the first runs took.
    pub(super) step_times: PerSide<OnceLock<Vec<Option<StepTime>>>>,
    wall: OnceLock<Wall>,
    causes: OnceLock<Causes>,
    pub(super) fusions: OnceLock<Vec<FusionRow>>,
    pub(super) step_rows: OnceLock<Vec<StepRow>>,
    pub(super) same_kernels: OnceLock<SameKernels>,
}

impl Cached {
    pub(super) fn efficiency(
        &self,
        side: Side,
        tree: &Arc<CallTree>,
        measure: Measure,
        options: &AnalysisOptions,
    ) -> &TraceEfficiency {
        let (models, peaks) = self.yardstick.get_or_init(|| {
            let models = options.models.clone().unwrap_or_default();
            (models, options.peaks.clone().unwrap_or_default())
        });
        let find = || TraceEfficiency::with_measure(tree.clone(), measure, models, peaks);
        self.efficiency[side].get_or_init(find)
    }
}

/// What a report asks of each trace alone, found out while another thread still aligns them.
pub(crate) struct LookAhead {
    measure: Measure,
    options: AnalysisOptions,
    cached: Cached,
}

impl LookAhead {
    pub(crate) fn new(trees: PerSide<&CallTree>, options: AnalysisOptions) -> LookAhead {
        LookAhead { measure: Measure::of(trees), options, cached: Cached::default() }
    }

    /// Looks at the trace of one side.
    pub(crate) fn at(&self, side: Side, program: &Program) {
        program.layers(self.measure);
        program.architecture();
        self.options.categories.look_ahead();
        self.cached.efficiency(side, program.tree(), self.measure, &self.options);
    }

    /// The analysis, once the traces are aligned.
    pub(crate) fn analyse(self, diff: TraceDiff) -> Analysis {
        Analysis { cached: self.cached, ..Analysis::with_options(diff, self.options) }
    }
}

impl Analysis {
    /// The accounted calls of a side, in preorder.
    pub(super) fn accounted_calls(&self, side: Side) -> &[CallId] {
        let find = || self.measure().calls(self.tree(side)).collect();
        self.cached.accounted[side].get_or_init(find)
    }

    /// The tick of the clock of a trace whose times are whole microseconds, if one of the traces is such.
    pub(super) fn coarse_tick(&self) -> Option<Nanos> {
        let is_coarse =
            || Side::BOTH.iter().any(|&side| self.tree(side).trace().has_coarse_clock());
        self.cached.has_coarse_clock.get_or_init(is_coarse).then_some(COARSE_TICK)
    }

    /// The steps of a side, and the step of each call.
    pub fn steps(&self, side: Side) -> &Steps {
        self.diff.program(side).steps()
    }

    /// The phase of each call of a side.
    pub fn phases(&self, side: Side) -> &Phases {
        self.diff.program(side).phases()
    }

    /// The layers of a side, and the place of each call.
    pub fn layers(&self, side: Side) -> &Layers {
        self.shared_layers(side)
    }

    pub(super) fn shared_layers(&self, side: Side) -> &Arc<Layers> {
        self.diff.program(side).layers(self.measure())
    }

    /// The layers of both sides, paired.
    pub fn layer_pairs(&self) -> &LayerPairs {
        self.cached.layer_pairs.get_or_init(|| LayerPairs::of(self))
    }

    /// The account of the wall time of both sides.
    pub fn wall(&self) -> &Wall {
        self.cached.wall.get_or_init(|| Wall::of(self))
    }

    /// Why the wall time differs: a list that adds up to the difference.
    pub fn causes(&self) -> &Causes {
        self.cached.causes.get_or_init(|| Causes::of(self))
    }
}
