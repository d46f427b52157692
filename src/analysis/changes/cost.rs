//! Splits the wall-time difference into the cost of each change, and the cost of unchanged code that runs faster or
//! slower.
//!
//! ```text
//! busy time of rows    ─ with a fact ─────────────▶ its change
//!                      ─ same arguments, kernels ─▶ same program, kernel speed
//! idle time of calls   ─ unmatched ───────────────▶ its change
//!                      ─ captured on one side ────▶ the change that captured it
//!                      ─ between calls ───────────▶ time between calls
//!                      ─ matched, as far as the host time of the call changed ─▶ same program, host speed
//!                      ─ the rest ────────────────▶ overlap of host and device
//! no known call        ───────────────────────────▶ unexplained
//! ```
//! The costs add up exactly to the step-time difference.

use super::draft::Drafts;
use super::kind::ChangeKind;
use super::place::either;
use super::rules::kernels;
use super::scale::Scale;
use crate::analysis::account::{Row, RowKind};
use crate::analysis::wall::{IdleKind, IdleRow, Part};
use crate::diff::{MergedId, TraceDiff};
use crate::order::Order as _;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A Python code change counts as cheap if its absolute cost is less than 1/`CHEAP` of the sum of the absolute costs of
/// all changes.
const CHEAP: i128 = 200;

/// An op leads if it has more than this share of all differences in the times of the same kernels: 4 of 5.
const LEADING: (u128, u128) = (4, 5);

/// The cost of each change, and the costs of unchanged code. All costs are exact, in the unit of [`Scale::difference`].
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// For each change, its cost in busy time and its cost in idle time.
    pub(super) of_drafts: BTreeMap<usize, (i128, i128)>,
    /// The positions of the rows that belong to each change.
    pub(super) rows: BTreeMap<usize, Vec<usize>>,
    /// Difference in the busy time of matched calls that have the same arguments and run the same kernels, without
    /// communication.
    pub(super) kernel_speed: i128,
    /// The same for communication. Its kernels also wait for other ranks.
    pub(super) communication: i128,
    /// Busy time, over the compared steps, of the calls that contribute to `kernel_speed`, by the name of the row.
    pub(super) same_kernels: BTreeMap<String, PerSide<Nanos>>,
    /// Difference in idle time at matched calls: all launch latency, queueing delay, synchronization and final wait,
    /// and the part of the host gaps that is explained by differences in the calls' host time.
    pub(super) host_speed: i128,
    /// For each thread, the difference in the idle time during which the host is between recorded calls.
    pub(super) between_calls: BTreeMap<MergedId, i128>,
    /// Difference in the host gaps at matched calls, without the part that is explained by differences in the calls'
    /// host time.
    pub(super) overlap: i128,
    /// Difference in the time that cannot be attributed to a call.
    pub(super) unexplained: i128,
}

impl Costs {
    pub(super) fn of(drafts: &Drafts<'_>, of_rows: &[(usize, usize)], scale: Scale) -> Costs {
        let mut costs = Costs::default();
        let of_rows: BTreeMap<usize, usize> = of_rows.iter().copied().collect();
        for (at, row) in drafts.ledger.rows().iter().enumerate() {
            let time = drafts.wall.busy()[at];
            let node = kernels::node_of(drafts.diff, row);
            let by_node = |node: MergedId| {
                let known = drafts.of_calls(node).or_else(|| kernels::by_arguments(drafts, node));
                known.or_else(|| drafts.of_program(node))
            };
            let draft = of_rows.get(&at).copied().or_else(|| node.and_then(by_node));
            if let Some(draft) = draft {
                let draft = drafts.resolve(draft);
                costs.of_drafts.entry(draft).or_default().0 += scale.difference(time);
                costs.rows.entry(draft).or_default().push(at);
            } else if row.calls.baseline.is_some() == row.calls.candidate.is_some()
                && row.kind != RowKind::Replaced
                && row.events.baseline.is_empty() == row.events.candidate.is_empty()
            {
                if is_communication(drafts.diff, row) {
                    costs.communication += scale.difference(time);
                    continue;
                }
                costs.kernel_speed += scale.difference(time);
                let of_name = costs.same_kernels.entry(row.name(drafts.diff)).or_default();
                of_name.baseline += time.baseline;
                of_name.candidate += time.candidate;
            } else if let Some(optimizer) = node.and_then(|node| drafts.optimizer_of(node)) {
                let optimizer = drafts.resolve(optimizer);
                costs.of_drafts.entry(optimizer).or_default().0 += scale.difference(time);
                costs.rows.entry(optimizer).or_default().push(at);
            } else {
                costs.unexplained += scale.difference(time);
            }
        }
        for row in drafts.wall.idle().iter().filter(|row| row.part == Part::Window) {
            costs.add_idle(drafts, row, scale);
        }
        costs
    }

    /// Busy time, over the compared steps, of the calls that contribute to `kernel_speed`.
    pub(super) fn same_kernel_time(&self) -> PerSide<Nanos> {
        PerSide::from_fn(|side| self.same_kernels.values().map(|time| time[side]).sum())
    }

    /// The name of the rows that have most of the difference in the times of the same kernels, and their times.
    pub(super) fn leading_kernels(&self, scale: Scale) -> Option<(String, PerSide<Nanos>)> {
        let size = |time: &PerSide<Nanos>| scale.difference(*time).unsigned_abs();
        let all: u128 = self.same_kernels.values().map(size).sum();
        let (name, time) = self.same_kernels.iter().max_by_key(|(_, time)| size(time))?;
        (LEADING.1 * size(time) > LEADING.0 * all && self.same_kernels.len() > 1)
            .then(|| (name.clone(), *time))
    }

    /// Combines all cheap Python code changes into a single change.
    pub(super) fn combine_python(&mut self, drafts: &mut Drafts<'_>) {
        let all: i128 = self.of_drafts.values().map(|(busy, idle)| (busy + idle).abs()).sum();
        let cost =
            |at: &usize| self.of_drafts.get(at).map_or(0, |(busy, idle)| (busy + idle).abs());
        let mut cheap: Vec<usize> = drafts
            .find(ChangeKind::Python)
            .into_iter()
            .filter(|&at| drafts.resolve(at) == at && CHEAP * cost(&at) < all)
            .collect();
        cheap.order_by_key(|at| (Reverse(cost(at)), *at));
        // If the software versions differ, all cheap changes are combined with the environment change, because
        // different versions of Python or of a library call different functions.
        let environment = drafts.find(ChangeKind::Environment).first().copied();
        let Some((first, others)) = environment
            .map(|first| (first, cheap.as_slice()))
            .or_else(|| cheap.split_first().map(|(first, others)| (*first, others)))
        else {
            return;
        };
        for &at in others {
            drafts.fold(at, first);
            drafts.at(first).other_positions += 1;
            let (busy, idle) = self.of_drafts.remove(&at).unwrap_or_default();
            let sum = self.of_drafts.entry(first).or_default();
            *sum = (sum.0 + busy, sum.1 + idle);
            let rows = self.rows.remove(&at).unwrap_or_default();
            self.rows.entry(first).or_default().extend(rows);
        }
    }

    fn add_idle(&mut self, drafts: &Drafts<'_>, row: &IdleRow, scale: Scale) {
        let idle = scale.difference(row.time);
        let Some(owner) = row.owner else {
            self.unexplained += idle;
            return;
        };
        if let Some(draft) = drafts.of_calls(owner) {
            self.of_drafts.entry(drafts.resolve(draft)).or_default().1 += idle;
            return;
        }
        if let Some(graphs) = drafts.replayed_by(owner) {
            self.of_drafts.entry(drafts.resolve(graphs)).or_default().1 += idle;
            return;
        }
        match row.kind {
            IdleKind::Host if is_thread(drafts.diff, owner) => {
                *self.between_calls.entry(owner).or_default() += idle;
            }
            IdleKind::Host => {
                let node = drafts.diff.merged().node(owner);
                let own = PerSide::from_fn(|side| {
                    node.call(side)
                        .map_or(Nanos::ZERO, |call| drafts.diff.tree(side).self_time(call))
                });
                let by_host = common(idle, scale.difference(own));
                self.host_speed += by_host;
                self.overlap += idle - by_host;
            }
            IdleKind::Sync | IdleKind::Latency | IdleKind::Queue | IdleKind::Tail => {
                self.host_speed += idle;
            }
            IdleKind::Unknown => self.unexplained += idle,
        }
    }
}

/// Whether the events of a row are communication, including the wait for other ranks.
fn is_communication(diff: &TraceDiff, row: &Row) -> bool {
    Side::BOTH.into_iter().any(|side| {
        let program = diff.program(side);
        row.events[side]
            .first()
            .is_some_and(|&call| program.communication().is(program.tree(), call))
    })
}

/// Whether idle time is attributed to a thread instead of a call, which means that no call was running.
fn is_thread(diff: &TraceDiff, owner: MergedId) -> bool {
    let (side, call) = either(diff, owner);
    diff.tree(side).kind(call) == CallKind::Thread
}

/// The part of `difference` that `by` explains: the one with the smaller absolute value, or 0 if their signs differ.
fn common(difference: i128, by: i128) -> i128 {
    if difference.signum() == by.signum() {
        difference.signum() * difference.abs().min(by.abs())
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn a_difference_is_explained_up_to_its_size() {
        assert_eq!([common(5, 3), common(5, 9), common(-5, -3)], [3, 5, -3]);
        assert_eq!([common(5, -3), common(0, 3), common(5, 0)], [0, 0, 0]);
    }
}
