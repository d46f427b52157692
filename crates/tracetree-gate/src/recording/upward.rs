//! Finds the calls that enclose a call. A backward op is treated as if the module of its forward op had called it.

use rustc_hash::FxHashMap;
use tracetree::tree::{CallId, CallTree};

/// Finds the enclosing call of each call in a tree.
#[derive(Debug)]
pub(crate) struct Upward<'t> {
    tree: &'t CallTree,
    forward: FxHashMap<CallId, CallId>,
}

impl<'t> Upward<'t> {
    pub(crate) fn of(tree: &'t CallTree) -> Upward<'t> {
        let links = tree.backward_links().iter();
        Upward { tree, forward: links.map(|&(forward, backward)| (backward, forward)).collect() }
    }

    pub(crate) fn above(&self, call: CallId) -> Option<CallId> {
        match self.forward.get(&call) {
            Some(&forward) => self.tree.module(forward),
            None => self.tree.parent(call),
        }
    }

    /// The call and all calls above it, innermost first.
    pub(crate) fn path(&self, call: CallId) -> impl Iterator<Item = CallId> + '_ {
        std::iter::successors(Some(call), |&call| self.above(call))
    }

    /// The call that the user's code made: for a call in a backward op, the forward op; otherwise the call itself.
    pub(crate) fn called(&self, call: CallId) -> CallId {
        let mut above = std::iter::once(call).chain(self.tree.ancestors(call));
        above.find_map(|above| self.forward.get(&above).copied()).unwrap_or(call)
    }
}
