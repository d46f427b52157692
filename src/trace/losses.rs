//! What the reader could not take from a file as it was written, in numbers.

use serde::{Deserialize, Serialize};

/// How much of a file was lost, repaired or impossible. [`Trace::notes`](super::Trace::notes) reports the same
/// in words; everything that decides reads the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Losses {
    /// Elements of `traceEvents` that could not be read, or that were no events (`null`, `{}`).
    pub events: u64,
    /// Bytes of the unpacked text that were not read.
    pub bytes: u64,
    /// Events without a start or a duration, and begins without an end.
    pub untimed: u64,
    /// Times that no clock can show; the event counts as 0 ns long.
    pub clocks: u64,
    /// Whether the text ends before the document does.
    pub is_truncated: bool,
    /// Whether the packed data does not match its checksum.
    pub is_corrupt: bool,
}
