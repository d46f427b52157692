//! What a user may choose about an analysis.

use super::{Categories, Models, Peaks, Thresholds};
use crate::side::PerSide;

/// How the time of two traces is told apart.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct AnalysisOptions {
    /// The rules that tell what kind of work an event is.
    pub categories: Categories,
    /// How many distinct Python stacks are listed for each op and kernel; 0 lists none.
    pub stacks: usize,
    /// From where on a difference matters.
    pub thresholds: Thresholds,
    /// What ops must do at least, by their names; the built-in models where `None`.
    pub models: Option<Models>,
    /// What devices can do at most; the built-in peaks where `None`.
    pub peaks: Option<Peaks>,
    /// What people call the two sides; found where empty, see [`Analysis::side_name`](super::Analysis::side_name).
    pub names: PerSide<String>,
    /// Position in the traces of the first step that is compared; see [`Analysis::told_step`](super::Analysis::told_step).
    pub first_step: u32,
}

impl AnalysisOptions {
    /// With these category rules.
    #[must_use]
    pub fn categories(mut self, categories: Categories) -> Self {
        self.categories = categories;
        self
    }

    /// With this many Python stacks for each op and kernel.
    #[must_use]
    pub fn stacks(mut self, stacks: usize) -> Self {
        self.stacks = stacks;
        self
    }

    /// With these models of what ops must do at least.
    #[must_use]
    pub fn models(mut self, models: Models) -> Self {
        self.models = Some(models);
        self
    }

    /// With these peaks of devices.
    #[must_use]
    pub fn peaks(mut self, peaks: Peaks) -> Self {
        self.peaks = Some(peaks);
        self
    }

    /// With these names for the two sides.
    #[must_use]
    pub fn names(mut self, baseline: impl Into<String>, candidate: impl Into<String>) -> Self {
        self.names = PerSide::new(baseline.into(), candidate.into());
        self
    }

    /// With these thresholds for verdicts.
    #[must_use]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }
}
