//! Finds repeated calls that can be used as steps, in a tree without recorded steps.
//!
//! Five forward passes of a detector, or four denoising steps, repeat in the same way as training
//! steps:
//!
//! ```text
//! thread
//! └── sample.py: main
//!     └── pipeline.py: __call__
//!         ├── nn.Module: TextEncoder_0
//!         ├── nn.Module: UNet_0      repeat 0
//!         ├── nn.Module: UNet_0      repeat 1
//!         ├── nn.Module: UNet_0      repeat 2
//!         └── nn.Module: Decoder_0
//! ```
//! The search starts at the thread with the most GPU time. The search then repeatedly descends into
//! the child with the most GPU time until siblings with the same name together account for most of
//! the GPU time. The search does not enter modules or ops, because repetitions inside a model are
//! layers. The names of the calls must be equal, including the instance number: `Block_0` and
//! `Block_1` are two layers, but two calls of `UNet_0` are one model called twice.

use super::measure::{Measure, Times};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// Whether repeated calls are used as steps in a trace without recorded steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[doc(hidden)]
pub enum RepeatDetection {
    /// Repeated calls are used as steps.
    #[default]
    Found,
    /// Repeated calls are not used as steps, so a trace without recorded steps has no steps.
    Off,
}

/// The repeated calls that can be used as steps, sorted by start; empty if no calls repeat.
pub(super) fn repeats(tree: &CallTree) -> Vec<CallId> {
    let times = Times::of(tree, Measure::GpuTime);
    let all = times.total();
    let threads = tree.roots().filter(|&root| tree.kind(root) == CallKind::Thread);
    let most = |time: Nanos| time.0 > all.0 / 2;
    let mut at = threads.max_by_key(|&root| (times.below(tree, root), std::cmp::Reverse(root)));
    while let Some(call) = at.filter(|&call| most(times.below(tree, call))) {
        let working: Vec<CallId> =
            tree.children(call).filter(|&child| tree.is_gpu_path(child)).collect();
        let repeating = largest_group(tree, &times, &working);
        let together: Nanos = repeating.iter().map(|&call| times.below(tree, call)).sum();
        if repeating.len() > 1 && most(together) && are_alike(tree, &repeating) {
            return repeating;
        }
        at = working
            .into_iter()
            .filter(|&child| is_outside_of_models(tree, child))
            .max_by_key(|&child| (times.below(tree, child), std::cmp::Reverse(child)));
    }
    Vec::new()
}

/// Groups siblings by name, and returns the group with the most GPU time. Only calls that can be
/// repeats are included.
fn largest_group(tree: &CallTree, times: &Times, siblings: &[CallId]) -> Vec<CallId> {
    let mut groups: BTreeMap<&str, (Nanos, Vec<CallId>)> = BTreeMap::new();
    for &call in siblings.iter().filter(|&&call| can_repeat(tree, call)) {
        let group = groups.entry(tree.name(call)).or_default();
        group.0 += times.below(tree, call);
        group.1.push(call);
    }
    groups.into_values().max_by_key(|group| group.0).map_or_else(Vec::new, |group| group.1)
}

/// Whether a call can be a repeat: only frames and compiled regions qualify. Ops and launches do
/// not qualify, because every model has many ops and launches with the same name.
fn can_repeat(tree: &CallTree, call: CallId) -> bool {
    match tree.kind(call) {
        CallKind::Frame => true,
        CallKind::Op => tree.name(call).starts_with("Torch-Compiled Region"),
        CallKind::Thread | CallKind::Unlinked | CallKind::Runtime | CallKind::Gpu => false,
    }
}

fn is_outside_of_models(tree: &CallTree, call: CallId) -> bool {
    tree.kind(call) == CallKind::Frame && !tree.is_module(call)
}

/// Whether calls do similar work: their numbers of GPU events must be within a factor of two. They
/// need not be equal, because the first call may do more work than later calls.
fn are_alike(tree: &CallTree, calls: &[CallId]) -> bool {
    let counts = || calls.iter().map(|&call| tree.gpu_events(call));
    let most = counts().max().unwrap_or(0);
    counts().min().is_some_and(|least| 2 * least >= most)
}
