//! Copies the matches below an earlier pair to a later pair with identical calls ([`super::recurring`]).

use super::aligner::Aligner;
use super::recurring::{MOST_KINDS, Open};
use crate::side::{PerSide, Side};
use crate::tree::CallId;

impl Aligner<'_> {
    /// Copies the matches below an earlier pair with identical calls. Returns `false` if there is no such
    /// pair.
    pub(super) fn pair_as_before(&mut self, a: u32, b: u32) -> bool {
        if self.are_graph_launches(a, b) {
            // Matches below graph launches are not copied: they may depend on the times of the
            // events and on what is known about the graph's capture.
            self.recurring.forget_open();
            return false;
        }
        let (x, y) = (self.outlines.baseline, self.outlines.candidate);
        let kind = (x.exact[a as usize], y.exact[b as usize]);
        let Some(model) = self.recurring.models.get(&kind).copied() else {
            // Most kinds occur only once. For the first pair of a kind, only the kind is therefore stored, and no calls
            // are compared.
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

    /// Whether the alignment of two subtrees depends only on their contents: each subtree lies
    /// within one step, and no call inside them is matched yet.
    fn depends_on_itself(&self, a: u32, b: u32) -> bool {
        let calls = PerSide::new(a, b);
        Side::BOTH.into_iter().all(|side| {
            let (call, end) = (calls[side], self.outlines[side].end(calls[side]));
            self.both.programs[side].steps().are_in_one(CallId(call + 1), CallId(end))
                && (call + 1..end).all(|below| self.is_free(side, below))
        })
    }

    /// Whether every matched call below a pair has its counterpart below the same pair. Returns `false` if a later pass
    /// has matched calls that moved out of the pair.
    fn keeps_to_itself(&self, (a, b): (u32, u32)) -> bool {
        let pair = PerSide::new(a, b);
        let below = |side: Side| pair[side] + 1..self.outlines[side].end(pair[side]);
        Side::BOTH.into_iter().all(|side| {
            let mut counterparts =
                below(side).filter_map(|call| self.both.links.counterpart(side, call));
            counterparts.all(|counterpart| below(side.other()).contains(&counterpart))
        })
    }

    fn copy(&self, model: (u32, u32), (a, b): (u32, u32)) {
        let links = self.both.links;
        for at in 1..self.outlines.baseline.end(a) - a {
            if let Some(counterpart) = links.counterpart(Side::Baseline, model.0 + at) {
                let relation = links.relation(Side::Baseline, model.0 + at);
                let pass = links.pass(Side::Baseline, model.0 + at);
                links.link(a + at, b + (counterpart - model.1), (relation, pass));
            }
        }
    }
}
