//! The folds, in order of execution. Each fold assigns the consequences of changes to their causes, or reports a change
//! from what the rules before it left.

use super::{
    anomaly, attention, compiled, consequences, counted, inside, libraries, programs, recording,
    repeated, replaced,
};
use crate::analysis::changes::draft::Drafts;

/// A rule that assigns the consequences of changes to their causes.
pub(in crate::analysis::changes) struct Fold {
    /// The name that `explain` prints, and that the ablation skips.
    pub(in crate::analysis::changes) name: &'static str,
    /// Why a change is a consequence of another.
    pub(in crate::analysis::changes) reason: &'static str,
    apply: fn(&mut Drafts<'_>),
}

const fn fold(name: &'static str, reason: &'static str, apply: fn(&mut Drafts<'_>)) -> Fold {
    Fold { name, reason, apply }
}

/// All folds, in order of execution.
pub(in crate::analysis::changes) static FOLDS: [Fold; 26] = [
    fold("programs", "the profile states what changed in the compiled program", programs::claim),
    fold("switches", "a library setting selects the kernels", consequences::switches_into_kernels),
    fold("modes", "kernels and math mode are selected together", consequences::modes_and_selection),
    fold(
        "environment",
        "another device or library runs other kernels",
        consequences::into_environment,
    ),
    fold("libraries", "the version of a library changes what its functions call", libraries::claim),
    fold("anomaly", "anomaly detection checks every result", anomaly::claim),
    fold(
        "zeroing",
        "the optimizer sets gradients to zero in its own way",
        consequences::zeroing_into_optimizer,
    ),
    fold("regions", "compiled code or a graph replaces the calls", compiled::into_regions),
    fold("warm_up", "code is compiled during the measured steps", compiled::into_warm_up),
    fold("inside", "calls inside of replaced code state the change", inside::claim),
    fold("counted", "the numbers of library ops say how often a layer runs", counted::claim),
    fold("autocast", "only one side calls torch.autocast", consequences::autocast),
    fold("precision", "another element type needs casts", consequences::into_precision),
    fold("format", "another memory format needs copies", consequences::into_format),
    fold("casts", "the casts belong to the ops in the same function", consequences::casts_into_ops),
    fold("attention", "attention runs in another way", attention::fold),
    fold("layers", "another number of layers runs", consequences::into_layers),
    fold("repeated", "the model is called more or less often", repeated::fold),
    fold("attention_without_place", "attention is a part of other ops", attention::without_place),
    fold("replaced", "a module replaces another", replaced::fold),
    fold(
        "optimizer",
        "the optimizer updates more or fewer tensors",
        consequences::optimizer_into_structure,
    ),
    fold(
        "backward",
        "the backward pass follows from the forward pass",
        consequences::backward_into_forward,
    ),
    fold("parameters", "parameters without another explanation", counted::parameters),
    fold(
        "arrangement",
        "sizes, values and order follow from another change",
        consequences::into_any,
    ),
    fold(
        "python",
        "the Python call belongs to the change in the same function",
        consequences::streams_and_python,
    ),
    fold("nesting", "times in whole microseconds leave the nesting open", recording::nesting),
];

/// Runs all folds except those with the given names.
pub(in crate::analysis::changes) fn run(drafts: &mut Drafts<'_>, without: &[&str]) {
    for fold in FOLDS.iter().filter(|fold| !without.contains(&fold.name)) {
        drafts.folding = fold.name;
        (fold.apply)(drafts);
    }
    drafts.folding = "";
}
