//! Copies the matches below a pair to later pairs that are equal to it.
//!
//! ```text
//! trace1   layer₀(a b c)   layer₁(a b c)   layer₂(a b c)   …      the matches below layer₁ and LAYER₁
//! trace2   LAYER₀(A B C)   LAYER₁(A B C)   LAYER₂(A B C)   …      are copied to all later layers
//! ```
//!
//! Everything that influences the alignment must be equal. All calls of both subtrees are equal in
//! every detail, none of them is matched yet, and each subtree lies in one step. Results that
//! depend on times are not copied.

use super::Aligner;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::FxHashMap;

/// Maximum number of kinds of pairs (32 bytes each) to remember. When this limit is reached, all
/// kinds are forgotten.
const MOST_KINDS: usize = 1 << 13;

/// Fingerprints of the two calls of a pair.
type Kind = (u64, u64);

/// A pair whose contents are being aligned and whose matches can be copied afterward.
#[derive(Debug)]
struct Open {
    kind: Kind,
    pair: (u32, u32),
    /// The pair is done when fewer than this many pairs are pending.
    waiting: usize,
}

/// The pairs whose contents this aligner has aligned completely.
#[derive(Debug, Default)]
pub(super) struct Recurring {
    /// For each kind seen so far, the pair to copy from, if there is one.
    models: FxHashMap<Kind, Option<(u32, u32)>>,
    /// The pairs whose contents are being aligned, outermost first.
    open: Vec<Open>,
}

impl Recurring {
    /// Records the open pairs below which nothing is pending any more. `waiting` is the number of
    /// pending pairs.
    pub(super) fn close(&mut self, waiting: usize) {
        while let Some(done) = self.open.pop_if(|open| waiting < open.waiting) {
            self.models.insert(done.kind, Some(done.pair));
        }
    }

    /// Discards the open pairs, because their result depends on more than their own calls.
    pub(super) fn forget_open(&mut self) {
        self.open.clear();
    }
}

impl Aligner<'_> {
    /// Copies the matches of the descendants of an equal pair. Returns `false` if there is no such pair.
    pub(super) fn pair_as_before(&mut self, a: u32, b: u32) -> bool {
        if self.are_graph_launches(a, b) {
            // Matches below graph launches are not copied: they may depend on the times of the
            // events and on what is known about the graph.
            self.recurring.forget_open();
            return false;
        }
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let kind = (x.exact[a as usize], y.exact[b as usize]);
        let Some(model) = self.recurring.models.get(&kind).copied() else {
            // Most kinds have only one pair, so the first pair of a kind is only noted, not
            // compared.
            if self.recurring.models.len() >= MOST_KINDS {
                self.recurring.models.clear();
            }
            self.recurring.models.insert(kind, None);
            return false;
        };
        if self.is_large(a, b) || !self.depends_on_itself(a, b) {
            return false;
        }
        let is_equal = |&(one, two): &(u32, u32)| {
            x.are_equal_throughout(one, a)
                && y.are_equal_throughout(two, b)
                && self.keeps_to_itself((one, two))
        };
        if let Some(model) = model.filter(is_equal) {
            self.copy(model, (a, b));
            return true;
        }
        let waiting = self.pending.len();
        self.recurring.open.push(Open { kind, pair: (a, b), waiting });
        false
    }

    fn are_graph_launches(&self, a: u32, b: u32) -> bool {
        self.trees.baseline.is_graph_launch(CallId(a))
            && self.trees.candidate.is_graph_launch(CallId(b))
    }

    /// Whether nothing but the two subtrees influences their alignment.
    fn depends_on_itself(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        Side::BOTH.into_iter().all(|side| {
            let (call, end) = (calls[side], self.outlines[side].end(calls[side]));
            self.both.programs[side].steps().are_in_one(CallId(call + 1), CallId(end))
                && (call + 1..end).all(|below| self.is_free(side, below))
        })
    }

    /// Whether all matches of calls below a pair are with calls below the same pair. Moved calls
    /// may since have been matched elsewhere.
    fn keeps_to_itself(&self, (a, b): (u32, u32)) -> bool {
        let pair = PerSide::new(a, b);
        let below = |side: Side| pair[side] + 1..self.outlines[side].end(pair[side]);
        Side::BOTH.into_iter().all(|side| {
            let mut partners = below(side).filter_map(|call| self.both.links.partner(side, call));
            partners.all(|partner| below(side.other()).contains(&partner))
        })
    }

    fn copy(&self, model: (u32, u32), (a, b): (u32, u32)) {
        let links = self.both.links;
        for at in 1..self.outlines.baseline.end(a) - a {
            if let Some(partner) = links.partner(Side::Baseline, model.0 + at) {
                let relation = links.relation(Side::Baseline, model.0 + at);
                let pass = links.pass(Side::Baseline, model.0 + at);
                links.link(a + at, b + (partner - model.1), (relation, pass));
            }
        }
    }
}
