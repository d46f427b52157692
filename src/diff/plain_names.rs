//! Computes and caches plain names. A plain name is the name of a call without anything that may differ between two
//! runs of the same code.

use super::keys;
use super::relation::NONE;
use crate::trace::TextId;
use crate::tree::{CallId, CallKind, CallTree};
use std::sync::OnceLock;

/// The plain names of one tree, computed on first use.
#[derive(Debug, Clone, Default)]
pub(super) struct PlainNames(OnceLock<Names>);

/// The plain names of calls, one for each combination of kind and name.
#[derive(Debug, Clone, Default)]
struct Names {
    names: Vec<Box<str>>,
    /// For each kind of call and each string id, the position of the plain name in `names`; `NONE` if no call of this
    /// kind has this name.
    of_kinds: [Vec<u32>; 6],
}

impl PlainNames {
    /// The plain name of a call. Every call to this function must pass the same tree.
    pub(super) fn of<'a>(&'a self, tree: &'a CallTree, call: CallId) -> &'a str {
        // A call without an event represents a thread.
        let Some((kind, name)) = key(tree, call) else { return tree.name(call) };
        let all = self.all(tree);
        &all.names[all.of_kinds[kind as usize][name.index()] as usize]
    }

    fn all(&self, tree: &CallTree) -> &Names {
        self.0.get_or_init(|| {
            let mut all = Names::default();
            for (kind, name) in tree.calls().filter_map(|call| key(tree, call)) {
                let known = &mut all.of_kinds[kind as usize];
                if known.len() <= name.index() {
                    known.resize(name.index() + 1, NONE);
                }
                if known[name.index()] == NONE {
                    known[name.index()] = all.names.len() as u32;
                    all.names.push(keys::normalise(kind, tree.trace().text(name)).into());
                }
            }
            all
        })
    }
}

fn key(tree: &CallTree, call: CallId) -> Option<(CallKind, TextId)> {
    Some((tree.kind(call), tree.trace().name_id(tree.event(call)?)))
}
