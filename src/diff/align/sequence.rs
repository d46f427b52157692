//! Matches two sequences of siblings so that the matches are in the same order on both sides and have the highest
//! possible total score.
//!
//! Identical elements at both ends of the sequences are matched first. The elements in between are matched by
//! dynamic programming over a corridor, which is a subset of the cells of the score table. For short lists
//! the corridor contains all cells. For long lists the corridor contains the cells around the path of a plain
//! alignment, which matches equal tokens (`plain`):
//!
//! ```text
//!      b₀ b₁ b₂ b₃ b₄ b₅ b₆
//!  a₀  ╲  ░  ░                 ╲ path of equal tokens
//!  a₁  ░  ╲  ░  ░              ░ corridor, where the weighted optimum is searched
//!  a₂     ░  ░  ╲  ░
//!  a₃        ░  ░  ╲  ░
//! ```
//!
//! A plain alignment counts only equal tokens. In a run of identical siblings, it may therefore leave the wrong sibling
//! unmatched, far from the sibling that actually changed. Searching the whole corridor corrects such errors.

use super::compare::{Compare, Tokens};
use super::plain::{Block, plain_alignment};
use super::slide;
use crate::diff::counts::sums;
use crate::diff::weights::{
    BLOCK_CELLS, EXACT_CELLS, HALF_NARROWEST, HALF_WIDEST, HALF_WIDTH, MOST_CELLS, WHOLE_CELLS,
    WIDE_CELLS,
};
use std::ops::Range;

/// The matches between two sequences, and how often a limit cut the search short.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    /// Matched positions, ascending on both sides.
    pub(super) pairs: Vec<(usize, usize)>,
    /// Number of blocks that were too large to be searched completely.
    pub(super) cut_blocks: u64,
    /// Whether [`Compare::contradicts`] found anchors.
    pub(super) has_anchors: bool,
}

/// Aligns the two sequences of elements that `compare` describes.
pub(super) fn align(compare: &mut impl Compare) -> Aligned {
    let (n, m) = compare.lengths();
    let mut aligned = Aligned::default();
    align_ranges(compare, (0..n, 0..m), true, &mut aligned);
    if compare.contradicts(&aligned.pairs) {
        aligned = Aligned { has_anchors: true, ..Aligned::default() };
        align_ranges(compare, (0..n, 0..m), false, &mut aligned);
        // Of equally good paths, the one with later pairs is chosen. But what follows the last anchor follows it directly.
        if let Some(last) = aligned.pairs.iter().rposition(|&(i, j)| compare.is_anchor(i, j)) {
            aligned.pairs.truncate(last + 1);
            let (i, j) = aligned.pairs[last];
            align_ranges(compare, (i + 1..n, j + 1..m), true, &mut aligned);
        }
    }
    slide::slide_gaps(compare, &mut aligned.pairs);
    aligned
}

/// Aligns one range of each sequence. With `trims`, identical elements at both ends are matched without a search.
fn align_ranges(
    compare: &mut impl Compare,
    (a, b): (Range<usize>, Range<usize>),
    trims: bool,
    aligned: &mut Aligned,
) {
    let shorter = if trims { a.len().min(b.len()) } else { 0 };
    let mut front = 0;
    while front < shorter && compare.equal(a.start + front, b.start + front) {
        aligned.pairs.push((a.start + front, b.start + front));
        front += 1;
    }
    let mut back = 0;
    while front + back < shorter
        && compare.equal(a.end - 1 - back, b.end - 1 - back)
        && !(a.len() != b.len() && compare.in_row(a.end - 1 - back, b.end - 1 - back))
    {
        back += 1;
    }
    let ends = (a.end, b.end);
    let (a, b) = (a.start + front..a.end - back, b.start + front..b.end - back);
    let first = (a.start, b.start);
    if !a.is_empty() && !b.is_empty() {
        let inner = if (a.len(), b.len()) == (1, 1) {
            // Sequences with one element each are by far the most common case, because most calls have few children.
            compare.scores(first.0, first.1).then_some((0, 0)).into_iter().collect()
        } else {
            let paths = corridors(compare, a, b).into_iter().map(|corridor| {
                let path = best_path(&corridor.rows, |i, j, least| {
                    let (i, j) = (first.0 + i, first.1 + j);
                    let most = compare.most(i, j);
                    if most < least.max(1) {
                        return 0;
                    }
                    let score = compare.score(i, j);
                    debug_assert!(score <= most, "{score} exceeds its upper bound");
                    score
                });
                (path, corridor.cut_blocks)
            });
            // On a tie the first path wins, because its tokens are more specific.
            let heaviest =
                paths.reduce(|one, two| if two.0.weight > one.0.weight { two } else { one });
            let (path, cut_blocks) = heaviest.unwrap_or_default();
            aligned.cut_blocks += cut_blocks;
            path.pairs
        };
        let opposite = inner.into_iter().map(|(i, j)| (first.0 + i, first.1 + j));
        aligned.pairs.extend(opposite.filter(|&(i, j)| compare.is_pair(i, j)));
    }
    aligned.pairs.extend((0..back).rev().map(|at| (ends.0 - 1 - at, ends.1 - 1 - at)));
}

/// For each row 0..=n of the score table, the first and the last column (0..=m) to search.
struct Corridor {
    rows: Vec<(usize, usize)>,
    cut_blocks: u64,
}

/// Short lists are searched completely. Long lists are first aligned by tokens only, once for each kind of token, and
/// the search then covers a corridor around each of these alignments.
fn corridors(compare: &mut impl Compare, a: Range<usize>, b: Range<usize>) -> Vec<Corridor> {
    let (n, m) = (a.len(), b.len());
    if n.saturating_mul(m) <= EXACT_CELLS {
        return vec![Corridor { rows: vec![(0, m); n + 1], cut_blocks: 0 }];
    }
    compare.tokens(a, b).iter().map(|tokens| corridor(tokens, half_width(n + m))).collect()
}

fn corridor((a_tokens, b_tokens): &Tokens, half: usize) -> Corridor {
    let (n, m) = (a_tokens.len(), b_tokens.len());
    let mut corridor = Corridor { rows: vec![(m, 0); n + 1], cut_blocks: 0 };
    let mut widen = |row: usize, from: usize, to: usize| {
        let cell = &mut corridor.rows[row];
        cell.0 = cell.0.min(from.saturating_sub(half));
        cell.1 = cell.1.max((to + half).min(m));
    };
    let blocks = plain_alignment(a_tokens, b_tokens);
    for (block, whole) in blocks.iter().zip(searched_whole(&blocks)) {
        let (rows, columns) = (block.a.len(), block.b.len());
        corridor.cut_blocks += u64::from(!block.equal && !whole && rows > 0 && columns > 0);
        for step in 0..=rows {
            let at = block.b.start + (step * columns).checked_div(rows).unwrap_or(0);
            let (from, to) = if whole { (block.b.start, block.b.end) } else { (at, at) };
            widen(block.a.start + step, from, to);
        }
    }
    widen(0, 0, 0);
    widen(n, m, m);
    connect(&mut corridor.rows);
    corridor
}

/// Which blocks are searched completely: unequal blocks of at most [`BLOCK_CELLS`], smallest first, until they have
/// [`WHOLE_CELLS`] together. Without the second limit, the cost of a shuffled list would grow faster than its length.
fn searched_whole(blocks: &[Block]) -> Vec<bool> {
    let cells = |at: usize| blocks[at].a.len().saturating_mul(blocks[at].b.len());
    let unequal = (0..blocks.len()).filter(|&at| !blocks[at].equal && cells(at) <= BLOCK_CELLS);
    let mut unequal: Vec<usize> = unequal.collect();
    unequal.sort_by_key(|&at| cells(at));
    let mut total = 0;
    let mut is_whole = vec![false; blocks.len()];
    for at in unequal {
        total += cells(at);
        is_whole[at] = total <= WHOLE_CELLS;
    }
    is_whole
}

/// Half the width of the corridor for two lists that contain `elements` elements in total.
fn half_width(elements: usize) -> usize {
    let wide = (WIDE_CELLS / elements).clamp(HALF_WIDTH, HALF_WIDEST);
    wide.min((MOST_CELLS / elements).max(HALF_NARROWEST))
}

/// Widens the range of each row until the ranges of adjacent rows overlap, so that a path through
/// all rows exists.
fn connect(rows: &mut [(usize, usize)]) {
    for row in 1..rows.len() {
        rows[row].1 = rows[row].1.max(rows[row - 1].1);
    }
    for row in (1..rows.len()).rev() {
        rows[row - 1].0 = rows[row - 1].0.min(rows[row].0);
        rows[row].0 = rows[row].0.min(rows[row - 1].1);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Pair,
    SkipA,
    SkipB,
}

/// The matched positions and the sum of their scores.
#[derive(Debug, Default)]
struct Path {
    pairs: Vec<(usize, usize)>,
    weight: i64,
}

/// The path through `rows` with the highest total score. The third argument of `score` is a threshold: scores below it
/// cannot change the path, so `score` need not compute such scores exactly.
fn best_path(rows: &[(usize, usize)], mut score: impl FnMut(usize, usize, i64) -> i64) -> Path {
    const OUTSIDE: i64 = i64::MIN / 2;
    let offsets = sums(rows.iter().map(|(from, to)| to - from + 1));
    let mut steps = vec![Step::SkipB; offsets[rows.len()]];
    let (mut above, mut row): (Vec<i64>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut above_from = 0;
    for (i, &(from, to)) in rows.iter().enumerate() {
        row.clear();
        // Cells outside of the corridor count as unreachable, and so does everything before the first cell.
        let upper = |j: Option<usize>| {
            let at = j.and_then(|j| j.checked_sub(above_from));
            at.and_then(|at| above.get(at)).copied().unwrap_or(OUTSIDE)
        };
        let mut left = if i == 0 && from == 0 { 0 } else { OUTSIDE };
        let mut diagonal = upper(from.checked_sub(1));
        for (j, step) in (from..=to).zip(&mut steps[offsets[i]..]) {
            let up = upper(Some(j));
            let mut best = if up > left { (up, Step::SkipA) } else { (left, Step::SkipB) };
            if diagonal > OUTSIDE {
                let worth = score(i - 1, j - 1, best.0 - diagonal);
                if worth > 0 && diagonal + worth >= best.0 {
                    best = (diagonal + worth, Step::Pair);
                }
            }
            *step = best.1;
            row.push(best.0);
            (left, diagonal) = (best.0, up);
        }
        std::mem::swap(&mut above, &mut row);
        above_from = from;
    }
    let weight = above.last().copied().unwrap_or(0);
    Path { pairs: trace_back(rows, &offsets, &steps), weight }
}

fn trace_back(rows: &[(usize, usize)], offsets: &[usize], steps: &[Step]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut i, mut j) = (rows.len() - 1, rows[rows.len() - 1].1);
    while i > 0 || j > 0 {
        match steps[offsets[i] + j - rows[i].0] {
            Step::Pair => {
                i -= 1;
                j -= 1;
                pairs.push((i, j));
            }
            Step::SkipA => i -= 1,
            Step::SkipB => j -= 1,
        }
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two strings whose letters are the elements: equal letters score 10, and letters that differ
    /// only in case score 3.
    struct Letters<'a>(&'a [u8], &'a [u8]);

    impl Compare for Letters<'_> {
        fn lengths(&self) -> (usize, usize) {
            (self.0.len(), self.1.len())
        }
        fn equal(&mut self, a: usize, b: usize) -> bool {
            self.0[a] == self.1[b]
        }
        fn score(&mut self, a: usize, b: usize) -> i64 {
            match (self.0[a], self.1[b]) {
                (x, y) if x == y => 10,
                (x, y) if x.eq_ignore_ascii_case(&y) => 3,
                _ => 0,
            }
        }
        fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens> {
            let words = |text: &[u8]| text.iter().map(|&byte| u64::from(byte)).collect();
            vec![(words(&self.0[a]), words(&self.1[b]))]
        }
    }

    fn pairs(a: &str, b: &str) -> Vec<(usize, usize)> {
        align(&mut Letters(a.as_bytes(), b.as_bytes())).pairs
    }

    #[test]
    fn a_changed_sibling_is_matched_in_its_own_gap() {
        assert_eq!(pairs("aaaa", "aaAa"), vec![(0, 0), (1, 1), (2, 2), (3, 3)]);
    }

    #[test]
    fn an_inserted_sibling_stays_unmatched() {
        assert_eq!(pairs("abc", "abxc"), vec![(0, 0), (1, 1), (2, 3)]);
        assert_eq!(pairs("", "abc"), vec![]);
    }

    #[test]
    fn of_equally_good_paths_the_one_with_later_pairs_is_chosen() {
        let path = |a: &str, b: &str| {
            let (a, b) = (a.as_bytes(), b.as_bytes());
            best_path(&vec![(0, b.len()); a.len() + 1], |i, j, _| i64::from(a[i] == b[j])).pairs
        };
        assert_eq!(path("a", "aa"), [(0, 1)]);
        assert_eq!(path("aa", "a"), [(1, 0)]);
        assert_eq!(path("xk", "kx"), [(1, 0)]);
    }

    #[test]
    fn unmatched_calls_slide_into_one_gap() {
        // The plain path matches the second `x`, so the unmatched letters form two runs: `x y z`
        // and `u`.
        assert_eq!(pairs("kxyzxu", "Kx"), [(0, 0), (1, 1)]);
    }

    #[test]
    fn a_changed_sibling_is_matched_in_its_own_gap_of_a_long_row() {
        let (a, mut b) = ("a".repeat(3000), "a".repeat(3000));
        b.replace_range(1500..1501, "A");
        let expected: Vec<_> = (0..3000).map(|i| (i, i)).collect();
        assert_eq!(pairs(&a, &b), expected);
    }

    /// Two lists of numbers. Only equal numbers score, but the tokens make the plain path match
    /// unequal numbers.
    struct Misled {
        numbers: (Vec<u64>, Vec<u64>),
        kinds: Vec<Tokens>,
    }

    impl Compare for Misled {
        fn lengths(&self) -> (usize, usize) {
            (self.numbers.0.len(), self.numbers.1.len())
        }
        fn score(&mut self, a: usize, b: usize) -> i64 {
            if self.numbers.0[a] == self.numbers.1[b] { 10 } else { 0 }
        }
        fn tokens(&mut self, _: Range<usize>, _: Range<usize>) -> Vec<Tokens> {
            self.kinds.clone()
        }
    }

    /// The numbers from 0 to `length`, and their tokens. Because of these tokens, the plain path
    /// matches each number with the number `shift` positions later.
    fn shifted(length: u64, shift: u64) -> (Vec<u64>, Tokens) {
        let tokens = ((shift..length + shift).collect(), (0..length).collect());
        ((0..length).collect(), tokens)
    }

    #[test]
    fn the_corridor_reaches_further_than_the_plain_path_is_wrong() {
        let found = |length: u64, shift: u64| {
            let (numbers, tokens) = shifted(length, shift);
            let mut misled = Misled { numbers: (numbers.clone(), numbers), kinds: vec![tokens] };
            align(&mut misled).pairs.len() as u64
        };
        // As lists get longer, the corridor narrows: first several layers wide, then one layer wide, then hardly wider
        // than the path.
        assert_eq!(found(1_000, HALF_WIDEST as u64 - 2), 1_000);
        assert_eq!(found(8_000, HALF_WIDTH as u64 - 2), 8_000);
        assert!(found(8_000, HALF_WIDEST as u64 - 2) < 50);
    }

    #[test]
    fn of_two_simple_paths_the_heavier_one_is_kept() {
        let (numbers, wrong) = shifted(1_000, 300);
        let right = (numbers.clone(), numbers.clone());
        for kinds in [vec![wrong.clone(), right.clone()], vec![right, wrong]] {
            let numbers = (numbers.clone(), numbers.clone());
            assert_eq!(align(&mut Misled { numbers, kinds }).pairs.len(), 1_000);
        }
    }

    #[test]
    fn a_long_foreign_block_is_skipped() {
        let step = "abcdefghij".repeat(200);
        let b = format!("{step}{}{step}", "x".repeat(2500));
        let a = step.repeat(2);
        let expected: Vec<_> =
            (0..4000).map(|i| (i, if i < 2000 { i } else { i + 2500 })).collect();
        assert_eq!(pairs(&a, &b), expected);
    }

    #[test]
    fn a_block_that_is_too_large_is_searched_along_its_diagonal_and_reported() {
        let side = (BLOCK_CELLS as f64).sqrt() as u64 + 2;
        let lists = |length: u64| {
            let (a, b) = ((0..length).collect(), (length..2 * length).collect());
            corridor(&(a, b), 3)
        };
        let (large, small) = (lists(side), lists(side - 2));
        assert_eq!((large.cut_blocks, small.cut_blocks), (1, 0));
        let last = side as usize;
        assert_eq!((large.rows[0], large.rows[last]), ((0, 3), (last - 3, last)));
        assert!(large.rows.iter().all(|(from, to)| to - from <= 7));
        assert!(small.rows.iter().all(|&row| row == (0, last - 2)));
        // Blocks are searched completely, the smallest first, until they have too many cells together.
        let block = |rows: usize| Block { equal: false, a: 0..rows, b: 0..1_000 };
        let blocks: Vec<Block> = [2_000, 1_000, 1_000, 1_000, 999, 1_000].map(block).into();
        assert_eq!(searched_whole(&blocks), [false, true, true, true, true, false]);
        // A block that is empty on one side needs no search, so it does not count as cut short.
        let one_sided = corridor(&((0..9).collect(), (0..9 + 2 * side * side).collect()), 3);
        assert_eq!(one_sided.cut_blocks, 0);
    }
}
