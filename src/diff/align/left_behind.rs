//! Matches calls that were left behind: calls that are unmatched because their contents moved elsewhere on one side.
//!
//! ```text
//! trace1  p          trace2  p
//!         ├── f              ├── f         x moved out of f, or runs on another thread now: the two f have
//!         │   └── x          └── x         nothing in common, and yet they are the same f
//!
//! trace1  t          trace2  t  u
//!         └── f              │  └── f      half of a thread runs on another one: the contents of f were
//!             ├── x          │      └── x  matched there, so the f around them is matched too
//!             └── y          └── y
//! ```

use super::aligner::Aligner;
use crate::diff::keys::Key;
use crate::diff::relation::Relation;
use crate::side::{PerSide, Side};
use crate::tree::{CallId, CallKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

impl Aligner<'_> {
    /// Matches two unmatched ops or frames if they have the same key and children of one are matched with children of
    /// the other. Inner calls are processed first.
    pub(super) fn pair_around_counterparts(&mut self) {
        let baseline = self.outlines.baseline;
        for a in (0..baseline.len() as u32).rev() {
            let may_be = self.is_free(Side::Baseline, a) && baseline.is_op_or_frame(a);
            if !may_be || baseline.is_hidden(a) {
                continue;
            }
            let mut votes: BTreeMap<u32, u32> = BTreeMap::new();
            for child in baseline.each_child(a) {
                let counterpart = self.both.links.counterpart(Side::Baseline, child);
                let above =
                    counterpart.and_then(|counterpart| self.parent(Side::Candidate, counterpart));
                if let Some(b) = above.filter(|&b| self.is_free(Side::Candidate, b)) {
                    *votes.entry(b).or_default() += 1;
                }
            }
            votes.retain(|&b, _| {
                baseline.keys[a as usize] == self.outlines.candidate.keys[b as usize]
            });
            if let Some((&b, _)) = votes.iter().max_by_key(|&(&b, &votes)| (votes, Reverse(b))) {
                let above = [self.parent(Side::Baseline, a), self.parent(Side::Candidate, b)];
                let stay = match above {
                    [Some(a), Some(b)] => self.both.links.counterpart(Side::Baseline, a) == Some(b),
                    [_, _] => false,
                };
                self.link(a, b, if stay { Relation::Same } else { Relation::Moved });
            }
        }
    }

    /// Matches two unmatched ops or frames if the contents of both have counterparts elsewhere. On each side, the call must
    /// be the only call with its key in the gap.
    pub(super) fn pair_left_behind(&mut self) {
        let me = &*self;
        let left = PerSide::from_fn_at_once(|side| me.left_behind(side));
        // Outer calls are visited first, because a call that was left behind may contain other such calls.
        let parents: BTreeSet<u32> =
            left.baseline.iter().filter_map(|&call| self.parent(Side::Baseline, call)).collect();
        for a in parents {
            let Some(b) = self.both.links.counterpart(Side::Baseline, a) else { continue };
            let lists = self.children(a, b);
            for gap in self.gaps_of(lists.as_ref().map(Vec::as_slice)) {
                for (a, b) in self.alone_of_their_key(&gap) {
                    if left.baseline.contains(&a) && left.candidate.contains(&b) {
                        self.link(a, b, Relation::Same);
                    }
                }
            }
        }
    }

    /// The calls that were left behind: unmatched ops and frames whose children are all either
    /// matched or left behind too.
    fn left_behind(&self, side: Side) -> FxHashSet<u32> {
        let outline = self.outlines[side];
        let mut left = FxHashSet::default();
        // Children come after their parents in preorder, so the reverse order visits children first.
        for call in (0..outline.len() as u32).rev() {
            let mut children = outline.each_child(call);
            let is_left = self.is_free(side, call)
                && !outline.is_hidden(call)
                && outline.is_op_or_frame(call)
                && children.all(|child| {
                    outline.is_query(child) || !self.is_free(side, child) || left.contains(&child)
                });
            if is_left {
                left.insert(call);
            }
        }
        left
    }

    fn parent(&self, side: Side, call: u32) -> Option<u32> {
        let mut above = self.trees[side].ancestors(CallId(call)).map(|above| above.0);
        above.find(|&above| !self.outlines[side].is_hidden(above))
    }

    /// The pairs of calls in a gap that have the same key, if this key occurs exactly once on each side.
    fn alone_of_their_key(&self, gap: &PerSide<Vec<u32>>) -> Vec<(u32, u32)> {
        let of_keys = PerSide::from_fn(|side| {
            let mut of_keys: FxHashMap<Key, Vec<u32>> = FxHashMap::default();
            for &call in &gap[side] {
                of_keys.entry(self.outlines[side].keys[call as usize]).or_default().push(call);
            }
            of_keys
        });
        let key = |call: u32| self.outlines.baseline.keys[call as usize];
        let alone = gap.baseline.iter().filter_map(|&a| {
            match (&of_keys.baseline[&key(a)][..], of_keys.candidate.get(&key(a))?.as_slice()) {
                (&[a], &[b]) => Some((a, b)),
                (_, _) => None,
            }
        });
        alone.collect()
    }

    /// Marks two matched calls with the same key as moved if their nearest matched callers do not match each other.
    /// Most moved calls are marked when they are matched. Calls inside an expanded wrapper are marked only here,
    /// because the wrapper itself may be matched later than its contents.
    pub(super) fn note_what_moved_out(&self) {
        let links = self.both.links;
        for a in 0..self.outlines.baseline.len() as u32 {
            let counterpart = links.counterpart(Side::Baseline, a);
            let Some(b) = counterpart.filter(|_| links.is_same(Side::Baseline, a)) else {
                continue;
            };
            let above = [self.caller(Side::Baseline, a), self.caller(Side::Candidate, b)];
            let stays = match above {
                [Some(one), Some(two)] => links.counterpart(Side::Baseline, one) == Some(two),
                // The work of one thread may be split over two threads, so a call on a different thread does not count
                // as moved.
                [None, None] => true,
                [_, _] => false,
            };
            if !stays {
                links.mark_moved(a, b);
            }
        }
    }

    /// The nearest ancestor that has a counterpart with the same key; `None` if this ancestor is a
    /// thread.
    #[inline]
    fn caller(&self, side: Side, call: u32) -> Option<u32> {
        let tree = self.trees[side];
        let mut above = tree.ancestors(CallId(call));
        let caller = above.find(|above| self.both.links.is_common(side, above.0))?;
        (tree.kind(caller) != CallKind::Thread).then_some(caller.0)
    }
}
