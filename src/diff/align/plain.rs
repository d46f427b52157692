//! Computes a plain alignment of two long token lists: alternating equal and unequal blocks that
//! cover both lists. The weighted alignment then searches near the path of the plain alignment.

use super::lcs::longest_common;
use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::cmp::Ordering;
use std::ops::Range;

/// Finds the alignment with the most equal tokens, and returns it as blocks. For very long lists, the alignment is an
/// approximation.
pub(super) fn plain_alignment(a: &[u64], b: &[u64]) -> Vec<Block> {
    match longest_common(a, b) {
        Some(pairs) => {
            let runs = pairs.chunk_by(|one, two| (one.0 + 1, one.1 + 1) == *two);
            blocks_around(runs.map(|run| (run[0], run.len())), (a.len(), b.len()))
        }
        None => blocks_around(near_linear_alignment(a, b).into_iter(), (a.len(), b.len())),
    }
}

/// A run of equal tokens: its first positions in both lists, and its length.
type Run = ((usize, usize), usize);

/// Aligns two very long lists. Several near-linear methods are tried, because none is best for all lists: the Myers
/// algorithm gives up early on long lists that differ a lot, and the other methods need rare tokens.
fn near_linear_alignment(a: &[u64], b: &[u64]) -> Vec<Run> {
    let equal = |runs: &[Run]| runs.iter().map(|run| run.1).sum::<usize>();
    let (mut best, most) = (Vec::new(), shared_tokens(a, b));
    for method in [Algorithm::Myers, Algorithm::Patience, Algorithm::Histogram] {
        if equal(&best) == most {
            break;
        }
        let ops = capture_diff_slices(method, a, b).into_iter();
        let found = ops.filter(|op| matches!(op, DiffOp::Equal { .. })).map(|op| {
            let (old, new) = (op.old_range(), op.new_range());
            ((old.start, new.start), old.len())
        });
        let found: Vec<Run> = found.collect();
        if equal(&found) > equal(&best) {
            best = found;
        }
    }
    best
}

/// Number of tokens that two lists share, with repeated tokens counted separately.
pub(super) fn shared_tokens(a: &[u64], b: &[u64]) -> usize {
    let mut counts: FxHashMap<u64, i64> = FxHashMap::default();
    for &token in a {
        *counts.entry(token).or_default() += 1;
    }
    b.iter()
        .filter(|token| {
            counts.get_mut(token).is_some_and(|left| {
                *left -= 1;
                *left >= 0
            })
        })
        .count()
}

/// Number of tokens that two sorted lists share, with repeated tokens counted separately.
pub(in crate::diff) fn shared_in_order<T: Ord>(a: &[T], b: &[T]) -> usize {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while let (Some(one), Some(two)) = (a.get(i), b.get(j)) {
        let order = one.cmp(two);
        shared += usize::from(order == Ordering::Equal);
        i += usize::from(order != Ordering::Greater);
        j += usize::from(order != Ordering::Less);
    }
    shared
}

/// A run of equal tokens, or a block where the two sides differ.
pub(super) struct Block {
    pub(super) equal: bool,
    pub(super) a: Range<usize>,
    pub(super) b: Range<usize>,
}

/// Splits two lists into blocks at the given runs of equal tokens.
fn blocks_around(runs: impl Iterator<Item = Run>, lengths: (usize, usize)) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut end = (0, 0);
    for (start, length) in runs.chain([(lengths, 0)]) {
        if start != end {
            blocks.push(Block { equal: false, a: end.0..start.0, b: end.1..start.1 });
        }
        end = (start.0 + length, start.1 + length);
        if length > 0 {
            blocks.push(Block { equal: true, a: start.0..end.0, b: start.1..end.1 });
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that the blocks cover two lists completely, and that equal and unequal blocks
    /// alternate.
    fn cover(blocks: &[Block], n: usize, m: usize) {
        let mut end = (0, 0);
        for block in blocks {
            assert_eq!((block.a.start, block.b.start), end);
            assert!(!block.equal || block.a.len() == block.b.len());
            end = (block.a.end, block.b.end);
        }
        assert_eq!(end, (n, m));
        assert!(blocks.windows(2).all(|two| two[0].equal != two[1].equal));
    }

    #[test]
    fn very_long_lists_are_aligned_by_whichever_method_finds_most() {
        let kept = |blocks: &[Block]| -> usize {
            blocks.iter().filter(|block| block.equal).map(|block| block.a.len()).sum()
        };
        let blocks = |a: &[u64], b: &[u64]| {
            blocks_around(near_linear_alignment(a, b).into_iter(), (a.len(), b.len()))
        };
        // The second list differs from the first by one removed, one inserted and one replaced
        // range.
        let a: Vec<u64> = (0..3_000).collect();
        let b: Vec<u64> =
            (0..500).chain(700..2_000).chain(9_000..9_050).chain(2_100..3_000).collect();
        let found = blocks(&a, &b);
        cover(&found, a.len(), b.len());
        assert_eq!(kept(&found), 500 + 1_300 + 900);
        let found = blocks(&a, &[7, 1]);
        cover(&found, a.len(), 2);
        assert_eq!(kept(&found), 1);
        let found = blocks(&[1, 2, 3], &[4, 5]);
        cover(&found, 3, 2);
        assert_eq!((found.len(), kept(&found)), (1, 0));
        // For two identical lists, the first method suffices.
        let found = blocks(&a, &a);
        assert_eq!((found.len(), kept(&found)), (1, a.len()));
    }

    #[test]
    fn tokens_are_shared_as_often_as_both_lists_have_them() {
        assert_eq!(shared_tokens(&[1, 1, 2, 3], &[1, 2, 2, 4]), 2);
        assert_eq!(shared_tokens(&[1, 1, 1], &[1, 1]), 2);
        assert_eq!(shared_tokens(&[], &[1]), 0);
        assert_eq!(shared_in_order(&[1, 1, 2, 3], &[1, 2, 2, 4]), 2);
        assert_eq!(shared_in_order(&[1, 1, 1, 5], &[1, 1, 5]), 3);
    }
}
