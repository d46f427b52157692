//! Determines the confidence of each match.
//!
//! ```text
//! trace1   a  x  b  x  c        a, b and c are firm: each occurs once on both sides, in the same order. Between
//! trace2   a  x  b  c           a and b, and between b and c, there is no choice: the first x is firm.
//!
//! trace1   a  x  x  c           nothing shows which x of trace1 is the x of trace2:
//! trace2   a  x  c              the match is interchangeable
//! ```
//! A match is at most as certain as the match that encloses it, and at most likely in a step that could as well be
//! compared with another step. The evidence is computed independently of the passes of the alignment, so no pass
//! confirms its own matches.

use super::alternatives::{self, Row};
use super::counts;
use super::crossing::Crossing;
use super::keys::Key;
use super::outline::Outline;
use super::pairing::Pairing;
use super::relation::{NONE, Relation};
use super::renamed_frames::RenamedFrames;
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// How certain a match is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// At this position, both sides have the same number of calls with the same name or content, in the
    /// same order.
    Firm,
    /// The match is the best one found, but the calls around it allow other matches as well.
    Likely,
    /// At this position, one side has more calls with exactly this content than the other. Nothing shows which of
    /// these calls are the counterparts. Interchangeable matches between identical calls belong to the same group.
    Interchangeable {
        /// The number of the group that contains both of the matched calls.
        group: u32,
    },
}

impl Confidence {
    /// The name of the confidence level in tables: `firm`, `likely`, `interchangeable`.
    pub fn label(self) -> &'static str {
        match self {
            Confidence::Firm => "firm",
            Confidence::Likely => "likely",
            Confidence::Interchangeable { .. } => "interchangeable",
        }
    }

    /// The number of the group, if the match is interchangeable.
    pub fn group(self) -> Option<u32> {
        match self {
            Confidence::Interchangeable { group } => Some(group),
            Confidence::Firm | Confidence::Likely => None,
        }
    }

    /// The confidence of a match inside a match that has the confidence `around`.
    fn within(self, around: Confidence) -> Confidence {
        match (around, self) {
            (Confidence::Firm, own) => own,
            (Confidence::Interchangeable { .. }, Confidence::Firm) => around,
            (Confidence::Interchangeable { .. } | Confidence::Likely, _) => match self {
                Confidence::Interchangeable { .. } => self,
                Confidence::Firm | Confidence::Likely => Confidence::Likely,
            },
        }
    }
}

/// The confidence of all matches, by call.
#[derive(Debug, Clone, Default)]
pub(super) struct Confidences {
    is_firm: PerSide<Vec<bool>>,
    /// The group of each call whose match is interchangeable.
    groups: PerSide<FxHashMap<u32, u32>>,
}

impl Confidences {
    /// The confidence of a call's match; meaningless for an unmatched call.
    pub(super) fn of(&self, side: Side, call: usize) -> Confidence {
        if self.is_firm[side].get(call).copied().unwrap_or(false) {
            return Confidence::Firm;
        }
        let group = self.groups[side].get(&(call as u32)).copied();
        group.map_or(Confidence::Likely, |group| Confidence::Interchangeable { group })
    }

    fn note(&mut self, (a, b): (u32, u32), confidence: Confidence) {
        for (side, call) in [(Side::Baseline, a), (Side::Candidate, b)] {
            self.is_firm[side][call as usize] = confidence == Confidence::Firm;
            if let Some(group) = confidence.group() {
                self.groups[side].insert(call, group);
            }
        }
    }

    pub(super) fn mirrored(self) -> Confidences {
        Confidences { is_firm: self.is_firm.swap(), groups: self.groups.swap() }
    }
}

/// Determines the confidence of each match from the evidence for the match. `doubtful` contains, for each call of the
/// baseline, whether its step could as well be compared with another step; it is empty if there is no such step.
pub(super) fn weigh(
    outlines: PerSide<&Outline<'_>>,
    pairing: &Pairing,
    (crossing, pins): (Option<&Crossing<'_>>, &[(u32, u32)]),
    doubtful: &[bool],
) -> Confidences {
    let renamed = RenamedFrames::of(outlines, pairing);
    let mut weighing = Weighing {
        outlines,
        pairing,
        renamed: &renamed,
        crossing,
        doubtful,
        contains_match: PerSide::from_fn(|side| contains_match(outlines[side], pairing, side)),
        lists: PerSide::default(),
        found: Confidences {
            is_firm: outlines.map(|outline| vec![false; outline.len()]),
            groups: PerSide::default(),
        },
        groups: 0,
    };
    for a in 0..outlines.baseline.len() as u32 {
        let b = pairing.counterparts.baseline[a as usize];
        if b == NONE {
            continue;
        }
        // Threads are matched by their entire contents, so their matches are firm.
        if outlines.baseline.is_root(a) || pins.contains(&(a, b)) {
            weighing.found.note((a, b), Confidence::Firm);
        }
        if outlines.baseline.has_children(a) && outlines.candidate.has_children(b) {
            let around = weighing.found.of(Side::Baseline, a as usize);
            weighing.weigh_below(PerSide::new(a, b), around);
        }
    }
    weighing.found
}

/// For each call, whether any call below it is matched.
fn contains_match(outline: &Outline<'_>, pairing: &Pairing, side: Side) -> Vec<bool> {
    let mut contains = vec![false; outline.len()];
    // The first matched call at or after `call` in preorder.
    let mut matched = u32::MAX;
    for call in (0..outline.len() as u32).rev() {
        contains[call as usize] = matched < outline.end(call);
        if pairing.counterparts[side][call as usize] != NONE {
            matched = call;
        }
    }
    contains
}

/// Positions of matched calls in two lists.
type Pairs<'a> = &'a [(usize, usize)];

struct Weighing<'a> {
    outlines: PerSide<&'a Outline<'a>>,
    pairing: &'a Pairing,
    renamed: &'a RenamedFrames,
    crossing: Option<&'a Crossing<'a>>,
    doubtful: &'a [bool],
    contains_match: PerSide<Vec<bool>>,
    /// Buffers for the lists of calls below a match.
    lists: PerSide<Vec<u32>>,
    found: Confidences,
    groups: u32,
}

impl Weighing<'_> {
    /// Lists the calls directly below a matched call. An unmatched call that contains matched calls is a wrapper, so its
    /// contents are listed instead. The recursion is at most as deep as the tree.
    fn list(&self, side: Side, call: u32, list: &mut Vec<u32>) {
        let outline = self.outlines[side];
        for call in outline.each_child(call) {
            let at = call as usize;
            if self.pairing.counterparts[side][at] == NONE && self.contains_match[side][at] {
                self.list(side, call, list);
            } else if !outline.is_query(call) {
                list.push(call);
            }
        }
    }

    fn weigh_below(&mut self, calls: PerSide<u32>, around: Confidence) {
        let mut lists = std::mem::take(&mut self.lists);
        for side in Side::BOTH {
            lists[side].clear();
            self.list(side, calls[side], &mut lists[side]);
        }
        match self.crossing.map(|crossing| crossing.divided(self.outlines, &lists)) {
            None => self.weigh_lists(lists.as_ref().map(Vec::as_slice), around),
            Some(parts) => parts.iter().for_each(|lists| {
                self.weigh_lists(lists.as_ref().map(Vec::as_slice), around);
            }),
        }
        self.lists = lists;
    }

    fn weigh_lists(&mut self, lists: PerSide<&[u32]>, around: Confidence) {
        let agrees = self.agree(lists);
        if (agrees && self.contain_the_same(lists)) || self.is_the_only(lists, agrees) {
            for (&a, &b) in lists.baseline.iter().zip(lists.candidate) {
                self.note((a, b), Confidence::Firm, around);
            }
            return;
        }
        let place: FxHashMap<u32, usize> = lists.candidate.iter().copied().zip(0..).collect();
        // Positions of the matches whose calls did not move.
        let in_place = lists.baseline.iter().enumerate().filter_map(|(i, &a)| {
            let j = *place.get(&self.pairing.counterparts.baseline[a as usize])?;
            (self.pairing.relations.baseline[a as usize] != Relation::Moved).then_some((i, j))
        });
        let in_place: Vec<(usize, usize)> = in_place.collect();
        if !in_place.is_sorted_by(|one, two| one.1 < two.1) {
            return;
        }
        let doubtful = alternatives::doubtful(Row {
            outlines: self.outlines,
            renamed: self.renamed,
            lists,
            pairs: &in_place,
        });
        let certain = in_place.iter().zip(&doubtful).filter(|(_, doubtful)| !**doubtful);
        let certain: Vec<(usize, usize)> = certain.map(|(pair, _)| *pair).collect();
        let whole = PerSide::new(0..lists.baseline.len(), 0..lists.candidate.len());
        let firm = if agrees { certain.clone() } else { self.firm_within(lists, &whole, &certain) };
        let mut from = (0, 0);
        let mut rest = &in_place[..];
        let ends = firm.iter().copied().chain([(lists.baseline.len(), lists.candidate.len())]);
        for end in ends {
            let stretch = PerSide::new(from.0..end.0, from.1..end.1);
            let count = rest.partition_point(|&(i, _)| i < end.0);
            let (inside, after) = rest.split_at(count);
            self.weigh_stretch(lists, &stretch, (inside, &certain), around);
            if let Some(&(i, j)) = after.first().filter(|&&pair| pair == end) {
                let pair = (lists.baseline[i], lists.candidate[j]);
                self.note(pair, Confidence::Firm, around);
                rest = &after[1..];
            }
            from = (end.0 + 1, end.1 + 1);
        }
    }

    /// Stores the confidence of a match that has the confidence `own` inside a match that has the confidence `around`.
    fn note(&mut self, (a, b): (u32, u32), own: Confidence, around: Confidence) {
        let is_doubtful = self.doubtful.get(a as usize).copied().unwrap_or(false);
        let within = if is_doubtful { Confidence::Likely } else { Confidence::Firm };
        self.found.note((a, b), own.within(around).within(within));
    }

    fn key(&self, side: Side, call: u32) -> Key {
        self.renamed.key(self.outlines, side, call)
    }

    /// Whether the elements of two lists are matched one by one, in order and with the same names.
    fn agree(&self, lists: PerSide<&[u32]>) -> bool {
        lists.baseline.len() == lists.candidate.len()
            && lists.baseline.iter().zip(lists.candidate).all(|(&a, &b)| {
                self.pairing.counterparts.baseline[a as usize] == b
                    && self.key(Side::Baseline, a) == self.key(Side::Candidate, b)
            })
    }

    /// Whether two lists consist of one match, in place, of two calls with one name or of two GPU events.
    fn is_the_only(&self, lists: PerSide<&[u32]>, agrees: bool) -> bool {
        match (lists.baseline, lists.candidate) {
            (&[a], &[b]) => {
                (agrees || self.outlines.baseline.is_gpu(a))
                    && self.pairing.counterparts.baseline[a as usize] == b
                    && self.pairing.relations.baseline[a as usize] != Relation::Moved
            }
            (_, _) => false,
        }
    }

    /// Whether the elements of two lists have the same keys and arguments inside, one by one.
    fn contain_the_same(&self, lists: PerSide<&[u32]>) -> bool {
        let PerSide { baseline, candidate } = self.outlines.map(|outline| &outline.shape);
        let mut pairs = lists.baseline.iter().zip(lists.candidate);
        pairs.all(|(&a, &b)| baseline[a as usize] == candidate[b as usize])
    }

    /// The unambiguous matches in a stretch (the calls between two firm matches). A match is unambiguous if the stretch
    /// contains the same number of calls with the content or name of the matched calls on both sides. The name of a
    /// launch does not say what it launches, so there must be one launch of the name.
    fn firm_within(
        &self,
        lists: PerSide<&[u32]>,
        stretch: &PerSide<Range<usize>>,
        pairs: &[(usize, usize)],
    ) -> Vec<(usize, usize)> {
        let exact = |side: Side, call: u32| self.outlines[side].exact[call as usize];
        let key = |side: Side, call: u32| self.key(side, call);
        let calls = PerSide::from_fn(|side| lists[side][stretch[side].clone()].iter().copied());
        let by_content = counts::of_tokens(calls.clone(), exact);
        let by_name = counts::of_tokens(calls, key);
        let is_even = |count: PerSide<u32>| count.baseline == count.candidate;
        let is_firm = |&(i, j): &(usize, usize)| {
            let (a, b) = (lists.baseline[i], lists.candidate[j]);
            let (mine, theirs) = (key(Side::Baseline, a), key(Side::Candidate, b));
            let content = exact(Side::Baseline, a);
            let is_equal = content == exact(Side::Candidate, b);
            let is_named = mine == theirs
                && is_even(by_name[&mine])
                && (by_name[&mine].baseline == 1 || !self.outlines.baseline.is_launch(a));
            (is_equal && is_even(by_content[&content])) || is_named
        };
        pairs.iter().copied().filter(is_firm).collect()
    }

    fn weigh_stretch(
        &mut self,
        lists: PerSide<&[u32]>,
        stretch: &PerSide<Range<usize>>,
        (pairs, certain): (Pairs<'_>, Pairs<'_>),
        around: Confidence,
    ) {
        if pairs.is_empty() {
            return;
        }
        let is_certain = |pair: &&(usize, usize)| certain.binary_search(pair).is_ok();
        let certain: Vec<(usize, usize)> = pairs.iter().filter(is_certain).copied().collect();
        let firm = self.firm_within(lists, stretch, &certain);
        let is_only = stretch.baseline.len() == 1 && stretch.candidate.len() == 1;
        let mut groups: FxHashMap<u64, u32> = FxHashMap::default();
        for &(i, j) in pairs {
            let (a, b) = (lists.baseline[i], lists.candidate[j]);
            let exact = self.outlines.baseline.exact[a as usize];
            let own = if firm.binary_search(&(i, j)).is_ok()
                || (is_only && self.outlines.baseline.is_gpu(a))
            {
                Confidence::Firm
            } else if exact == self.outlines.candidate.exact[b as usize] {
                let next = self.groups;
                let group = *groups.entry(exact).or_insert(next);
                self.groups += u32::from(group == next);
                Confidence::Interchangeable { group }
            } else {
                Confidence::Likely
            };
            self.note((a, b), own, around);
        }
    }
}
