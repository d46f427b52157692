//! Helpers for the rules about consequences: find changes, and fold changes into their causes.

use crate::analysis::changes::draft::{Draft, Drafts};
use crate::analysis::changes::kind::ChangeKind;
use crate::side::Side;

/// The first change whose kind is in `kinds`; kinds that come earlier in `kinds` take precedence.
pub(super) fn first(drafts: &Drafts<'_>, kinds: &[ChangeKind]) -> Option<usize> {
    kinds.iter().find_map(|&kind| drafts.find(kind).first().copied())
}

/// Folds every change that has no cause yet into `cause`, if the change's kind is in `kinds` and `follows`
/// returns true for the change.
pub(super) fn fold_where(
    drafts: &mut Drafts<'_>,
    cause: usize,
    kinds: &[ChangeKind],
    follows: impl Fn(&Draft) -> bool,
) {
    for at in kinds.iter().flat_map(|&kind| drafts.find(kind)).collect::<Vec<usize>>() {
        if follows(&drafts.all()[at]) {
            drafts.fold(at, cause);
        }
    }
}

/// The names that a change mentions, on both sides.
pub(super) fn names(draft: &Draft) -> impl Iterator<Item = &str> {
    Side::BOTH.into_iter().flat_map(|side| draft.names[side].keys()).map(String::as_str)
}

/// The functions that a change mentions, on both sides.
pub(super) fn functions(draft: &Draft) -> impl Iterator<Item = &str> {
    let all = Side::BOTH.into_iter().flat_map(|side| draft.functions[side].keys());
    all.map(String::as_str).filter(|function| !function.is_empty())
}
