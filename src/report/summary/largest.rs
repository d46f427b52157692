//! Finds the largest time differences. Rows are grouped by name and lowest common node, and each group lists the ops
//! where the two sides diverge.

use crate::analysis::Analysis;
use crate::analysis::account::{Row, RowKind};
use crate::analysis::wall::is_of_other_steps;
use crate::diff::{MergedId, MergedNode};
use crate::order::Order as _;
use crate::report::text::node_name;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Name of the group of rows in steps without a counterpart.
const OTHER_STEPS: &str = "(steps without a counterpart)";

/// The rows that have the same name and the same lowest common node. All rows in steps without a counterpart form one
/// group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct LargeDifference {
    /// The name of the rows.
    pub name: String,
    /// Name of the lowest common node above the rows; empty if the op itself is the lowest common node, or if there is
    /// no such node.
    pub below: String,
    /// Number of rows.
    pub row_count: u64,
    /// Number of ops or launches on each side; for GPU events whose launch is not in the trace, the
    /// number of events.
    pub calls: PerSide<u64>,
    /// Number of attributed events on each side.
    pub events: PerSide<u64>,
    /// Total time of the attributed events on each side.
    pub time: PerSide<Nanos>,
    /// The points of difference below the rows, most frequent first. Only ops and frames with GPU work are included.
    pub parts: Vec<Part>,
}

/// All points of difference that have the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[doc(hidden)]
pub struct Part {
    /// The side that has the call; `None` for a renamed pair.
    pub side: Option<Side>,
    /// Name of the call; `a | b` for a renamed pair.
    pub name: String,
    /// Number of points of difference with this name.
    pub count: u64,
}

/// The largest time differences by name and lowest common node, largest first.
#[doc(hidden)]
pub fn largest_differences(analysis: &Analysis) -> Vec<LargeDifference> {
    let mut groups: Vec<LargeDifference> = Vec::new();
    let mut numbers: FxHashMap<(String, String), usize> = FxHashMap::default();
    let mut group_of: FxHashMap<MergedId, usize> = FxHashMap::default();
    for row in analysis.rows() {
        let key = if is_of_other_steps(analysis.diff(), analysis.compared(), row) {
            (OTHER_STEPS.to_owned(), String::new())
        } else {
            (row.name(analysis.diff()), below(analysis, row))
        };
        let group = *numbers.entry(key).or_insert_with_key(|key| {
            let (name, below) = key.clone();
            groups.push(LargeDifference { name, below, ..LargeDifference::default() });
            groups.len() - 1
        });
        if let (RowKind::CommonOp, Some(op)) = (row.kind, row.lowest_common) {
            group_of.insert(op, group);
        }
        add(analysis, &mut groups[group], row);
    }
    for (group, parts) in parts(analysis, &group_of) {
        groups[group].parts = parts;
    }
    groups.retain(|group| group.time.difference() != Nanos::ZERO);
    // The order is unambiguous, because no two groups have both the same name and the same lowest
    // common node.
    groups.order_by(|a, b| {
        let size = |group: &LargeDifference| Reverse(group.time.difference().abs());
        size(a).cmp(&size(b)).then_with(|| (&a.name, &a.below).cmp(&(&b.name, &b.below)))
    });
    groups
}

/// The name of a row's lowest common node, without anything that varies from run to run. Empty if the lowest common
/// node is the row's own op.
fn below(analysis: &Analysis, row: &Row) -> String {
    match (row.kind, row.lowest_common) {
        (RowKind::CommonOp | RowKind::Unlinked, _) | (_, None) => String::new(),
        (
            RowKind::RenamedOp | RowKind::OneSidedOp | RowKind::Launch | RowKind::Replaced,
            Some(id),
        ) => {
            let call = analysis.diff().merged().node(id).calls().next();
            call.map_or_else(String::new, |(side, call)| {
                analysis.diff().plain_name(side, call).to_owned()
            })
        }
    }
}

fn add(analysis: &Analysis, group: &mut LargeDifference, row: &Row) {
    group.row_count += 1;
    for side in Side::BOTH {
        let events = row.events[side].len() as u64;
        group.calls[side] += match row.kind {
            RowKind::Unlinked => events,
            RowKind::Replaced => row.calls_of_region(analysis.diff(), side),
            RowKind::CommonOp | RowKind::RenamedOp | RowKind::OneSidedOp | RowKind::Launch => {
                u64::from(row.calls[side].is_some())
            }
        };
        group.events[side] += events;
        group.time[side] += row.time[side];
    }
}

type PartKey = (Option<Side>, String);

/// For each group, the points of difference below the ops in the group.
fn parts(analysis: &Analysis, group_of: &FxHashMap<MergedId, usize>) -> BTreeMap<usize, Vec<Part>> {
    let merged = analysis.diff().merged();
    let mut counts: BTreeMap<usize, BTreeMap<PartKey, u64>> = BTreeMap::new();
    for point in analysis.diff().differences() {
        let node = merged.node(point.node);
        let above = std::iter::successors(merged.parent(point.node), |&id| merged.parent(id));
        let group = above.into_iter().find_map(|id| group_of.get(&id));
        if let Some(&group) = group.filter(|_| point.gpu_events > 0 && is_reported(analysis, node))
        {
            let side = match node {
                MergedNode::Both(..) => None,
                MergedNode::Only(side, _) => Some(side),
            };
            let key = (side, node_name(analysis, node).into_owned());
            *counts.entry(group).or_default().entry(key).or_default() += 1;
        }
    }
    let list = |counts: BTreeMap<PartKey, u64>| {
        let part = |((side, name), count)| Part { side, name, count };
        let mut parts: Vec<Part> = counts.into_iter().map(part).collect();
        parts.order_by_key(|part| Reverse(part.count));
        parts
    };
    counts.into_iter().map(|(group, counts)| (group, list(counts))).collect()
}

/// Whether a point of difference is listed. Only ops and frames are listed, because launches and kernels already appear
/// in the counts.
fn is_reported(analysis: &Analysis, node: MergedNode) -> bool {
    Side::BOTH.iter().any(|&side| {
        node.call(side).is_some_and(|call| match analysis.tree(side).kind(call) {
            CallKind::Op | CallKind::Frame => true,
            CallKind::Thread | CallKind::Unlinked | CallKind::Runtime | CallKind::Gpu => false,
        })
    })
}
