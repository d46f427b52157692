//! Lookups by name: calls, their relation to the other side, and rows.

use tracetree::analysis::{Analysis, Row};
use tracetree::diff::{Relation, TraceDiff};
use tracetree::tree::{CallId, CallTree};
use tracetree::{PerSide, Side};

/// All calls of this name, in preorder.
pub fn calls(tree: &CallTree, name: &str) -> Vec<CallId> {
    tree.calls().filter(|&call| tree.name(call) == name).collect()
}

/// The only call of this name.
///
/// # Panics
/// If not exactly one call has the name.
pub fn call(tree: &CallTree, name: &str) -> CallId {
    match calls(tree, name)[..] {
        [call] => call,
        ref others => panic!("{} calls are named {name}", others.len()),
    }
}

/// The names from a call up to its thread, innermost first, without the call itself.
pub fn path(tree: &CallTree, call: CallId) -> Vec<&str> {
    tree.ancestors(call).map(|above| tree.name(above)).collect()
}

/// Names of the calls directly below.
pub fn below(tree: &CallTree, call: CallId) -> Vec<&str> {
    tree.children(call).map(|child| tree.name(child)).collect()
}

/// The relation of the only call of this name to the other side, and the name of its counterpart.
///
/// # Panics
/// If not exactly one call has the name.
pub fn relation<'t>(diff: &'t TraceDiff, side: Side, name: &str) -> (Relation, Option<&'t str>) {
    let found = call(diff.tree(side), name);
    let partner = diff.partner(side, found).map(|partner| diff.tree(side.other()).name(partner));
    (diff.relation(side, found), partner)
}

/// All rows of this name, in order.
pub fn rows<'a>(analysis: &'a Analysis, name: &str) -> Vec<&'a Row> {
    analysis.rows().iter().filter(|row| analysis.row_name(row) == name).collect()
}

/// Time of a row on both sides, in ns.
pub fn time(row: &Row) -> PerSide<i64> {
    row.time.map(|time| time.0)
}
