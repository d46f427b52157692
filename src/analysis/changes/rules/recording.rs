//! Reports what only the recordings differ in: Python stacks, input shapes and GPU events that the profiler recorded on
//! one side only, calls that seem to be nested differently, and matched ops that were moved.

use crate::analysis::changes::counts::Counts;
use crate::analysis::changes::draft::{Drafts, names};
use crate::analysis::changes::identity::gpu_events;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::scale::Scale;
use crate::analysis::changes::subject::Subject;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::tree::CallKind;

/// The kinds of data that a recording may lack: the code of the note that reports the lack, and the
/// name of the data.
const PARTS: [(&str, &str); 2] =
    [("NO_PYTHON_STACKS", "Python stacks"), ("NO_SHAPES", "input shapes")];

/// Reports what the profiler recorded on one side only.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>) {
    let has_ops = Side::BOTH.into_iter().all(|side| {
        let tree = drafts.diff.tree(side);
        tree.calls().any(|call| tree.kind(call) == CallKind::Op)
    });
    let has_gpu = gpu_events(drafts.diff);
    if has_gpu.baseline != has_gpu.candidate {
        let at = drafts.draft(ChangeKind::Recording, Subject::Whole);
        let recorded = if has_gpu.baseline { Side::Baseline } else { Side::Candidate };
        drafts.at(at).name(recorded, "GPU events");
    }
    let notes = &drafts.comparability.sides;
    for (code, part) in PARTS.into_iter().filter(|_| has_ops) {
        let lacks = PerSide::from_fn(|side: Side| notes[side].get(code).is_some());
        if lacks.baseline != lacks.candidate {
            let at = drafts.draft(ChangeKind::Recording, Subject::Whole);
            let recorded = if lacks.baseline { Side::Candidate } else { Side::Baseline };
            drafts.at(at).name(recorded, part);
        }
    }
}

/// The kinds of changes that consist of calls without a counterpart.
const OF_CALLS: [ChangeKind; 6] = [
    ChangeKind::Attention,
    ChangeKind::HostRead,
    ChangeKind::InputPipeline,
    ChangeKind::Ops,
    ChangeKind::Optimizer,
    ChangeKind::Python,
];

/// Times in whole microseconds do not show which of two calls contains the other. Calls that both sides make equally
/// often, but that seem to be in different places, are then no change.
pub(super) fn nesting(drafts: &mut Drafts<'_>) {
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

/// Reports moved ops if nothing else changed. If something else changed, an op may have been removed at one position
/// and added at another instead of being moved.
pub(in crate::analysis::changes) fn order(drafts: &mut Drafts<'_>, moved: &[MergedId]) {
    let is_only_recording = drafts.all().iter().all(|draft| draft.kind == ChangeKind::Recording);
    if moved.is_empty() || !is_only_recording {
        return;
    }
    // Moved ops are unchanged, so a difference in their times counts as a speed difference in unchanged code.
    let at = drafts.draft(ChangeKind::Ops, Subject::Order);
    drafts.at(at).nodes.extend(moved);
    drafts.at(at).position = drafts.position_at(moved[0]);
}
