//! Finds kernels that both sides run under the same name below a matched op. Kernels with the same name run
//! the same code, so a difference in their times comes from clocks, memory, the machine, or different shapes.

use super::most_time_first;
use crate::analysis::account::{Ledger, Row, Tally};
use crate::analysis::shared_texts::SharedTexts;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::TextId;
use crate::tree::CallId;
use rustc_hash::FxHashMap;

/// All events of one kernel that were launched below matched ops with the same name and shapes.
#[derive(Debug, Clone, PartialEq)]
pub struct SameKernelRow {
    /// Name of the matched ops or, if there is no op, of the launch.
    pub op: String,
    /// Name of the kernel that both sides run.
    pub kernel: String,
    /// `Input Dims` of the matched ops on each side; empty if not recorded.
    pub shapes: PerSide<String>,
    /// The events.
    pub tally: Tally,
}

impl SameKernelRow {
    /// The sort key of the row among rows with the same time.
    fn texts(&self) -> [&str; 4] {
        [&self.op, &self.kernel, &self.shapes.baseline, &self.shapes.candidate]
    }
}

/// All measured events, divided into kernels that both sides run below matched ops, and all other events.
#[derive(Debug, Clone, PartialEq)]
pub struct SameKernels {
    /// The rows, sorted by descending total time of both sides.
    pub rows: Vec<SameKernelRow>,
    /// All measured events that are not in a row. The times of the rows and of these events add up to the totals.
    pub others: Tally,
}

impl SameKernels {
    /// The tallies of all rows and of the other events. Together, they contain every measured event exactly
    /// once.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.rows.iter().map(|row| &row.tally).chain([&self.others])
    }
}

/// Key of a row: the number of the op's name, the number of the kernel's name, and the shapes on both sides.
type Key = (u32, u32, PerSide<TextId>);

/// An event: the number of its name, its side, and its id.
type Named = (u32, Side, CallId);

pub(in crate::analysis) fn find_same_kernels(diff: &TraceDiff, ledger: &Ledger) -> SameKernels {
    let mut texts = SharedTexts::new(diff);
    let mut ops: FxHashMap<String, u32> = FxHashMap::default();
    let mut known: FxHashMap<Key, usize> = FxHashMap::default();
    let mut rows: Vec<SameKernelRow> = Vec::new();
    let mut others = Tally::default();
    for row in ledger.rows() {
        let is_pair = row.calls.baseline.is_some() && row.calls.candidate.is_some();
        let next = ops.len() as u32;
        let op = *ops.entry(row.name(diff)).or_insert(next);
        let shapes = PerSide::from_fn(|side| row.arguments(diff, side).dims);
        for events in by_event_name(row, &mut texts).chunk_by(|a, b| a.0 == b.0) {
            let is_on = |side| events.iter().any(|event| event.1 == side);
            let tally = if is_pair && Side::BOTH.into_iter().all(is_on) {
                let at = *known.entry((op, events[0].0, shapes)).or_insert_with(|| {
                    rows.push(empty_same(diff, row, events[0], shapes));
                    rows.len() - 1
                });
                &mut rows[at].tally
            } else {
                &mut others
            };
            for &(_, side, event) in events {
                tally.add(side, event, ledger.time_of(diff, side, event));
            }
        }
    }
    // The second sort is stable, so rows with the same time remain in the order of their names and
    // shapes.
    rows.sort_unstable_by(|a, b| a.texts().cmp(&b.texts()));
    rows.sort_by_cached_key(|row| most_time_first(&row.tally));
    SameKernels { rows, others }
}

/// The events of an attribution row, grouped by name. For each name, the events of the baseline come before those of
/// the candidate.
fn by_event_name(row: &Row, texts: &mut SharedTexts<'_>) -> Vec<Named> {
    let mut events: Vec<Named> = Vec::new();
    for side in Side::BOTH {
        events.extend(
            row.events[side].iter().map(|&event| (texts.of_event(side, event), side, event)),
        );
    }
    // The sort is stable, so events with the same name keep their relative order.
    events.order_by_key(|event| event.0);
    events
}

fn empty_same(
    diff: &TraceDiff,
    row: &Row,
    (_, side, event): Named,
    shapes: PerSide<TextId>,
) -> SameKernelRow {
    let shape = |side| diff.tree(side).trace().text(shapes[side]).to_owned();
    SameKernelRow {
        op: row.name(diff),
        kernel: diff.tree(side).name(event).to_owned(),
        shapes: PerSide::from_fn(shape),
        tally: Tally::default(),
    }
}
