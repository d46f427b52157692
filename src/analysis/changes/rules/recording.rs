//! Reports Python stacks, input shapes and GPU events that the profiler recorded on one side only.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::identity::gpu_events;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::side::{PerSide, Side};
use crate::tree::CallKind;

/// The kinds of data that a recording may lack: the code of the note that reports the lack, and the
/// name of the data.
const PARTS: [(&str, &str); 2] =
    [("NO_PYTHON_STACKS", "Python stacks"), ("NO_SHAPES", "input shapes")];

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
