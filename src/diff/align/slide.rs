//! Moves each gap that exists on only one side to the position where the elements around the gap agree best with their
//! counterparts.
//!
//! ```text
//!  a  1 2 3          the inserted step may be 2 3' or 3' 3, where 3' equals 3 except for details that
//!  b  1 2 3' 3       the alignment must not rely on
//!
//!  a  x y z x u      the x of b may match either x of a; it matches the first one, which leaves the
//!  b  x              unmatched rest in one piece
//!
//!  a  r r r r        a hole on one side slides next to a hole on the other: r and R may be a match
//!  b  r r R r        under two names
//!
//!  a  [f b][f b][f b]     a removed step is a whole one, not the end of one step and the beginning
//!  b  [f b]     [f b]     of the next, although otherwise both are equally good
//!
//!  a  r r s r s r         what was cut off is everything after the first call, not everything before
//!  b  r                   the last one: the unmatched rest includes the end of the list
//! ```

use super::compare::Compare;
use crate::diff::weights::{HOLES, LEAST_PART};
use crate::side::Side;

/// Matched positions of two lists, with a sentinel at each end. Positions count from 1.
struct Row {
    pairs: Vec<(usize, usize)>,
    /// All holes (gaps that exist on only one side), at their positions before any of them slides.
    holes: Vec<Hole>,
}

/// A hole: a gap that exists on only one side.
#[derive(Debug, Clone, Copy)]
struct Hole {
    side: Side,
    first: usize,
    length: usize,
}

impl Hole {
    /// Whether two holes contain the same elements. If a block moved, this is true for the holes at its old and its new
    /// position. Only the first and last elements of the holes are compared. One hole may be longer than the other,
    /// because more elements were removed or inserted next to the moved block. In this case, the shorter hole must
    /// match the beginning or the end of the longer hole.
    fn is_like(self, other: Hole, compare: &mut impl Compare) -> bool {
        let (mine, theirs) = match self.side {
            Side::Baseline => (self, other),
            Side::Candidate => (other, self),
        };
        let (short, long) = (mine.length.min(theirs.length), mine.length.max(theirs.length));
        if self.side == other.side || (short < long && (short < LEAST_PART || 2 * short < long)) {
            return false;
        }
        let mut equal = |i: usize, j: usize| {
            compare.equal(i - 1, j - 1) && compare.equal(i + short - 2, j + short - 2)
        };
        equal(mine.first, theirs.first)
            || (short < long
                && equal(mine.first + mine.length - short, theirs.first + theirs.length - short))
    }
}

/// Slides each gap that exists on only one side along the identical elements next to the gap. The best position is
/// chosen by the following criteria, most important first:
/// 1. more of the matched elements have exactly the same names;
/// 2. the gap merges with another gap on the same side;
/// 3. the same elements are also unmatched elsewhere on the opposite side;
/// 4. the gap begins a step;
/// 5. the gap is at the end of the list;
/// 6. the gap is next to a gap on the opposite side.
pub(super) fn slide_gaps(compare: &mut impl Compare, pairs: &mut Vec<(usize, usize)>) {
    let (n, m) = compare.lengths();
    let inner = pairs.iter().map(|&(i, j)| (i + 1, j + 1));
    let all = std::iter::once((0, 0)).chain(inner).chain([(n + 1, m + 1)]);
    let mut row = Row { pairs: all.collect(), holes: Vec::new() };
    row.holes = row.holes();
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
    /// Finds the gaps that exist on only one side. If there are more than [`HOLES`], returns none of them, because
    /// among many holes, some are identical by chance.
    fn holes(&self) -> Vec<Hole> {
        let gaps = (1..self.pairs.len()).map(|at| (self.first(at), self.gap(at)));
        let holes = gaps.filter_map(|(first, gap)| match gap {
            (0, 0) => None,
            (0, length) => Some(Hole { side: Side::Candidate, first: first.1, length }),
            (length, 0) => Some(Hole { side: Side::Baseline, first: first.0, length }),
            (_, _) => None,
        });
        let holes: Vec<Hole> = holes.take(HOLES + 1).collect();
        if holes.len() > HOLES { Vec::new() } else { holes }
    }

    /// Number of elements on each side between a pair and the previous pair.
    fn gap(&self, at: usize) -> (usize, usize) {
        let (before, after) = (self.pairs[at - 1], self.pairs[at]);
        (after.0 - before.0 - 1, after.1 - before.1 - 1)
    }

    /// Moves the gap before `at` toward the front; returns the number of pairs that it moved over.
    fn slide_back(&mut self, compare: &mut impl Compare, at: usize, gap: (usize, usize)) -> usize {
        let then = |(i, j): (usize, usize)| (i + gap.0, j + gap.1);
        let moved = (1..at).rev().map(|i| Slid {
            now: self.pairs[i],
            then: then(self.pairs[i]),
            first: self.pairs[i],
            behind: self.gap(i),
            ends: false,
        });
        let start = Start { gap, first: self.first(at), ends: at + 1 == self.pairs.len() };
        let count = best_slide(compare, &self.holes, start, moved);
        for pair in &mut self.pairs[at - count..at] {
            *pair = then(*pair);
        }
        count
    }

    /// Moves the gap before `at` toward the back.
    fn slide_on(&mut self, compare: &mut impl Compare, at: usize, gap: (usize, usize)) {
        let then = |(i, j): (usize, usize)| (i - gap.0, j - gap.1);
        let moved = (at..self.pairs.len() - 1).map(|i| Slid {
            now: self.pairs[i],
            then: then(self.pairs[i]),
            first: (then(self.pairs[i]).0 + 1, then(self.pairs[i]).1 + 1),
            behind: self.gap(i + 1),
            ends: i + 2 == self.pairs.len(),
        });
        let start = Start { gap, first: self.first(at), ends: false };
        let count = best_slide(compare, &self.holes, start, moved);
        for pair in &mut self.pairs[at..at + count] {
            *pair = then(*pair);
        }
    }

    /// The first element of the gap before a pair, on the side that has the gap.
    fn first(&self, at: usize) -> Pair {
        (self.pairs[at - 1].0 + 1, self.pairs[at - 1].1 + 1)
    }
}

type Pair = (usize, usize);

/// A pair that a gap may slide over.
struct Slid {
    /// The elements of the pair while the gap is still in front of the pair.
    now: Pair,
    /// The elements of the pair once the gap has slid over it.
    then: Pair,
    /// The first element of the gap after it slides, on the side that has the gap.
    first: Pair,
    /// Number of unmatched elements directly beyond the pair, on each side. If there are any, the gap cannot slide
    /// further.
    behind: (usize, usize),
    /// Whether the gap is at the end of the list after it slides.
    ends: bool,
}

/// A gap at its position before it slides.
struct Start {
    gap: (usize, usize),
    /// The first element of the gap, on the side that has the gap.
    first: Pair,
    /// Whether the gap is at the end of the list before it slides.
    ends: bool,
}

/// The number of pairs that the gap should slide over.
fn best_slide(
    compare: &mut impl Compare,
    holes: &[Hole],
    Start { gap, first, ends }: Start,
    moved: impl Iterator<Item = Slid>,
) -> usize {
    let hole = |first: Pair| {
        if gap.0 > 0 {
            Hole { side: Side::Baseline, first: first.0, length: gap.0 }
        } else {
            Hole { side: Side::Candidate, first: first.1, length: gap.1 }
        }
    };
    let (mut best, mut gain) = (0, 0);
    let mut most = ((gain, false, place_of(compare, holes, hole(first))), ends);
    for (count, slid) in moved.enumerate() {
        let mut equal = |(i, j): Pair| compare.equal(i - 1, j - 1);
        if !equal(slid.now) || !equal(slid.then) {
            break;
        }
        let mut same = |(i, j): Pair| i64::from(compare.same_to_the_letter(i - 1, j - 1));
        gain += same(slid.then) - same(slid.now);
        let (mine, theirs) = slid.behind;
        let meets = (gap.0 > 0) == (theirs > 0) && (gap.1 > 0) == (mine > 0);
        let merges = (gap.0 > 0 && mine > 0) || (gap.1 > 0 && theirs > 0);
        let place = place_of(compare, holes, hole(slid.first));
        let worth = ((gain, merges, place), slid.ends);
        if worth > most || (meets && worth.0 == most.0 && best == 0) {
            (best, most) = (count + 1, worth);
        }
        if slid.behind != (0, 0) {
            break;
        }
    }
    best
}

/// Two kinds of evidence for the position of a hole. The first is whether the same elements are unmatched on the
/// opposite side, either in these lists or because their whole thread is unmatched. The second is whether the hole
/// begins a step.
fn place_of(compare: &mut impl Compare, holes: &[Hole], hole: Hole) -> (bool, bool) {
    let is_moved = holes.iter().any(|&other| hole.is_like(other, compare))
        || compare.is_a_thread(hole.side, hole.first - 1, hole.length);
    (is_moved, compare.begins_step(hole.side, hole.first - 1))
}

#[cfg(test)]
mod tests {
    use super::super::compare::Tokens;
    use super::*;
    use std::ops::Range;

    /// Letters as elements: two letters are equal if they differ only in case, and a step begins
    /// with `f`.
    struct Letters(&'static [u8], &'static [u8]);

    impl Compare for Letters {
        fn lengths(&self) -> (usize, usize) {
            (self.0.len(), self.1.len())
        }
        fn equal(&mut self, a: usize, b: usize) -> bool {
            self.0[a].eq_ignore_ascii_case(&self.1[b])
        }
        fn score(&mut self, _: usize, _: usize) -> i64 {
            0
        }
        fn same_to_the_letter(&mut self, a: usize, b: usize) -> bool {
            self.0[a] == self.1[b]
        }
        fn begins_step(&self, side: Side, at: usize) -> bool {
            let letters = if side == Side::Baseline { self.0 } else { self.1 };
            letters.get(at) == Some(&b'f')
        }
        fn tokens(&mut self, _: Range<usize>, _: Range<usize>) -> Vec<Tokens> {
            Vec::new()
        }
    }

    /// Slides the holes in the alignment of two strings, and checks that swapping the two strings
    /// gives the mirrored result.
    fn slid(a: &'static str, b: &'static str, pairs: &[Pair]) -> Vec<Pair> {
        let texts = |a: &'static str, b: &'static str| Letters(a.as_bytes(), b.as_bytes());
        let exchanged = |pairs: &[Pair]| pairs.iter().map(|&(i, j)| (j, i)).collect::<Vec<Pair>>();
        let (mut there, mut back) = (pairs.to_vec(), exchanged(pairs));
        slide_gaps(&mut texts(a, b), &mut there);
        slide_gaps(&mut texts(b, a), &mut back);
        assert_eq!(exchanged(&back), there, "{a} {b}");
        there
    }

    #[test]
    fn a_gap_slides_to_where_more_keys_are_equal() {
        assert_eq!(slid("abc", "abCc", &[(0, 0), (1, 1), (2, 2)]), [(0, 0), (1, 1), (2, 3)]);
        assert_eq!(slid("cab", "cCab", &[(0, 1), (1, 2), (2, 3)]), [(0, 0), (1, 2), (2, 3)]);
        // Sliding the gap would align `c` with `C`, whose exact names differ, so the gap stays.
        assert_eq!(slid("acb", "acCb", &[(0, 0), (1, 1), (2, 3)]), [(0, 0), (1, 1), (2, 3)]);
    }

    #[test]
    fn a_gap_slides_over_several_pairs_but_over_none_that_differs() {
        assert_eq!(slid("cccx", "CcccxC", &[(0, 0), (1, 1), (2, 2), (3, 4)])[0], (0, 1));
        let stays = [(0, 0), (1, 1), (2, 2)];
        assert_eq!(slid("axc", "axcd", &stays), stays);
    }

    #[test]
    fn a_gap_joins_another_gap_of_the_same_side() {
        // The unmatched letters of the first string, `x y z` and `u`, become one run: `y z x u`.
        assert_eq!(slid("kxyzxu", "kx", &[(0, 0), (4, 1)]), [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_gap_slides_to_a_gap_of_the_other_side_but_not_past_it() {
        assert_eq!(slid("rrrr", "rrXr", &[(0, 0), (1, 1), (2, 3)]), [(0, 0), (1, 1), (3, 3)]);
    }

    #[test]
    fn a_removed_step_is_a_whole_step() {
        let rotated = [(0, 0), (3, 1), (4, 2), (5, 3)];
        assert_eq!(slid("fbfbfb", "fbfb", &rotated), [(2, 0), (3, 1), (4, 2), (5, 3)]);
    }

    #[test]
    fn the_end_is_what_was_cut_off() {
        assert_eq!(slid("rrsrsr", "r", &[(5, 0)]), [(0, 0)]);
        assert_eq!(slid("rrsrsr", "r", &[(0, 0)]), [(0, 0)]);
    }

    #[test]
    fn a_gap_slides_to_calls_that_the_other_side_has_unmatched_elsewhere() {
        // `mn` moved to after `k`, so `mn` is unmatched in the first string. For this reason, the hole in the second
        // string becomes `mn`. Otherwise `nm` would be equally good.
        let pairs = [(2, 0), (3, 1)];
        assert_eq!(slid("mnkm", "kmnm", &pairs), [(2, 0), (3, 3)]);
        // If only one side has a hole, no elements have moved.
        assert_eq!(slid("mnkmnm", "km", &[(2, 0), (3, 1)]), [(2, 0), (3, 1)]);
    }

    #[test]
    fn moved_calls_may_be_the_start_or_the_end_of_a_longer_gap() {
        let mut letters = Letters(b"mnopk", b"kmnopqr");
        let hole = |side, first, length| Hole { side, first, length };
        let mut alike = |mine: (usize, usize), theirs: (usize, usize)| {
            let (mine, theirs) =
                (hole(Side::Baseline, mine.0, mine.1), hole(Side::Candidate, theirs.0, theirs.1));
            let found = mine.is_like(theirs, &mut letters);
            assert_eq!(theirs.is_like(mine, &mut letters), found);
            found
        };
        assert!(alike((1, 4), (2, 4)));
        assert!(alike((1, 4), (2, 6)) && alike((2, 3), (2, 4)));
        // These holes differ at their ends, are too short, or have very different lengths.
        assert!(!alike((1, 4), (3, 4)) && !alike((1, 2), (2, 4)) && !alike((1, 3), (1, 7)));
        assert!(!hole(Side::Baseline, 1, 4).is_like(hole(Side::Baseline, 1, 4), &mut letters));
    }

    #[test]
    fn gaps_are_compared_only_if_they_are_few() {
        let row = |count: usize| {
            let pairs = (0..=count).map(|at| (2 * at, at)).collect();
            Row { pairs, holes: Vec::new() }.holes().len()
        };
        assert_eq!((row(HOLES), row(HOLES + 1)), (HOLES, 0));
    }
}
