//! What a cause is: a part of the wall time that differs, with its reason, place and evidence.

use super::reason::Reason;
use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// One reason for a difference of the wall time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cause {
    /// Why.
    pub reason: Reason,
    /// Where: the lowest common node, of all instances of one module class.
    pub place: String,
    /// Class of the module around it; empty where there is none.
    pub module: String,
    /// Shapes and types of the op, of the baseline and of the candidate.
    pub arguments: PerSide<String>,
    /// The first node of both trees that has it; `None` where it is nowhere in particular.
    pub node: Option<MergedId>,
    /// All nodes that have it, in the order of the merged tree: each instance, each gap's owner.
    pub nodes: Vec<MergedId>,
    /// The rows of the account that it is made of, by position; none for idle time.
    pub rows: Vec<usize>,
    /// Its part of the wall, over the steps that are compared; of what was launched before the window, all of it.
    pub time: PerSide<Nanos>,
    /// How many instances, or gaps, it is made of.
    pub count: PerSide<u64>,
    /// Of idle time what it was in each further run of a side, over its whole window; empty for work.
    pub idle_of_runs: PerSide<Vec<Nanos>>,
    /// Candidate − baseline per step. The differences of all causes add up to that of the walls.
    pub difference: Nanos,
    /// What shows it: counts, times, names.
    pub evidence: String,
    /// The kernels that ran, the longest first.
    pub kernels: PerSide<Vec<String>>,
}

/// `−57.300 ms`: a difference per step, for evidence.
pub(super) fn signed_ms(difference: Nanos) -> String {
    let sign = if difference < Nanos::ZERO { '−' } else { '+' };
    format!("{sign}{:.3} ms", difference.abs().as_millis())
}

/// The sum of both sides' times of causes.
pub(super) fn total(causes: &[Cause]) -> PerSide<Nanos> {
    PerSide::from_fn(|side: Side| causes.iter().map(|cause| cause.time[side]).sum())
}
