//! Defines the user options of an alignment.

use super::{Aliases, Passes, Pin};
use crate::program::RepeatDetection;

/// Options that control how two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Different names that count as the same name.
    pub aliases: Aliases,
    /// Whether repetitions count as steps in a trace without recorded steps.
    pub repeats: RepeatDetection,
    /// Pairs of calls that the user matches explicitly.
    /// [`TraceDiff::check_pins`](super::TraceDiff::check_pins) reports pins that cannot be
    /// satisfied.
    pub pins: Vec<Pin>,
    /// Passes of the alignment to skip, in order to measure how much they contribute.
    pub without: Passes,
}

impl DiffOptions {
    /// Sets which different names count as the same name.
    #[must_use]
    #[doc(hidden)]
    pub fn aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets whether repetitions count as steps in a trace without recorded steps.
    #[must_use]
    #[doc(hidden)]
    pub fn repeats(mut self, repeats: RepeatDetection) -> Self {
        self.repeats = repeats;
        self
    }

    /// Sets the pairs of calls that the user matches explicitly.
    #[must_use]
    #[doc(hidden)]
    pub fn pins(mut self, pins: Vec<Pin>) -> Self {
        self.pins = pins;
        self
    }

    /// Sets the passes of the alignment to skip.
    #[must_use]
    #[doc(hidden)]
    pub fn without(mut self, without: Passes) -> Self {
        self.without = without;
        self
    }
}
