//! Reports a changed order of calls if matched ops run at other positions.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::diff::MergedId;

/// Subject of a change in the order of calls.
pub(in crate::analysis::changes) const ORDER: &str = "order";

/// Reports ops that run at another position, if nothing else changed. Otherwise such an op may have been
/// removed at one position and added at another.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>, moved: &[MergedId]) {
    let is_only_recording = drafts.all().iter().all(|draft| draft.kind == ChangeKind::Recording);
    if moved.is_empty() || !is_only_recording {
        return;
    }
    // The ops themselves are unchanged, so their times count as the same program at another speed.
    let at = drafts.draft(ChangeKind::Ops, ORDER);
    drafts.at(at).nodes.extend(moved);
    drafts.at(at).position = drafts.position_at(moved[0]);
}
