//! Defines a cause, which is a part of the wall-time difference with a reason, a call site and evidence.

use super::by_step::ByStep;
use super::reason::Reason;
use crate::analysis::robust::Few;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::signed::signed;
use crate::trace::Nanos;

/// A part of the wall-time difference with a single reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// Why the time differs.
    pub reason: Reason,
    /// Name of the call site, usually the name of a lowest common node. The instances of a module class are not
    /// distinguished.
    pub place: String,
    /// Class of the enclosing module; empty if no module encloses the call site.
    pub module: String,
    /// Shapes and types of the op's inputs, on each side.
    pub arguments: PerSide<String>,
    /// The first merged node to which the time is attributed; `None` if there is no such node.
    pub node: Option<MergedId>,
    /// All nodes to which the time is attributed, in merged-tree order: the instances of an op, or the calls to which
    /// idle time is attributed.
    pub nodes: Vec<MergedId>,
    /// Positions of the cause's attribution rows in [`Ledger::rows`](crate::analysis::account::Ledger::rows); empty
    /// for idle time.
    pub rows: Vec<usize>,
    /// Wall time that is attributed to the cause in the compared steps. For the cause `before_window`, this
    /// is the field `before` of the wall totals.
    pub time: PerSide<Nanos>,
    /// Number of instances of the op or, for idle time, number of idle gaps.
    pub count: PerSide<u64>,
    /// For each side and each of its additional runs, the idle time that is attributed to the cause in the whole window
    /// of the run; empty if the cause is GPU work.
    pub idle_of_runs: PerSide<Vec<Nanos>>,
    /// Cost of the cause: the difference in its time per step, candidate − baseline. The costs of all causes add up to
    /// the wall-time difference.
    pub difference: Nanos,
    /// A text with the counts, times and names that support the reason.
    pub evidence: String,
    /// Names of the kernels on each side, sorted by descending time.
    pub kernels: PerSide<Vec<String>>,
    /// The few steps that contain most of the time difference; `None` if the difference is spread over many steps or
    /// cannot be assigned to steps.
    pub few: Option<Few>,
    /// Time of the cause in each step; empty if unknown.
    pub(super) by_step: ByStep,
}

/// Formats a time difference per step for the evidence: `−57.300 ms`.
pub(super) fn signed_ms(difference: Nanos) -> String {
    format!("{} ms", signed(difference.as_millis(), 3))
}

/// Total time of the causes on each side.
pub(super) fn total(causes: &[Cause]) -> PerSide<Nanos> {
    PerSide::from_fn(|side: Side| causes.iter().map(|cause| cause.time[side]).sum())
}

/// Total time of the causes in each step.
pub(super) fn together(causes: &[Cause]) -> ByStep {
    let mut all = ByStep::default();
    causes.iter().for_each(|cause| all.absorb(&cause.by_step));
    all
}
