//! Stores running counts over calls in preorder. The count within a subtree is the difference
//! between two running counts.

use std::ops::Range;

/// Entries per block. Counts within a block start at 0, so one byte per entry is enough.
const BLOCK: usize = 64;

/// Number of items before each position and before the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    before_blocks: Vec<u32>,
    in_blocks: Vec<u8>,
}

impl Counts {
    /// Creates running counts of the given amounts. Each amount is at most 3.
    pub(crate) fn of(amounts: impl ExactSizeIterator<Item = u8>) -> Counts {
        let positions = amounts.len() + 1;
        let mut before_blocks = Vec::with_capacity(positions.div_ceil(BLOCK));
        let mut in_blocks = Vec::with_capacity(positions);
        let (mut before, mut in_block) = (0, 0);
        for (at, amount) in amounts.chain([0]).enumerate() {
            debug_assert!(amount <= 3, "the counts in a block fit into a byte");
            if at.is_multiple_of(BLOCK) {
                before += u32::from(in_block);
                before_blocks.push(before);
                in_block = 0;
            }
            in_blocks.push(in_block);
            in_block += amount;
        }
        Counts { before_blocks, in_blocks }
    }

    /// The sum of the amounts before a position.
    pub(crate) fn before(&self, at: usize) -> u32 {
        self.before_blocks[at / BLOCK] + u32::from(self.in_blocks[at])
    }

    /// The sum of the amounts in a range of positions.
    pub(crate) fn within(&self, range: Range<usize>) -> u32 {
        self.before(range.end) - self.before(range.start)
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_a_range_holds_is_its_sum(
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
