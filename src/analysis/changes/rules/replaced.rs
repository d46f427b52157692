//! If ops or modules were replaced, folds the consequences into the change that contains the replacement.

use crate::analysis::changes::draft::{Drafts, fold_where, names};
use crate::analysis::changes::facts::is_first_input_larger;
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::Position;
use crate::side::Side;
use std::collections::BTreeSet;

pub(super) fn fold(drafts: &mut Drafts<'_>) {
    into_modules(drafts);
    into_ops(drafts);
}

/// If a module was replaced, folds changes inside this module into the change that contains the replacement. A module
/// counts as replaced if only one side calls its class.
fn into_modules(drafts: &mut Drafts<'_>) {
    for at in drafts.find(ChangeKind::Ops) {
        let draft = &drafts.all()[at];
        let is_replacement = Side::BOTH.iter().all(|&side| !draft.names[side].is_empty());
        if !is_replacement || drafts.resolve(at) != at {
            continue;
        }
        let is_on_one_side = |class: &&str| {
            let calls = drafts.modules.calls(class);
            (calls.baseline == 0) != (calls.candidate == 0)
        };
        let replaced: BTreeSet<String> =
            names(draft).filter(is_on_one_side).map(str::to_owned).collect();
        fold_where(drafts, at, &[ChangeKind::Ops, ChangeKind::Python], |draft| {
            replaced.contains(&draft.position.module)
        });
    }
}

/// Folds layout and size changes into a change that replaces ops, if the replacement explains them: the new op may
/// return tensors with a different layout, or may be matched with an op whose tensors have a different size.
fn into_ops(drafts: &mut Drafts<'_>) {
    let causes = [ChangeKind::Attention, ChangeKind::Ops].map(|kind| drafts.find(kind)).concat();
    // Without stacks on one side, added ops are nowhere, and an op inside of them may be matched with another one.
    let is_anywhere = !drafts.is_placed() && !is_first_input_larger(drafts.diff);
    for at in causes {
        let (position, nodes, replaced, from) = {
            let draft = &drafts.all()[at];
            let names: BTreeSet<String> = names(draft).map(str::to_owned).collect();
            (draft.position.clone(), draft.nodes.len(), names, draft.nodes.first().copied())
        };
        let is_cause = drafts.resolve(at) == at && (position != Position::default() || is_anywhere);
        if !is_cause || !drafts.all()[at].has_forward {
            continue;
        }
        let is_here = |other: &Position| {
            if position.module.is_empty() {
                *other == position
            } else {
                other.module == position.module
            }
        };
        fold_where(drafts, at, &[ChangeKind::MemoryFormat], |draft| {
            replaced.contains(&draft.position.module)
                || is_here(&draft.position) && !draft.has_value("channels_last")
        });
        let is_replacement =
            Side::BOTH.iter().all(|&side| !drafts.all()[at].names[side].is_empty());
        if is_replacement || is_anywhere {
            fold_where(drafts, at, &[ChangeKind::Shapes], |draft| {
                (is_here(&draft.position) || replaced.contains(&draft.position.module))
                    && draft.nodes.len() <= nodes
                    && (draft.nodes.first().copied() > from || is_anywhere)
            });
        }
    }
}
