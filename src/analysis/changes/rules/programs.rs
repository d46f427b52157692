//! Creates the changes that profiles state about compiled programs. Everything else that differs in such a program is
//! a consequence: the compiler fuses other instructions, and chooses other kernels.

use crate::analysis::changes::counts::Counts;
use crate::analysis::changes::draft::{Draft, Drafts, names};
use crate::analysis::changes::kind::ChangeKind;
use crate::analysis::changes::stated;
use crate::analysis::changes::subject::Subject;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::CompiledProgram;
use crate::tree::CallKind;
use std::collections::BTreeMap;

pub(super) fn claim(drafts: &mut Drafts<'_>) {
    let versions = drafts.diff.trees().map(|tree| tree.trace().header().versions.as_slice());
    let has_same_compiler = versions.baseline == versions.candidate;
    for (one, two) in pairs(drafts) {
        let stated = stated::changes(one, two, has_same_compiler);
        let changes: Vec<usize> = stated
            .into_iter()
            .map(|change| {
                let at = drafts.draft(change.kind, Subject::Sentence(change.sentence));
                drafts.at(at).stated = Some(change.usual);
                at
            })
            .collect();
        fold(drafts, PerSide::new(one, two), &changes);
    }
}

/// The programs that both sides ran. Programs of one name are matched in order if both sides have equally many; a single
/// program may have another name.
fn pairs<'a>(drafts: &Drafts<'a>) -> Vec<(&'a CompiledProgram, &'a CompiledProgram)> {
    let diff = drafts.diff;
    let programs = PerSide::from_fn(|side| diff.tree(side).trace().programs());
    if let ([one], [two]) = (programs.baseline, programs.candidate) {
        return vec![(one, two)];
    }
    let mut named: BTreeMap<&str, PerSide<Vec<&CompiledProgram>>> = BTreeMap::new();
    for side in Side::BOTH {
        for program in programs[side] {
            named.entry(&program.name).or_default()[side].push(program);
        }
    }
    let same = named.into_values().filter(|of| of.baseline.len() == of.candidate.len());
    same.flat_map(|of| of.baseline.into_iter().zip(of.candidate)).collect()
}

/// Folds what differs inside a program into its first change of the same kind or, if there is none, into its first
/// change.
fn fold(drafts: &mut Drafts<'_>, program: PerSide<&CompiledProgram>, changes: &[usize]) {
    let Some(&first) = changes.first() else { return };
    let diff = drafts.diff;
    let is_inside = |node: &MergedId| {
        diff.merged().node(*node).calls().all(|(side, call)| {
            let tree = diff.tree(side);
            let mut above = std::iter::once(call).chain(tree.ancestors(call));
            above.any(|above| {
                tree.kind(above) == CallKind::Frame && tree.name(above) == program[side].name
            })
        })
    };
    // Python code calls the same functions once more for each of the program's inputs and outputs.
    let counts = Counts::of(diff, drafts.compared);
    let is_more_often = |draft: &Draft| {
        draft.kind == ChangeKind::Python && names(draft).all(|name| counts.is_on_both_sides(name))
    };
    let has_other_inputs = program.baseline.inputs.len() != program.candidate.inputs.len();
    for at in 0..drafts.all().len() {
        let draft = &drafts.all()[at];
        if draft.stated.is_some() || draft.kind == ChangeKind::Environment {
            continue;
        }
        let is_consequence = !draft.nodes.is_empty() && draft.nodes.iter().all(is_inside);
        // The runtime allocates what the compiler planned.
        let is_planned = draft.kind == ChangeKind::Workspace;
        if is_consequence || is_planned || has_other_inputs && is_more_often(draft) {
            let kind = draft.kind;
            let same = changes.iter().find(|&&change| drafts.all()[change].kind == kind);
            drafts.fold(at, same.copied().unwrap_or(first));
        }
    }
    // If the inputs have other sizes or types, every kernel processes other data.
    let is_of_data = |&&change: &&usize| {
        matches!(drafts.all()[change].kind, ChangeKind::Shapes | ChangeKind::Precision)
    };
    if let Some(&change) = changes.iter().find(is_of_data) {
        for side in Side::BOTH {
            drafts.add_program(side, &program[side].name, change);
        }
    }
}
