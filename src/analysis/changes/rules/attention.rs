//! Folds the consequences of a changed implementation of attention, and recognizes attention that is written out as basic
//! ops.

use super::calls::backend;
use crate::analysis::changes::draft::{Draft, Drafts, first, fold_where, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::{OpFamily, Subject};
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// Ops that rearrange or copy a tensor without computing anything.
const VIEWS: [&str; 8] = [
    "aten::view",
    "aten::clone",
    "aten::_unsafe_view",
    "aten::_reshape_alias",
    "aten::contiguous",
    "TransposeBackward0",
    "ViewBackward0",
    "CloneBackward0",
];

/// Whether the ops of one side are attention that is composed of basic ops: matrix products and a softmax.
fn is_attention(draft: &Draft, side: Side) -> bool {
    let has = |ends: &[&str]| {
        draft.names[side].keys().any(|name| ends.iter().any(|end| name.ends_with(end)))
    };
    has(&["softmax"]) && has(&["aten::matmul", "aten::bmm"])
}

/// Reports written-out attention that only one side has, if the other side alone calls the op for attention. This op
/// may be inside of another change, such as a layer that runs again.
fn written_out(drafts: &mut Drafts<'_>) {
    const ATTENTION: &str = "aten::scaled_dot_product_attention";
    if !drafts.find(ChangeKind::Attention).is_empty() {
        return;
    }
    for ops in drafts.find(ChangeKind::Ops) {
        let draft = &drafts.all()[ops];
        let of = PerSide::from_fn(|side| is_attention(draft, side));
        if of.baseline == of.candidate || drafts.resolve(ops) != ops {
            continue;
        }
        let calls = PerSide::from_fn(|side| {
            let tree = drafts.diff.tree(side);
            let is_counted = |call: &CallId| drafts.compared.is_compared(drafts.diff, side, *call);
            let calls = tree.calls().filter(|&call| tree.name(call) == ATTENTION);
            calls.filter(is_counted).count()
        });
        let side = if of.baseline { Side::Baseline } else { Side::Candidate };
        if calls[side] == 0 && calls[side.other()] > 0 {
            let position = draft.position.clone();
            let at = drafts.draft(ChangeKind::Attention, Subject::Whole);
            drafts.at(at).position = position;
            for _ in 0..calls[side.other()] {
                drafts.at(at).name(side.other(), ATTENTION);
            }
            drafts.merge_named(ops, at);
        }
    }
}

/// Folds the consequences of a changed attention implementation, such as different layouts, into
/// the attention change.
pub(super) fn fold(drafts: &mut Drafts<'_>) {
    written_out(drafts);
    let Some(attention) = first(drafts, &[ChangeKind::Attention]) else { return };
    // Attention that is composed of basic ops consists of matrix products and a softmax.
    for ops in drafts.find(ChangeKind::Ops) {
        let (one, two) = (&drafts.all()[attention], &drafts.all()[ops]);
        let is_written_out = one.position == two.position
            && Side::BOTH.into_iter().any(|side| is_attention(two, side));
        if is_written_out {
            drafts.merge_named(ops, attention);
        }
    }
    fold_where(drafts, attention, &[ChangeKind::KernelSelection], |draft| {
        draft.subject == Subject::Family(OpFamily::Attention)
    });
    fold_where(drafts, attention, &[ChangeKind::MemoryFormat], |draft| draft.has_value("strided"));
    fold_where(drafts, attention, &[ChangeKind::Ops], |draft| {
        names(draft).all(|name| VIEWS.contains(&name))
    });
}

/// Without Python stacks on one side, attention that is only added or removed is part of the other ops that are added or
/// removed, such as those of a layer, or of a graph that replaced it.
pub(super) fn without_place(drafts: &mut Drafts<'_>) {
    if drafts.is_placed() {
        return;
    }
    let only = |draft: &Draft| {
        let is_empty = Side::BOTH.map(|side| draft.names[side].is_empty());
        (is_empty[0] != is_empty[1]).then_some(is_empty)
    };
    for attention in drafts.find(ChangeKind::Attention) {
        let draft = &drafts.all()[attention];
        let sides = only(draft).filter(|_| !names(draft).any(|name| backend(name).is_some()));
        if sides.is_none() {
            continue;
        }
        let mut ops = drafts.find(ChangeKind::Ops).into_iter();
        let ops = ops.find(|&at| drafts.resolve(at) == at && only(&drafts.all()[at]) == sides);
        match (first(drafts, &[ChangeKind::Graphs]), ops) {
            (Some(graph), _) => drafts.fold(attention, graph),
            (None, Some(ops)) => drafts.merge_named(attention, ops),
            (None, None) => {}
        }
    }
}
