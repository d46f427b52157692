//! The comparisons that the alignment of two sequences needs.

use crate::side::Side;
use std::ops::Range;

/// The elements of two sequences, compared by position.
pub(super) trait Compare {
    fn lengths(&self) -> (usize, usize);
    /// Whether two elements are equal beyond doubt. Equal elements at the ends of the sequences are
    /// matched without a search.
    fn equal(&mut self, a: usize, b: usize) -> bool;
    /// The score for aligning two elements opposite each other; 0 if nothing supports it.
    fn score(&mut self, a: usize, b: usize) -> i64;
    /// A cheap upper bound of [`Compare::score`], found without comparing the contents of the
    /// elements.
    fn most(&mut self, _a: usize, _b: usize) -> i64 {
        i64::MAX / 4
    }
    /// Whether [`Compare::score`] is positive; implementations may decide this without computing
    /// it.
    fn scores(&mut self, a: usize, b: usize) -> bool {
        self.score(a, b) > 0
    }
    /// Whether either element belongs to a row of layers that is longer on one side. In a row that
    /// is longer on one side, equality at the end of the lists is not enough for a match.
    fn in_row(&mut self, _a: usize, _b: usize) -> bool {
        false
    }
    /// Whether two elements that are aligned opposite each other are a match. A call and the
    /// wrapper around it are not a match, but they must be aligned opposite each other so that the
    /// gap includes both.
    fn is_pair(&self, a: usize, b: usize) -> bool;
    /// Whether two equal elements also agree in every exact name, including volatile parts. Decides
    /// between several possible positions of an inserted run.
    fn same_to_the_letter(&mut self, _a: usize, _b: usize) -> bool {
        true
    }
    /// Whether a recorded step begins with the element at `at` of `side`.
    fn begins_step(&self, _side: Side, _at: usize) -> bool {
        false
    }
    /// Whether a run of elements of one side, given by its first element and its length, equals the
    /// entire contents of an unmatched thread on the other side.
    fn is_a_thread(&self, _side: Side, _first: usize, _length: usize) -> bool {
        false
    }
    /// Tokens of the elements in a range of each side, for the plain alignment of long lists.
    /// Returns two kinds of tokens if either kind may be the right one.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens>;
}

/// One token per element, for both sides.
pub(super) type Tokens = (Vec<u64>, Vec<u64>);
