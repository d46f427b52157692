//! The facts that are derived from the [`Attribution`](super::Attribution) of the measured time. Each fact depends only
//! on the attribution and on earlier facts:
//!
//! ```text
//! attribution ─┬─ layer pairs ── comparability ─┬─ changes ── effects
//!  (rows, wall)│                                └─ verdicts
//!              ├─ fusions ── causes
//!              ├─ kernels that both sides run
//!              └─ modeled ops by efficiency
//! ```
//! A fact is computed when it is first needed, and then kept. A report needs all facts, and requests some of them about
//! thirty times. A gate, or the comparison of a pair in a fleet, needs only a few facts.

use super::Analysis;
use super::causes::Causes;
use super::changes::Changes;
use super::comparability::Comparability;
use super::efficiency::{EfficiencyRow, sort_by_efficiency};
use super::fusion::{FusionRow, find_fusions};
use super::kernels::{SameKernels, find_same_kernels};
use super::layers::LayerPairs;
use super::replay::{Effect, Effects, Reason};
use super::verdict::{Thresholds, Verdicts};
use crate::side::Side;
use std::sync::OnceLock;

/// The facts that have been computed so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    comparability: OnceLock<Comparability>,
    verdicts: OnceLock<Verdicts>,
    layer_pairs: OnceLock<LayerPairs>,
    by_efficiency: OnceLock<Vec<EfficiencyRow>>,
    causes: OnceLock<Causes>,
    changes: OnceLock<Changes>,
    effects: OnceLock<Result<Effects, (Option<Side>, Reason)>>,
    fusions: OnceLock<Vec<FusionRow>>,
    same_kernels: OnceLock<SameKernels>,
}

impl Analysis {
    /// The layers of both sides with their matches.
    #[doc(hidden)]
    pub fn layer_pairs(&self) -> &LayerPairs {
        self.facts.layer_pairs.get_or_init(|| LayerPairs::of(self))
    }

    /// The causes of the wall-time difference. The costs of all causes add up to the wall-time
    /// difference.
    pub fn causes(&self) -> &Causes {
        self.facts.causes.get_or_init(|| Causes::of(self, self.fusions()))
    }

    /// The changes between the two programs, and the cost of each change per step.
    pub fn changes(&self) -> &Changes {
        self.facts.changes.get_or_init(|| Changes::of(self, self.comparability()))
    }

    /// The effect of each change on the step time, computed by replay.
    ///
    /// # Errors
    /// Returns the reason if the traces cannot be replayed, and the side that has the problem. The side is `None` if
    /// the problem concerns the comparison as a whole.
    pub fn effects(&self) -> Result<&Effects, (Option<Side>, Reason)> {
        let effects = self
            .facts
            .effects
            .get_or_init(|| Effects::of(self, self.comparability(), self.changes()));
        effects.as_ref().map_err(|&reason| reason)
    }

    /// The effect on the step time of the change at a given position in
    /// [`Changes::list`](crate::analysis::changes::Changes::list). Returns `None` if the traces cannot be replayed.
    #[doc(hidden)]
    pub fn effect_of_change(&self, at: usize) -> Option<Effect> {
        self.effects().ok().map(|effects| effects.of_changes[at])
    }

    /// The notes about whether the traces are comparable.
    #[doc(hidden)]
    pub fn comparability(&self) -> &Comparability {
        self.facts.comparability.get_or_init(|| Comparability::of(self, self.layer_pairs()))
    }

    /// Tests the total time and each call site with the thresholds of the analysis. The result is computed on first
    /// use.
    pub fn judged(&self) -> &Verdicts {
        self.facts.verdicts.get_or_init(|| self.verdicts(self.thresholds()))
    }

    /// Tests the total time and each call site with the given thresholds.
    pub fn verdicts(&self, thresholds: &Thresholds) -> Verdicts {
        Verdicts::of(self, self.comparability(), thresholds)
    }

    /// The groups of nodes at which the sides run different numbers of kernels, sorted by descending time difference,
    /// then by path.
    pub fn fusions(&self) -> &[FusionRow] {
        self.facts.fusions.get_or_init(|| find_fusions(self))
    }

    /// The kernels that both sides run below matched ops, computed on first use.
    pub fn same_kernels(&self) -> &SameKernels {
        self.facts.same_kernels.get_or_init(|| find_same_kernels(self))
    }

    /// The modeled ops, grouped by name and shapes. The groups are sorted by possible saving on the candidate, then by
    /// possible saving on the baseline, then by time, largest first.
    pub(crate) fn by_efficiency(&self) -> &[EfficiencyRow] {
        self.facts.by_efficiency.get_or_init(|| sort_by_efficiency(self))
    }
}
