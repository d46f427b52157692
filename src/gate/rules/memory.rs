//! Memory rules, which consist of a measure and an allowed increase.

use super::{Limit, Severity};

/// A measure computed from the memory events in a step: GPU events, or host events if no GPU has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryMeasure {
    /// The peak number of allocated bytes on a device, in the step with the highest peak.
    PeakMemory,
    /// Median number of allocations per step.
    AllocationsPerStep,
}

impl MemoryMeasure {
    /// All measures.
    pub const ALL: [MemoryMeasure; 2] =
        [MemoryMeasure::PeakMemory, MemoryMeasure::AllocationsPerStep];

    /// The measure's name in rule files.
    pub fn label(self) -> &'static str {
        match self {
            MemoryMeasure::PeakMemory => "peak_memory",
            MemoryMeasure::AllocationsPerStep => "allocations_per_step",
        }
    }
}

/// A memory rule. A program makes the same allocations in each run, so one run per side is enough.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRule {
    /// What is measured.
    pub measure: MemoryMeasure,
    /// The allowed increase.
    pub limit: Limit,
    /// The severity of a violation.
    pub severity: Severity,
}
