//! User options of an alignment.

use super::{Aliases, Passes, Pin};
use crate::program::RepeatDetection;

/// How two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Names that count as equal.
    pub aliases: Aliases,
    /// Whether repeats serve as steps in a trace that has no steps.
    pub repeats: RepeatDetection,
    /// Calls that the user matches. [`TraceDiff::check_pins`](super::TraceDiff::check_pins)
    /// reports pins that cannot be kept.
    pub pins: Vec<Pin>,
    /// Passes of the alignment that do not run, to measure what they are worth.
    pub without: Passes,
}

impl DiffOptions {
    /// Sets the names that count as equal.
    #[must_use]
    pub fn aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets whether repeats serve as steps in a trace that has no steps.
    #[must_use]
    pub fn repeats(mut self, repeats: RepeatDetection) -> Self {
        self.repeats = repeats;
        self
    }

    /// Sets the calls that the user matches.
    #[must_use]
    pub fn pins(mut self, pins: Vec<Pin>) -> Self {
        self.pins = pins;
        self
    }

    /// Leaves out passes of the alignment.
    #[must_use]
    pub fn without(mut self, without: Passes) -> Self {
        self.without = without;
        self
    }
}
