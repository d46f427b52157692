//! Counts how often each side makes the calls with a name, wherever they are.

use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::tree::{AUTOGRAD_PREFIX, CallId, CallKind, ModuleName};
use rustc_hash::FxHashMap;

/// For each op, module class and function, the number of its calls in the compared steps.
pub(super) struct Counts<'a>(FxHashMap<&'a str, PerSide<u64>>);

impl<'a> Counts<'a> {
    pub(super) fn of(diff: &'a TraceDiff, compared: &StepPairs) -> Counts<'a> {
        let mut counts: FxHashMap<&str, PerSide<u64>> = FxHashMap::default();
        for side in Side::BOTH {
            let tree = diff.tree(side);
            for call in tree.calls().filter(|&call| compared.is_compared(diff, side, call)) {
                let name = match tree.kind(call) {
                    CallKind::Op => {
                        let name = tree.name(call);
                        // Under `autocast`, an op contains itself.
                        if tree.parent(call).is_some_and(|above| tree.name(above) == name) {
                            continue;
                        }
                        name.strip_prefix(AUTOGRAD_PREFIX).unwrap_or(name)
                    }
                    CallKind::Frame if tree.is_module(call) => {
                        ModuleName::class_or_name(tree.name(call))
                    }
                    CallKind::Frame | CallKind::Runtime => diff.plain_name(side, call),
                    CallKind::Thread | CallKind::Unlinked | CallKind::Gpu => continue,
                };
                counts.entry(name).or_default()[side] += 1;
            }
        }
        Counts(counts)
    }

    /// Whether both sides make calls with a name.
    pub(super) fn is_on_both_sides(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|calls| calls.baseline > 0 && calls.candidate > 0)
    }

    /// Whether both sides make the calls with a name, in the ratio of the two counts.
    pub(super) fn has_ratio(&self, name: &str, of: PerSide<u64>) -> bool {
        self.0.get(name).is_some_and(|calls| {
            calls.baseline > 0
                && calls.candidate > 0
                && calls.baseline * of.candidate == calls.candidate * of.baseline
        })
    }
}

/// Whether an op accumulates the gradient of a parameter.
pub(super) fn is_accumulation(name: &str) -> bool {
    name.ends_with("AccumulateGrad")
}

/// The number of gradients that each side accumulates in the compared steps.
pub(super) fn accumulations(diff: &TraceDiff, compared: &StepPairs) -> PerSide<u64> {
    PerSide::from_fn(|side| {
        let tree = diff.tree(side);
        let is_counted = |call: &CallId| {
            tree.kind(*call) == CallKind::Op
                && is_accumulation(tree.name(*call))
                && !tree.name(*call).starts_with(AUTOGRAD_PREFIX)
                && compared.is_compared(diff, side, *call)
        };
        tree.calls().filter(is_counted).count() as u64
    })
}
