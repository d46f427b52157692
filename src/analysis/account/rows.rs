//! Attributes each measured event to an attribution row, which is usually the row of the lowest common op above the
//! event.
//!
//! ```text
//! event below …                                row
//! an op matched with one of the same name      that pair of ops (the nearest one above)
//! only one-sided ops                           the outermost of them, the other side 0
//! only renamed ops                             the outermost pair, named `a | b`
//! no op                                        the launch
//! captured ops, the other side has no capture  the graph launch
//! a compiled region, or what it replaced       the region, with the time of both sides
//! no launch in the trace                       its kernel's name
//! ```

use crate::diff::{MergedId, Region, TraceDiff};
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Presence, Side};
use crate::trace::{Nanos, busy_time};
use crate::tree::{CallId, CallKind, CallTree};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The kind of an attribution row, which says what its events are attributed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RowKind {
    /// A row for two matched ops with the same name.
    CommonOp,
    /// A row for two matched ops with different names, if no common op is above them.
    RenamedOp,
    /// A row for an op that only one trace has, if no common op is above it.
    OneSidedOp,
    /// A row for a launch that was not made by an op.
    Launch,
    /// A row for a compiled region or graph launch on one side, together with the calls on the other side that it
    /// replaced.
    Replaced,
    /// A row for GPU events with the same name whose launches are not in the trace.
    Unlinked,
}

/// A row in the attribution table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The kind of the row, which says what its events are attributed to.
    pub kind: RowKind,
    /// The op or launch on each side. `None` if the events are unlinked, if the other side's call has no
    /// counterpart, or if a region on the other side replaced the calls on this side.
    pub calls: PerSide<Option<CallId>>,
    /// The measured events in the row, sorted by start time.
    pub events: PerSide<Vec<CallId>>,
    /// Total time of the row's events.
    pub time: PerSide<Nanos>,
    /// Time during which at least one of the row's events runs.
    pub busy: PerSide<Nanos>,
    /// Host time of the op or launch, including nested calls.
    pub host_time: PerSide<Nanos>,
    /// Host time of the op or launch, excluding the time of its direct children.
    pub host_self_time: PerSide<Nanos>,
    /// The lowest common node: the row's op or launch if it is a common call, otherwise the nearest common node above
    /// it.
    pub lowest_common: Option<MergedId>,
}

impl Row {
    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.time.candidate - self.time.baseline
    }

    /// Ratio of the row's times, candidate / baseline; `None` if either time is zero.
    #[doc(hidden)]
    pub fn ratio(&self) -> Option<f64> {
        self.time.ratio()
    }

    /// The sides that have measured events in the row.
    pub fn presence(&self) -> Presence {
        Presence::of(self.events.as_ref().map(|events| events.len() as u64))
    }

    /// The row's region, which is a compiled region or graph launch; `None` if the row has no region.
    pub(super) fn region<'d>(&self, diff: &'d TraceDiff) -> Option<&'d Region> {
        let own = Side::BOTH.iter().find_map(|&side| diff.region_of(side, self.calls[side]?));
        own.filter(|_| self.kind == RowKind::Replaced).map(|at| &diff.regions()[at])
    }
}

/// The key of an attribution row: events with equal keys belong to the same row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RowKey<'t> {
    Call(RowKind, MergedId),
    Unlinked(&'t str),
}

/// Returns the attribution rows in merged-tree order. Also returns, for each measured call, the position of its row,
/// indexed by the call's slot.
pub(in crate::analysis) fn assign(
    diff: &TraceDiff,
    measure: Measure,
) -> (Vec<Row>, PerSide<Vec<u32>>) {
    let mut rows: Vec<Row> = Vec::new();
    let mut ids: FxHashMap<RowKey<'_>, usize> = FxHashMap::default();
    let mut row_of = PerSide::from_fn(|side| vec![u32::MAX; measure.slots(diff.tree(side))]);
    for side in Side::BOTH {
        let tree = diff.tree(side);
        for call in measure.calls(tree) {
            let key = key(diff, side, call);
            let at = *ids.entry(key).or_insert_with(|| {
                rows.push(empty_row(diff, key, side, call));
                rows.len() - 1
            });
            rows[at].events[side].push(call);
            let slot = measure.slot(tree, call).expect("every attributed call has a slot");
            row_of[side][slot] = at as u32;
        }
    }
    rows.par_iter_mut().for_each(|row| fill(diff, measure, row));
    sort(diff, rows, row_of)
}

fn key<'t>(diff: &'t TraceDiff, side: Side, call: CallId) -> RowKey<'t> {
    let tree = diff.tree(side);
    if tree.kind(call) == CallKind::Gpu && tree.launch(call).is_none() {
        return RowKey::Unlinked(tree.name(call));
    }
    let node = |call| diff.merged().of(side, call);
    if let Some(region) = diff.region_of(side, call) {
        return RowKey::Call(RowKind::Replaced, diff.region_node(&diff.regions()[region]));
    }
    if let Some(op) = diff.lowest_common_op(side, call) {
        return RowKey::Call(RowKind::CommonOp, node(op));
    }
    if let Some(launch) = tree.launch(call).filter(|&launch| diff.is_known_deeper(side, launch)) {
        let graph_launch = tree.running_launch(call).unwrap_or(launch);
        return RowKey::Call(RowKind::Launch, node(graph_launch));
    }
    let above = std::iter::once(call).chain(tree.ancestors(call));
    match above.filter(|&above| tree.kind(above) == CallKind::Op).last() {
        Some(op) if diff.counterpart(side, op).is_some() => {
            RowKey::Call(RowKind::RenamedOp, node(op))
        }
        Some(op) => RowKey::Call(RowKind::OneSidedOp, node(op)),
        None => RowKey::Call(RowKind::Launch, node(tree.launch(call).unwrap_or(call))),
    }
}

fn empty_row(diff: &TraceDiff, key: RowKey<'_>, side: Side, call: CallId) -> Row {
    let (kind, calls, (side, from)) = match key {
        RowKey::Call(RowKind::Replaced, id) => {
            let calls = PerSide::from_fn(|side| diff.merged().node(id).call(side));
            let own = Side::BOTH.iter().find_map(|&side| Some((side, calls[side]?)));
            (RowKind::Replaced, calls, own.unwrap_or((side, call)))
        }
        RowKey::Call(kind, id) => {
            let node = diff.merged().node(id);
            let calls = PerSide::from_fn(|side| node.call(side));
            (kind, calls, (side, calls[side].unwrap_or(call)))
        }
        RowKey::Unlinked(_) => {
            // A row for unlinked events has no op or launch, so the search for the lowest common node starts at the
            // parent of the events.
            let root = diff.tree(side).parent(call).unwrap_or(call);
            (RowKind::Unlinked, PerSide::default(), (side, root))
        }
    };
    Row {
        kind,
        calls,
        events: PerSide::default(),
        time: PerSide::default(),
        busy: PerSide::default(),
        host_time: PerSide::default(),
        host_self_time: PerSide::default(),
        lowest_common: diff.lowest_common(side, from).map(|common| diff.merged().of(side, common)),
    }
}

fn fill(diff: &TraceDiff, measure: Measure, row: &mut Row) {
    let replaced: &[CallId] = row.region(diff).map_or(&[], |region| &region.replaced);
    for side in Side::BOTH {
        let tree = diff.tree(side);
        row.events[side].order_by_key(|&call| (span(tree, call), call));
        row.time[side] = row.events[side].iter().map(|&call| measure.time(tree, call)).sum();
        row.busy[side] = match measure {
            Measure::GpuTime => {
                busy_time(row.events[side].iter().map(|&call| span(tree, call)).collect())
            }
            Measure::HostSelfTime => row.time[side],
        };
        let calls: &[CallId] = match &row.calls[side] {
            Some(call) => std::slice::from_ref(call),
            None => replaced,
        };
        row.host_time[side] = calls.iter().map(|&call| tree.duration(call)).sum();
        row.host_self_time[side] = calls.iter().map(|&call| tree.self_time(call)).sum();
    }
}

/// The start and the end of a measured call.
#[inline]
pub(in crate::analysis) fn span(tree: &CallTree, call: CallId) -> (Nanos, Nanos) {
    let event = tree.event(call).expect("every attributed call has an event");
    (tree.trace().start(event), tree.trace().end(event))
}

/// Sorts rows in merged-tree order; rows for unlinked events come last, sorted by name.
fn sort(
    diff: &TraceDiff,
    rows: Vec<Row>,
    mut row_of: PerSide<Vec<u32>>,
) -> (Vec<Row>, PerSide<Vec<u32>>) {
    let place = |row: &Row| {
        Side::BOTH.iter().find_map(|&side| row.calls[side].map(|call| diff.merged().of(side, call)))
    };
    let name = |row: &Row| {
        Side::BOTH
            .iter()
            .find_map(|&side| row.events[side].first().map(|&call| diff.tree(side).name(call)))
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.order_by_key(|&at| {
        (rows[at].kind == RowKind::Unlinked, place(&rows[at]), name(&rows[at]), at)
    });
    let mut new_id = vec![0; rows.len()];
    for (new, &old) in order.iter().enumerate() {
        new_id[old] = new as u32;
    }
    for side in Side::BOTH {
        for row in row_of[side].iter_mut().filter(|row| **row != u32::MAX) {
            *row = new_id[*row as usize];
        }
    }
    let mut sorted: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let rows = order.iter().filter_map(|&at| sorted[at].take()).collect();
    (rows, row_of)
}
