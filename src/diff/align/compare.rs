//! Defines the comparisons that the alignment of two sequences needs.

use crate::side::Side;
use std::ops::Range;

/// Two sequences whose elements are compared by position.
pub(super) trait Compare {
    fn lengths(&self) -> (usize, usize);
    /// Whether two elements are known to be identical. Identical elements at the ends of the sequences are
    /// matched without a search.
    fn equal(&mut self, _a: usize, _b: usize) -> bool {
        false
    }
    /// The score for aligning two elements opposite each other; 0 if there is no evidence for a match.
    fn score(&mut self, a: usize, b: usize) -> i64;
    /// A cheap upper bound on [`Compare::score`], computed without comparing the contents of the elements.
    fn most(&mut self, _a: usize, _b: usize) -> i64 {
        i64::MAX / 4
    }
    /// Whether [`Compare::score`] is positive; implementations may decide this without computing
    /// the score.
    fn scores(&mut self, a: usize, b: usize) -> bool {
        self.score(a, b) > 0
    }
    /// Whether either element belongs to a run of layers that is longer on one side. If the sequences differ in length,
    /// identical elements of such a run are matched by the search, even at the end of both sequences.
    fn in_row(&mut self, _a: usize, _b: usize) -> bool {
        false
    }
    /// Whether other matches than `found` are certain, so that the alignment must be repeated. From then on, the scores
    /// and tokens prefer these matches.
    fn contradicts(&mut self, _found: &[(usize, usize)]) -> bool {
        false
    }
    /// Whether two elements are a match that [`Compare::contradicts`] found to be certain.
    fn is_anchor(&self, _a: usize, _b: usize) -> bool {
        false
    }
    /// Whether two elements that are aligned opposite each other are a match. The alignment may
    /// put a call opposite its wrapper, so that both are in the same gap, but the two are not a match.
    fn is_pair(&self, _a: usize, _b: usize) -> bool {
        true
    }
    /// Whether two identical elements also have the same exact names, including volatile parts. If there are several
    /// possible positions for an inserted run, the exact names determine which position is chosen.
    fn same_to_the_letter(&mut self, _a: usize, _b: usize) -> bool {
        true
    }
    /// Whether a recorded step begins with this element.
    fn begins_step(&self, _side: Side, _at: usize) -> bool {
        false
    }
    /// Whether a run of elements is identical to the entire contents of an unmatched thread on the opposite
    /// side.
    fn is_a_thread(&self, _side: Side, _first: usize, _length: usize) -> bool {
        false
    }
    /// Returns the tokens of the elements in one range on each side. The plain alignment of long lists compares these
    /// tokens. If several kinds of tokens may be suitable, the result has one entry per kind.
    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens>;
}

/// The tokens of the baseline's elements and the tokens of the candidate's elements, with one token per element.
pub(super) type Tokens = (Vec<u64>, Vec<u64>);
