//! Summarizes the calls of each step, and measures how similar two steps are.

use super::align::shared_in_order;
use super::outline::{Outline, Token};
use crate::program::{StepId, Steps};
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};

/// Step similarity is measured in twentieths. This unit is coarse enough to ignore small differences, because two
/// recordings of the same step are never exactly identical.
pub(super) const PARTS: usize = 20;

/// Similarity of two steps that make exactly the same calls; higher than that of any other two steps.
const EQUAL: usize = PARTS + 1;

/// Hashes of the evidence tokens in a step, regardless of order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Sum {
    /// The hash of all tokens.
    all: u64,
    /// The hash of the argument records, which do not depend on the platform.
    pub(super) arguments: u64,
}

/// The sum of each step.
pub(super) fn sums(steps: &Steps, outline: &Outline<'_>) -> Vec<Sum> {
    let hash = |token: Token| {
        let mut hasher = FxHasher::default();
        token.hash(&mut hasher);
        hasher.finish().rotate_left(17)
    };
    let of_step = |step: StepId| {
        let mut sum = Sum { all: 0, arguments: 0 };
        let calls = steps.calls_of(step).flatten();
        for token in calls.flat_map(|call| outline.tokens(call as u32)).flatten() {
            let hash = hash(token);
            sum.all = sum.all.wrapping_add(hash);
            if Outline::is_of_arguments(token) {
                sum.arguments = sum.arguments.wrapping_add(hash);
            }
        }
        sum
    };
    (0..steps.len() as u32).map(|step| of_step(StepId(step))).collect()
}

/// The contents of each step: the evidence tokens of its calls. Steps with the same tokens share one entry.
pub(super) struct Contents {
    /// For each step, the number of its contents.
    pub(super) kinds: PerSide<Vec<usize>>,
    bags: Vec<Vec<Token>>,
    known: FxHashMap<(usize, usize), usize>,
}

impl Contents {
    pub(super) fn new(steps: PerSide<&Steps>, outlines: PerSide<&Outline<'_>>) -> Contents {
        let mut numbers: FxHashMap<Vec<Token>, usize> = FxHashMap::default();
        let mut kinds: PerSide<Vec<usize>> = PerSide::default();
        for side in Side::BOTH {
            for step in (0..steps[side].len() as u32).map(StepId) {
                let calls = steps[side].calls_of(step).flatten();
                let tokens = calls.flat_map(|call| outlines[side].tokens(call as u32));
                let mut bag: Vec<Token> = tokens.flatten().collect();
                bag.sort_unstable();
                let next = numbers.len();
                kinds[side].push(*numbers.entry(bag).or_insert(next));
            }
        }
        let mut bags = vec![Vec::new(); numbers.len()];
        numbers.into_iter().for_each(|(bag, number)| bags[number] = bag);
        Contents { kinds, bags, known: FxHashMap::default() }
    }

    /// The similarity of two steps: from 0 to [`PARTS`], or [`EQUAL`] if they make the same calls.
    pub(super) fn likeness(&mut self, a: usize, b: usize) -> usize {
        let kinds = (self.kinds.baseline[a], self.kinds.candidate[b]);
        if kinds.0 == kinds.1 {
            return EQUAL;
        }
        let bags = &self.bags;
        *self.known.entry(kinds).or_insert_with(|| likeness(&bags[kinds.0], &bags[kinds.1]))
    }
}

fn likeness(one: &[Token], two: &[Token]) -> usize {
    let common = shared_in_order(one, two);
    match one.len() + two.len() {
        0 => PARTS,
        // The similarity is rounded, so one or two differing calls do not matter.
        all => (2 * common * PARTS + all / 2) / all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_counts_what_both_sides_have() {
        assert_eq!(likeness(&[1, 1, 2, 3], &[1, 1, 2, 3]), PARTS);
        assert_eq!(likeness(&[1, 1], &[1, 2]), PARTS / 2);
        assert_eq!((likeness(&[], &[]), likeness(&[1], &[])), (PARTS, 0));
    }
}
