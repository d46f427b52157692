//! Defines the user options of an alignment.

use super::{Aliases, Passes, Pin};
use crate::program::RepeatDetection;

/// Options that control how two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Aliases: different names that the alignment treats as the same name.
    pub aliases: Aliases,
    /// Whether repeated calls count as steps if a trace has no recorded steps.
    pub repeats: RepeatDetection,
    /// Pins: pairs of calls that the user explicitly matches with each other.
    /// [`TraceDiff::check_pins`](super::TraceDiff::check_pins) reports pins that cannot be
    /// satisfied.
    pub pins: Vec<Pin>,
    /// Passes of the alignment to skip. Skipping a pass shows how much it contributes.
    pub without: Passes,
}

impl DiffOptions {
    /// Sets the aliases: different names that the alignment treats as the same name.
    #[must_use]
    #[doc(hidden)]
    pub fn aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets whether repeated calls count as steps if a trace has no recorded steps.
    #[must_use]
    #[doc(hidden)]
    pub fn repeats(mut self, repeats: RepeatDetection) -> Self {
        self.repeats = repeats;
        self
    }

    /// Sets the pins: pairs of calls that the user explicitly matches with each other.
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
