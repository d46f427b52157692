//! A cause: a part of the wall time that differs, with its reason, call site and evidence.

use super::by_step::ByStep;
use super::reason::Reason;
use crate::analysis::robust::Few;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// One reason for a difference of the wall time.
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
    /// All nodes that the time is attributed to, in the order of the merged tree: every instance or gap
    /// owner.
    pub nodes: Vec<MergedId>,
    /// Its rows in [`Analysis::rows`](crate::analysis::Analysis::rows), by position; empty for idle time.
    pub rows: Vec<usize>,
    /// Its wall time over the compared steps. Work launched before the window counts in full.
    pub time: PerSide<Nanos>,
    /// Number of instances or gaps.
    pub count: PerSide<u64>,
    /// Its idle time in each further run of a side, over the whole window of the run; empty for work.
    pub idle_of_runs: PerSide<Vec<Nanos>>,
    /// Candidate − baseline per step. The differences of all causes add up to the difference of the wall
    /// times.
    pub difference: Nanos,
    /// The supporting counts, times and names.
    pub evidence: String,
    /// The kernels that ran, longest first.
    pub kernels: PerSide<Vec<String>>,
    /// The few steps that contain most of the difference; `None` if it is spread over most steps, or if
    /// its steps are unknown.
    pub few: Option<Few>,
    /// Its time in each step; empty if unknown.
    pub(super) by_step: ByStep,
}

/// Formats a difference per step for evidence: `−57.300 ms`.
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
