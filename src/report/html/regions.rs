//! Builds the page's table of the compiled regions, graph launches and multi-tensor ops that exist on only one side,
//! with the ops that they replaced. Each line shows whether the fusion made the program faster.

use crate::analysis::Analysis;
use crate::diff::{MergedId, Region};
use crate::order::Order as _;
use crate::report::lists::change as style_of;
use crate::report::text::times;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of lines in the table, which is sorted by total time, longest first.
const LINES: usize = 30;
/// Maximum number of replaced ops that a line names.
const NAMED: usize = 4;

/// A line of the table, which describes all regions that have the same name.
pub(super) struct RegionLine {
    pub(super) name: String,
    pub(super) side: String,
    pub(super) count: u64,
    /// The ops that the regions replaced, with counts per region: `aten::add ×4, aten::mul ×4 and 3
    /// more`.
    pub(super) ops: String,
    /// Number of attributed events per region on each side.
    pub(super) events: [String; 2],
    pub(super) time: PerSide<Nanos>,
    pub(super) ratio: String,
    /// The time including the waits of the GPU in the region and in what it replaced.
    pub(super) step: PerSide<Nanos>,
    /// Whether the region reduced the number of kernels, and whether it made the program faster.
    pub(super) answer: String,
    pub(super) style: &'static str,
    /// The first node of the merged tree that contains a region with this name.
    pub(super) node: usize,
}

/// Sums over all regions that have the same name.
#[derive(Default)]
struct Group {
    count: u64,
    ops: BTreeMap<String, u64>,
    events: PerSide<u64>,
    time: PerSide<Nanos>,
    waits: PerSide<Nanos>,
    node: usize,
}

/// The idle time of each node, in the compared steps.
type Idle = FxHashMap<MergedId, PerSide<Nanos>>;

pub(super) fn lines(analysis: &Analysis) -> Vec<RegionLine> {
    let mut idle = Idle::default();
    for row in analysis.wall().idle().iter().filter(|row| row.part.is_of_window()) {
        if let Some(owner) = row.owner {
            let sum = idle.entry(owner).or_default();
            *sum = PerSide::from_fn(|side| sum[side] + row.time[side]);
        }
    }
    let mut groups: BTreeMap<(Side, &str), Group> = BTreeMap::new();
    for region in analysis.diff().regions() {
        let name = analysis.tree(region.side).name(region.call);
        let group = groups.entry((region.side, name)).or_insert_with(|| Group {
            node: analysis.diff().region_node(region).index(),
            ..Group::default()
        });
        group.add(analysis, &idle, region);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.retain(|(_, group)| group.events != PerSide::default());
    groups.order_by_key(|(_, group)| {
        (Reverse(group.time.baseline.max(group.time.candidate)), group.node)
    });
    groups
        .into_iter()
        .take(LINES)
        .map(|((side, name), group)| group.line(analysis, side, name))
        .collect()
}

impl Group {
    fn add(&mut self, analysis: &Analysis, idle: &Idle, region: &Region) {
        self.count += 1;
        let other = region.side.other();
        self.add_events(analysis, idle, (region.side, region.call));
        for &call in &region.replaced {
            self.add_events(analysis, idle, (other, call));
            let tree = analysis.tree(other);
            let below = tree.subtree(call).filter(|&call| tree.kind(call) == CallKind::Op);
            // Only outermost ops are counted, because these are the ops that the program itself called.
            let outermost = below.filter(|&op| {
                op == call
                    || tree
                        .ancestors(op)
                        .take_while(|&above| above != call)
                        .all(|above| tree.kind(above) != CallKind::Op)
                        && (tree.kind(call) != CallKind::Op)
            });
            for op in outermost.filter(|&op| {
                tree.is_gpu_path(op)
                    || analysis.ledger().row_index(analysis.diff(), other, op).is_some()
            }) {
                *self.ops.entry(tree.name(op).to_owned()).or_default() += 1;
            }
        }
    }

    fn add_events(&mut self, analysis: &Analysis, idle: &Idle, (side, call): (Side, CallId)) {
        let merged = analysis.diff().merged();
        let waits = analysis.tree(side).subtree(call).filter_map(|below| {
            let wait = idle.get(&merged.of(side, below))?;
            Some(wait[side])
        });
        self.waits[side] += waits.sum::<Nanos>();
        let measured =
            |&below: &CallId| analysis.ledger().row_index(analysis.diff(), side, below).is_some();
        for event in analysis.tree(side).subtree(call).filter(measured) {
            self.events[side] += 1;
            self.time[side] += analysis.ledger().time_of(analysis.diff(), side, event);
        }
    }

    fn line(self, analysis: &Analysis, side: Side, name: &str) -> RegionLine {
        let difference = self.time.difference();
        let mut ops: Vec<(String, u64)> = self.ops.into_iter().collect();
        ops.order_by_key(|(name, count)| (Reverse(*count), name.clone()));
        let more = ops.len().saturating_sub(NAMED);
        let named = ops
            .iter()
            .take(NAMED)
            .map(|(name, count)| format!("{name} ×{}", each(*count, self.count)));
        let mut text = named.collect::<Vec<_>>().join(", ");
        if more > 0 {
            text += &format!(" and {more} more");
        }
        let fewer = self.events.candidate < self.events.baseline;
        let step = PerSide::from_fn(|side| self.time[side] + self.waits[side]);
        let of_gpu = match (side, fewer, difference < Nanos::ZERO) {
            (Side::Candidate, true, true) => "fused, faster",
            (Side::Candidate, true, false) => "fused, not faster",
            (Side::Candidate, false, true) => "kernel count not reduced, faster",
            (Side::Candidate, false, false) => "kernel count not reduced, not faster",
            (Side::Baseline, _, true) => "no longer compiled, faster",
            (Side::Baseline, _, false) => "no longer compiled, not faster",
        };
        // The GPU may wait longer than it saves.
        let answer = match (difference < Nanos::ZERO, step.difference() < Nanos::ZERO) {
            (true, false) => format!("{of_gpu} on the GPU, but not in the step"),
            (false, true) => format!("{of_gpu} on the GPU, but in the step"),
            (true, true) | (false, false) => of_gpu.to_owned(),
        };
        RegionLine {
            name: name.to_owned(),
            side: analysis.names()[side].to_owned(),
            count: self.count,
            ops: text,
            events: Side::BOTH.map(|side| each(self.events[side], self.count)),
            time: self.time,
            ratio: times(self.time),
            step,
            answer,
            style: style_of(difference),
            node: self.node,
        }
    }
}

/// The average count per region, without decimals if it is a whole number.
fn each(count: u64, regions: u64) -> String {
    if count.is_multiple_of(regions) {
        (count / regions).to_string()
    } else {
        format!("{:.1}", count as f64 / regions as f64)
    }
}
