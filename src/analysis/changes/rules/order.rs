//! Matched ops at another place → the order of the calls changed.

use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::kind::ChangeKind;
use crate::diff::MergedId;

/// The subject of the change.
pub(in crate::analysis::changes) const ORDER: &str = "order";

/// Reports ops that run at another place, if nothing else changed. Next to other changes, an op at another place
/// may be one that was added and one that was removed.
pub(in crate::analysis::changes) fn claim(drafts: &mut Drafts<'_>, moved: &[MergedId]) {
    let is_only_recording = drafts.all().iter().all(|draft| draft.kind == ChangeKind::Recording);
    if moved.is_empty() || !is_only_recording {
        return;
    }
    // The ops are still the same ones, so their times stay with the program at another speed.
    let at = drafts.draft(ChangeKind::Ops, ORDER);
    drafts.at(at).nodes.extend(moved);
    drafts.at(at).position = drafts.position_at(moved[0]);
}
