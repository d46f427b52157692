//! Stores the names and shapes on a page in a table of distinct strings, which has a size budget. The page's columns
//! refer to the strings by number.

use crate::analysis::kernel_facts::short_name;
use crate::report::text::shorten;
use crate::side::{PerSide, Side};
use crate::trace::{TextId, Trace};
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;

/// Maximum length of a string on the page, in characters. Real kernel names have up to about 5,000 characters. In a
/// longer string, characters in the middle are omitted.
const LONGEST: usize = 2_000;
/// Once all strings together reach this size in bytes, further strings are shortened more, so that no trace can make
/// the page too large.
const BUDGET: usize = 3_000_000;
/// Maximum length of a string once [`BUDGET`] is reached, in characters.
const LONGEST_PAST_BUDGET: usize = 24;

/// Number of a string on the page, from 0. Number 0 is the empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub(super) struct PageText(u32);

impl PageText {
    /// The empty string.
    pub(super) const EMPTY: PageText = PageText(0);
}

/// The distinct strings of a page, in order of first use.
pub(super) struct Texts {
    list: Vec<String>,
    ids: FxHashMap<String, PageText>,
    /// For each trace, the numbers that the page uses for the trace's strings. This cache ensures that each string is
    /// hashed only once.
    of_traces: PerSide<Vec<Option<PageText>>>,
    /// The short names of kernels, where they differ from the full names.
    kernels: BTreeMap<PageText, String>,
    bytes: usize,
    shortened: u64,
}

impl Texts {
    pub(super) fn new() -> Texts {
        let mut texts = Texts {
            list: Vec::new(),
            ids: FxHashMap::default(),
            of_traces: PerSide::default(),
            kernels: BTreeMap::new(),
            bytes: 0,
            shortened: 0,
        };
        texts.id("");
        texts
    }

    /// Returns the number of a string, and adds the string if it is new.
    pub(super) fn id(&mut self, text: &str) -> PageText {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let room = if self.bytes < BUDGET { LONGEST } else { LONGEST_PAST_BUDGET };
        let shown = shorten(text, room).into_owned();
        self.shortened += u64::from(shown.len() != text.len());
        self.bytes += shown.len();
        let id = PageText(self.list.len() as u32);
        self.list.push(shown);
        self.ids.insert(text.to_owned(), id);
        id
    }

    /// The number that the page uses for a string in a trace.
    pub(super) fn of_trace(&mut self, side: Side, trace: &Trace, text: TextId) -> PageText {
        let known = &mut self.of_traces[side];
        if known.is_empty() {
            known.resize(trace.texts().len(), None);
        }
        if let Some(id) = known[text.index()] {
            return id;
        }
        let id = self.id(trace.text(text));
        self.of_traces[side][text.index()] = Some(id);
        id
    }

    pub(super) fn name(&mut self, side: Side, tree: &CallTree, call: CallId) -> PageText {
        match tree.event(call) {
            Some(event) => self.of_trace(side, tree.trace(), tree.trace().name_id(event)),
            None => self.id(tree.name(call)),
        }
    }

    /// Notes that a string is the name of a kernel, or two names that are separated by ` | `. Once the strings reach
    /// their budget, further kernels have no short name.
    pub(super) fn kernel(&mut self, id: PageText) -> PageText {
        if self.bytes < BUDGET && !self.kernels.contains_key(&id) {
            let full = &self.list[id.0 as usize];
            let short = full.split(" | ").map(short_name).collect::<Vec<_>>().join(" | ");
            self.bytes += short.len();
            self.kernels.insert(id, short);
        }
        id
    }

    /// The short names of the kernels whose short and full names differ.
    pub(super) fn kernels(&self) -> Vec<(PageText, String)> {
        let all = self.kernels.iter().filter(|(id, short)| **short != self.list[id.0 as usize]);
        all.map(|(&id, short)| (id, short.clone())).collect()
    }

    /// Number of strings that were shortened.
    pub(super) fn shortened(&self) -> u64 {
        self.shortened
    }

    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_share_a_number_and_long_texts_are_shortened() {
        let mut texts = Texts::new();
        let (a, long) = (texts.id("a"), texts.id(&"k".repeat(5_000)));
        assert_eq!((texts.id("a"), texts.id(&"k".repeat(5_000))), (a, long));
        assert_eq!(texts.shortened(), 1);
        let list = texts.into_list();
        assert_eq!(list.len(), 3);
        assert_eq!(list[2].chars().count(), LONGEST);
    }

    #[test]
    fn beyond_the_budget_texts_are_shortened_further() {
        let mut texts = Texts::new();
        for number in 0..BUDGET / 1_000 + 10 {
            texts.id(&format!("{number:01000}"));
        }
        let list = texts.into_list();
        assert_eq!(list[list.len() - 1].chars().count(), LONGEST_PAST_BUDGET);
        assert!(list.iter().map(String::len).sum::<usize>() < BUDGET + 10_000);
    }
}
