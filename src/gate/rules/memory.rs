//! A memory rule: the measure and the allowed increase.

use super::{Limit, Severity};

/// A measure of the memory events of a step: on the GPUs, or on the host if no GPU has events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryMeasure {
    /// Most bytes allocated at once on a device, in the step with the most.
    PeakMemory,
    /// Number of allocations, the median over the steps.
    AllocationsPerStep,
}

impl MemoryMeasure {
    /// All measures.
    pub const ALL: [MemoryMeasure; 2] =
        [MemoryMeasure::PeakMemory, MemoryMeasure::AllocationsPerStep];

    /// The word for it in rule files.
    pub fn label(self) -> &'static str {
        match self {
            MemoryMeasure::PeakMemory => "peak_memory",
            MemoryMeasure::AllocationsPerStep => "allocations_per_step",
        }
    }
}

/// A rule about memory. Programs allocate the same in each run, so one run per side is enough.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRule {
    /// What is measured.
    pub measure: MemoryMeasure,
    /// The allowed increase.
    pub limit: Limit,
    /// The severity of a violation.
    pub severity: Severity,
}
