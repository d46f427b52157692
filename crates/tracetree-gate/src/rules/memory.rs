//! Memory rules, which consist of a measure and an allowed increase.

use super::{Limit, Severity};

/// A measure computed from the memory events in a step: the events of GPUs or, if no GPU has memory events, those of
/// the host.
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

/// A memory rule. One run per side is enough for a memory rule, because a program makes the same allocations in each
/// run.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryRule {
    /// What is measured.
    pub measure: MemoryMeasure,
    /// The allowed increase.
    pub limit: Limit,
    /// The severity of a violation.
    pub severity: Severity,
}
