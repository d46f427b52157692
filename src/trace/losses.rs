//! Counts of what was lost, repaired or impossible in a file.

use serde::{Deserialize, Serialize};

/// Counts of what was lost, repaired or impossible in a file. [`Trace::notes`](super::Trace::notes)
/// reports the same in words; code that makes decisions uses these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Elements of `traceEvents` that could not be read or are not events (`null`, `{}`). A single
    /// empty element does not count.
    pub events: u64,
    /// Number of bytes of decompressed text that were not read.
    pub bytes: u64,
    /// Events without a start or a duration, and begin and end events without a counterpart.
    pub untimed: u64,
    /// Number of impossible durations, which count as 0 ns, and of impossible start times.
    pub clocks: u64,
    /// Whether the text ends before the document does.
    pub is_truncated: bool,
    /// Whether the compressed data does not match its checksum or size.
    pub is_corrupt: bool,
}
