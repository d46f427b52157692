//! Groups the attribution rows into parts, and adds up their busy time. A part contains all instances of an op with the
//! same module class and shapes, or the work of all unmatched calls below a common node.

use super::places::{common_above, module_class, plain_node_name};
use super::scale::Scale;
use crate::analysis::account::{Ledger, Row, RowKind, RowNameIds};
use crate::analysis::efficiency::{Efficiency, TraceEfficiency};
use crate::analysis::grouped::Grouped;
use crate::analysis::steps::StepPairs;
use crate::analysis::wall::{Wall, is_of_other_steps, is_row_alone};
use crate::diff::{MergedId, TraceDiff};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, Nanos, TextId};
use crate::tree::CallId;
use std::collections::BTreeMap;

/// The key of a part: all rows of a part have these properties.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartKey {
    /// Class of the module that encloses the work.
    pub(super) module: String,
    /// Name of the op or, if the work is unmatched, name of the common node above the work.
    pub(super) name: String,
    /// Shapes and types of the op's inputs on each side.
    pub(super) arguments: (String, String),
    pub(super) kind: PartKind,
}

/// How the work in a part is matched between the sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum PartKind {
    /// The work is below a call that both traces have.
    Common,
    /// The work is below unmatched calls, which are below a call that both sides have.
    Below,
    /// The work is in a compiled region, or in the calls that the region replaced.
    Region,
    /// The call site is unknown, because the launch is not in the trace.
    Unlinked,
}

/// For each kernel name, the number and the total time of the events with this name in the window.
pub(super) type Kernels<'a> = BTreeMap<&'a str, (u64, Nanos)>;

#[derive(Debug)]
pub(super) struct BusyPart<'a> {
    pub(super) key: PartKey,
    /// The first node to which the time is attributed.
    pub(super) node: Option<MergedId>,
    /// All nodes to which the time is attributed; may contain duplicates.
    pub(super) nodes: Vec<MergedId>,
    /// Positions of the part's rows in [`Ledger::rows`].
    pub(super) rows: Vec<usize>,
    /// Busy time of the part in the window.
    pub(super) time: PerSide<Nanos>,
    /// Number of attribution rows in the part that have events.
    pub(super) count: PerSide<u64>,
    pub(super) kernels: PerSide<Kernels<'a>>,
    /// On the side that has the regions, the number of regions; on the other side, the number of calls that these
    /// regions replaced.
    pub(super) facing: PerSide<u64>,
    /// Names of the calls that launched the work, with their counts.
    pub(super) ops: PerSide<BTreeMap<&'a str, u64>>,
    /// Operations, bytes and time of the part's events.
    pub(super) efficiency: PerSide<Efficiency>,
}

/// Divides the busy time of the window into parts whose times add up exactly to the busy time.
pub(super) fn parts<'a>(
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    compared: &StepPairs,
    wall: &Wall,
    efficiency: &'a PerSide<TraceEfficiency>,
) -> Vec<BusyPart<'a>> {
    let mut parts: Grouped<PartIds, PartKey, BusyPart<'_>> = Grouped::new();
    for (at, row) in ledger.rows().iter().enumerate() {
        let kind = part_kind(diff, row);
        let node = part_node(diff, row, kind);
        let ids = part_ids(diff, row, kind, node);
        let key = || key(diff, row, kind, node);
        let part = parts.entry(ids, key, |key| BusyPart::empty(key.clone(), node));
        let works = |side: &Side| !row.events[*side].is_empty();
        if !is_of_other_steps(diff, compared, row) {
            part.rows.push(at);
        }
        for side in Side::BOTH.into_iter().filter(works) {
            let busy = wall.busy()[at][side];
            part.time[side] += busy;
            let is_before = busy == Nanos::ZERO && wall.busy_before()[at][side] > Nanos::ZERO;
            let mut events = events_of_window(diff, wall, row, side).peekable();
            if !is_before && !is_row_alone(diff, compared, row, side) && events.peek().is_some() {
                part.nodes.extend(node);
                part.add(diff, ledger, efficiency, row, side, events);
            }
        }
    }
    parts.into_sorted().map(|(_, part)| part).collect()
}

impl<'a> BusyPart<'a> {
    fn empty(key: PartKey, node: Option<MergedId>) -> BusyPart<'a> {
        BusyPart {
            key,
            node,
            nodes: Vec::new(),
            rows: Vec::new(),
            time: PerSide::default(),
            count: PerSide::default(),
            kernels: PerSide::default(),
            facing: PerSide::default(),
            ops: PerSide::default(),
            efficiency: PerSide::default(),
        }
    }

    fn add(
        &mut self,
        diff: &'a TraceDiff,
        ledger: &'a Ledger,
        efficiency: &'a PerSide<TraceEfficiency>,
        row: &Row,
        side: Side,
        events: impl Iterator<Item = CallId>,
    ) {
        let tree = diff.tree(side);
        self.count[side] += 1;
        self.efficiency[side].absorb(&efficiency[side].of_events(&row.events[side]));
        for event in events {
            let kernel = self.kernels[side].entry(tree.name(event)).or_default();
            kernel.0 += 1;
            kernel.1 += ledger.time_of(diff, side, event);
        }
        self.facing[side] += row.calls_of_region(diff, side);
        if let Some(call) = row.calls[side] {
            *self.ops[side].entry(tree.name(call)).or_default() += 1;
        }
    }

    pub(super) fn kernel_time(&self) -> PerSide<Nanos> {
        self.kernels.as_ref().map(|kernels| kernels.values().map(|kernel| kernel.1).sum())
    }

    pub(super) fn kernel_count(&self) -> PerSide<u64> {
        self.kernels.as_ref().map(|kernels| kernels.values().map(|kernel| kernel.0).sum())
    }

    /// The side that has the compiled regions or graphs. Used only for parts of kind `Region`.
    pub(super) fn region_side(&self) -> Side {
        let is_region = |side: &Side| !self.ops[*side].is_empty();
        Side::BOTH.into_iter().find(is_region).unwrap_or(Side::Candidate)
    }

    /// Whether both sides ran the same kernels the same number of times per step.
    pub(super) fn has_same_kernels(&self, scale: Scale) -> bool {
        let (a, b) = (&self.kernels.baseline, &self.kernels.candidate);
        self.has_same_names()
            && a.iter().all(|(name, one)| {
                b.get(name).is_some_and(|two| scale.compare(PerSide::new(one.0, two.0)).is_eq())
            })
    }

    /// Whether both sides ran kernels with the same names.
    pub(super) fn has_same_names(&self) -> bool {
        self.kernels.baseline.keys().eq(self.kernels.candidate.keys())
    }
}

/// The row's events on one side that overlap the window of this side. Other events, such as kernels that run after the
/// last step, are not part of the wall time.
fn events_of_window(
    diff: &TraceDiff,
    wall: &Wall,
    row: &Row,
    side: Side,
) -> impl Iterator<Item = CallId> {
    let window = wall.windows()[side];
    let tree = diff.tree(side);
    row.events[side].iter().copied().filter(move |&call| {
        let event = tree.event(call).expect("every attributed call has an event");
        window.overlaps(tree.trace().start(event), tree.trace().end(event))
    })
}

/// The node to which a row's work is attributed.
fn part_node(diff: &TraceDiff, row: &Row, kind: PartKind) -> Option<MergedId> {
    let merged = diff.merged();
    let call = |side: Side| row.calls[side].map(|call| (side, call));
    let own = call(Side::Baseline).or_else(|| call(Side::Candidate));
    let own = own.map(|(side, call)| merged.of(side, call));
    match kind {
        PartKind::Common | PartKind::Region => own,
        PartKind::Below => own.and_then(|own| common_above(diff, own)).or(own),
        PartKind::Unlinked => None,
    }
}

fn key(diff: &TraceDiff, row: &Row, kind: PartKind, node: Option<MergedId>) -> PartKey {
    let name = match (kind, node) {
        (PartKind::Common | PartKind::Region, _) | (_, None) => row.name(diff),
        (PartKind::Below | PartKind::Unlinked, Some(node)) => plain_node_name(diff, node),
    };
    let arguments = match kind {
        PartKind::Common => PerSide::from_fn(|side| arguments(diff, side, row)),
        PartKind::Below | PartKind::Region | PartKind::Unlinked => PerSide::default(),
    };
    let module = node.map_or_else(String::new, |node| module_class(diff, node));
    PartKey { module, name, arguments: (arguments.baseline, arguments.candidate), kind }
}

/// Ids that determine a [`PartKey`], and can be compared faster than its strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum PartIds {
    /// For work at common calls: the name of the row, the shapes and types of the op on each side, and the name of the
    /// enclosing module on each side.
    Common(RowNameIds, PerSide<[TextId; 2]>, PerSide<Option<TextId>>),
    /// For all other work: the kind of the part, the node to which the work is attributed, and the name of the row.
    At(PartKind, Option<MergedId>, RowNameIds),
}

fn part_ids(diff: &TraceDiff, row: &Row, kind: PartKind, node: Option<MergedId>) -> PartIds {
    let names = row.name_ids(diff);
    match (kind, node) {
        (PartKind::Common, Some(node)) => {
            let shapes = |side: Side| {
                let Arguments { dims, types, .. } = row.arguments(diff, side);
                [dims, types]
            };
            let node = diff.merged().node(node);
            let module = |side: Side| {
                let tree = diff.tree(side);
                let module = tree.module(node.call(side)?)?;
                Some(tree.trace().name_id(tree.event(module)?))
            };
            PartIds::Common(names, PerSide::from_fn(shapes), PerSide::from_fn(module))
        }
        (PartKind::Common | PartKind::Below | PartKind::Region | PartKind::Unlinked, _) => {
            PartIds::At(kind, node, names)
        }
    }
}

fn part_kind(diff: &TraceDiff, row: &Row) -> PartKind {
    match row.kind {
        RowKind::CommonOp => PartKind::Common,
        RowKind::Replaced => PartKind::Region,
        RowKind::Unlinked => PartKind::Unlinked,
        RowKind::Launch if is_common(diff, row) => PartKind::Common,
        RowKind::Launch | RowKind::OneSidedOp | RowKind::RenamedOp => PartKind::Below,
    }
}

fn is_common(diff: &TraceDiff, row: &Row) -> bool {
    let call = row.calls.baseline;
    call.is_some_and(|call| diff.relation(Side::Baseline, call).is_common())
}

/// The shapes and types of the inputs of a row's op. Argument values are omitted, because they may differ from step to
/// step.
fn arguments(diff: &TraceDiff, side: Side, row: &Row) -> String {
    let Arguments { dims, types, .. } = row.arguments(diff, side);
    let text = |id| diff.tree(side).trace().text(id);
    format!("{} {}", text(dims), text(types)).trim().to_owned()
}

/// Whether the analysis measures host time instead of GPU time. If so, the busy time is host time.
pub(super) fn is_host(ledger: &Ledger) -> bool {
    match ledger.measure() {
        Measure::GpuTime => false,
        Measure::HostSelfTime => true,
    }
}
