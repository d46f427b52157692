//! Pairs that wait → pieces that no call connects, which several cores align at once.
//!
//! Aligning the children of a pair reads and writes links of calls below the two alone. So pairs may be
//! aligned in any order, unless one of them stands in another: what an opened wrapper held has its partners
//! before the wrapper finds its own. A piece keeps the order of its pairs, and all comes out the same
//! however many cores there are.
//!
//! ```text
//! trace1   a    b    c        trace2   A    C    B      pairs aA, bB and cC, of which two crossed:
//!                                                        pieces [aA], [bB cC]
//! ```

use super::Aligner;
use super::weights::PIECE;
use crate::side::{PerSide, Side};
use rayon::Scope;

/// Where a pair that waits stands, and what its two calls hold, in the preorder of each side.
struct Waiting {
    at: usize,
    pair: (u32, u32),
    ends: PerSide<u32>,
}

impl<'a> Aligner<'a> {
    /// Aligns the children of all pending pairs, and of those that become partners on the way.
    pub(super) fn descend(&mut self) {
        if !self.pending.is_empty() {
            rayon::scope(|scope| self.descend_within(scope));
        }
    }

    /// The same; gives what can be aligned apart to other threads of the scope. They do not wait for
    /// each other, so that nothing recurses over the depth of a trace.
    fn descend_within<'s>(&mut self, scope: &Scope<'s>)
    where
        'a: 's,
    {
        while let Some((a, b)) = self.pending.pop() {
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

    /// Whether there may be more than one piece below two calls.
    fn is_large(&self, a: u32, b: u32) -> bool {
        self.outlines.baseline.size(a).min(self.outlines.candidate.size(b)) >= 2 * PIECE
    }

    /// The pending pairs in pieces of at least [`PIECE`] calls, but for the last one.
    fn pieces(&mut self) -> Vec<Vec<(u32, u32)>> {
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let pairs = std::mem::take(&mut self.pending).into_iter().enumerate();
        let waiting = |(at, (a, b)): (usize, (u32, u32))| Waiting {
            at,
            pair: (a, b),
            ends: PerSide::new(x.end(a), y.end(b)),
        };
        let mut waiting: Vec<Waiting> = pairs.map(waiting).collect();
        waiting.sort_by_key(|waiting| waiting.pair.0);
        // A cut is where all before it stands before all behind it, on both sides.
        let mut first_behind: Vec<u32> = waiting.iter().map(|waiting| waiting.pair.1).collect();
        for at in (1..first_behind.len()).rev() {
            first_behind[at - 1] = first_behind[at - 1].min(first_behind[at]);
        }
        let mut pieces: Vec<Vec<Waiting>> = Vec::new();
        let (mut ends, mut size) = (PerSide::new(0, 0), PIECE);
        for (waiting, first_behind) in waiting.into_iter().zip(first_behind) {
            let is_cut = ends.baseline <= waiting.pair.0 && ends.candidate <= first_behind;
            if is_cut && size >= PIECE {
                pieces.push(Vec::new());
                size = 0;
            }
            for side in Side::BOTH {
                ends[side] = ends[side].max(waiting.ends[side]);
            }
            size += x.size(waiting.pair.0).max(y.size(waiting.pair.1));
            pieces.last_mut().expect("the first pair begins a piece").push(waiting);
        }
        let in_order = |mut piece: Vec<Waiting>| {
            piece.sort_by_key(|waiting| waiting.at);
            piece.into_iter().map(|waiting| waiting.pair).collect()
        };
        pieces.into_iter().map(in_order).collect()
    }
}
