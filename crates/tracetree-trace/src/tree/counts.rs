//! Stores running counts over calls in preorder. The count within a subtree is the difference
//! between two running counts.

use std::ops::Range;

/// For each position, the sum of the amounts before that position; the last entry is the sum of all
/// amounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    before: Vec<u32>,
}

impl Counts {
    /// Creates running counts of the given amounts.
    pub fn of(amounts: impl ExactSizeIterator<Item = u8>) -> Counts {
        let mut before = Vec::with_capacity(amounts.len() + 1);
        let mut sum = 0;
        for amount in amounts {
            before.push(sum);
            sum += u32::from(amount);
        }
        before.push(sum);
        Counts { before }
    }

    /// The sum of the amounts before a position.
    pub fn before(&self, at: usize) -> u32 {
        self.before[at]
    }

    /// The sum of the amounts in a range of positions.
    pub fn within(&self, range: Range<usize>) -> u32 {
        self.before(range.end) - self.before(range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sum_of_a_range_counts_its_members(
            amounts in prop::collection::vec(prop_oneof![0..=3_u8, Just(3)], 0..400),
            ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..10),
        ) {
            let counts = Counts::of(amounts.iter().copied());
            let sum = |amounts: &[u8]| amounts.iter().map(|&amount| u32::from(amount)).sum::<u32>();
            for (one, two) in ends {
                let (one, two) = (one.index(amounts.len() + 1), two.index(amounts.len() + 1));
                let range = one.min(two)..one.max(two);
                prop_assert_eq!(counts.within(range.clone()), sum(&amounts[range]));
                prop_assert_eq!(counts.before(one), sum(&amounts[..one]));
            }
        }
    }
}
