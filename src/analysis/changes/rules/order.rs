//! Reports that calls run in a different order if matched ops were moved and nothing else changed.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::diff::MergedId;

/// Reports moved ops if nothing else changed. If something else changed, an op may have been removed at one position
/// and added at another instead of being moved.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>, moved: &[MergedId]) {
    let is_only_recording = drafts.all().iter().all(|draft| draft.kind == ChangeKind::Recording);
    if moved.is_empty() || !is_only_recording {
        return;
    }
    // Moved ops are unchanged, so a difference in their times counts as a speed difference in unchanged code.
    let at = drafts.draft(ChangeKind::Ops, Subject::Order);
    drafts.at(at).nodes.extend(moved);
    drafts.at(at).position = drafts.position_at(moved[0]);
}
