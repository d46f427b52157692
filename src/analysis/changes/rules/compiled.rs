//! Folds the consequences of compiled code into the compilation or graph change, and the ops that run
//! during compilation into the warm-up change.

use super::counted;
use crate::analysis::changes::draft::{Drafts, first, fold_where, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::place::Position;
use crate::analysis::changes::subject::Subject;
use crate::analysis::changes::survey::COMPILED_MODULE;
use crate::diff::MergedId;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallTree};
use std::collections::BTreeSet;

/// End of the names of frames that run generated code.
const GENERATED: &str = ".py: call";

/// Substrings in the names of the ops and frames that run while a compiler traces a program.
const COMPILER: [&str; 4] = ["PythonDispatchMode", "FakeTensor", "_dynamo/", "_inductor/"];

/// Folds the consequences of compilation into the compilation or graph change. For example, compiled code has its own
/// wrappers, and returns gradients with different memory layouts.
pub(super) fn into_regions(drafts: &mut Drafts<'_>) {
    let Some(region) = first(drafts, &[ChangeKind::Graphs, ChangeKind::Compilation]) else {
        return;
    };
    if drafts.all()[region].nodes.is_empty() {
        into_unmatched_region(drafts, region);
    }
    let confirmed = counted::confirmed(drafts);
    let kinds = [ChangeKind::Ops, ChangeKind::Python, ChangeKind::Optimizer, ChangeKind::Layers];
    fold_where(drafts, region, &kinds, |draft| {
        // `torch.compile` also wraps optimizers that it does not compile.
        let is_other_optimizer =
            draft.kind == ChangeKind::Optimizer && names(draft).any(|name| name.contains("::"));
        // If a model is both compiled and called more often, the different number of calls remains a separate change, as
        // well as a number of layers that the ops in compiled code confirm.
        let is_other_count = draft.kind == ChangeKind::Layers
            && (draft.position.module.is_empty()
                || confirmed.as_deref() == Some(draft.subject.class()));
        Side::BOTH.into_iter().any(|side| draft.marks[side].compiled) && !is_other_count
            || names(draft).any(|name| name.contains("_dynamo/")) && !is_other_optimizer
            || draft.position.module == COMPILED_MODULE
    });
    // Op changes at the same position as compiled code are consequences: the compiled code replaced these ops.
    let drafts_of_ops = drafts.find(ChangeKind::Ops).into_iter().map(|at| &drafts.all()[at]);
    let positions: BTreeSet<Position> = drafts_of_ops
        .filter(|draft| Side::BOTH.into_iter().any(|side| draft.marks[side].compiled))
        .map(|draft| draft.position.clone())
        .filter(|position| !position.module.is_empty())
        .collect();
    fold_where(drafts, region, &[ChangeKind::Ops], |draft| positions.contains(&draft.position));
    // If the sides split compiled code into different functions, the inputs of these functions also differ.
    if drafts.all()[region].subject == Subject::Divided {
        let kinds = [ChangeKind::Shapes, ChangeKind::MemoryFormat, ChangeKind::Attention];
        fold_where(drafts, region, &kinds, |_| true);
        // Module calls are recorded only outside of compiled code.
        fold_where(drafts, region, &[ChangeKind::Ops, ChangeKind::Python], |draft| {
            draft.position.frame.ends_with(GENERATED)
                || names(draft).any(|name| !name.contains("::"))
        });
    }
    // If an op in compiled code is matched with an op outside of compiled code, compilation
    // explains why their arguments differ.
    let is_of_both = |node: &MergedId| {
        let node = drafts.diff.merged().node(*node);
        let mut is_compiled =
            node.calls().map(|(side, call)| is_in_compiled_code(drafts.diff.tree(side), call));
        is_compiled.next() == is_compiled.next()
    };
    let kinds = [ChangeKind::Shapes, ChangeKind::MemoryFormat, ChangeKind::Arguments];
    fold_where(drafts, region, &kinds, |draft| {
        draft.parameter.is_none() && !draft.nodes.iter().any(is_of_both)
    });
    let kinds = [ChangeKind::Shapes, ChangeKind::MemoryFormat];
    fold_where(drafts, region, &kinds, |draft| {
        !draft.has_forward || draft.subject == Subject::Optimizer
    });
    // A replayed graph replaces the calls at its position.
    for graph in drafts.find(ChangeKind::Graphs) {
        let position = drafts.all()[graph].position.clone();
        let kinds = [ChangeKind::Ops, ChangeKind::Layers, ChangeKind::Python, ChangeKind::HostRead];
        fold_where(drafts, graph, &kinds, |draft| draft.position == position);
    }
    // Fold all other changes into the first. Changes with regions that replaced calls come first, because they describe
    // the change best.
    let mut all = drafts.find(ChangeKind::Graphs);
    all.order_by_key(|&at| drafts.all()[at].subject == Subject::Whole);
    all.extend(drafts.find(ChangeKind::Compilation));
    for &at in all.iter().skip(1) {
        drafts.fold(at, all[0]);
    }
}

/// Merges op changes into the change of an unmatched region: changes of ops in compiled code, and changes in modules
/// that the region replaced. A module counts as replaced if only the side without the region calls it.
fn into_unmatched_region(drafts: &mut Drafts<'_>, region: usize) {
    let found =
        Side::BOTH.into_iter().find(|side| drafts.all()[region].subject == Subject::Side(*side));
    let Some(side) = found else { return };
    let kinds = [ChangeKind::Ops, ChangeKind::Attention];
    for at in kinds.into_iter().flat_map(|kind| drafts.find(kind)).collect::<Vec<usize>>() {
        let draft = &drafts.all()[at];
        let of_class = drafts.modules.calls(&draft.position.module);
        // Without stacks, ops that only the other side has are what compiled code replaced.
        let is_replaced = of_class[side.other()] > 0 && of_class[side] == 0
            || draft.position == Position::default() && draft.names[side].is_empty();
        if !draft.marks[side].compiled && !is_replaced {
            continue;
        }
        let calls = draft.names[side.other()].values().sum::<u64>();
        let position = draft.position.clone();
        let is_first = draft.marks[side].compiled && drafts.all()[region].nodes.is_empty();
        drafts.merge(at, region);
        let whole = drafts.at(region);
        *whole.names[side.other()].entry("call".to_owned()).or_default() += calls;
        if is_first {
            whole.position = position;
        }
    }
}

fn is_in_compiled_code(tree: &CallTree, call: CallId) -> bool {
    let mut above = tree.ancestors(call).map(|above| tree.name(above));
    above.any(|name| name.starts_with("Torch-Compiled Region") || name == "CompiledFunction")
}

/// Folds ops that run during compilation into the warm-up change. During compilation, the compiler calls ops only to
/// determine what they return.
pub(super) fn into_warm_up(drafts: &mut Drafts<'_>) {
    let Some(warm_up) = first(drafts, &[ChangeKind::WarmUp]) else { return };
    for at in drafts.find(ChangeKind::Compilation) {
        drafts.at(at).marks = PerSide::default();
    }
    fold_where(drafts, warm_up, &[ChangeKind::Ops, ChangeKind::Python], |draft| {
        Side::BOTH.into_iter().any(|side| draft.marks[side].compiled)
            || names(draft).any(|name| COMPILER.iter().any(|mark| name.contains(mark)))
    });
}
