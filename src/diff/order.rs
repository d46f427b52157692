//! Decides which of two trees is the first tree for the alignment.
//!
//! If several alignments are equally good, the choice between them depends on which tree comes first. Any two trees are
//! therefore always aligned in the same order, so `diff(b, a)` is the mirror image of `diff(a, b)`.

use crate::side::PerSide;
use crate::trace::{Arguments, TextId, Trace};
use crate::tree::{CallId, CallTree};
use std::cmp::Ordering;

/// Whether the baseline is the first tree for the alignment. The trees are compared by their number of calls, then call
/// by call: by name, kind, subtree size and argument strings. Ids are not compared, because each trace numbers its own
/// strings.
pub(super) fn in_order(trees: PerSide<&CallTree>) -> bool {
    let (baseline, candidate) = (trees.baseline, trees.candidate);
    let mut contents = Contents::new(trees);
    let mut orders = baseline.calls().zip(candidate.calls()).map(|(a, b)| contents.compare(a, b));
    let lengths = baseline.len().cmp(&candidate.len());
    lengths.then_with(|| orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)).is_le()
}

/// Compares calls of the two trees by their contents. Two runs have most of their strings in common, so strings that
/// were found to be equal are not compared again.
struct Contents<'a> {
    trees: PerSide<&'a CallTree>,
    names: Twins,
    arguments: Twins,
}

impl<'a> Contents<'a> {
    fn new(trees: PerSide<&'a CallTree>) -> Self {
        Contents { trees, names: Twins::default(), arguments: Twins::default() }
    }

    fn compare(&mut self, a: CallId, b: CallId) -> Ordering {
        let (baseline, candidate) = (self.trees.baseline, self.trees.candidate);
        let form = |tree: &CallTree, call| (tree.kind(call), tree.size(call));
        self.names(a, b)
            .then_with(|| form(baseline, a).cmp(&form(candidate, b)))
            .then_with(|| self.arguments(a, b))
    }

    fn names(&mut self, a: CallId, b: CallId) -> Ordering {
        let (baseline, candidate) = (self.trees.baseline, self.trees.candidate);
        let texts = || baseline.name(a).cmp(candidate.name(b));
        match (baseline.event(a), candidate.event(b)) {
            (Some(one), Some(other)) => {
                let ids = (baseline.trace().name_id(one), candidate.trace().name_id(other));
                self.names.compare(ids.0.index(), ids.1.index(), texts)
            }
            _ => texts(),
        }
    }

    fn arguments(&mut self, a: CallId, b: CallId) -> Ordering {
        let id = |tree: &CallTree, call| {
            tree.event(call).and_then(|event| tree.trace().arguments_id(event))
        };
        let (baseline, candidate) = (self.trees.baseline, self.trees.candidate);
        match (id(baseline, a), id(candidate, b)) {
            (Some(one), Some(other)) => self.arguments.compare(one.index(), other.index(), || {
                let mine = texts(baseline.trace(), baseline.arguments(a));
                mine.cmp(texts(candidate.trace(), candidate.arguments(b)))
            }),
            (one, other) => one.is_some().cmp(&other.is_some()),
        }
    }
}

/// The strings in an argument record: shapes, types, concrete values and strides.
fn texts<'a>(trace: &'a Trace, arguments: Option<&Arguments>) -> impl Iterator<Item = &'a str> {
    let ids = arguments.map(|a| [a.dims, a.types, a.concrete, a.strides]);
    ids.into_iter().flatten().map(|id: TextId| trace.text(id))
}

/// For each baseline id, a candidate id that is known to have the same content; `None` if no such id is known.
#[derive(Default)]
struct Twins(Vec<Option<usize>>);

impl Twins {
    fn compare(&mut self, a: usize, b: usize, contents: impl FnOnce() -> Ordering) -> Ordering {
        if self.0.get(a).copied().flatten() == Some(b) {
            return Ordering::Equal;
        }
        let order = contents();
        if order.is_eq() {
            if self.0.len() <= a {
                self.0.resize(a + 1, None);
            }
            self.0[a] = Some(b);
        }
        order
    }
}
