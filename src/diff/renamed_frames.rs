//! Finds the frames that were renamed everywhere in the same way, as all layers of a model whose class has a new name.

use super::keys::Key;
use super::outline::Outline;
use super::pairing::Pairing;
use super::relation::{NONE, Relation};
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Frames that were renamed everywhere in the same way: all matched calls with one name are matched with calls with the
/// other name, and most calls are matched. Such a name is the same name for the evidence.
pub(super) struct RenamedFrames {
    /// The baseline's key for each key of the candidate.
    known_as: FxHashMap<Key, Key>,
}

impl RenamedFrames {
    pub(super) fn of(outlines: PerSide<&Outline<'_>>, pairing: &Pairing) -> RenamedFrames {
        let mut matched: BTreeMap<(Key, Key), usize> = BTreeMap::new();
        for (a, &b) in (0..).zip(&pairing.counterparts.baseline) {
            let is_renamed = b != NONE
                && pairing.relations.baseline[a as usize] == Relation::Renamed
                && outlines.baseline.kind(a) == CallKind::Frame
                && outlines.candidate.kind(b) == CallKind::Frame;
            if is_renamed {
                let [mine, theirs] =
                    [outlines.baseline.keys[a as usize], outlines.candidate.keys[b as usize]];
                *matched.entry((mine, theirs)).or_default() += 1;
            }
        }
        // For each key, the number of matched calls and the number of all calls.
        let mut calls: PerSide<FxHashMap<Key, (usize, usize)>> = PerSide::default();
        for (mine, theirs) in matched.keys() {
            calls.baseline.insert(*mine, (0, 0));
            calls.candidate.insert(*theirs, (0, 0));
        }
        for side in Side::BOTH.into_iter().filter(|_| !matched.is_empty()) {
            for (key, &counterpart) in outlines[side].keys.iter().zip(&pairing.counterparts[side]) {
                if let Some((matched, all)) = calls[side].get_mut(key) {
                    *matched += usize::from(counterpart != NONE);
                    *all += 1;
                }
            }
        }
        let is_everywhere = |&((mine, theirs), count): &((Key, Key), usize)| {
            [calls.baseline[&mine], calls.candidate[&theirs]]
                .into_iter()
                .all(|(matched, all)| matched == count && 2 * matched > all)
        };
        let known_as = matched.into_iter().filter(is_everywhere);
        RenamedFrames { known_as: known_as.map(|((mine, theirs), _)| (theirs, mine)).collect() }
    }

    /// The key of a call, by its name in the baseline.
    pub(super) fn key(&self, outlines: PerSide<&Outline<'_>>, side: Side, call: u32) -> Key {
        let key = outlines[side].keys[call as usize];
        match side {
            Side::Baseline => key,
            Side::Candidate => self.known_as.get(&key).copied().unwrap_or(key),
        }
    }
}
