//! How the number of kernels at a node differs between the sides.

use super::explain::FusionEvidence;
use crate::side::Side;

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
