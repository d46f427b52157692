//! Splits the pending pairs into independent pieces that several cores align in parallel.
//!
//! Aligning the children of a pair reads and writes only the matches of calls inside the pair's two subtrees. The
//! order in which two pairs are aligned therefore matters only if one pair is inside the other. One pair can be inside
//! the other if the contents of an expanded wrapper are matched before the wrapper itself. Each piece keeps its pairs
//! in their original order, so the result does not depend on the number of cores.
//!
//! ```text
//! trace1   a    b    c        trace2   A    C    B      pairs aA, bB and cC, two of which cross:
//!                                                       pieces [aA], [bB cC]
//! ```

use super::aligner::Aligner;
use super::recurring::Recurring;
use crate::diff::weights::PIECE;
use crate::side::{PerSide, Side};
use rayon::Scope;
use std::ops::Range;

/// A pair of calls whose children are still to be aligned.
#[derive(Debug, Clone)]
struct Waiting {
    /// Position of the pair in the list of pending pairs.
    at: usize,
    /// For each side, the range of calls in the subtree.
    spans: PerSide<Range<u32>>,
    /// Number of calls in the larger of the two subtrees.
    size: u32,
}

impl<'a> Aligner<'a> {
    /// Aligns the children of all pending pairs, including pairs that are added during the alignment.
    pub(super) fn descend(&mut self) {
        if !self.pending.is_empty() {
            rayon::scope(|scope| self.descend_within(scope));
        }
    }

    /// Aligns the pending pairs one by one and hands independent pieces to other threads in the rayon scope. No piece
    /// waits for another piece, so the stack does not grow with the depth of a trace.
    fn descend_within<'s>(&mut self, scope: &Scope<'s>)
    where
        'a: 's,
    {
        // Discard the matches stored for copying, because they may be outdated.
        self.recurring = Recurring::default();
        while let Some((a, b)) = self.pending.pop() {
            self.recurring.close(self.pending.len());
            self.align_below(a, b);
            if self.is_large(a, b) {
                let both = self.both;
                let mut pieces = self.pieces().into_iter();
                self.pending = pieces.next().unwrap_or_default();
                for piece in pieces {
                    scope.spawn(move |scope| {
                        let mut aligner = Aligner::new(both);
                        aligner.pending = piece;
                        aligner.descend_within(scope);
                    });
                }
            }
        }
    }

    /// Whether the subtrees of a pair may be large enough to be split into pieces.
    pub(super) fn is_large(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.size(a).min(self.outlines.candidate.size(b)) >= 2 * PIECE
    }

    /// Splits the pending pairs into pieces of at least [`PIECE`] calls; the last piece may be smaller.
    fn pieces(&mut self) -> Vec<Vec<(u32, u32)>> {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let waiting = |(at, (a, b)): (usize, (u32, u32))| Waiting {
            at,
            spans: PerSide::new(a..x.end(a), b..y.end(b)),
            size: x.size(a).max(y.size(b)),
        };
        let pending = std::mem::take(&mut self.pending).into_iter();
        let pieces = cut(pending.enumerate().map(waiting).collect(), PIECE);
        let pair =
            |waiting: &Waiting| (waiting.spans.baseline.start, waiting.spans.candidate.start);
        pieces.iter().map(|piece| piece.iter().map(pair).collect()).collect()
    }
}

/// Splits the pending pairs into pieces of at least `least` calls. On both sides, every pair of a piece precedes every
/// pair of the next piece. The pairs in each piece keep their relative order.
fn cut(mut waiting: Vec<Waiting>, least: u32) -> Vec<Vec<Waiting>> {
    waiting.sort_by_key(|waiting| waiting.spans.baseline.start);
    let starts = waiting.iter().rev().map(|waiting| waiting.spans.candidate.start);
    let mut first_behind: Vec<u32> = starts
        .scan(u32::MAX, |first, start| {
            *first = start.min(*first);
            Some(*first)
        })
        .collect();
    first_behind.reverse();
    let mut pieces: Vec<Vec<Waiting>> = Vec::new();
    let (mut ends, mut size) = (PerSide::new(0, 0), 0);
    for (waiting, first_behind) in waiting.into_iter().zip(first_behind) {
        let is_apart =
            ends.baseline <= waiting.spans.baseline.start && ends.candidate <= first_behind;
        if pieces.is_empty() || (is_apart && size >= least) {
            pieces.push(Vec::new());
            size = 0;
        }
        for side in Side::BOTH {
            ends[side] = ends[side].max(waiting.spans[side].end);
        }
        size += waiting.size;
        pieces.last_mut().expect("the first pair begins a piece").push(waiting);
    }
    pieces.iter_mut().for_each(|piece| piece.sort_by_key(|waiting| waiting.at));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A random range that can be a subtree: of any two such ranges, one contains the other, or they are disjoint.
    fn span() -> impl Strategy<Value = Range<u32>> {
        (0..4_u32, 0..64_u32).prop_map(|(level, at)| {
            let width = 1 << level;
            let start = at / width * width;
            start..start + width
        })
    }

    fn pairs(spans: Vec<(Range<u32>, Range<u32>)>) -> Vec<Waiting> {
        let waiting = |(at, (a, b)): (usize, (Range<u32>, Range<u32>))| {
            let size = (a.end - a.start).max(b.end - b.start);
            Waiting { at, spans: PerSide::new(a, b), size }
        };
        spans.into_iter().enumerate().map(waiting).collect()
    }

    fn overlap(one: &Range<u32>, two: &Range<u32>) -> bool {
        one.start < two.end && two.start < one.end
    }

    #[test]
    fn regions_in_order_split_the_lists_and_crossing_or_nested_ones_do_not() {
        let positions = |spans: &[(Range<u32>, Range<u32>)]| {
            let pieces = cut(pairs(spans.to_vec()), 1);
            let of_piece = |piece: &Vec<Waiting>| piece.iter().map(|waiting| waiting.at).collect();
            pieces.iter().map(of_piece).collect::<Vec<Vec<usize>>>()
        };
        assert_eq!(positions(&[(4..6, 4..6), (0..2, 0..2)]), [[1], [0]]);
        assert_eq!(positions(&[(0..2, 4..6), (4..6, 0..2)]), [[0, 1]]);
        assert_eq!(positions(&[(0..4, 0..4), (1..2, 6..7)]), [[0, 1]]);
        assert_eq!(positions(&[(6..7, 1..2), (0..4, 0..4)]), [[0, 1]]);
    }

    proptest! {
        #[test]
        fn no_call_is_in_two_pieces(
            spans in prop::collection::vec((span(), span()), 0..40),
            least in 1..20_u32,
        ) {
            let waiting = pairs(spans);
            let pieces = cut(waiting.clone(), least);
            let mut all: Vec<usize> = pieces.iter().flatten().map(|waiting| waiting.at).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..waiting.len()).collect::<Vec<_>>());
            for (at, piece) in pieces.iter().enumerate() {
                prop_assert!(piece.is_sorted_by_key(|waiting| waiting.at));
                let size: u32 = piece.iter().map(|waiting| waiting.size).sum();
                prop_assert!(size >= least || at + 1 == pieces.len());
                for (one, two) in piece.iter().flat_map(|one| {
                    pieces[at + 1..].iter().flatten().map(move |two| (one, two))
                }) {
                    for side in Side::BOTH {
                        prop_assert!(!overlap(&one.spans[side], &two.spans[side]));
                    }
                }
            }
        }
    }
}
