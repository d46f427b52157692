//! Finds the module classes whose instance numbers identify layers. Such numbers matter if a recording begins in the
//! middle of a layer stack.
//!
//! ```text
//! trace1   blocks_3 … blocks_9 … blocks_19
//! trace2              blocks_9 … blocks_19 … blocks_23
//! ```
//! Kineto numbers the instances of a class as it encounters them. These numbers therefore do not identify positions in
//! the model and are not part of keys. Other recorders read the path of a module (`blocks.9`), which contains the
//! position, so the same number identifies the same layer on both sides. If such a recording begins after the first
//! layer, the alignment must not match layers with different numbers.

use crate::side::{PerSide, Side};
use crate::trace::{CUT_MODULE, Recorder};
use crate::tree::{CallTree, ModuleName};
use std::collections::{BTreeMap, BTreeSet};

/// A module class for which the two traces contain different layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Window {
    /// Name of the module class.
    pub(crate) class: String,
    /// The numbers of the layers that each side contains.
    pub(crate) numbers: PerSide<BTreeSet<u64>>,
}

impl Window {
    /// The layers on one side, as ranges of numbers: `3–19`, or `3–9, 12` if numbers in between are missing.
    pub(crate) fn shown(&self, side: Side) -> String {
        ranges(&self.numbers[side])
    }

    /// The layers that both sides contain; `None` if there are no common layers.
    pub(crate) fn common(&self) -> Option<String> {
        let PerSide { baseline, candidate } = &self.numbers;
        let both: BTreeSet<u64> = baseline.intersection(candidate).copied().collect();
        (!both.is_empty()).then(|| ranges(&both))
    }
}

/// Whether a name belongs to a module whose class is in `windows`, or to a module that was only partly recorded.
pub(super) fn is_numbered(windows: &[Window], name: &str) -> bool {
    ModuleName::of(name).is_some_and(|module| {
        let is_cut = module.instance.ends_with(CUT_MODULE);
        is_cut || windows.iter().any(|window| window.class == module.class)
    })
}

/// The module classes for which the traces contain different layers, because a recording began after the first layer.
pub(super) fn of(trees: PerSide<&CallTree>) -> Vec<Window> {
    let knows_positions = |side: Side| trees[side].trace().header().recorder != Recorder::Kineto;
    if !Side::BOTH.into_iter().all(knows_positions) {
        return Vec::new();
    }
    let mut classes: BTreeMap<&str, PerSide<BTreeSet<u64>>> = BTreeMap::new();
    for side in Side::BOTH {
        let tree = trees[side];
        for module in tree.module_calls().filter_map(|call| ModuleName::of(tree.name(call))) {
            if let Some(number) = module.number.and_then(|number| number.parse().ok()) {
                classes.entry(module.class).or_default()[side].insert(number);
            }
        }
    }
    let is_shifted = |numbers: &PerSide<BTreeSet<u64>>| {
        let firsts = numbers.as_ref().map(|numbers| numbers.first().copied());
        let begins_late = firsts.baseline.max(firsts.candidate) > Some(0);
        numbers.baseline != numbers.candidate
            && firsts.baseline.is_some()
            && firsts.candidate.is_some()
            && begins_late
    };
    let shifted = classes.into_iter().filter(|(_, numbers)| is_shifted(numbers));
    shifted.map(|(class, numbers)| Window { class: class.to_owned(), numbers }).collect()
}

/// `3–19, 23`.
fn ranges(numbers: &BTreeSet<u64>) -> String {
    let numbers: Vec<u64> = numbers.iter().copied().collect();
    let shown = numbers.chunk_by(|one, two| one + 1 == *two).map(|range| match *range {
        [first, .., last] => format!("{first}–{last}"),
        [only] => only.to_string(),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_printed_as_ranges() {
        let set = |numbers: &[u64]| numbers.iter().copied().collect::<BTreeSet<u64>>();
        let numbers = PerSide::new(set(&[3, 4, 5, 9]), set(&[5, 9, 10]));
        let window = Window { class: "blocks".to_owned(), numbers };
        assert_eq!(window.shown(Side::Baseline), "3–5, 9");
        assert_eq!(window.shown(Side::Candidate), "5, 9–10");
        assert_eq!(window.common().as_deref(), Some("5, 9"));
    }
}
