//! Summarizes the memory events of one trace for each device.

use super::usage::MemoryUsage;
use crate::tree::CallTree;
use serde::Serialize;

/// A summary of the memory events of one device in one trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct MemorySummary {
    /// `gpu 0`, or `cpu`.
    pub device: String,
    /// Maximum number of bytes allocated at one time. Bytes that were allocated before the first event are
    /// included only if their number is known.
    pub peak_bytes: i64,
    /// Bytes that were allocated before the first event; `None` if unknown.
    pub before_bytes: Option<i64>,
    /// Maximum number of bytes that the allocator reserved; `None` if unknown.
    pub reserved_bytes: Option<i64>,
    /// Number of allocations.
    pub allocations: u64,
    /// Total number of bytes allocated; memory that is freed and allocated again counts again.
    pub allocated_bytes: i64,
}

impl MemorySummary {
    /// Summarizes each device for which the trace has memory events.
    pub fn of(tree: &CallTree) -> Vec<MemorySummary> {
        let usage = MemoryUsage::of(tree);
        let summary = |(place, usage): (super::MemoryPlace, &super::DeviceUsage)| MemorySummary {
            device: place.to_string(),
            peak_bytes: usage.peak(),
            before_bytes: usage.is_absolute().then(|| usage.before()),
            reserved_bytes: usage.most_reserved(),
            allocations: usage.blocks().len() as u64,
            allocated_bytes: usage
                .blocks()
                .iter()
                .fold(0, |sum: i64, block| sum.saturating_add(block.bytes)),
        };
        usage.devices().map(summary).collect()
    }
}
