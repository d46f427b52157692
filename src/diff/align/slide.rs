//! Gaps on one side only → where the elements around them agree best.
//!
//! ```text
//!  a  1 2 3          an inserted step can be 2 3' or 3' 3, where 3' is equal to 3 but for what an
//!  b  1 2 3' 3       alignment must not rely on
//!
//!  a  r r r r        the hole of one side slides to the hole of the other: r and R may be a pair
//!  b  r r R r        under two names
//! ```

use super::sequence::Compare;

/// Pairs of positions, and two more that stand for the ends of the lists. All count from 1.
struct Row {
    pairs: Vec<(usize, usize)>,
}

/// Slides each gap along the equal elements beside it: to where more of them are equal to the
/// letter, or else to a gap of the other side.
pub(super) fn slide_gaps(compare: &mut impl Compare, pairs: &mut Vec<(usize, usize)>) {
    let (n, m) = compare.lengths();
    let inner = pairs.iter().map(|&(i, j)| (i + 1, j + 1));
    let all = std::iter::once((0, 0)).chain(inner).chain([(n + 1, m + 1)]);
    let mut row = Row { pairs: all.collect() };
    for at in 1..row.pairs.len() {
        let gap = row.gap(at);
        if (gap.0 > 0) == (gap.1 > 0) {
            continue;
        }
        if row.slide_back(compare, at, gap) == 0 {
            row.slide_on(compare, at, gap);
        }
    }
    let inner = &row.pairs[1..row.pairs.len() - 1];
    *pairs = inner.iter().map(|&(i, j)| (i - 1, j - 1)).collect();
}

impl Row {
    /// How many elements of each side stand between a pair and the one before it.
    fn gap(&self, at: usize) -> (usize, usize) {
        let (before, after) = (self.pairs[at - 1], self.pairs[at]);
        (after.0 - before.0 - 1, after.1 - before.1 - 1)
    }

    /// Moves the gap before `at` to the front; returns by how many pairs.
    fn slide_back(&mut self, compare: &mut impl Compare, at: usize, gap: (usize, usize)) -> usize {
        let then = |(i, j): (usize, usize)| (i + gap.0, j + gap.1);
        let moved = (1..at).rev().map(|i| (self.pairs[i], then(self.pairs[i]), self.gap(i)));
        let count = best_slide(compare, gap, moved);
        for pair in &mut self.pairs[at - count..at] {
            *pair = then(*pair);
        }
        count
    }

    /// Moves the gap before `at` to the back.
    fn slide_on(&mut self, compare: &mut impl Compare, at: usize, gap: (usize, usize)) {
        let then = |(i, j): (usize, usize)| (i - gap.0, j - gap.1);
        let moved = (at..self.pairs.len() - 1)
            .map(|i| (self.pairs[i], then(self.pairs[i]), self.gap(i + 1)));
        let count = best_slide(compare, gap, moved);
        for pair in &mut self.pairs[at..at + count] {
            *pair = then(*pair);
        }
    }
}

type Pair = (usize, usize);

/// By how many pairs a gap slides best. Each comes as it is, as it would be, and with the gap
/// behind it, at which the slide ends.
fn best_slide(
    compare: &mut impl Compare,
    gap: (usize, usize),
    moved: impl Iterator<Item = (Pair, Pair, (usize, usize))>,
) -> usize {
    let (mut best, mut gain, mut most) = (0, 0, 0);
    for (count, (now, then, behind)) in moved.enumerate() {
        let mut equal = |(i, j): Pair| compare.equal(i - 1, j - 1);
        if !equal(now) || !equal(then) {
            break;
        }
        let mut same = |(i, j): Pair| i64::from(compare.same_to_the_letter(i - 1, j - 1));
        gain += same(then) - same(now);
        let meets = (gap.0 > 0) == (behind.1 > 0) && (gap.1 > 0) == (behind.0 > 0);
        if gain > most || (meets && gain == most && best == 0) {
            (best, most) = (count + 1, gain);
        }
        if behind != (0, 0) {
            break;
        }
    }
    best
}
