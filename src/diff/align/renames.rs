//! Finds the renamed calls in a gap.

use super::compare::{Compare, Tokens};
use super::vocabulary::Vocabulary;
use crate::diff::bags::{Bag, Bags};
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::diff::weights::{AKIN, RATIO, SMALL};
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use std::ops::Range;

/// Searches the two runs of a gap for renamed calls.
pub(super) struct Renames<'s, 'a> {
    outlines: PerSide<&'a Outline<'a>>,
    bags: &'s mut Bags<'a>,
    words: &'s Vocabulary,
    runs: PerSide<Vec<Known>>,
}

/// Properties of a call that do not depend on the call it is compared with.
#[derive(Debug, Clone, Copy)]
struct Known {
    call: u32,
    key: Key,
    kind: CallKind,
    arguments: u32,
    is_generated: bool,
    /// Whether the number in the name identifies the call.
    is_numbered: bool,
    is_module: bool,
    weight: u32,
    /// Number of tokens below the call.
    below: u32,
    /// The tokens below the call, computed on demand.
    bag: Option<Bag>,
}

impl<'s, 'a> Renames<'s, 'a> {
    pub(super) fn new(
        outlines: PerSide<&'a Outline<'a>>,
        bags: &'s mut Bags<'a>,
        words: &'s Vocabulary,
        runs: PerSide<&[u32]>,
    ) -> Self {
        let runs = PerSide::from_fn(|side| {
            let outline = outlines[side];
            let known = |&call: &u32| Known {
                call,
                key: outline.keys[call as usize],
                kind: outline.kind(call),
                arguments: outline.arguments[call as usize],
                is_generated: words.is_generated(outline.keys[call as usize]),
                is_numbered: words.is_numbered(outline.keys[call as usize]),
                is_module: words.is_module(outline.keys[call as usize]),
                weight: outline.weight(call),
                below: outline.weight(call) - outline.own_weight(call),
                bag: None,
            };
            runs[side].iter().map(known).collect()
        });
        Renames { outlines, bags, words, runs }
    }

    /// Number of tokens that the contents of two calls share.
    fn shared(&mut self, i: usize, j: usize) -> u32 {
        let bags = (self.bag(Side::Baseline, i), self.bag(Side::Candidate, j));
        self.bags.common(bags.0, bags.1)
    }

    fn bag(&mut self, side: Side, at: usize) -> Bag {
        let Known { call, bag, .. } = self.runs[side][at];
        let bag = bag.unwrap_or_else(|| self.bags.below(side, call));
        self.runs[side][at].bag = Some(bag);
        bag
    }

    /// Whether both runs are equally long and the names of the two calls begin with the same word. The names are then
    /// enough evidence for a rename, even if nothing else is known about the calls, or if all calls inside them were
    /// renamed as well.
    fn is_in_row_of_variants(&self, i: usize, j: usize) -> bool {
        self.runs.baseline.len() == self.runs.candidate.len()
            && self.words.begin_alike(self.runs.baseline[i].key, self.runs.candidate[j].key)
    }

    /// A hash of a call's contents and arguments, but not of its name. If only the name of a call changed, the call and
    /// its counterpart have the same hash.
    fn body(&self, side: Side, call: u32) -> u64 {
        let outline = self.outlines[side];
        let mut body = u64::from(outline.arguments[call as usize]);
        for child in outline.each_child(call) {
            body = body.rotate_left(7)
                ^ outline.shape[child as usize].wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        body
    }
}

/// Whether the token counts of two calls differ too much for the calls to be the same op.
pub(super) fn are_out_of_proportion(one: u32, two: u32) -> bool {
    one.max(two) > RATIO * one.min(two) + SMALL
}

impl Compare for Renames<'_, '_> {
    fn lengths(&self) -> (usize, usize) {
        (self.runs.baseline.len(), self.runs.candidate.len())
    }

    /// How strongly contents, arguments and names suggest that a call was renamed; 0 if they are not enough evidence.
    fn score(&mut self, i: usize, j: usize) -> i64 {
        let in_row = self.is_in_row_of_variants(i, j);
        let (a, b) = (&self.runs.baseline[i], &self.runs.candidate[j]);
        let unlike = a.kind != b.kind || !matches!(a.kind, CallKind::Op | CallKind::Frame);
        // A numbered layer is never treated as renamed. A compiled call does the work of several ops, so it
        // is not a rename of one op.
        let is_other_layer = a.is_numbered || b.is_numbered;
        if unlike || is_other_layer || a.is_generated != b.is_generated {
            return 0;
        }
        if are_out_of_proportion(a.weight, b.weight) {
            return 0;
        }
        // A module is not a plain frame while the run of the frame has a module.
        let plain = match (a.is_module, b.is_module) {
            (true, false) => Some(Side::Candidate),
            (false, true) => Some(Side::Baseline),
            (true, true) | (false, false) => None,
        };
        if plain.is_some_and(|side| self.runs[side].iter().any(|call| call.is_module)) {
            return 0;
        }
        let (least, larger) = (a.below.min(b.below), a.below.max(b.below));
        let same_arguments = a.arguments != 0 && a.arguments == b.arguments;
        let one_code = self.words.are_one_code(a.key, b.key);
        let alike = same_arguments || one_code || self.words.are_akin(a.key, b.key);
        // Compare the contents only if they may have enough in common to count as evidence.
        let shared = if least > 0 && (alike || in_row || 2 * least >= larger) {
            self.shared(i, j)
        } else {
            0
        };
        let agrees = match larger {
            0 => same_arguments || one_code,
            _ => 2 * shared >= larger || (alike && shared > 0),
        };
        if agrees || in_row { 8 * i64::from(shared) + if alike { AKIN } else { 0 } + 1 } else { 0 }
    }

    fn most(&mut self, i: usize, j: usize) -> i64 {
        let least = self.runs.baseline[i].below.min(self.runs.candidate[j].below);
        8 * i64::from(least) + AKIN + 1
    }

    fn tokens(&mut self, a: Range<usize>, b: Range<usize>) -> Vec<Tokens> {
        let of = |side: Side, run: &[Known]| {
            run.iter().map(|known| self.body(side, known.call)).collect()
        };
        vec![(
            of(Side::Baseline, &self.runs.baseline[a]),
            of(Side::Candidate, &self.runs.candidate[b]),
        )]
    }
}
