//! What the alignment of two sequences needs to know about their elements.

use crate::side::Side;
use std::ops::Range;

/// The elements of two sequences, compared by position.
pub(super) trait Compare {
    /// Number of elements on each side.
    fn lengths(&self) -> (usize, usize);
    /// Whether two elements are equal beyond doubt, so that they can be matched at the ends without
    /// a search.
    fn equal(&mut self, a: usize, b: usize) -> bool;
    /// The value of aligning two elements opposite each other; 0 if there is no reason to.
    fn score(&mut self, a: usize, b: usize) -> i64;
    /// An upper bound of [`Compare::score`] that is cheap: it does not compare the contents of the
    /// elements.
    fn most(&mut self, _a: usize, _b: usize) -> i64 {
        i64::MAX / 4
    }
    /// Whether the score is positive; may be answered without computing it.
    fn scores(&mut self, a: usize, b: usize) -> bool {
        self.score(a, b) > 0
    }
    /// Whether either element is in a row of layers of which one side has more, so that being equal
    /// at the end of the lists does not make two of them a match.
    fn in_row(&mut self, _a: usize, _b: usize) -> bool {
        false
    }
    /// Whether two elements that are aligned opposite each other are a match. A call and the
    /// wrapper around it are not, but they must be opposite each other so that the gap includes
    /// both.
    fn is_pair(&self, a: usize, b: usize) -> bool;
    /// Whether two equal elements are equal in every name, noise included. Decides between several
    /// possible positions of an inserted run.
    fn same_to_the_letter(&mut self, _a: usize, _b: usize) -> bool {
        true
    }
    /// Whether a recorded step begins with an element of one side.
    fn begins_step(&self, _side: Side, _at: usize) -> bool {
        false
    }
    /// Whether a run of elements of one side (its first element and its length) is everything that
    /// runs on an unmatched thread of the other side.
    fn is_a_thread(&self, _side: Side, _first: usize, _length: usize) -> bool {
        false
    }
    /// Tokens of the elements in a range of each side, for the plain path of long lists. Returns
    /// two kinds of tokens if either may be the right one.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens>;
}

/// One token for each element, of both sides.
pub(super) type Tokens = (Vec<u64>, Vec<u64>);
