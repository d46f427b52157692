//! A pair that is equal to one aligned before → the same partners below it, found once and copied.
//!
//! ```text
//! trace1   layer₀(a b c)   layer₁(a b c)   layer₂(a b c)   …      what is below layer₁ and LAYER₁ stands
//! trace2   LAYER₀(A B C)   LAYER₁(A B C)   LAYER₂(A B C)   …      below all layers after them
//! ```
//!
//! All that aligning looks at must be equal: the calls of both subtrees to the letter, that none of them has
//! a partner yet, and that each subtree is in one step. What depends on times is not copied.

use super::Aligner;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use rustc_hash::FxHashMap;

/// So many kinds of pairs (32 bytes each) are remembered; then all are forgotten.
const MOST_KINDS: usize = 1 << 13;

/// Fingerprints of the two calls of a pair.
type Kind = (u64, u64);

/// A pair below which all is being aligned, to be copied then.
#[derive(Debug)]
struct Open {
    kind: Kind,
    pair: (u32, u32),
    /// How many pairs wait while nothing below it does.
    waiting: usize,
}

/// The pairs below which one piece of work has aligned all.
#[derive(Debug, Default)]
pub(super) struct Recurring {
    /// Of each kind that was met, the pair below which all can be copied, where there is one.
    models: FxHashMap<Kind, Option<(u32, u32)>>,
    /// The outermost first.
    open: Vec<Open>,
}

impl Recurring {
    /// Keeps the pairs below which nothing is left to be aligned, as only so many pairs wait.
    pub(super) fn close(&mut self, waiting: usize) {
        while let Some(done) = self.open.pop_if(|open| waiting < open.waiting) {
            self.models.insert(done.kind, Some(done.pair));
        }
    }

    /// What was found below the open pairs is not to be copied: something else than their calls had a say.
    pub(super) fn forget_open(&mut self) {
        self.open.clear();
    }
}

impl Aligner<'_> {
    /// Gives the calls below a pair the partners that those below an equal one have; `false` where none is known.
    pub(super) fn pair_as_before(&mut self, a: u32, b: u32) -> bool {
        if self.are_graph_launches(a, b) {
            // The times of the events may decide, and what is known of the graph.
            self.recurring.forget_open();
            return false;
        }
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let kind = (x.exact[a as usize], y.exact[b as usize]);
        let Some(model) = self.recurring.models.get(&kind).copied() else {
            // Most pairs are the only ones of their kind, so nothing is looked at for the first of them.
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

    /// Whether nothing but the two subtrees has a say in how they are aligned.
    fn depends_on_itself(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        Side::BOTH.into_iter().all(|side| {
            let (call, end) = (calls[side], self.outlines[side].end(calls[side]));
            self.both.programs[side].steps().are_in_one(CallId(call + 1), CallId(end))
                && (call + 1..end).all(|below| self.is_free(side, below))
        })
    }

    /// Whether all partners of what is below the first call of a pair are below the second one, and the
    /// other way round: something that moved may have been found elsewhere since.
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
                links.link(a + at, b + (partner - model.1), relation);
            }
        }
    }
}
