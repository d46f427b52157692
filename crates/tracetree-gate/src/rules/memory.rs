//! Memory rules. Each rule limits how much one measure of memory use may increase over the baseline.

use super::Limit;
use super::severity::Severity;

/// A measure of memory use. It is computed from the memory events of the GPUs or, if no GPU has memory events, of the
/// host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemoryMeasure {
    /// The maximum number of bytes that are allocated at one time on one device, in any step.
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
