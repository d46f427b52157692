//! Counts the events and bytes in a file that were lost or repaired, and the events whose times are
//! impossible.

use serde::{Deserialize, Serialize};

/// Counts of events and bytes in a file that were lost or repaired, and of events whose times are
/// impossible. [`Trace::notes`](super::Trace::notes) describes the same losses for users; these
/// counts are for code that must react to losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[doc(hidden)]
pub struct Losses {
    /// Number of elements in `traceEvents` that could not be read or are not events. One empty
    /// element (`null` or `{}`) per file is not counted.
    pub events: u64,
    /// Number of bytes of decompressed text that were not read.
    pub bytes: u64,
    /// Number of events that lack a start or a duration, plus begin and end events that lack a
    /// counterpart.
    pub untimed: u64,
    /// Number of impossible durations (each counts as 0 ns) and impossible start times.
    pub clocks: u64,
    /// Whether the text ends before the JSON document does.
    pub is_truncated: bool,
    /// Whether the compressed data does not match its checksum or size.
    pub is_corrupt: bool,
}
