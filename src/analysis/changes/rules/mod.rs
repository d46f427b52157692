//! The rules that turn facts into changes. Most rules examine individual calls instead of totals over the trace, so
//! that one change cannot hide another.

pub(super) mod anomaly;
pub(super) mod arguments;
mod attention;
pub(super) mod calls;
pub(super) mod compiled;
pub(super) mod consequences;
mod counted;
pub(super) mod folds;
mod inside;
pub(super) mod kernels;
pub(super) mod libraries;
pub(super) mod memory;
mod parameters;
mod peaks;
mod programs;
pub(super) mod recording;
pub(super) mod regions;
mod repeated;
mod replaced;
pub(super) mod runtime;

use super::draft::Drafts;
use super::facts::Facts;
use super::survey::{Surveyor, autograd_node};
use crate::diff::MergedId;

/// Assigns the facts about calls and arguments to changes. Outer calls are assigned before inner calls, and the forward
/// pass before the backward pass, because a change must exist before its consequences can be assigned to it.
pub(super) fn claim_calls(drafts: &mut Drafts<'_>, facts: &Facts) {
    let values = arguments::Values::of(drafts.diff, drafts.wall, &facts.arguments);
    let mut surveyor = Surveyor::new(drafts.diff);
    let mut all: Vec<(bool, MergedId, Option<usize>)> = Vec::new();
    let is_backward = |node| autograd_node(drafts.diff, node).is_some();
    all.extend(facts.calls.iter().map(|&root| (is_backward(root), root, None)));
    let arguments = facts.arguments.iter().enumerate();
    all.extend(arguments.map(|(at, (node, _))| (is_backward(*node), *node, Some(at))));
    all.sort_unstable();
    for (_, node, fact) in all {
        match fact {
            None => calls::claim(drafts, &mut surveyor, node),
            Some(at) => arguments::claim(drafts, node, &facts.arguments[at].1, &values),
        }
    }
}
