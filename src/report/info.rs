//! Writes the JSON output of `tracetree info`.

use crate::analysis::efficiency::EfficiencyInfo;
use crate::analysis::memory::MemorySummary;
use crate::program::TraceInfo;
use serde::Serialize;
use std::io::{self, Write};

/// The description of a trace, the efficiency of the trace's ops, and the trace's memory use.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct DescribedTrace {
    /// The contents of the trace.
    #[serde(flatten)]
    pub info: TraceInfo,
    /// How close the trace's ops come to the peak rates of the device.
    pub efficiency: EfficiencyInfo,
    /// The memory use of each device; empty if the trace has no memory events.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemorySummary>,
}

/// Writes a JSON array with one object per trace.
///
/// # Errors
/// Fails if `out` cannot be written to.
#[doc(hidden)]
pub fn write_info_json(traces: &[DescribedTrace], out: &mut dyn Write) -> io::Result<()> {
    super::json::write_json(&traces, out)
}
