//! Options of an analysis.

use super::categories::Categories;
use super::efficiency::{Models, Peaks};
use super::verdict::Thresholds;
use crate::program::StepId;
use crate::side::PerSide;
use crate::trace::Notes;

/// Options for the attribution and comparison of times.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AnalysisOptions {
    /// The rules that assign a category to each event.
    pub categories: Categories,
    /// Maximum number of distinct Python stacks listed per op and kernel, by default three; 0 lists none.
    pub stacks: usize,
    /// The thresholds that a time difference must exceed to be significant.
    pub thresholds: Thresholds,
    /// Models for the minimum work of an op, by op name; `None` uses the built-in models.
    pub models: Option<Models>,
    /// Peak rates of devices; `None` uses the built-in peak rates.
    pub peaks: Option<Peaks>,
    /// Display names of the two sides. If a name is empty, a name is chosen automatically; see
    /// [`Analysis::names`](super::Analysis::names).
    pub names: PerSide<String>,
    /// Number of steps that were excluded from the start of both traces. This number is added to displayed
    /// step positions, so that they refer to the whole traces.
    pub first_step: u32,
    /// Notes about runs that are copies of one file.
    pub(crate) copies: Notes,
    /// The folds of changes that are skipped, to measure what they contribute.
    #[doc(hidden)]
    pub without_folds: Vec<&'static str>,
}

/// Default number of Python stacks listed per op and kernel.
const STACKS: usize = 3;

impl Default for AnalysisOptions {
    fn default() -> Self {
        AnalysisOptions {
            categories: Categories::default(),
            stacks: STACKS,
            thresholds: Thresholds::default(),
            models: None,
            peaks: None,
            names: PerSide::default(),
            first_step: 0,
            copies: Notes::default(),
            without_folds: Vec::new(),
        }
    }
}

impl AnalysisOptions {
    /// Sets the category rules.
    #[must_use]
    pub fn categories(mut self, categories: Categories) -> Self {
        self.categories = categories;
        self
    }

    /// Sets the maximum number of Python stacks listed per op and kernel.
    #[must_use]
    #[doc(hidden)]
    pub fn stacks(mut self, stacks: usize) -> Self {
        self.stacks = stacks;
        self
    }

    /// Sets the models for the minimum work of an op.
    #[must_use]
    #[doc(hidden)]
    pub fn models(mut self, models: Models) -> Self {
        self.models = Some(models);
        self
    }

    /// Sets the peak rates of devices.
    #[must_use]
    #[doc(hidden)]
    pub fn peaks(mut self, peaks: Peaks) -> Self {
        self.peaks = Some(peaks);
        self
    }

    /// Sets the display names of the two sides.
    #[must_use]
    pub fn names(mut self, baseline: impl Into<String>, candidate: impl Into<String>) -> Self {
        self.names = PerSide::new(baseline.into(), candidate.into());
        self
    }

    /// Sets the thresholds for verdicts.
    #[must_use]
    #[doc(hidden)]
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.thresholds = thresholds;
        self
    }

    /// The number that is displayed for a step. It is the step's position in the whole trace if the same
    /// number of steps was excluded from the start of both traces.
    pub(crate) fn displayed_step(&self, step: StepId) -> u32 {
        step.0 + self.first_step
    }
}
