//! Computes the multiset of tokens below a call (its "bag") on first use.

use super::keys::Key;
use super::outline::{Outline, Token};
use super::weights::WRAPPERS;
use crate::side::{PerSide, Side};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;
use std::ops::Range;

/// A worker keeps its bags for the next pair if they contain at most this many tokens (8 bytes each);
/// otherwise it discards them. Keeping bags saves time, because the worker has often already computed the
/// bags of the next pair's children.
const KEPT: usize = 1 << 13;

/// If one bag is more than this many times as long as the other, each token of the short bag is looked up in the long
/// bag by binary search. Otherwise both bags are traversed together.
const MUCH_LONGER: usize = 8;

/// The number of tokens that two bags share is stored only if the shorter bag has at least this many distinct
/// tokens. For fewer tokens, counting again is faster than looking up the stored count.
const REMEMBERED: usize = 4;

/// Maximum number of stored results (16 bytes each); a result is the number of tokens that two bags share. When the
/// limit is reached, all stored results are discarded.
const MOST_REMEMBERED: usize = 1 << 16;

/// A multiset of tokens, stored in the [`Bags`] that computed it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bag {
    start: u32,
    end: u32,
    /// Number of tokens in the bag, counting repetitions.
    pub(super) size: u32,
}

/// The part of a call's subtree that a bag covers.
#[derive(Debug, Clone, Copy)]
enum Part {
    Subtree,
    Below,
    Launches,
}

/// The bags of the calls that one worker examines. Identical subtrees need no bags, so the total
/// number of tokens in all bags is only a few times the number of changed calls.
#[derive(Debug)]
pub(super) struct Bags<'a> {
    outlines: PerSide<&'a Outline<'a>>,
    /// All bags, one after the other, as pairs (token, count), sorted by token within each bag.
    entries: Vec<(Token, u32)>,
    /// The bags computed so far, for each [`Part`] and each fingerprint of a subtree. Subtrees with the same
    /// fingerprint have identical bags.
    made: PerSide<[FxHashMap<u64, Bag>; 3]>,
    cores: Cores,
    tally: Tally,
    /// The number of tokens that two bags share, keyed by the start positions of the bags. The number is stored because
    /// calls with identical bags are compared many times.
    shared: FxHashMap<u64, u32>,
}

/// Counts the tokens of one bag. Most large bags have few distinct tokens, and only the distinct
/// tokens are sorted.
#[derive(Debug, Default)]
struct Tally {
    /// The count of each token; all counts are zero before a bag is counted.
    counts: Vec<u32>,
    met: Vec<Token>,
}

impl Tally {
    fn add(&mut self, token: Token, count: u32) {
        let at = token as usize;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        if self.counts[at] == 0 {
            self.met.push(token);
        }
        self.counts[at] += count;
    }

    /// Returns the counts, sorted by token, and resets the tally.
    fn take(&mut self) -> impl Iterator<Item = (Token, u32)> {
        self.met.sort_unstable();
        let counts = &mut self.counts;
        self.met.drain(..).map(|token| (token, std::mem::take(&mut counts[token as usize])))
    }
}

impl<'a> Bags<'a> {
    pub(super) fn new(outlines: PerSide<&'a Outline<'a>>) -> Self {
        Bags {
            outlines,
            entries: Vec::new(),
            made: PerSide::default(),
            cores: Cores::default(),
            tally: Tally::default(),
            shared: FxHashMap::default(),
        }
    }

    /// Discards all bags if they contain too many tokens. Callers must not use bags that they obtained before this
    /// call.
    pub(super) fn tidy(&mut self) {
        if self.entries.len() > KEPT {
            self.entries = Vec::new();
            self.made = PerSide::default();
            self.cores = Cores::default();
            self.shared = FxHashMap::default();
        }
    }

    /// The keys of all calls that the given wrappers may wrap.
    pub(super) fn keys_inside(
        &mut self,
        side: Side,
        wrappers: impl Iterator<Item = u32>,
    ) -> FxHashSet<Key> {
        let mut keys = FxHashSet::default();
        for wrapper in wrappers {
            keys.extend(self.core(side, wrapper).iter().map(|&(key, _)| key));
        }
        keys
    }

    /// The core of a wrapper (see [`Cores`]).
    pub(super) fn core(&mut self, side: Side, wrapper: u32) -> &[(Key, u32)] {
        self.cores.of(side, self.outlines[side], wrapper)
    }

    /// The op or frame with this key in the core of a wrapper.
    pub(super) fn inside(&mut self, side: Side, wrapper: u32, key: Key) -> Option<u32> {
        let core = self.core(side, wrapper);
        core.iter().find(|&&(inner, _)| inner == key).map(|&(_, call)| call)
    }

    /// The tokens of a call and of all calls below the call.
    pub(super) fn of(&mut self, side: Side, call: u32) -> Bag {
        if let Some(bag) = self.known(side, call, Part::Subtree) {
            return bag;
        }
        self.make(side, call, Part::Subtree, call..self.outlines[side].end(call))
    }

    /// The tokens of all calls below a call.
    pub(super) fn below(&mut self, side: Side, call: u32) -> Bag {
        if let Some(bag) = self.known(side, call, Part::Below) {
            return bag;
        }
        let Some(whole) = self.known(side, call, Part::Subtree) else {
            return self.make(side, call, Part::Below, call + 1..self.outlines[side].end(call));
        };
        let own = self.outlines[side].tokens(call);
        let start = self.entries.len();
        for at in whole.start..whole.end {
            let (token, count) = self.entries[at as usize];
            let left = count - own.iter().flatten().filter(|&&own| own == token).count() as u32;
            if left > 0 {
                self.entries.push((token, left));
            }
        }
        let bag = self.bag_from(start);
        self.keep(side, call, Part::Below, bag)
    }

    /// The launch tokens below a call: the kinds of launches and of their GPU events. Even traces of unrelated programs
    /// share launch tokens.
    pub(super) fn launches(&mut self, side: Side, call: u32) -> Bag {
        if let Some(bag) = self.known(side, call, Part::Launches) {
            return bag;
        }
        let outline = self.outlines[side];
        for below in call + 1..outline.end(call) {
            let [key, place] = outline.tokens(below);
            let telling =
                [key.filter(|_| outline.is_launch(below)), place.filter(|_| outline.is_gpu(below))];
            telling.into_iter().flatten().for_each(|token| self.tally.add(token, 1));
        }
        let bag = self.bag_of_tally();
        self.keep(side, call, Part::Launches, bag)
    }

    /// The combined tokens of several subtrees.
    pub(super) fn of_all(&mut self, side: Side, calls: &[u32]) -> Bag {
        // All bags are computed before any are added up, because computing a bag and adding up bags use the same
        // counters.
        let bags: Vec<Bag> = calls.iter().map(|&call| self.of(side, call)).collect();
        for bag in bags {
            let entries = &self.entries[bag.start as usize..bag.end as usize];
            entries.iter().for_each(|&(token, count)| self.tally.add(token, count));
        }
        self.bag_of_tally()
    }

    /// The tokens of a bag, each with its count, sorted by token.
    pub(super) fn entries(&self, bag: Bag) -> &[(Token, u32)] {
        &self.entries[bag.start as usize..bag.end as usize]
    }

    /// Number of tokens that two bags share.
    pub(super) fn common(&mut self, a: Bag, b: Bag) -> u32 {
        let lists = (self.entries(a), self.entries(b));
        let lengths = (lists.0.len(), lists.1.len());
        let (few, many) = if lengths.0 <= lengths.1 { lists } else { (lists.1, lists.0) };
        if few.len() < REMEMBERED {
            return common_of(few, many);
        }
        let pair = u64::from(a.start) << 32 | u64::from(b.start);
        if let Some(&shared) = self.shared.get(&pair) {
            return shared;
        }
        let shared = common_of(few, many);
        if self.shared.len() >= MOST_REMEMBERED {
            self.shared.clear();
        }
        self.shared.insert(pair, shared);
        shared
    }

    /// Number of tokens that the subtrees of two calls share.
    pub(super) fn shared(&mut self, calls: PerSide<u32>) -> u32 {
        let bags = PerSide::from_fn(|side| self.of(side, calls[side]));
        self.common(bags.baseline, bags.candidate)
    }

    pub(super) fn holds(&self, bag: Bag, token: Token) -> bool {
        self.entries(bag).binary_search_by_key(&token, |&(token, _)| token).is_ok()
    }

    fn make(&mut self, side: Side, call: u32, part: Part, calls: Range<u32>) -> Bag {
        let outline = self.outlines[side];
        for below in calls {
            outline.tokens(below).into_iter().flatten().for_each(|token| self.tally.add(token, 1));
        }
        let bag = self.bag_of_tally();
        self.keep(side, call, part, bag)
    }

    fn known(&self, side: Side, call: u32, part: Part) -> Option<Bag> {
        self.made[side][part as usize].get(&self.fingerprint(side, call)).copied()
    }

    fn keep(&mut self, side: Side, call: u32, part: Part, bag: Bag) -> Bag {
        let fingerprint = self.fingerprint(side, call);
        self.made[side][part as usize].insert(fingerprint, bag);
        bag
    }

    /// A number that identifies the bag of a call. A profiler may record calls inside a query by mistake. The bag
    /// includes these calls, but the hash excludes the query and everything inside it. The fingerprint therefore
    /// combines the hash with the number of tokens, which includes such calls.
    fn fingerprint(&self, side: Side, call: u32) -> u64 {
        let outline = self.outlines[side];
        outline.exact[call as usize] ^ u64::from(outline.weight(call))
    }

    fn bag_of_tally(&mut self) -> Bag {
        let start = self.entries.len();
        self.entries.extend(self.tally.take());
        self.bag_from(start)
    }

    /// The bag that starts at `start` in the list of all bags.
    fn bag_from(&self, start: usize) -> Bag {
        let size = self.entries[start..].iter().map(|&(_, count)| count).sum();
        Bag { start: start as u32, end: self.entries.len() as u32, size }
    }
}

/// Number of tokens that two sorted lists share. The second list must be at least as long as the
/// first.
fn common_of(few: &[(Token, u32)], many: &[(Token, u32)]) -> u32 {
    if MUCH_LONGER * few.len() < many.len() {
        common_of_few(few, many)
    } else {
        common_of_like(few, many)
    }
}

/// Number of tokens that two sorted lists share, for a second list that is much longer.
fn common_of_few(few: &[(Token, u32)], mut many: &[(Token, u32)]) -> u32 {
    let mut shared = 0;
    for &(token, count) in few {
        many = &many[many.partition_point(|&(other, _)| other < token)..];
        match many.first() {
            Some(&(other, theirs)) if other == token => shared += count.min(theirs),
            Some(_) => {}
            None => break,
        }
    }
    shared
}

/// Number of tokens that two sorted lists of similar length share.
fn common_of_like(mut a: &[(Token, u32)], mut b: &[(Token, u32)]) -> u32 {
    let mut shared = 0;
    while let (Some((first, mine)), Some((second, theirs))) = (a.split_first(), b.split_first()) {
        let order = first.0.cmp(&second.0);
        if order == Ordering::Equal {
            shared += first.1.min(second.1);
        }
        if order != Ordering::Greater {
            a = mine;
        }
        if order != Ordering::Less {
            b = theirs;
        }
    }
    shared
}

/// The cores of the calls that one worker examines. The core of a wrapper is a chain of nested calls, each of which
/// contains more than half of the tokens below the previous call. Each core is computed only once.
#[derive(Debug, Default)]
struct Cores {
    /// All cores, one after the other.
    calls: Vec<(Key, u32)>,
    known: PerSide<FxHashMap<u32, Range<u32>>>,
}

impl Cores {
    /// The ops and frames inside `call` that form its core, with their keys. The outermost of them contains more than
    /// half of the tokens below `call`, and each of the others contains more than half of the tokens below the previous
    /// one.
    fn of(&mut self, side: Side, outline: &Outline<'_>, call: u32) -> &[(Key, u32)] {
        let calls = &mut self.calls;
        let core = self.known[side].entry(call).or_insert_with(|| {
            let start = calls.len() as u32;
            let chain = std::iter::successors(heaviest(outline, call), |&c| heaviest(outline, c));
            let telling = chain.take(WRAPPERS).filter(|&call| outline.is_op_or_frame(call));
            calls.extend(telling.map(|call| (outline.keys[call as usize], call)));
            start..calls.len() as u32
        });
        &self.calls[core.start as usize..core.end as usize]
    }
}

/// The direct child that contains more than half of the tokens below `call`.
fn heaviest(outline: &Outline<'_>, call: u32) -> Option<u32> {
    let most = outline.weight(call) - outline.own_weight(call);
    outline.each_child(call).find(|&child| 2 * outline.weight(child) > most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entries(counts: &[u32]) -> Vec<(Token, u32)> {
        (0..).zip(counts.iter().copied()).filter(|&(_, count)| count > 0).collect()
    }

    proptest! {
        #[test]
        fn tokens_are_shared_as_often_as_both_have_them(counts in prop::collection::vec((0..3u32, 0..3u32), 0..40)) {
            let (a, b): (Vec<u32>, Vec<u32>) = counts.iter().copied().unzip();
            let expected: u32 = counts.iter().map(|&(a, b)| a.min(b)).sum();
            prop_assert_eq!(common_of_few(&entries(&a), &entries(&b)), expected);
            prop_assert_eq!(common_of_like(&entries(&a), &entries(&b)), expected);
        }
    }
}
