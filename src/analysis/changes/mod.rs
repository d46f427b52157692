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
mod counts;
mod draft;
mod facts;
mod hints;
mod identity;
mod kind;
mod optimizer;
mod phrases;
mod place;
mod rules;
mod scale;
mod stated;
mod subject;
mod survey;
mod words;

use crate::analysis::account::Ledger;
use crate::analysis::categories::CategoryTable;
use crate::analysis::options::AnalysisOptions;
use crate::analysis::steps::StepPairs;
use crate::order::Order as _;
pub use between::RangeGaps;
pub use kind::{Certainty, ChangeKind};
#[doc(hidden)]
pub use place::user_code;

use super::comparability::Comparability;
use super::wall::{Wall, WallTotals};
use crate::diff::{MergedId, TraceDiff};
use crate::side::PerSide;
use crate::trace::{Argument, Nanos, TextId};
use cost::Costs;
use draft::{Draft, Drafts};
use facts::Facts;
pub(crate) use identity::Identity;
pub(crate) use place::Code;
use rules::folds::FOLDS;
use rustc_hash::FxHashSet;
pub(super) use scale::Scale;
use std::cmp::Reverse;
use subject::Subject;
use survey::Modules;

/// The changes between the two programs, and the cost of each change per step.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    list: Vec<Change>,
    kernel_speed: Nanos,
    communication: Nanos,
    /// The op with most of the difference in `kernel_speed`, and its busy time.
    leading_kernels: Option<(String, PerSide<Nanos>)>,
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
    /// Where and how fast live memory grows, if it does on one side only, or faster than on the other.
    memory_growth: Option<String>,
    identity: Identity,
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
    /// The nodes that are consequences of the change, and the fold that assigned them.
    consequences: Vec<(MergedId, &'static str)>,
    /// The setting or code that usually causes such a change; empty if nothing in the change is evidence for one.
    usual: &'static str,
}

impl Change {
    /// The setting or code that usually causes such a change; empty if there is no usual cause.
    #[doc(hidden)]
    pub fn usual(&self) -> &'static str {
        self.usual
    }

    /// If a node is a consequence of the change: the name of the fold that assigned it, and the reason.
    #[doc(hidden)]
    pub fn consequence(&self, node: MergedId) -> Option<(&'static str, &'static str)> {
        let (_, name) = self.consequences.iter().find(|(of, _)| *of == node)?;
        FOLDS.iter().find(|fold| fold.name == *name).map(|fold| (fold.name, fold.reason))
    }

    /// Why the change is only likely; empty if it is certain.
    #[doc(hidden)]
    pub fn inferred(&self) -> &'static str {
        match (self.certainty, self.kind.certainty()) {
            (Certainty::Certain, _) => "",
            (Certainty::Likely, Certainty::Likely) => "inferred from kernel names",
            (Certainty::Likely, Certainty::Certain) if self.kind == ChangeKind::KernelSelection => {
                "inferred from kernel names, because no settings were recorded"
            }
            (Certainty::Likely, Certainty::Certain) => {
                "inferred: times in whole microseconds do not show which call contains the other"
            }
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

/// A change that was read from the trace is certain, unless times in whole microseconds leave open where each of its
/// calls is.
fn certainty(diff: &TraceDiff, draft: &Draft) -> Certainty {
    let is_uncertain = |node: &MergedId| {
        let mut calls = diff.merged().node(*node).calls();
        calls.any(|(side, call)| diff.tree(side).is_position_uncertain(call))
    };
    // A library may choose other kernels in each run, such as after autotuning. Only recorded settings rule this out.
    let has_settings = |&node: &MergedId| {
        diff.merged().node(node).calls().all(|(side, call)| {
            let arguments = diff.tree(side).arguments(call);
            arguments.is_some_and(|arguments| arguments.text(Argument::Concrete) != TextId::EMPTY)
        })
    };
    match draft.switched {
        None if draft.kind == ChangeKind::KernelSelection
            && !draft.nodes.iter().any(has_settings) =>
        {
            Certainty::Likely
        }
        _ if !draft.nodes.is_empty() && draft.nodes.iter().all(is_uncertain) => Certainty::Likely,
        Some(_) => Certainty::Certain,
        None => draft.kind.certainty(),
    }
}

/// Removes duplicate nodes: a node may occur in several rows of a change.
fn without_repeats<'a>(nodes: impl Iterator<Item = &'a MergedId>) -> Vec<MergedId> {
    let mut known = FxHashSet::default();
    nodes.copied().filter(|&node| known.insert(node)).collect()
}

/// The names of all folds, in order of execution.
#[doc(hidden)]
pub fn folds() -> impl Iterator<Item = &'static str> {
    FOLDS.iter().map(|fold| fold.name)
}

impl Changes {
    pub(super) fn of(
        diff: &TraceDiff,
        ledger: &Ledger,
        compared: &StepPairs,
        wall: &Wall,
        categories: &CategoryTable,
        comparability: &Comparability,
        options: &AnalysisOptions,
    ) -> Changes {
        let scale = Scale::of(wall);
        let facts = Facts::of(diff, ledger, compared);
        let modules = Modules::of(diff, compared);
        let mut drafts =
            Drafts::new(diff, ledger, compared, wall, categories, comparability, &modules);
        rules::regions::claim(&mut drafts);
        rules::claim_calls(&mut drafts, &facts);
        let of_rows = rules::kernels::claim(&mut drafts, &facts.kernels);
        rules::runtime::claim(&mut drafts, &of_rows);
        rules::memory::claim(&mut drafts);
        rules::recording::claim(&mut drafts);
        rules::folds::run(&mut drafts, &options.without_folds);
        rules::recording::order(&mut drafts, &facts.moved);
        let mut costs = Costs::of(&drafts, &of_rows, scale);
        costs.combine_python(&mut drafts);
        let mut list: Vec<(i128, i128, Change)> = Vec::new();
        let mut memory_growth = None;
        for (at, draft) in drafts.all().iter().enumerate() {
            if drafts.resolve(at) != at {
                continue;
            }
            if let Subject::Leak { grows, .. } = &draft.subject {
                memory_growth = Some(grows.clone());
            }
            let consequences = draft.consequences.iter().map(|(node, _)| node);
            let (busy, idle) = costs.of_drafts.remove(&at).unwrap_or_default();
            let change = Change {
                kind: draft.kind,
                certainty: certainty(diff, draft),
                sentence: words::sentence(diff, draft, scale),
                place: drafts.place(draft),
                nodes: without_repeats(draft.nodes.iter().chain(consequences)),
                consequences: draft.consequences.clone(),
                rows: costs.rows.remove(&at).unwrap_or_default(),
                cost: Nanos::ZERO,
                busy: scale.round(busy),
                usual: hints::usual(diff, draft),
            };
            list.push((busy + idle, busy, change));
        }
        list.order_by_key(|(cost, _, change)| {
            let is_environment = change.kind == ChangeKind::Environment;
            (!is_environment, Reverse(cost.abs()), change.kind, change.nodes.first().copied())
        });
        let mut exact: Vec<i128> = list.iter().map(|(cost, ..)| *cost).collect();
        exact.extend([
            costs.kernel_speed,
            costs.communication,
            costs.host_speed,
            costs.between_calls.values().sum(),
            costs.overlap,
            costs.unexplained,
        ]);
        let rounded = scale.round_all(&exact);
        let (of_changes, rest) = rounded.split_at(list.len());
        let list = list.into_iter().zip(of_changes);
        let list: Vec<Change> =
            list.map(|((_, _, change), &cost)| Change { cost, ..change }).collect();
        let mut identity = Identity::of(diff, compared);
        identity.has_arguments = facts.has_arguments;
        identity.has_changes = list.iter().any(|change| change.kind != ChangeKind::Recording);
        Changes {
            list,
            kernel_speed: rest[0],
            communication: rest[1],
            leading_kernels: costs.leading_kernels(scale),
            host_speed: rest[2],
            between_calls: rest[3],
            between_place: between::place(diff, compared, scale, &costs.between_calls),
            overlap: rest[4],
            unexplained: rest[5],
            same_kernels: costs.same_kernel_time(),
            scale,
            sum: exact.iter().sum(),
            has_work: identity.has_matches || !ledger.rows().is_empty(),
            memory_growth,
            identity,
            matched_share: facts.matched_share(),
            firm_share: facts.firm_share(),
        }
    }

    /// All changes, sorted by descending absolute cost.
    pub fn list(&self) -> &[Change] {
        &self.list
    }

    /// Whether the two programs are identical, as far as recorded: no change was found, and each call, recorded
    /// argument and kernel has a counterpart. Differences in what the profiler recorded are ignored. The result is false
    /// if nothing was compared, or if events were not read.
    pub fn is_identical(&self) -> bool {
        self.identity.is_identical()
    }

    /// The counts on which [`is_identical`](Changes::is_identical) is based.
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What differs although no change was found, such as `3 calls without a counterpart`; `None` if nothing does.
    #[doc(hidden)]
    pub fn remainder(&self) -> Option<String> {
        self.identity.remainder()
    }

    /// Number of ops, launches and GPU events in the compared steps without a counterpart that has the same name.
    #[doc(hidden)]
    pub fn unmatched_calls(&self) -> u64 {
        self.identity.unmatched
    }

    /// Whether there is anything to compare: a call in a compared step, or an attribution row.
    pub(crate) fn has_work(&self) -> bool {
        self.has_work
    }

    /// Whether the arguments of at least one matched op were recorded on both sides and could be compared.
    #[doc(hidden)]
    pub fn has_arguments(&self) -> bool {
        self.identity.has_arguments
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
    /// run the same kernels, without communication.
    pub(crate) fn kernel_speed(&self) -> Nanos {
        self.kernel_speed
    }

    /// Like [`Changes::kernel_speed`], for communication. Its kernels also wait for other ranks.
    pub(crate) fn communication(&self) -> Nanos {
        self.communication
    }

    /// The op that has most of the difference in [`Changes::kernel_speed`], and the ratio per step of its times,
    /// candidate / baseline; `None` if several ops have it.
    pub(crate) fn leading_kernels(&self) -> Option<(&str, Option<f64>)> {
        let steps = self.scale.steps.baseline as f64 / self.scale.steps.candidate as f64;
        let leading = self.leading_kernels.as_ref()?;
        Some((&leading.0, leading.1.ratio().map(|ratio| ratio * steps)))
    }

    /// Ratio per step, candidate / baseline, of the busy times of matched calls that have the same arguments and run
    /// the same kernels; `None` if either time is zero.
    pub(crate) fn kernel_ratio(&self) -> Option<f64> {
        let steps = self.scale.steps.baseline as f64 / self.scale.steps.candidate as f64;
        self.same_kernels.ratio().map(|ratio| ratio * steps)
    }

    /// The busy times per step of matched calls that have the same arguments and run the same kernels, in a common unit.
    pub(crate) fn same_kernel_times(&self) -> PerSide<i128> {
        PerSide::from_fn(|side| {
            i128::from(self.same_kernels[side].0) * i128::from(self.scale.steps[side.other()])
        })
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

    /// Where and how fast live memory grows from step to step, such as `on gpu 0 grows by 275.6 MB per step`; `None` if it
    /// does not differ between the sides.
    pub(crate) fn memory_growth(&self) -> Option<&str> {
        self.memory_growth.as_deref()
    }

    /// The five parts of the step-time difference that are not caused by any change.
    pub fn without_change(&self) -> [WithoutChange; 5] {
        let part = |name, meaning, cost| WithoutChange { name, meaning, cost };
        [
            part(
                "kernel_speed",
                "matched calls with the same arguments and kernels",
                self.kernel_speed + self.communication,
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
