//! Stores a column with long runs of equal values, so that each run is stored only once. A large
//! trace has millions of calls, but each step, layer or module contains many consecutive calls. A
//! column that stores the step, layer or module of each call therefore has long runs.

use std::ops::Range;

/// Entries per block. For each block, the column stores which stretch (run of equal values)
/// contains the block's first entry. A lookup scans from that stretch on, which is faster than a
/// search.
const BLOCK: usize = 64;

/// A value for each position, starting at position 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stretches<T> {
    /// For each stretch of equal values, its first position. The value of the stretch is in
    /// `values`.
    starts: Vec<u32>,
    values: Vec<T>,
    /// For each block, the stretch that contains the first entry of the block.
    of_blocks: Vec<u32>,
    len: usize,
}

impl<T: Copy + PartialEq> Stretches<T> {
    pub(crate) fn new() -> Stretches<T> {
        Stretches { starts: Vec::new(), values: Vec::new(), of_blocks: Vec::new(), len: 0 }
    }

    pub(crate) fn push(&mut self, value: T) {
        if self.values.last() != Some(&value) {
            self.starts.push(self.len as u32);
            self.values.push(value);
        }
        if self.len.is_multiple_of(BLOCK) {
            self.of_blocks.push(self.values.len() as u32 - 1);
        }
        self.len += 1;
    }

    /// For each stretch of equal values, its positions and its value.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = (Range<usize>, T)> {
        let ends = self.starts.iter().skip(1).copied().chain([self.len as u32]);
        let stretches = self.starts.iter().zip(ends).zip(&self.values);
        stretches.map(|((&start, end), &value)| (start as usize..end as usize, value))
    }

    /// The value at a position; `None` if the position is out of range.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<T> {
        self.stretch(at).map(|stretch| self.values[stretch])
    }

    /// Whether all positions of a range are in one stretch of equal values. The range must not
    /// extend past the end of the column.
    pub(crate) fn is_one(&self, range: Range<usize>) -> bool {
        let stretch = self.stretch(range.start);
        let next = stretch.and_then(|stretch| self.starts.get(stretch + 1));
        next.is_none_or(|&next| next as usize >= range.end)
    }

    /// The stretch of equal values that contains a position; `None` if the position is out of
    /// range.
    fn stretch(&self, at: usize) -> Option<usize> {
        if at >= self.len {
            return None;
        }
        let mut stretch = self.of_blocks[at / BLOCK] as usize;
        while self.starts.get(stretch + 1).is_some_and(|&next| next as usize <= at) {
            stretch += 1;
        }
        Some(stretch)
    }
}

impl<T: Copy + PartialEq> FromIterator<T> for Stretches<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Stretches<T> {
        let mut stretches = Stretches::new();
        values.into_iter().for_each(|value| stretches.push(value));
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Stretches};
    use proptest::prelude::*;

    #[test]
    fn a_stretch_is_kept_once() {
        let stretches: Stretches<u8> =
            std::iter::repeat_n(7, 10 * BLOCK).chain([8, 8, 7]).collect();
        assert_eq!((stretches.starts, stretches.values), (vec![0, 640, 642], vec![7, 8, 7]));
    }

    proptest! {
        #[test]
        fn every_value_is_found_where_it_was_put(
            rows in prop::collection::vec((0..3_u8, 1..200_usize), 0..20),
        ) {
            let values: Vec<u8> =
                rows.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect();
            let stretches: Stretches<u8> = values.iter().copied().collect();
            for at in 0..=values.len() {
                prop_assert_eq!(stretches.get(at), values.get(at).copied());
                let end = (at + 3).min(values.len());
                let is_one = values[at..end].windows(2).all(|two| two[0] == two[1]);
                prop_assert_eq!(stretches.is_one(at..end), is_one);
            }
            let mut ranges = stretches.ranges();
            let of_ranges = ranges.by_ref().flat_map(|(range, value)| range.map(move |at| (at, value)));
            prop_assert_eq!(of_ranges.collect::<Vec<_>>(), values.into_iter().enumerate().collect::<Vec<_>>());
        }
    }
}
