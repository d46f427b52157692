//! What the alignment of two sequences asks about their elements.

use crate::side::Side;
use std::ops::Range;

/// What the alignment of two sequences looks at.
pub(super) trait Compare {
    /// Number of elements on each side.
    fn lengths(&self) -> (usize, usize);
    /// Whether two elements are equal beyond doubt, so that they can be trimmed at the ends.
    fn equal(&mut self, a: usize, b: usize) -> bool;
    /// How much it is worth that two elements stand opposite each other; 0 where it is nothing.
    fn score(&mut self, a: usize, b: usize) -> i64;
    /// No less than [`Compare::score`], told without weighing what the elements hold.
    fn most(&mut self, _a: usize, _b: usize) -> i64 {
        i64::MAX / 4
    }
    /// Whether it is worth anything; may be told without weighing it.
    fn scores(&mut self, a: usize, b: usize) -> bool {
        self.score(a, b) > 0
    }
    /// Whether elements that stand opposite each other are a pair. A call and the wrapper around
    /// it are none, but the gap must open where both of them are.
    fn is_pair(&self, a: usize, b: usize) -> bool;
    /// Whether two equal elements are equal to the letter, noise included: where an inserted run
    /// may stand at several places, this decides which.
    fn same_to_the_letter(&mut self, _a: usize, _b: usize) -> bool {
        true
    }
    /// Whether a recorded step begins with an element of one side.
    fn begins_step(&self, _side: Side, _at: usize) -> bool {
        false
    }
    /// Whether a run of elements of one side, the first one and how many, is all that runs on a thread
    /// of the other side that has no partner.
    fn is_a_thread(&self, _side: Side, _first: usize, _length: usize) -> bool {
        false
    }
    /// Tokens of the elements in a range of each side, for the path of long lists; where two kinds of
    /// tokens may both be right, both.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens>;
}

/// One token for each element of both sides.
pub(super) type Tokens = (Vec<u64>, Vec<u64>);
