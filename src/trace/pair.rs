//! The two traces of a comparison, read at the same time.

use super::{ReadOptions, Trace};
use crate::error::{Error, ErrorKind, Result};
use crate::side::{PerSide, Side};
use std::path::Path;

/// Reads both traces, each on a thread of its own.
///
/// # Errors
/// Like [`Trace::open`], the baseline's error first; and if a trace has neither host calls nor GPU
/// events, so that there is nothing to compare.
pub fn read_pair(paths: PerSide<&Path>, options: PerSide<&ReadOptions>) -> Result<PerSide<Trace>> {
    let read = |side: Side| Trace::open_with(paths[side], options[side]).and_then(with_calls);
    let (baseline, candidate) = rayon::join(|| read(Side::Baseline), || read(Side::Candidate));
    Ok(PerSide::new(baseline?, candidate?))
}

/// Refuses a trace in which nothing can be compared.
fn with_calls(trace: Trace) -> Result<Trace> {
    let takes_part = |category: super::Category| category.is_host_call() || category.is_gpu();
    if trace.events().any(|event| takes_part(trace.category(event))) {
        return Ok(trace);
    }
    let message = format!(
        "nothing to compare: none of its {} events is a host call or ran on a GPU",
        trace.total_events()
    );
    Err(Error::new(ErrorKind::NotATrace, trace.source(), message).remedy(
        "record with torch.profiler and ProfilerActivity.CPU, and CUDA where there is a GPU",
    ))
}
