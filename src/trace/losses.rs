//! Counts events and bytes that were lost, repaired or impossible in a file.

use serde::{Deserialize, Serialize};

/// Counts of events and bytes that were lost, repaired or impossible in a file.
/// [`Trace::notes`](super::Trace::notes) describes the same losses for users; code that makes
/// decisions uses these counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Number of elements in `traceEvents` that could not be read or are not events (`null`, `{}`).
    /// A single empty element is not counted.
    pub events: u64,
    /// Number of bytes of decompressed text that were not read.
    pub bytes: u64,
    /// Number of events that lack a start or a duration, plus begin and end events that lack a
    /// counterpart.
    pub untimed: u64,
    /// Number of impossible durations, which count as 0 ns, and of impossible start times.
    pub clocks: u64,
    /// Whether the text ends before the JSON document does.
    pub is_truncated: bool,
    /// Whether the compressed data does not match its checksum or size.
    pub is_corrupt: bool,
}
