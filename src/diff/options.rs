//! What a user may choose about an alignment.

use super::Aliases;

/// How two trees are aligned.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DiffOptions {
    /// Names that count as equal.
    pub aliases: Aliases,
}

impl DiffOptions {
    /// With these aliases.
    #[must_use]
    pub fn aliases(mut self, aliases: Aliases) -> Self {
        self.aliases = aliases;
        self
    }
}
