//! Defines a cause: a part of the wall-time difference, with the reason for it, its call site and its
//! evidence.

use super::by_step::ByStep;
use super::reason::Reason;
use crate::analysis::robust::Few;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::signed::signed;
use crate::trace::Nanos;

/// A part of the wall-time difference that has a single reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// Why the time differs.
    pub reason: Reason,
    /// Name of the call site, which is the lowest common node. All instances of a module class share one call
    /// site.
    pub place: String,
    /// Class of the enclosing module; empty if no module encloses the call site.
    pub module: String,
    /// Shapes and types of the op, on each side.
    pub arguments: PerSide<String>,
    /// The first merged node to which the time is attributed; `None` if there is no such node.
    pub node: Option<MergedId>,
    /// All nodes to which the time is attributed, in merged-tree order: instances of an op, or owners of
    /// idle time.
    pub nodes: Vec<MergedId>,
    /// Positions of the cause's rows in [`Attribution::rows`](crate::analysis::Attribution::rows); empty for idle
    /// time.
    pub rows: Vec<usize>,
    /// Wall time that is attributed to the cause in the compared steps. For the cause `before_window`, this
    /// is the field `before` of the wall totals.
    pub time: PerSide<Nanos>,
    /// Number of instances of the op, or number of idle gaps.
    pub count: PerSide<u64>,
    /// For each additional run on each side, the idle time that is attributed to the cause in the whole
    /// window of the run; empty if the cause is GPU work.
    pub idle_of_runs: PerSide<Vec<Nanos>>,
    /// Cost of the cause: candidate − baseline per step. The differences of all causes add up to
    /// the wall-time difference.
    pub difference: Nanos,
    /// The counts, times and names that support the reason.
    pub evidence: String,
    /// The kernels on each side, sorted by descending time.
    pub kernels: PerSide<Vec<String>>,
    /// The few steps that contain most of the difference; `None` if the difference is spread over most steps
    /// or cannot be assigned to steps.
    pub few: Option<Few>,
    /// Time of the cause in each step; empty if unknown.
    pub(super) by_step: ByStep,
}

/// Formats a per-step difference for the evidence: `−57.300 ms`.
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
