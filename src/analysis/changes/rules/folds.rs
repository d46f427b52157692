//! The folds, in order of execution. Each fold assigns the consequences of changes to their causes, or reports a change
//! from what the rules before it left.

use super::{
    anomaly, attention, compiled, consequences, counted, inside, libraries, nesting, programs,
    repeated, replaced,
};
use crate::analysis::changes::draft::Drafts;
use crate::analysis::changes::survey::Modules;

/// A rule that assigns the consequences of changes to their causes.
pub(in crate::analysis::changes) struct Fold {
    /// The name that `explain` prints, and that the ablation skips.
    pub(in crate::analysis::changes) name: &'static str,
    /// Why a change is a consequence of another.
    pub(in crate::analysis::changes) reason: &'static str,
    apply: fn(&mut Drafts<'_>, &Modules<'_>),
}

const fn fold(
    name: &'static str,
    reason: &'static str,
    apply: fn(&mut Drafts<'_>, &Modules<'_>),
) -> Fold {
    Fold { name, reason, apply }
}

/// All folds, in order of execution.
pub(in crate::analysis::changes) static FOLDS: [Fold; 26] = [
    fold("programs", "the profile states what changed in the compiled program", |drafts, _| {
        programs::claim(drafts);
    }),
    fold("switches", "a library setting selects the kernels", |drafts, _| {
        consequences::switches_into_kernels(drafts);
    }),
    fold("modes", "kernels and math mode are selected together", |drafts, _| {
        consequences::modes_and_selection(drafts);
    }),
    fold("environment", "another device or library runs other kernels", |drafts, _| {
        consequences::into_environment(drafts);
    }),
    fold("libraries", "the version of a library changes what its functions call", |drafts, _| {
        libraries::claim(drafts);
    }),
    fold("anomaly", "anomaly detection checks every result", |drafts, _| anomaly::claim(drafts)),
    fold("zeroing", "the optimizer sets gradients to zero in its own way", |drafts, _| {
        consequences::zeroing_into_optimizer(drafts);
    }),
    fold("regions", "compiled code or a graph replaces the calls", compiled::into_regions),
    fold("warm_up", "code is compiled during the measured steps", |drafts, _| {
        compiled::into_warm_up(drafts);
    }),
    fold("inside", "calls inside of replaced code state the change", |drafts, _| {
        inside::claim(drafts);
    }),
    fold("counted", "the numbers of library ops say how often a layer runs", counted::claim),
    fold("autocast", "only one side calls torch.autocast", |drafts, _| {
        consequences::autocast(drafts);
    }),
    fold("precision", "another element type needs casts", |drafts, _| {
        consequences::into_precision(drafts);
    }),
    fold("format", "another memory format needs copies", |drafts, _| {
        consequences::into_format(drafts);
    }),
    fold("casts", "the casts belong to the ops in the same function", |drafts, _| {
        consequences::casts_into_ops(drafts);
    }),
    fold("attention", "attention runs in another way", |drafts, _| attention::fold(drafts)),
    fold("layers", "another number of layers runs", consequences::into_layers),
    fold("repeated", "the model is called more or less often", repeated::fold),
    fold("attention_without_place", "attention is a part of other ops", |drafts, _| {
        attention::without_place(drafts);
    }),
    fold("replaced", "a module replaces another", replaced::fold),
    fold("optimizer", "the optimizer updates more or fewer tensors", |drafts, _| {
        consequences::optimizer_into_structure(drafts);
    }),
    fold("backward", "the backward pass follows from the forward pass", |drafts, _| {
        consequences::backward_into_forward(drafts);
    }),
    fold("parameters", "parameters without another explanation", |drafts, _| {
        counted::parameters(drafts);
    }),
    fold("arrangement", "sizes, values and order follow from another change", |drafts, _| {
        consequences::into_any(drafts);
    }),
    fold("python", "the Python call belongs to the change in the same function", |drafts, _| {
        consequences::streams_and_python(drafts);
    }),
    fold("nesting", "times in whole microseconds leave the nesting open", |drafts, _| {
        nesting::fold(drafts);
    }),
];

/// Runs all folds except those with the given names.
pub(in crate::analysis::changes) fn run(
    drafts: &mut Drafts<'_>,
    modules: &Modules<'_>,
    without: &[&str],
) {
    for fold in FOLDS.iter().filter(|fold| !without.contains(&fold.name)) {
        drafts.folding = fold.name;
        (fold.apply)(drafts, modules);
    }
    drafts.folding = "";
}
