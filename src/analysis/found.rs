//! What several tables ask of an [`Analysis`], found when it is first asked for and then kept.
//!
//! The files of a report are written at the same time. None of these may wait for another thread
//! while it is found: the one that it waits for could be waiting for it.

use super::{Analysis, Comparability, LayerPairs, Phases, Steps, Verdicts};
use crate::side::PerSide;
use std::sync::OnceLock;

/// What was found so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    steps: OnceLock<PerSide<Steps>>,
    phases: OnceLock<PerSide<Phases>>,
    layers: OnceLock<LayerPairs>,
    comparability: OnceLock<Comparability>,
    verdicts: OnceLock<Verdicts>,
}

impl Found {
    /// Forgets what depends on the thresholds.
    pub(super) fn forget_verdicts(&mut self) {
        self.verdicts.take();
    }
}

impl Analysis<'_> {
    /// The total and each site, judged by the thresholds of the analysis.
    pub fn own_verdicts(&self) -> &Verdicts {
        self.found.verdicts.get_or_init(|| self.verdicts(self.thresholds()))
    }

    /// The steps of both traces.
    pub fn steps(&self) -> &PerSide<Steps> {
        self.found.steps.get_or_init(|| PerSide::from_fn(|side| Steps::of(self.tree(side))))
    }

    /// The phases of both traces.
    pub fn phases(&self) -> &PerSide<Phases> {
        self.found.phases.get_or_init(|| PerSide::from_fn(|side| Phases::of(self.tree(side))))
    }

    /// The layers of both traces, paired.
    pub fn layer_pairs(&self) -> &LayerPairs {
        self.found.layers.get_or_init(|| LayerPairs::of(self))
    }

    /// Whether the traces may be compared.
    pub fn comparability(&self) -> &Comparability {
        self.found.comparability.get_or_init(|| Comparability::of(self))
    }
}
