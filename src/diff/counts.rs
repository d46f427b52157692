//! Counts how often the tokens of calls occur on each side, and adds up numbers.

use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::ops::AddAssign;

/// For each token, the number of calls with this token on each side.
pub(super) fn of_tokens<T: Eq + Hash>(
    calls: PerSide<impl Iterator<Item = u32>>,
    token: impl Fn(Side, u32) -> T,
) -> FxHashMap<T, PerSide<u32>> {
    let mut counts: FxHashMap<T, PerSide<u32>> = FxHashMap::default();
    for (side, calls) in Side::BOTH.into_iter().zip([calls.baseline, calls.candidate]) {
        calls.for_each(|call| counts.entry(token(side, call)).or_default()[side] += 1);
    }
    counts
}

/// For each position, the sum of the numbers before it; one additional entry at the end contains the total.
pub(super) fn sums<T: Copy + Default + AddAssign>(numbers: impl Iterator<Item = T>) -> Vec<T> {
    let mut sum = T::default();
    let mut sums = vec![sum];
    sums.extend(numbers.map(|number| {
        sum += number;
        sum
    }));
    sums
}
