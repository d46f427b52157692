//! Finds out how the optimizer changed: another optimizer, another implementation, other parameter groups, or other
//! gradients after `zero_grad`.

use super::draft::Draft;
use super::rules::consequences::optimizer_ops;
use super::subject::Subject;
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::{BTreeMap, BTreeSet};

/// What changed in the optimizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// The class of the optimizer on each side.
    Class(PerSide<String>),
    /// The implementation on each side: `fused`, `foreach`, or `one tensor at a time`.
    Implementation(PerSide<&'static str>),
    /// The number of parameter groups on each side.
    Groups(PerSide<usize>),
    /// Only this side sets gradients to zero instead of `None`.
    Zeroed(Side),
    /// Only the calls are known.
    Calls,
}

/// What changed in the optimizer, and the name of the optimizer.
pub(super) fn reason(diff: &TraceDiff, draft: &Draft) -> (Reason, String) {
    let classes = PerSide::from_fn(|side| class(diff, side));
    let name = classes.baseline.clone().or(classes.candidate.clone());
    let name = name.unwrap_or_else(|| "The optimizer".to_owned());
    if draft.subject == Subject::Zeroing {
        let zeroes = PerSide::from_fn(|side| has_ops(draft, side));
        let reason = match (zeroes.baseline, zeroes.candidate) {
            (true, false) => Reason::Zeroed(Side::Baseline),
            (false, true) => Reason::Zeroed(Side::Candidate),
            (true, true) | (false, false) => Reason::Calls,
        };
        return (reason, name);
    }
    let runs = PerSide::from_fn(|side| implementation(&optimizer_ops(diff, side)));
    let groups = PerSide::from_fn(|side| groups(diff.tree(side)));
    let reason = match (classes, runs, groups) {
        (PerSide { baseline: Some(a), candidate: Some(b) }, ..) if a != b => {
            Reason::Class(PerSide::new(a, b))
        }
        (_, PerSide { baseline: Some(a), candidate: Some(b) }, _) if a != b => {
            Reason::Implementation(PerSide::new(a, b))
        }
        (_, _, groups)
            if groups.baseline != groups.candidate && groups.baseline.min(groups.candidate) > 0 =>
        {
            Reason::Groups(groups)
        }
        _ => Reason::Calls,
    };
    (reason, name)
}

/// Whether the change contains ops on one side, and not only frames.
pub(super) fn has_ops(draft: &Draft, side: Side) -> bool {
    draft.names[side].keys().any(|name| name.contains("::"))
}

/// The setting that usually causes such a change; empty if there is none.
pub(super) fn usual(reason: &Reason) -> &'static str {
    match reason {
        Reason::Implementation(_) => "the optimizer's fused= and foreach= options",
        Reason::Zeroed(_) => "zero_grad(set_to_none=)",
        Reason::Class(_) | Reason::Groups(_) | Reason::Calls => "",
    }
}

/// The class of the optimizer on one side, from the name of the range around a step.
fn class(diff: &TraceDiff, side: Side) -> Option<String> {
    let trace = diff.tree(side).trace();
    trace.events().find_map(|event| {
        let name = trace.name(event).strip_prefix("Optimizer.step#")?;
        Some(name.split('.').next().unwrap_or(name).to_owned())
    })
}

/// How the optimizer updates parameters: `fused`, `foreach`, or `one tensor at a time`.
fn implementation(ops: &BTreeSet<&str>) -> Option<&'static str> {
    let has =
        |start: &str| ops.iter().any(|op| op.starts_with(start) && *op != "aten::_foreach_zero_");
    match () {
        () if has("aten::_fused_") => Some("fused"),
        () if has("aten::_foreach_") => Some("foreach"),
        () if has("aten::") => Some("one tensor at a time"),
        () => None,
    }
}

/// The number of parameter groups: an optimizer of PyTorch calls `_init_group` once for each group. 0 if unknown.
fn groups(tree: &CallTree) -> usize {
    let mut counts: BTreeMap<Option<CallId>, usize> = BTreeMap::new();
    let is_group = |&call: &CallId| {
        let name = || tree.name(call);
        tree.kind(call) == CallKind::Frame
            && name().starts_with("torch/optim/")
            && name().ends_with(": _init_group")
    };
    for call in tree.calls().filter(is_group) {
        *counts.entry(tree.parent(call)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}
