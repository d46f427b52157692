//! Chooses the usual cause of a change. A cause is mentioned only if the change itself is evidence for it.

use super::draft::Draft;
use super::facts::is_first_input_larger;
use super::kind::ChangeKind;
use super::optimizer;
use super::subject::Subject;
use crate::diff::TraceDiff;
use crate::side::Side;
use crate::trace::Recorder;

/// The setting or code that usually causes such a change; empty if there is none.
pub(super) fn usual(diff: &TraceDiff, draft: &Draft) -> &'static str {
    let kind = draft.kind;
    if let Some(usual) = draft.stated {
        return usual;
    }
    // These settings are PyTorch's.
    let is_xla = |&side: &Side| diff.tree(side).trace().header().recorder == Recorder::Xla;
    if Side::BOTH.iter().all(is_xla) {
        return "";
    }
    if kind == ChangeKind::Ops && draft.subject == Subject::Anomaly {
        "torch.autograd.set_detect_anomaly(True)"
    } else if kind == ChangeKind::Optimizer {
        optimizer::usual(&optimizer::reason(diff, draft).0)
    } else if kind == ChangeKind::Shapes {
        sizes(diff, draft)
    } else if kind == ChangeKind::MemoryFormat && !draft.has_value("channels_last")
        || kind == ChangeKind::Recording && !draft.nodes.is_empty()
    {
        // Recordings that contain different layers have no usual cause, either.
        ""
    } else {
        kind.usual()
    }
}

fn sizes(diff: &TraceDiff, draft: &Draft) -> &'static str {
    match &draft.operand {
        Some(operand) if operand.is_kernel => "",
        Some(_) => "model size",
        None if draft.subject == Subject::Optimizer => "model size",
        None if is_first_input_larger(diff) => "batch size, sequence length",
        None => "",
    }
}
