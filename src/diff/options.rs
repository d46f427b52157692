//! User options of an alignment.

use super::Aliases;
use crate::program::RepeatDetection;

/// How two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Names that count as equal.
    pub aliases: Aliases,
    /// Whether repeats serve as steps in a trace that has no steps.
    pub repeats: RepeatDetection,
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
}
