//! Names of calls without what may differ between two runs of the same code, each made once.

use super::keys;
use crate::trace::TextId;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// The plain names of one tree, made when the first is asked for.
#[derive(Debug, Clone, Default)]
pub(super) struct PlainNames(OnceLock<FxHashMap<(CallKind, TextId), Box<str>>>);

impl PlainNames {
    /// The plain name of a call of the tree, which must always be the same one.
    pub(super) fn of<'a>(&'a self, tree: &'a CallTree, call: CallId) -> &'a str {
        // A call without an event is a thread.
        let Some(key) = key(tree, call) else { return tree.name(call) };
        &self.all(tree)[&key]
    }

    /// Makes the names.
    pub(super) fn look_ahead(&self, tree: &CallTree) {
        self.all(tree);
    }

    fn all(&self, tree: &CallTree) -> &FxHashMap<(CallKind, TextId), Box<str>> {
        self.0.get_or_init(|| {
            let mut names = FxHashMap::default();
            for (kind, id) in tree.calls().filter_map(|call| key(tree, call)) {
                names
                    .entry((kind, id))
                    .or_insert_with(|| keys::normalise(kind, tree.trace().text(id)).into());
            }
            names
        })
    }
}

fn key(tree: &CallTree, call: CallId) -> Option<(CallKind, TextId)> {
    Some((tree.kind(call), tree.trace().name_id(tree.event(call)?)))
}
