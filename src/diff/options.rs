//! What a user may choose about an alignment.

use super::Aliases;
use crate::program::RepeatDetection;

/// How two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Names that count as equal.
    pub aliases: Aliases,
    /// Whether repeats stand for steps in a trace that has none.
    pub repeats: RepeatDetection,
}

impl DiffOptions {
    /// With these aliases.
    #[must_use]
    pub fn aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = aliases;
        self
    }

    /// With repeats as steps, or without.
    #[must_use]
    pub fn repeats(mut self, repeats: RepeatDetection) -> Self {
        self.repeats = repeats;
        self
    }
}
