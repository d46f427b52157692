//! A cause: one part of the wall-time difference, with its reason, call site and evidence.

use super::by_step::ByStep;
use super::reason::Reason;
use crate::analysis::robust::Few;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// One part of the wall-time difference that has a single reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// Why the time differs.
    pub reason: Reason,
    /// The call site: the lowest common node, shared by all instances of a module class.
    pub place: String,
    /// Class of the enclosing module; empty if there is none.
    pub module: String,
    /// Shapes and types of the op, on each side.
    pub arguments: PerSide<String>,
    /// The first merged node that the time is attributed to; `None` if there is none.
    pub node: Option<MergedId>,
    /// All nodes that the time is attributed to, in the order of the merged tree: instances of an op, or
    /// owners of idle time.
    pub nodes: Vec<MergedId>,
    /// The rows of the cause, as positions in [`Analysis::rows`](crate::analysis::Analysis::rows); empty
    /// for idle time.
    pub rows: Vec<usize>,
    /// Wall time of the cause over the compared steps. Work launched before the window counts in full.
    pub time: PerSide<Nanos>,
    /// Number of instances, or of idle gaps.
    pub count: PerSide<u64>,
    /// Idle time of the cause in each additional run of a side, over that run's whole window; empty for
    /// GPU work.
    pub idle_of_runs: PerSide<Vec<Nanos>>,
    /// Difference candidate − baseline per step. The differences of all causes add up to the
    /// wall-time difference.
    pub difference: Nanos,
    /// The counts, times and names that support the reason.
    pub evidence: String,
    /// The kernels of each side, longest first.
    pub kernels: PerSide<Vec<String>>,
    /// The few steps that contain most of the difference; `None` if it is spread over most steps or
    /// cannot be assigned to steps.
    pub few: Option<Few>,
    /// Time of the cause in each step; empty if unknown.
    pub(super) by_step: ByStep,
}

/// Formats a difference per step as evidence shows it: `−57.300 ms`.
pub(super) fn signed_ms(difference: Nanos) -> String {
    let sign = if difference < Nanos::ZERO { '−' } else { '+' };
    format!("{sign}{:.3} ms", difference.abs().as_millis())
}

/// Sum of the times of causes, for each side.
pub(super) fn total(causes: &[Cause]) -> PerSide<Nanos> {
    PerSide::from_fn(|side: Side| causes.iter().map(|cause| cause.time[side]).sum())
}

/// Sum of the times of causes in each step.
pub(super) fn together(causes: &[Cause]) -> ByStep {
    let mut all = ByStep::default();
    causes.iter().for_each(|cause| all.absorb(&cause.by_step));
    all
}
