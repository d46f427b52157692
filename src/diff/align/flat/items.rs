//! A thread → its items in time order: launches, and ops without calls below.

use crate::diff::keys::Key;
use crate::diff::outline::Outline;
use crate::tree::{CallId, CallKind, CallTree};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Weight of an op without calls below, next to launches.
const LEAF: i32 = 35;
/// Levels of ops above an item that count as evidence.
const LEVELS: usize = 4;

/// A launch, or an op without calls below.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) call: u32,
    pub(super) is_launch: bool,
    /// How much a match of it counts, in percent.
    pub(super) weight: i32,
    /// The key of the innermost op at or above it; of a launch outside of ops, that of the launch.
    pub(super) name: Key,
    /// The keys of the ops above it and their arguments, innermost first.
    pub(super) ops: [(Key, u32); LEVELS],
    pub(super) levels: usize,
    /// The key of its first GPU event; 0 if it has none.
    pub(super) kernel: Key,
    /// Hash of all evidence.
    pub(super) token: u64,
}

impl Item {
    pub(super) fn ops(&self) -> &[(Key, u32)] {
        &self.ops[..self.levels]
    }
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
        let is_leaf = || outline.kind(at) == CallKind::Op && outline.end(at) == at + 1;
        if is_opaque(at) {
            at = outline.end(at);
        } else if outline.is_hidden(at) {
            at += 1;
        } else if outline.is_launch(at) {
            items.push(item(tree, outline, at));
            at = outline.end(at);
        } else {
            if is_leaf() {
                items.push(item(tree, outline, at));
            }
            at += 1;
        }
    }
    // Ops without calls below are less certain evidence than work of the GPU.
    if items.iter().any(|item| item.is_launch) {
        for item in items.iter_mut().filter(|item| !item.is_launch) {
            item.weight = LEAF;
        }
    }
    items
}

fn item(tree: &CallTree, outline: &Outline<'_>, call: u32) -> Item {
    let is_launch = outline.is_launch(call);
    let own = std::iter::once(CallId(call)).filter(|_| !is_launch);
    let above = own.chain(tree.ancestors(CallId(call)));
    let ops =
        above.filter(|&above| tree.kind(above) == CallKind::Op && !outline.is_hidden(above.0));
    let mut found = [(Key(0), 0); LEVELS];
    let mut levels = 0;
    for op in ops.take(LEVELS) {
        found[levels] = (outline.keys[op.index()], outline.arguments[op.index()]);
        levels += 1;
    }
    let gpu = is_launch.then(|| outline.each_child(call).find(|&below| outline.is_gpu(below)));
    let kernel = gpu.flatten().map_or(Key(0), |gpu| outline.keys[gpu as usize]);
    let name = if levels > 0 { found[0].0 } else { outline.keys[call as usize] };
    let mut hasher = FxHasher::default();
    (is_launch, name, &found[..levels.min(2)], kernel, outline.exact[call as usize])
        .hash(&mut hasher);
    Item { call, is_launch, weight: 100, name, ops: found, levels, kernel, token: hasher.finish() }
}
