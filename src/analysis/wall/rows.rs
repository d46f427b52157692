//! Groups the gap pieces on both sides into idle rows, one for each owner, kind and part.

use super::part::{Idle, IdleKind, Part};
use crate::analysis::account::Ledger;
use crate::diff::{MergedId, TraceDiff};
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

const NONE: u32 = u32::MAX;

/// All idle time that has the same owner, kind and part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleRow {
    /// Why the device was idle.
    pub kind: IdleKind,
    /// The part of the wall time that the gaps belong to. The part of a gap is the part of the work that ends
    /// the gap.
    pub part: Part,
    /// The innermost call to which the idle time is attributed, as a node of the merged tree. Time between calls
    /// is attributed to the root of the thread. `None` if the owner is unknown.
    pub owner: Option<MergedId>,
    /// The nearest node at or above the owner that both traces have; `None` if there is none.
    pub lowest_common: Option<MergedId>,
    /// Position of the step that contains the owner: the baseline step if there is one, otherwise the
    /// candidate step.
    pub step: Option<StepId>,
    /// Total duration of the gap pieces in the row.
    pub time: PerSide<Nanos>,
    /// Number of gaps.
    pub count: PerSide<u64>,
    /// For `sync`: the GPU event that the host waited for. This is the last event before the longest gap.
    pub waited_for: PerSide<Option<CallId>>,
}

impl IdleRow {
    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.time.difference()
    }
}

/// Collects the results of the sweeps over both sides.
pub(super) struct Collector<'a> {
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    side: Side,
    /// The busy time of each row of the analysis in [`Part::Window`], and in [`Part::Alone`].
    busy: [Vec<PerSide<Nanos>>; 2],
    /// The busy time in [`Part::Before`].
    busy_before: PerSide<Nanos>,
    rows: Vec<IdleRow>,
    /// For each owner node, the idle row added most recently, or `NONE`. The final entry is for rows without an
    /// owner.
    last_of: Vec<u32>,
    /// For each idle row, the idle row with the same owner that was added before it.
    before: Vec<u32>,
    /// For each idle row, the gap that was counted most recently, so that no gap is counted twice.
    last_gap: Vec<u32>,
    /// For each `sync` row, the longest piece on the current side.
    longest: FxHashMap<usize, Nanos>,
}

pub(super) struct Collected {
    /// The busy time of each row of the analysis in [`Part::Window`], and in [`Part::Alone`].
    pub(super) busy: [Vec<PerSide<Nanos>>; 2],
    /// The busy time in [`Part::Before`].
    pub(super) busy_before: PerSide<Nanos>,
    pub(super) idle: Vec<IdleRow>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(diff: &'a TraceDiff, ledger: &'a Ledger) -> Self {
        let rows = ledger.rows().len();
        let nodes = diff.merged().len();
        // Reserve enough memory to avoid the fragmentation that reallocation causes. Reserved memory pages
        // cost nothing until they are accessed.
        let room = nodes / 2;
        Collector {
            diff,
            ledger,
            side: Side::Baseline,
            busy: [(); 2].map(|()| vec![PerSide::default(); rows]),
            busy_before: PerSide::default(),
            rows: Vec::with_capacity(room),
            last_of: vec![NONE; nodes + 1],
            before: Vec::with_capacity(room),
            last_gap: Vec::with_capacity(room),
            longest: FxHashMap::default(),
        }
    }

    pub(super) fn turn_to(&mut self, side: Side) {
        self.side = side;
        self.last_gap.fill(0);
        self.longest.clear();
    }

    /// Sorts the rows in the order of the merged tree, then by kind and part; rows without an owner come
    /// last.
    pub(super) fn finish(self) -> Collected {
        let mut order: Vec<u32> = Vec::with_capacity(self.rows.len());
        for &last in &self.last_of {
            let first = order.len();
            let before = |&at: &u32| Some(self.before[at as usize]).filter(|&at| at != NONE);
            order.extend(std::iter::successors(Some(last).filter(|&at| at != NONE), before));
            order[first..].sort_unstable_by_key(|&at| {
                let row = &self.rows[at as usize];
                (row.kind, row.part)
            });
        }
        let mut rows = self.rows;
        rows.shrink_to_fit();
        put_in_order(&mut rows, order);
        Collected { busy: self.busy, busy_before: self.busy_before, idle: rows }
    }

    fn row(&mut self, piece: &Idle) -> usize {
        let merged = self.diff.merged();
        let owner = piece.owner.map(|call| merged.of(self.side, call));
        let slot = owner.map_or(merged.len(), MergedId::index);
        let last = self.last_of[slot];
        let mut at = last;
        while let Some(row) = self.rows.get(at as usize) {
            if (row.kind, row.part) == (piece.kind, piece.part) {
                return at as usize;
            }
            at = self.before[at as usize];
        }
        let common = piece.owner.and_then(|call| self.diff.lowest_common(self.side, call));
        self.rows.push(IdleRow {
            kind: piece.kind,
            part: piece.part,
            owner,
            lowest_common: common.map(|call| merged.of(self.side, call)),
            step: piece.owner.and_then(|call| self.diff.steps(self.side).step(call)),
            time: PerSide::default(),
            count: PerSide::default(),
            waited_for: PerSide::default(),
        });
        self.last_gap.push(0);
        self.before.push(last);
        self.last_of[slot] = self.rows.len() as u32 - 1;
        self.rows.len() - 1
    }
}

/// Permutes `items` in place, so that the item at position `order[i]` moves to position `i`.
fn put_in_order<T>(items: &mut [T], mut order: Vec<u32>) {
    for at in 0..items.len() {
        // Follow the permutation cycle that contains `at`.
        let mut here = at;
        loop {
            let from = std::mem::replace(&mut order[here], here as u32) as usize;
            if from == at {
                break;
            }
            items.swap(here, from);
            here = from;
        }
    }
}

impl Collector<'_> {
    /// Adds the length of a time span during which `event` ran, but no event that had started earlier;
    /// `event` is `None` for work that was not selected.
    pub(super) fn busy(&mut self, event: Option<CallId>, part: Part, time: Nanos) {
        let (Some(event), Part::Window | Part::Alone) = (event, part) else {
            self.busy_before[self.side] += time;
            return;
        };
        let row = self
            .ledger
            .row_index(self.diff, self.side, event)
            .expect("every attributed call has a row");
        self.busy[usize::from(part == Part::Alone)][row][self.side] += time;
    }

    /// Adds the next piece of a gap.
    pub(super) fn idle(&mut self, piece: Idle) {
        let (at, side) = (self.row(&piece), self.side);
        let row = &mut self.rows[at];
        row.time[side] += piece.time;
        if self.last_gap[at] != piece.gap {
            self.last_gap[at] = piece.gap;
            row.count[side] += 1;
        }
        if piece.kind == IdleKind::Sync {
            let longest = self.longest.entry(at).or_default();
            if piece.time > *longest {
                *longest = piece.time;
                row.waited_for[side] = piece.before;
            }
        }
    }
}

/// Name of the owner of an idle row: the call (both names separated by `|` if it was renamed),
/// `(between calls)`, or `(launch not in trace)`.
#[doc(hidden)]
pub fn idle_owner_name<'d>(diff: &'d TraceDiff, row: &IdleRow) -> Cow<'d, str> {
    row.owner.map_or(Cow::Borrowed(crate::tree::UNLINKED), |owner| node_name(diff, owner))
}

/// Name of a node of the merged tree: the call (both names separated by `|` if it was renamed),
/// or `(between calls)` for a thread.
pub(crate) fn node_name(diff: &TraceDiff, id: MergedId) -> Cow<'_, str> {
    let node = diff.merged().node(id);
    let call = |side: Side| node.call(side).map(|call| (side, call));
    let is_thread = |(side, call): (Side, CallId)| diff.tree(side).kind(call) == CallKind::Thread;
    let name = |(side, call): (Side, CallId)| diff.tree(side).name(call);
    match (call(Side::Baseline), call(Side::Candidate)) {
        (Some(one), _) | (None, Some(one)) if is_thread(one) => Cow::Borrowed("(between calls)"),
        (Some(a), Some(b)) if !diff.relation(a.0, a.1).is_common() => {
            Cow::Owned(format!("{} | {}", name(a), name(b)))
        }
        (Some(one), _) | (None, Some(one)) => Cow::Borrowed(name(one)),
        (None, None) => Cow::Borrowed(""),
    }
}

#[cfg(test)]
mod tests {
    use super::put_in_order;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_item_gets_its_position(order in Just((0..40_u32).collect::<Vec<u32>>()).prop_shuffle()) {
            let mut items: Vec<u32> = (0..40).collect();
            put_in_order(&mut items, order.clone());
            prop_assert_eq!(items, order);
        }
    }
}
