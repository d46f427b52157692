//! What `tracetree info` says of a trace as JSON.

use crate::analysis::EfficiencyInfo;
use crate::program::TraceInfo;
use serde::Serialize;
use std::io::{self, Write};

/// What is in a trace, and how efficient it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescribedTrace {
    /// What is in it.
    #[serde(flatten)]
    pub info: TraceInfo,
    /// How far its ops are from what its device can do.
    pub efficiency: EfficiencyInfo,
}

/// Writes a list with an object for each trace.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_info_json(traces: &[DescribedTrace], out: &mut dyn Write) -> io::Result<()> {
    super::json::write_json(&traces, out)
}
