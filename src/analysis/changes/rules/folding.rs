//! Helpers for the rules about consequences, which find changes and fold them into their causes.

use crate::analysis::changes::draft::{Draft, Drafts};
use crate::analysis::changes::kind::ChangeKind;
use crate::side::Side;

/// The first change of the first kind in `kinds` for which there is a change.
pub(super) fn first(drafts: &Drafts<'_>, kinds: &[ChangeKind]) -> Option<usize> {
    kinds.iter().find_map(|&kind| drafts.find(kind).first().copied())
}

/// Folds all changes whose kind is in `kinds` and for which `follows` returns true into `cause`. Changes that already
/// have a cause are skipped.
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

/// The names that the sentence about a change mentions, from both sides.
pub(super) fn names(draft: &Draft) -> impl Iterator<Item = &str> {
    Side::BOTH.into_iter().flat_map(|side| draft.names[side].keys()).map(String::as_str)
}

/// The functions that the sentence about a change mentions, from both sides.
pub(super) fn functions(draft: &Draft) -> impl Iterator<Item = &str> {
    let all = Side::BOTH.into_iter().flat_map(|side| draft.functions[side].keys());
    all.map(String::as_str).filter(|function| !function.is_empty())
}
