//! Looks up calls and table rows by name, and looks up how a call is related to the other side.

use tracetree::analysis::Analysis;
use tracetree::analysis::account::Row;
use tracetree::diff::{Relation, TraceDiff};
use tracetree::tree::{CallId, CallTree};
use tracetree::{PerSide, Side};

/// All calls with the given name, in preorder.
pub fn calls(tree: &CallTree, name: &str) -> Vec<CallId> {
    tree.calls().filter(|&call| tree.name(call) == name).collect()
}

/// The only call with the given name.
///
/// # Panics
/// Panics if no call or several calls have this name.
pub fn call(tree: &CallTree, name: &str) -> CallId {
    match calls(tree, name)[..] {
        [call] => call,
        ref others => panic!("{} calls are named {name}", others.len()),
    }
}

/// The names of a call's ancestors up to its thread, innermost first.
pub fn path(tree: &CallTree, call: CallId) -> Vec<&str> {
    tree.ancestors(call).map(|above| tree.name(above)).collect()
}

/// The names of a call's children.
pub fn below(tree: &CallTree, call: CallId) -> Vec<&str> {
    tree.children(call).map(|child| tree.name(child)).collect()
}

/// Finds the only call with the given name, and returns the call's relation to the other side and the name of its
/// counterpart.
///
/// # Panics
/// Panics if no call or several calls have this name.
pub fn relation<'t>(diff: &'t TraceDiff, side: Side, name: &str) -> (Relation, Option<&'t str>) {
    let found = call(diff.tree(side), name);
    let counterpart =
        diff.counterpart(side, found).map(|counterpart| diff.tree(side.other()).name(counterpart));
    (diff.relation(side, found), counterpart)
}

/// All rows with the given name, in order.
pub fn rows<'a>(analysis: &'a Analysis, name: &str) -> Vec<&'a Row> {
    analysis.rows().iter().filter(|row| row.name(analysis.diff()) == name).collect()
}

/// Time of a row on each side, in ns.
pub fn time(row: &Row) -> PerSide<i64> {
    row.time.map(|time| time.0)
}
