//! What two names have in common as texts: long words, and how they begin.

use crate::side::{PerSide, Side};
use crate::trace::TextId;
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;

/// Letters that a word must have before two names that share it are taken for variants.
const TELLING_WORD: usize = 5;
/// Long words that tell nothing.
const COMMON_WORDS: [&str; 5] = ["backward", "forward", "function", "native", "method"];

/// The words of the names of both trees; each name is taken apart once.
#[derive(Debug)]
pub(super) struct Words<'a> {
    trees: PerSide<&'a CallTree>,
    ids: FxHashMap<String, u32>,
    names: PerSide<FxHashMap<TextId, Name>>,
}

/// The words of the last part of a name: of `miopen_convolution` in `aten::miopen_convolution`.
#[derive(Debug)]
struct Name {
    /// The long ones.
    telling: Vec<u32>,
    /// What the last part begins with, underscores aside.
    stem: Option<u32>,
}

impl<'a> Words<'a> {
    pub(super) fn new(trees: PerSide<&'a CallTree>) -> Self {
        Words { trees, ids: FxHashMap::default(), names: PerSide::default() }
    }

    /// Whether two names share a telling word, as `miopen_convolution` and `cudnn_convolution` do.
    pub(super) fn share_a_telling_one(&mut self, a: u32, b: u32) -> bool {
        self.compare(a, b, |mine, theirs| {
            mine.telling.iter().any(|word| theirs.telling.contains(word))
        })
    }

    /// Whether two names begin with the same word, as `conv` and `conv_1` do.
    pub(super) fn begin_alike(&mut self, a: u32, b: u32) -> bool {
        self.compare(a, b, |mine, theirs| mine.stem.is_some() && mine.stem == theirs.stem)
    }

    fn compare(&mut self, a: u32, b: u32, agree: impl FnOnce(&Name, &Name) -> bool) -> bool {
        let mine = self.take_apart(Side::Baseline, a);
        let theirs = self.take_apart(Side::Candidate, b);
        let name = |side: Side, id: Option<TextId>| self.names[side].get(&id?);
        match (name(Side::Baseline, mine), name(Side::Candidate, theirs)) {
            (Some(mine), Some(theirs)) => agree(mine, theirs),
            _ => false,
        }
    }

    /// Takes the name of a call apart; `None` for a thread, which has no name of its own.
    fn take_apart(&mut self, side: Side, call: u32) -> Option<TextId> {
        let tree = self.trees[side];
        let trace = tree.trace();
        let id = trace.name_id(tree.event(CallId(call))?);
        if !self.names[side].contains_key(&id) {
            let text = trace.text(id);
            let last = text.rsplit("::").next().unwrap_or(text);
            let name = Name {
                telling: telling_words(last).map(|word| self.id(&word)).collect(),
                stem: stem(last).map(|stem| self.id(stem)),
            };
            self.names[side].insert(id, name);
        }
        Some(id)
    }

    fn id(&mut self, word: &str) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(word.to_owned()).or_insert(next)
    }
}

fn telling_words(name: &str) -> impl Iterator<Item = String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .map(str::to_ascii_lowercase)
        .filter(|word| word.len() >= TELLING_WORD && !COMMON_WORDS.contains(&word.as_str()))
}

fn stem(name: &str) -> Option<&str> {
    let stem = name.trim_start_matches('_').split('_').next().unwrap_or(name);
    (!stem.is_empty()).then_some(stem)
}
