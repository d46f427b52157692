//! Two items → how much speaks for a match.

use super::Item;
use crate::diff::align::vocabulary::Vocabulary;
use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, TextId};
use crate::tree::CallTree;
use rustc_hash::FxHashMap;

/// Scores are in hundredths of a point.
pub(super) const POINT: i32 = 100;
/// Equal names; akin names; the name of one among the ops above the other; only equal kernels; nothing.
const NAME: i32 = 300;
const AKIN: i32 = 160;
const IN_CHAIN: i32 = 120;
const ONLY_KERNEL: i32 = 80;
const UNLIKE: i32 = -200;
/// Equal shapes are worth `SHAPES × (1 - EXPECTED)`, entirely different ones `-SHAPES × EXPECTED`.
const SHAPES: i32 = 300;
const EXPECTED: f32 = 0.45;
/// What tensors of equal rank share if only some of their dimensions are equal.
const DIMENSION: f32 = 0.4;
const TYPES: i32 = 30;
const CONCRETE: i32 = 60;
const STRIDES: i32 = 30;
const KERNEL: i32 = 80;
const ABOVE: i32 = 60;

/// An argument record, taken apart.
#[derive(Debug, Default, Clone)]
struct Record {
    /// Sizes of each tensor.
    shapes: Vec<Vec<u32>>,
    texts: [u64; 3],
}

/// Compares items; results for names and for arguments are kept.
pub(super) struct Likeness<'a> {
    words: &'a Vocabulary,
    /// By argument id, which both sides share.
    records: Vec<Option<Record>>,
    arguments: FxHashMap<(u32, u32), i32>,
    akin: FxHashMap<(Key, Key), bool>,
}

impl<'a> Likeness<'a> {
    pub(super) fn new(
        trees: PerSide<&'a CallTree>,
        outlines: PerSide<&Outline<'_>>,
        words: &'a Vocabulary,
    ) -> Likeness<'a> {
        let mut records: Vec<Option<Record>> = Vec::new();
        for side in Side::BOTH {
            let trace = trees[side].trace();
            for call in trees[side].calls() {
                let id = outlines[side].arguments[call.index()] as usize;
                if id == 0 || records.get(id).is_some_and(Option::is_some) {
                    continue;
                }
                let Some(arguments) = trees[side].arguments(call) else { continue };
                records.resize(records.len().max(id + 1), None);
                let text = |id: TextId| trace.text(id);
                records[id] = Some(Record::of(arguments, text));
            }
        }
        Likeness { words, records, arguments: FxHashMap::default(), akin: FxHashMap::default() }
    }

    /// Whether a match of two items is evidence by itself.
    pub(super) fn is_anchor(&self, a: &Item, b: &Item) -> bool {
        a.is_launch == b.is_launch
            && (a.name == b.name
                || a.ops().iter().any(|op| op.0 == b.name)
                || b.ops().iter().any(|op| op.0 == a.name))
    }

    /// The score of a match of two items.
    pub(super) fn score(&mut self, a: &Item, b: &Item) -> i32 {
        if a.token == b.token {
            return NAME + self.arguments_of(a.ops().first(), b.ops().first()) + KERNEL + ABOVE;
        }
        if a.is_launch != b.is_launch {
            return UNLIKE;
        }
        let same_kernel = a.kernel == b.kernel && a.kernel != Key(0);
        let in_chain =
            |one: &Item, two: &Item| two.ops().iter().skip(1).copied().find(|op| op.0 == one.name);
        let mut score = if a.name == b.name {
            NAME + self.arguments_of(a.ops().first(), b.ops().first())
        } else if let Some(op) = in_chain(a, b) {
            IN_CHAIN + self.arguments_of(a.ops().first(), Some(&op))
        } else if let Some(op) = in_chain(b, a) {
            IN_CHAIN + self.arguments_of(Some(&op), b.ops().first())
        } else if self.are_akin(a.name, b.name) {
            AKIN + self.arguments_of(a.ops().first(), b.ops().first())
        } else if same_kernel {
            ONLY_KERNEL
        } else {
            return UNLIKE;
        };
        let above = |item: &Item| item.ops().get(1).map(|op| op.0);
        score += if same_kernel { KERNEL } else { 0 };
        score += if above(a) == above(b) { ABOVE } else { 0 };
        score
    }

    fn are_akin(&mut self, a: Key, b: Key) -> bool {
        *self.akin.entry((a, b)).or_insert_with(|| self.words.tell_of_kinship(a, b))
    }

    fn arguments_of(&mut self, a: Option<&(Key, u32)>, b: Option<&(Key, u32)>) -> i32 {
        let (Some(&(_, a)), Some(&(_, b))) = (a, b) else { return 0 };
        if a == 0 || b == 0 {
            return 0;
        }
        let records = &self.records;
        *self.arguments.entry((a, b)).or_insert_with(|| {
            let of = |id: u32| records.get(id as usize).and_then(Option::as_ref);
            of(a).zip(of(b)).map_or(0, |(a, b)| a.likeness(b))
        })
    }
}

impl Record {
    fn of<'t>(arguments: &Arguments, text: impl Fn(TextId) -> &'t str) -> Record {
        let hash = |id: TextId| rustc_hash_of(text(id));
        Record {
            shapes: shapes(text(arguments.dims)),
            texts: [hash(arguments.types), hash(arguments.concrete), hash(arguments.strides)],
        }
    }

    fn likeness(&self, other: &Record) -> i32 {
        let [types, concrete, strides] =
            [0, 1, 2].map(|at| i32::from(self.texts[at] == other.texts[at]));
        let share = share(&self.shapes, &other.shapes);
        let shapes = share.map_or(0.0, |share| SHAPES as f32 * (share - EXPECTED));
        shapes as i32 + types * TYPES + concrete * CONCRETE + strides * STRIDES
    }
}

/// The share of equal shapes; `None` if there is none.
fn share(a: &[Vec<u32>], b: &[Vec<u32>]) -> Option<f32> {
    let all = a.len().max(b.len());
    if all == 0 {
        return None;
    }
    let of_pair = |(a, b): (&Vec<u32>, &Vec<u32>)| match a == b {
        true => 1.0,
        false if a.len() == b.len() => {
            let equal = a.iter().zip(b).filter(|(a, b)| a == b).count();
            DIMENSION * equal as f32 / a.len() as f32
        }
        false => 0.0,
    };
    Some(a.iter().zip(b).map(of_pair).sum::<f32>() / all as f32)
}

/// The sizes of each tensor in a text such as `[[8, 64], [], [64]]`, without those of values that are no
/// tensors.
fn shapes(text: &str) -> Vec<Vec<u32>> {
    let lists = text.split('[').filter_map(|part| part.split(']').next());
    let sizes = |list: &str| list.split(',').filter_map(|size| size.trim().parse().ok()).collect();
    lists.map(sizes).filter(|sizes: &Vec<u32>| !sizes.is_empty()).collect()
}

fn rustc_hash_of(text: &str) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}
