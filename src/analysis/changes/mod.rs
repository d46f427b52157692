//! Finds the changes between the two programs, and the cost of each change.
//!
//! ```text
//! matched and unmatched calls ──▶ facts without times ──▶ changes: clusters of facts, consequences folded
//!                                                             │
//! wall time by row and idle owner ────────────────────────────┴──▶ cost of each change
//!                                                                  + same program, other speed
//!                                                                  + time between calls
//!                                                                  + overlap + unexplained = Δ step
//! ```
//! Changes are found without looking at times, because the structure of the calls, their arguments and the kernel names
//! are free of noise, unlike times.

mod between;
mod cost;
mod draft;
mod facts;
mod kind;
mod phrases;
mod place;
mod rules;
mod survey;
mod words;

use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::analysis::steps::StepPairs;
use crate::order::Order as _;
pub use between::RangeGaps;
pub use kind::{Certainty, ChangeKind};

use super::causes::Scale;
use super::comparability::Comparability;
use super::wall::{Wall, WallTotals};
use crate::diff::{MergedId, TraceDiff};
use crate::side::PerSide;
use crate::trace::Nanos;
use cost::Costs;
use draft::Drafts;
use facts::Facts;
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use survey::Modules;

/// The changes between the two programs, and the cost of each change per step.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    list: Vec<Change>,
    kernel_speed: Nanos,
    host_speed: Nanos,
    between_calls: Nanos,
    between_place: between::Place,
    overlap: Nanos,
    unexplained: Nanos,
    /// Total busy time of matched calls that have the same arguments and run the same kernels.
    same_kernels: PerSide<Nanos>,
    scale: Scale,
    /// The exact sum of all costs, in the unit of `scale`.
    sum: i128,
    has_work: bool,
    has_arguments: bool,
    matched_share: f64,
    firm_share: Option<f64>,
}

/// A change in the program. It consists of all facts of one kind that describe the same difference between the
/// programs, and of their consequences.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// Whether the change was read from the trace or inferred from names.
    pub certainty: Certainty,
    /// What changed, in one sentence without a full stop.
    pub sentence: String,
    /// The module class and the user frame in which the change first occurs; empty if unknown.
    pub place: String,
    /// The merged nodes of the calls that changed: matched ops whose arguments or kernels differ, and the
    /// outermost unmatched calls.
    pub nodes: Vec<MergedId>,
    /// Positions of the attribution rows whose cost belongs to the change, in [`Ledger::rows`].
    pub rows: Vec<usize>,
    /// Cost of the change: candidate − baseline per step.
    pub cost: Nanos,
    /// The part of the cost that is due to busy time; the rest is due to idle time.
    pub busy: Nanos,
}

impl Change {
    /// The setting or code that usually causes such a change; empty if there is no usual cause.
    #[doc(hidden)]
    pub fn usual(&self) -> &'static str {
        // A recording change with nodes means that the recordings contain different layers, which has no usual cause.
        // All other recording changes come from profiler options.
        if self.kind == ChangeKind::Recording && !self.nodes.is_empty() {
            ""
        } else {
            self.kind.usual()
        }
    }
}

/// A part of the step-time difference that is not caused by any change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithoutChange {
    /// The name of the part in tables.
    pub name: &'static str,
    /// Description of the time in this part.
    pub meaning: &'static str,
    /// Cost of the part: candidate − baseline per step.
    pub cost: Nanos,
}

/// Removes duplicate nodes: a node may occur in several rows of a change.
fn without_repeats<'a>(nodes: impl Iterator<Item = &'a MergedId>) -> Vec<MergedId> {
    let mut known = FxHashSet::default();
    nodes.copied().filter(|&node| known.insert(node)).collect()
}

impl Changes {
    pub(super) fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        compared: &StepPairs,
        wall: &Wall,
        categories: &CategoryTable,
        comparability: &Comparability,
    ) -> Changes {
        let scale = Scale::of(wall);
        let facts = Facts::of(diff, ledger, compared);
        let mut drafts = Drafts::new(diff, ledger, compared, wall, categories, comparability);
        rules::regions::claim(&mut drafts);
        let modules = Modules::of(diff, compared);
        rules::claim_calls(&mut drafts, &facts, &modules);
        let of_rows = rules::kernels::claim(&mut drafts, &facts.kernels);
        rules::runtime::claim(&mut drafts, &of_rows);
        rules::memory::claim(&mut drafts);
        rules::recording::claim(&mut drafts);
        rules::consequences::fold(&mut drafts, &modules);
        rules::order::claim(&mut drafts, &facts.moved);
        let mut costs = Costs::of(&drafts, &of_rows, scale);
        costs.combine_python(&mut drafts);
        let mut list: Vec<(i128, i128, Change)> = Vec::new();
        for (at, draft) in drafts.all().iter().enumerate() {
            if drafts.resolve(at) != at {
                continue;
            }
            let (busy, idle) = costs.of_drafts.remove(&at).unwrap_or_default();
            let change = Change {
                kind: draft.kind,
                certainty: match draft.switched {
                    Some(_) => Certainty::Certain,
                    None => draft.kind.certainty(),
                },
                sentence: words::sentence(diff, draft, scale),
                place: draft.position.words(),
                nodes: without_repeats(draft.nodes.iter().chain(&draft.consequences)),
                rows: costs.rows.remove(&at).unwrap_or_default(),
                cost: Nanos::ZERO,
                busy: scale.round(busy),
            };
            list.push((busy + idle, busy, change));
        }
        list.order_by_key(|(cost, _, change)| {
            (Reverse(cost.abs()), change.kind, change.nodes.first().copied())
        });
        let mut exact: Vec<i128> = list.iter().map(|(cost, ..)| *cost).collect();
        exact.extend([
            costs.kernel_speed,
            costs.host_speed,
            costs.between_calls.values().sum(),
            costs.overlap,
            costs.unexplained,
        ]);
        let rounded = scale.round_all(&exact);
        let (of_changes, rest) = rounded.split_at(list.len());
        let list = list.into_iter().zip(of_changes);
        let list = list.map(|((_, _, change), &cost)| Change { cost, ..change }).collect();
        Changes {
            list,
            kernel_speed: rest[0],
            host_speed: rest[1],
            between_calls: rest[2],
            between_place: between::place(diff, compared, scale, &costs.between_calls),
            overlap: rest[3],
            unexplained: rest[4],
            same_kernels: costs.same_kernels,
            scale,
            sum: exact.iter().sum(),
            has_work: facts.has_work,
            has_arguments: facts.has_arguments,
            matched_share: facts.matched_share(),
            firm_share: facts.firm_share(),
        }
    }

    /// All changes, sorted by descending absolute cost.
    pub fn list(&self) -> &[Change] {
        &self.list
    }

    /// Whether no program change was found: all calls, arguments and kernels are the same on both sides. Differences in
    /// what the profiler recorded are ignored. The result is false if nothing was compared.
    pub fn is_identical(&self) -> bool {
        self.has_work && self.list.iter().all(|change| change.kind == ChangeKind::Recording)
    }

    /// Whether there is anything to compare: an op in a compared step, or an attribution row.
    pub(crate) fn has_work(&self) -> bool {
        self.has_work
    }

    /// Whether the arguments of at least one matched op were recorded on both sides and could be compared.
    #[doc(hidden)]
    pub fn has_arguments(&self) -> bool {
        self.has_arguments
    }

    /// The share of the ops in compared steps that have a counterpart or were replaced by a region; 1 if there are no
    /// ops.
    pub(crate) fn matched_share(&self) -> f64 {
        self.matched_share
    }

    /// Share of the GPU time in the compared steps of both traces that belongs to
    /// [firmly](crate::diff::Confidence::Firm) matched calls; `None` if there is no GPU time.
    #[doc(hidden)]
    pub fn firm_share(&self) -> Option<f64> {
        self.firm_share
    }

    /// Difference per step, candidate − baseline, in the busy time of matched calls that have the same arguments and
    /// run the same kernels.
    pub(crate) fn kernel_speed(&self) -> Nanos {
        self.kernel_speed
    }

    /// Ratio per step, candidate / baseline, of the busy times of matched calls that have the same arguments and run
    /// the same kernels; `None` if either time is zero.
    pub(crate) fn kernel_ratio(&self) -> Option<f64> {
        let steps = self.scale.steps.baseline as f64 / self.scale.steps.candidate as f64;
        self.same_kernels.ratio().map(|ratio| ratio * steps)
    }

    /// Difference per step, candidate − baseline, in the idle time at matched calls that is explained by the host:
    /// differences in the host time of the calls, launch latency, queueing delay, synchronization and final wait.
    pub(crate) fn host_speed(&self) -> Nanos {
        self.host_speed
    }

    /// Difference per step, candidate − baseline, in the time during which the device is idle and the host is between
    /// recorded calls. The host may then run Python code that was not recorded, sleep, or run the profiler itself.
    #[doc(hidden)]
    pub fn between_calls(&self) -> Nanos {
        self.between_calls
    }

    /// The name of the op before which at least half of the difference in [`between_calls`](Changes::between_calls)
    /// occurs; `None` if there is no such op.
    #[doc(hidden)]
    pub fn between_calls_before(&self) -> Option<&str> {
        self.between_place.before.as_deref()
    }

    /// The range that contains at least half of the difference in [`between_calls`](Changes::between_calls); `None` if
    /// there is no such range.
    #[doc(hidden)]
    pub fn between_calls_in(&self) -> Option<&RangeGaps> {
        self.between_place.range.as_ref()
    }

    /// Number of compared steps on each side.
    pub(crate) fn steps(&self) -> PerSide<u64> {
        self.scale.steps
    }

    /// Difference per step, candidate − baseline, in the host gaps at matched calls, without the part that is explained
    /// by differences in the calls' host time. For example, earlier GPU work may fill a gap on one side only.
    pub fn overlap(&self) -> Nanos {
        self.overlap
    }

    /// Difference per step, candidate − baseline, in the time that cannot be attributed to a call.
    pub fn unexplained(&self) -> Nanos {
        self.unexplained
    }

    /// The five parts of the step-time difference that are not caused by any change.
    pub fn without_change(&self) -> [WithoutChange; 5] {
        let part = |name, meaning, cost| WithoutChange { name, meaning, cost };
        [
            part(
                "kernel_speed",
                "matched calls with the same arguments and kernels",
                self.kernel_speed,
            ),
            part(
                "host_speed",
                "idle time explained by the host time of matched calls",
                self.host_speed,
            ),
            part(
                "between_calls",
                "idle time while the host is between recorded calls",
                self.between_calls,
            ),
            part(
                "overlap",
                "idle time at matched calls that is not explained by the change in their host time",
                self.overlap,
            ),
            part("unexplained", "time that cannot be attributed to a call", self.unexplained),
        ]
    }

    /// The sum of all costs. It equals the step-time difference, candidate − baseline.
    pub fn difference(&self) -> Nanos {
        let changes = self.list.iter().map(|change| change.cost);
        changes.chain(self.without_change().map(|part| part.cost)).sum()
    }

    /// Whether the costs add up exactly to the step-time difference.
    pub fn is_exact(&self, wall: &Wall) -> bool {
        let own = PerSide::from_fn(|side| WallTotals::own(&wall.totals(side)));
        self.sum == self.scale.difference(own) && self.difference() == self.scale.round(self.sum)
    }
}
