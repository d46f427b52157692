//! Formats phrases that occur in the sentences about changes: counts per step, lists of names, values.

use super::draft::Draft;
use super::place::either;
use super::scale::Scale;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::counted;
use crate::side::{PerSide, Side};
use crate::tree::CallKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of names in a sentence.
pub(super) const NAMED: usize = 4;

/// Formats a value as Python prints it: `0.1` for `0.10000000000000001`.
pub(super) fn value(text: &str) -> String {
    match (text.parse::<f64>(), text) {
        (_, "") => "None".to_owned(),
        (Ok(number), text) if text.contains('.') => number.to_string(),
        (_, text) => text.to_owned(),
    }
}

/// The number of outermost ops in a change.
pub(super) fn outermost_ops(diff: &TraceDiff, draft: &Draft) -> u64 {
    let merged = diff.merged();
    let (mut count, mut end) = (0, 0);
    let mut nodes = draft.nodes.clone();
    nodes.sort_unstable();
    for node in nodes {
        let (side, call) = either(diff, node);
        let tree = diff.tree(side);
        if tree.kind(call) != CallKind::Op || node.index() < end {
            continue;
        }
        // The descendants of the node directly follow it in preorder.
        let depth = merged.depth(node);
        let below = (node.index() + 1..merged.len())
            .find(|&at| merged.id(at).is_none_or(|id| merged.depth(id) <= depth));
        end = below.unwrap_or(merged.len());
        count += 1;
    }
    count
}

/// A phrase with the number of outermost ops in a change, such as `at 22 ops per step`. For changes without
/// ops, such as graph launches, the phrase counts calls: `at 2 calls per step`.
pub(super) fn sites(draft: &Draft, ops: u64, scale: Scale) -> String {
    let (count, noun) = if ops == 0 { (draft.nodes.len() as u64, "call") } else { (ops, "op") };
    let (unit, per) = scale.unit(&[PerSide::new(count, count)]);
    format!("at {}{per}", counted(count / unit.baseline, noun))
}

pub(super) fn counts_of(draft: &Draft) -> Vec<PerSide<u64>> {
    let names = draft.names.baseline.keys().chain(draft.names.candidate.keys());
    let of = |side: Side, name: &str| draft.names[side].get(name).copied().unwrap_or_default();
    names.map(|name| PerSide::from_fn(|side| of(side, name))).collect()
}

pub(super) fn top_pair(draft: &Draft) -> (&str, &str) {
    let top = draft.pairs.iter().max_by_key(|(pair, count)| (**count, Reverse(*pair)));
    top.map_or(("", ""), |((one, two), _)| (one.as_str(), two.as_str()))
}

pub(super) fn first(names: &BTreeMap<String, u64>) -> &str {
    names.keys().next().map_or("Ops", String::as_str)
}

pub(super) fn short(ratio: f64) -> String {
    let text = format!("{ratio:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The function that calls the ops, followed by the ops in parentheses: `clip_grad_norm_ (2 × aten::mul, …)`. If
/// several functions call the ops, only the list of ops.
pub(super) fn within(draft: &Draft, side: Side, only: &BTreeMap<String, u64>) -> String {
    let list = list(only, 1);
    let mut functions = draft.functions[side].keys();
    match (functions.next(), functions.next()) {
        (Some(function), None) if only.len() > 1 && !function.is_empty() => {
            format!("{function} ({list})")
        }
        _ => list,
    }
}

/// A list of names with their counts, such as `2 × aten::mul, aten::add, 3 more`.
pub(super) fn list(names: &BTreeMap<String, u64>, unit: u64) -> String {
    let mut all: Vec<(&String, u64)> =
        names.iter().map(|(name, count)| (name, count / unit.max(1))).collect();
    all.order_by_key(|&(name, count)| (Reverse(count), name));
    let mut shown: Vec<String> = all
        .iter()
        .take(NAMED)
        .map(|(name, count)| if *count > 1 { format!("{count} × {name}") } else { (*name).clone() })
        .collect();
    if all.len() > NAMED {
        shown.push(format!("{} more", all.len() - NAMED));
    }
    shown.join(", ")
}
