//! What lies below a call, as a multiset of evidence tokens, made when it is first asked for.

use super::outline::{Outline, Token};
use crate::side::{PerSide, Side};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A multiset of tokens: (token, count), sorted by token.
pub(super) type Bag = Rc<[(Token, u32)]>;

/// The bags of the calls that one piece of work looks at. Identical subtrees never get here, so
/// that together the bags cost a few times the size of what changed.
#[derive(Debug)]
pub(super) struct Bags<'a> {
    outlines: PerSide<&'a Outline>,
    made: PerSide<FxHashMap<u32, Bag>>,
    scratch: Vec<Token>,
}

impl<'a> Bags<'a> {
    pub(super) fn new(outlines: PerSide<&'a Outline>) -> Self {
        Bags { outlines, made: PerSide::default(), scratch: Vec::new() }
    }

    /// Forgets the bags made so far.
    pub(super) fn clear(&mut self) {
        self.made = PerSide::default();
    }

    /// The tokens of a call and of everything below it.
    pub(super) fn of(&mut self, side: Side, call: u32) -> Bag {
        if let Some(bag) = self.made[side].get(&call) {
            return bag.clone();
        }
        let outline = self.outlines[side];
        self.scratch.clear();
        for below in call..outline.end(call) {
            self.scratch.extend(outline.tokens(below).iter().flatten());
        }
        self.scratch.sort_unstable();
        let bag: Bag =
            self.scratch.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u32)).collect();
        self.made[side].insert(call, bag.clone());
        bag
    }

    /// The tokens of everything below a call.
    pub(super) fn below(&mut self, side: Side, call: u32) -> Vec<(Token, u32)> {
        let own = self.outlines[side].tokens(call);
        self.of(side, call)
            .iter()
            .map(|&(token, count)| {
                (token, count - own.iter().flatten().filter(|&&t| t == token).count() as u32)
            })
            .filter(|&(_, count)| count > 0)
            .collect()
    }

    /// The tokens of several subtrees together.
    pub(super) fn of_all(&mut self, side: Side, calls: &[u32]) -> Vec<(Token, u32)> {
        let mut all: Vec<(Token, u32)> = Vec::new();
        for &call in calls {
            all.extend(self.of(side, call).iter());
        }
        all.sort_unstable();
        all.chunk_by(|a, b| a.0 == b.0)
            .map(|run| (run[0].0, run.iter().map(|&(_, count)| count).sum()))
            .collect()
    }
}

/// Number of tokens that two bags share.
pub(super) fn common(a: &[(Token, u32)], b: &[(Token, u32)]) -> u32 {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].0.cmp(&b[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                shared += a[i].1.min(b[j].1);
                i += 1;
                j += 1;
            }
        }
    }
    shared
}

/// Number of tokens in a bag.
pub(super) fn size(bag: &[(Token, u32)]) -> u32 {
    bag.iter().map(|&(_, count)| count).sum()
}
