//! The changes that profiles state, in words.

use crate::analysis::changes::kind::ChangeKind;

/// Maximum number of names in a sentence.
const NAMED: usize = 3;

/// A change that both profiles state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis::changes) struct Stated {
    pub(in crate::analysis::changes) kind: ChangeKind,
    pub(in crate::analysis::changes) sentence: String,
    /// The setting or code that usually causes such a change; empty if there is none.
    pub(in crate::analysis::changes) usual: &'static str,
}

/// The first names of a list, and the number of the others: `a, b, c and 2 more`.
pub(super) fn list<S: AsRef<str>>(names: &[S]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMED).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
