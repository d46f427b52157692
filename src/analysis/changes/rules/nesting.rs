//! Times in whole microseconds do not show which of two calls contains the other. Calls that both sides make equally
//! often, but that seem to be in different places, are then no change.

use super::folding::names;
use crate::analysis::changes::counts::Counts;
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::scale::Scale;
use crate::analysis::changes::subject::Subject;

/// The kinds of changes that consist of calls without a counterpart.
const OF_CALLS: [ChangeKind; 6] = [
    ChangeKind::Attention,
    ChangeKind::HostRead,
    ChangeKind::InputPipeline,
    ChangeKind::Ops,
    ChangeKind::Optimizer,
    ChangeKind::Python,
];

pub(super) fn fold(drafts: &mut Drafts<'_>) {
    if drafts.diff.coarse_tick().is_none() {
        return;
    }
    let counts = Counts::of(drafts.diff, drafts.compared);
    let steps = Scale::of(drafts.wall).steps;
    let is_nested_otherwise = |at: &usize| {
        let draft = &drafts.all()[*at];
        drafts.resolve(*at) == *at
            && names(draft).next().is_some()
            && names(draft).all(|name| counts.has_ratio(name, steps))
    };
    let all = OF_CALLS.into_iter().flat_map(|kind| drafts.find(kind));
    let found: Vec<usize> = all.filter(is_nested_otherwise).collect();
    if !found.is_empty() {
        let nesting = drafts.draft(ChangeKind::Recording, Subject::Nesting);
        found.into_iter().for_each(|at| drafts.fold(at, nesting));
    }
}
