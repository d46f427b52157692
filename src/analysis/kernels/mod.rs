//! Groups the measured events in two ways: by category and phase, and by name, category and launching op.

mod same_kernels;
mod stacks;

pub(super) use same_kernels::find_same_kernels;
pub use same_kernels::{SameKernelRow, SameKernels};
pub(super) use stacks::stacks_of_sides;
pub use stacks::{PythonStack, Stacks, stacks};

use super::account::{Row, Tally};
use super::categories::{CategoryId, EventCategory};
use super::grouped::Grouped;
use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::diff::TraceDiff;
use crate::program::{Phase, counted};
use crate::side::{PerSide, Side};
use crate::trace::{Nanos, Notes};
use crate::tree::CallId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Minimum share of unclassified time, in percent, that is reported. A smaller share would be shown as 0.00%.
const LEAST_SHARE: f64 = 0.005;

/// All events of one category in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct CategoryRow {
    /// The category.
    pub category: CategoryId,
    /// Phase in which the events were launched.
    pub phase: Phase,
    /// The events.
    pub tally: Tally,
}

/// All events with the same name, category and launching op.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelRow {
    /// Name of the events.
    pub kernel: String,
    /// The category of the events, and the evidence that determined it.
    pub category: EventCategory,
    /// Name of the nearest op above the events; empty if there is none.
    pub op: String,
    /// The events.
    pub tally: Tally,
}

/// The events by category and phase. The rows are sorted by total time over both sides, longest first,
/// then by name.
pub fn by_category(
    diff: &TraceDiff,
    ledger: &Ledger,
    categories: &CategoryTable,
) -> Vec<CategoryRow> {
    let phases = PerSide::from_fn(|side| diff.phases(side));
    let mut groups: BTreeMap<(CategoryId, Phase), Tally> = BTreeMap::new();
    for (side, event) in accounted(ledger) {
        let key = (categories.of(diff, side, event).id, phases[side].phase(event));
        groups.entry(key).or_default().add(side, event, ledger.time_of(diff, side, event));
    }
    let mut rows: Vec<CategoryRow> = groups
        .into_iter()
        .map(|((category, phase), tally)| CategoryRow { category, phase, tally })
        .collect();
    rows.sort_by_cached_key(|row| {
        let name = categories.rules().name(row.category).to_owned();
        (most_time_first(&row.tally), name, row.phase)
    });
    rows
}

/// The events by name, category and launching op. The rows are sorted by total time over both sides,
/// longest first.
pub fn by_kernel(diff: &TraceDiff, ledger: &Ledger, categories: &CategoryTable) -> Vec<KernelRow> {
    let mut groups: Grouped<_, (&str, &str, EventCategory), Tally> = Grouped::new();
    for (side, event) in accounted(ledger) {
        let tree = diff.tree(side);
        let op = diff.op_of(side, event);
        let id = |call: CallId| Some(tree.trace().name_id(tree.event(call)?));
        let category = categories.of(diff, side, event);
        let ids = (side, id(event), op.and_then(id), category);
        let key = || (tree.name(event), op.map_or("", |op| tree.name(op)), category);
        let tally = groups.entry(ids, key, |_| Tally::default());
        tally.add(side, event, ledger.time_of(diff, side, event));
    }
    let mut rows: Vec<KernelRow> = groups
        .into_sorted()
        .map(|((kernel, op, category), tally)| KernelRow {
            kernel: kernel.to_owned(),
            category,
            op: op.to_owned(),
            tally,
        })
        .collect();
    // The sort is stable, so rows with the same time remain in the order of name, op and category.
    rows.sort_by_cached_key(|row| most_time_first(&row.tally));
    rows
}

/// The unclassified events.
pub fn unclassified(diff: &TraceDiff, ledger: &Ledger, categories: &CategoryTable) -> Tally {
    let mut found = Tally::default();
    for (side, event) in accounted(ledger) {
        if categories.of(diff, side, event).id == CategoryId::UNCLASSIFIED {
            found.add(side, event, ledger.time_of(diff, side, event));
        }
    }
    found
}

pub(super) fn note_unclassified(
    diff: &TraceDiff,
    ledger: &Ledger,
    categories: &CategoryTable,
    notes: &mut Notes,
) {
    let found = unclassified(diff, ledger, categories);
    let (time, totals) = (found.totals(), ledger.account().totals);
    let share = |side: Side| 100.0 * time[side].0 as f64 / (totals[side].time.0 as f64).max(1.0);
    let is_reported = Side::BOTH.into_iter().any(|side| share(side) >= LEAST_SHARE);
    let count = (found.count(Side::Baseline) + found.count(Side::Candidate)) as u64;
    let events = if is_reported { count } else { 0 };
    let message = format!(
        "{} could not be classified: {:.2}% of the baseline time, {:.2}% of the candidate time",
        counted(events, "event"),
        share(Side::Baseline),
        share(Side::Candidate)
    );
    let hint = "write rules for the unclassified kernels or ops in a file, and pass the file with --categories";
    notes.add("UNCLASSIFIED", events, hint, || message);
}

/// Name of the category that accounts for most of an attribution row's time.
pub(crate) fn row_category<'a>(
    diff: &'a TraceDiff,
    ledger: &'a Ledger,
    categories: &'a CategoryTable,
    row: &Row,
) -> &'a str {
    let mut times: BTreeMap<CategoryId, Nanos> = BTreeMap::new();
    for side in Side::BOTH {
        for &event in &row.events[side] {
            *times.entry(categories.of(diff, side, event).id).or_default() +=
                ledger.time_of(diff, side, event);
        }
    }
    // If several categories account for the same time, the first of them is used.
    let most = times.into_iter().max_by_key(|&(id, time)| (time, Reverse(id)));
    most.map_or("", |(id, _)| categories.rules().name(id))
}

/// All measured events, each exactly once, in the order of the attribution rows. In each row, the events of the
/// baseline come first.
pub(super) fn accounted(ledger: &Ledger) -> impl Iterator<Item = (Side, CallId)> + '_ {
    ledger.rows().iter().flat_map(|row| {
        Side::BOTH
            .into_iter()
            .flat_map(|side| row.events[side].iter().map(move |&event| (side, event)))
    })
}

pub(super) fn most_time_first(tally: &Tally) -> Reverse<Nanos> {
    Reverse(tally.total(Side::Baseline) + tally.total(Side::Candidate))
}
