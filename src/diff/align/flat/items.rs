//! A thread → its items in time order: launches, and ops without calls below.

use crate::diff::outline::Outline;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// A launch, or an op without calls below.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) call: u32,
    /// Hash of the call with everything below it, and of the name and the arguments of the innermost op at or
    /// above it.
    pub(super) token: u64,
}

/// The items below a thread, outside of calls that are opaque.
pub(super) fn items(
    tree: &CallTree,
    outline: &Outline<'_>,
    root: u32,
    is_opaque: impl Fn(u32) -> bool,
) -> Vec<Item> {
    let mut items = Vec::new();
    let mut at = root + 1;
    while at < outline.end(root) {
        let is_item = !outline.is_hidden(at)
            && (outline.is_launch(at)
                || outline.kind(at) == CallKind::Op && outline.end(at) == at + 1);
        if is_item {
            items.push(Item { call: at, token: token(tree, outline, at) });
        }
        at = if is_item || is_opaque(at) { outline.end(at) } else { at + 1 };
    }
    items
}

fn token(tree: &CallTree, outline: &Outline<'_>, call: u32) -> u64 {
    let mut at_or_above = std::iter::once(CallId(call)).chain(tree.ancestors(CallId(call)));
    let op = at_or_above.find(|&op| tree.kind(op) == CallKind::Op && !outline.is_hidden(op.0));
    let op = op.map(|op| (outline.keys[op.index()].0, outline.arguments[op.index()]));
    let mut hasher = FxHasher::default();
    (outline.exact[call as usize], op).hash(&mut hasher);
    hasher.finish()
}
