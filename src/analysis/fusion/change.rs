//! How the number of kernels at a node differs between the sides.

use crate::diff::MergedId;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// Minimum number of instances that must agree for a fusion to be reported outside of compiled regions.
pub(super) const ENOUGH: usize = 2;

/// How the number of kernels at a node differs between the sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KernelChange {
    /// The given side runs fewer kernels to do the work of several ops on the other side.
    FusedIn(Side, FusionEvidence),
    /// The counts differ for an unknown reason.
    Count,
}

/// Kernels of both sides that do the same work, and how their number differs.
pub(super) struct Part {
    pub(super) node: MergedId,
    pub(super) kernels: PerSide<Vec<CallId>>,
    pub(super) change: KernelChange,
}

/// The evidence that one side fused the work of several ops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FusionEvidence {
    /// An op or kernel name on the side with fewer kernels lists the replaced ops.
    Names,
    /// One category of work on the side with fewer kernels replaces several categories.
    Kinds,
    /// One op takes the combined inputs of several ops with the same name.
    Shapes,
    /// One op with one kernel replaces several ops and takes their external inputs.
    Place,
}

impl FusionEvidence {
    /// The name of the evidence in tables: `names`, `kinds`, `shapes`, `place`.
    pub fn label(self) -> &'static str {
        match self {
            FusionEvidence::Names => "names",
            FusionEvidence::Kinds => "kinds",
            FusionEvidence::Shapes => "shapes",
            FusionEvidence::Place => "place",
        }
    }
}
