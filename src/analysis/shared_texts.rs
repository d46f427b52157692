//! Assigns a number to each string in either trace; identical strings get the same number, even across
//! traces. With these numbers, events can be grouped without comparing long names.

use crate::diff::TraceDiff;
use crate::side::{PerSide, Side};
use crate::trace::TextId;
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;

const UNKNOWN: u32 = u32::MAX;

/// Assigns numbers to strings, in the order of first use.
pub(super) struct SharedTexts<'a> {
    trees: PerSide<&'a CallTree>,
    numbers: FxHashMap<&'a str, u32>,
    /// For each trace, the number of each of its strings; `UNKNOWN` for strings that have no number
    /// yet.
    of: PerSide<Vec<u32>>,
}

impl<'a> SharedTexts<'a> {
    pub(super) fn new(diff: &'a TraceDiff) -> SharedTexts<'a> {
        let trees = diff.trees();
        let of = trees.map(|tree| vec![UNKNOWN; tree.trace().texts().len()]);
        SharedTexts { trees, numbers: FxHashMap::default(), of }
    }

    /// The number of a string on one side. A new string gets the next number.
    pub(super) fn number(&mut self, side: Side, text: TextId) -> u32 {
        let known = &mut self.of[side][text.index()];
        if *known == UNKNOWN {
            let next = self.numbers.len() as u32;
            *known = *self.numbers.entry(self.trees[side].trace().text(text)).or_insert(next);
        }
        *known
    }

    /// The number assigned to the name of a measured event.
    pub(super) fn of_event(&mut self, side: Side, event: CallId) -> u32 {
        let tree = self.trees[side];
        let event = tree.event(event).expect("every attributed call has an event");
        self.number(side, tree.trace().name_id(event))
    }
}
