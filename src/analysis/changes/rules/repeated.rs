//! Folds the consequences of a model or layer that is called more or less often: work outside of the model that is
//! repeated with it, and ops that seem to have other sizes, because they were matched with those of another layer.

use super::calls::CASTS;
use crate::analysis::changes::counts::Counts;
use crate::analysis::changes::draft::{Drafts, fold_where, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::subject::Subject;
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::trace::Argument;
use crate::tree::{CallId, CallKind};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn fold(drafts: &mut Drafts<'_>) {
    with_the_model(drafts);
    sizes_of_other_layers(drafts);
}

/// A step that calls the whole model twice as often also computes twice as many losses and loads twice as many batches.
fn with_the_model(drafts: &mut Drafts<'_>) {
    let is_outermost = |at: &usize| drafts.all()[*at].position.module.is_empty();
    let models = drafts.find(ChangeKind::Layers).into_iter().filter(is_outermost);
    let models: Vec<usize> = models.collect();
    if models.is_empty() {
        return;
    }
    let counts = Counts::of(drafts.diff, drafts.compared);
    for at in models {
        let calls = drafts.modules.calls(drafts.all()[at].subject.class());
        // The data loader runs more often with the model; its ops may also run elsewhere.
        fold_where(drafts, at, &[ChangeKind::InputPipeline], |draft| {
            draft.names.baseline.is_empty() || draft.names.candidate.is_empty()
        });
        let kinds = [ChangeKind::Ops, ChangeKind::InputPipeline, ChangeKind::Attention];
        fold_where(drafts, at, &kinds, |draft| {
            let is_work = |name: &&str| name.contains("::") && !CASTS.contains(name);
            let mut repeated = names(draft).filter(is_work).peekable();
            draft.position.module.is_empty()
                && repeated.peek().is_some()
                && repeated.all(|name| counts.has_ratio(name, calls))
        });
    }
}

/// If the number of layers differs, the ops of one layer may be matched with those of another layer. Their sizes then
/// seem to differ, although the side with more layers calls the op with the sizes of both.
fn sizes_of_other_layers(drafts: &mut Drafts<'_>) {
    let causes = [ChangeKind::Layers, ChangeKind::Checkpointing];
    let mut causes = causes.into_iter().flat_map(|kind| drafts.find(kind));
    let layers = causes.find(|&at| drafts.resolve(at) == at);
    // The same calls in a different order are matched with each other's counterparts, too.
    let mut ops = drafts.find(ChangeKind::Ops).into_iter();
    let order = ops.find(|&at| {
        let draft = &drafts.all()[at];
        drafts.resolve(at) == at && draft.names.baseline == draft.names.candidate
    });
    let Some(cause) = layers.or(order) else { return };
    let shapes = drafts.find(ChangeKind::Shapes);
    let shapes: Vec<usize> =
        shapes.into_iter().filter(|&at| drafts.all()[at].subject != Subject::Optimizer).collect();
    if shapes.is_empty() {
        return;
    }
    let known = PerSide::from_fn(|side| shapes_of_ops(drafts, side));
    for at in shapes {
        let diff = drafts.diff;
        // The side with fewer layers calls no op with sizes that the other side does not know.
        let is_known = |side: Side| {
            drafts.all()[at].nodes.iter().all(|&node| {
                let call = diff.merged().node(node).call(side);
                let shape = call.and_then(|call| Some((call, shape(diff, side, call)?)));
                shape.is_some_and(|(call, shape)| {
                    let others = known[side.other()].get(diff.tree(side).name(call));
                    others.is_some_and(|others| others.contains(shape))
                })
            })
        };
        let of_sides = Side::BOTH.map(is_known);
        if of_sides == [true, true] || layers.is_some() && of_sides != [false, false] {
            drafts.fold(at, cause);
        }
    }
}

/// For each op, the sizes of the tensors with which one side calls it.
fn shapes_of_ops<'a>(drafts: &Drafts<'a>, side: Side) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let diff = drafts.diff;
    let tree = diff.tree(side);
    let mut shapes: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let is_op = |call: &CallId| {
        tree.kind(*call) == CallKind::Op && drafts.compared.is_compared(diff, side, *call)
    };
    for call in tree.calls().filter(is_op) {
        shapes.entry(tree.name(call)).or_default().extend(shape(diff, side, call));
    }
    shapes
}

fn shape(diff: &TraceDiff, side: Side, call: CallId) -> Option<&str> {
    let tree = diff.tree(side);
    let arguments = tree.arguments(call)?;
    Some(tree.trace().text(arguments.text(Argument::Shape)))
}
