//! Computes the bytes that each call in a tree allocates, from the trace's memory events.

use tracetree::analysis::memory::{MemoryPlace, MemoryUsage};
use tracetree::tree::CallTree;
use tracetree::{Error, ErrorKind, Result};

/// For each call, the bytes that the call and its descendants allocate on GPUs or, if no GPU has memory events, on the
/// host.
///
/// # Errors
/// Fails if the trace has no memory events.
pub(super) fn allocated(tree: &CallTree) -> Result<Vec<i64>> {
    if tree.trace().memory().is_empty() {
        let source = tree.trace().source();
        return Err(Error::new(ErrorKind::Usage, source, "has no memory events")
            .remedy("record it using profile_memory=True"));
    }
    let usage = MemoryUsage::of(tree);
    let is_gpu = |place: MemoryPlace| matches!(place, MemoryPlace::Gpu(_));
    let has_gpu = usage.devices().any(|(place, _)| is_gpu(place));
    let mut bytes = vec![0i64; tree.len()];
    for (_, usage) in usage.devices().filter(|(place, _)| is_gpu(*place) == has_gpu) {
        for block in usage.blocks() {
            if let Some(call) = block.call {
                bytes[call.index()] = bytes[call.index()].saturating_add(block.bytes);
            }
        }
    }
    // Every call comes after its ancestors. In reverse order, the sum of a call is therefore complete before it is
    // added to the sum of its parent.
    let calls: Vec<_> = tree.calls().collect();
    for &call in calls.iter().rev() {
        if let Some(above) = tree.parent(call) {
            bytes[above.index()] = bytes[above.index()].saturating_add(bytes[call.index()]);
        }
    }
    Ok(bytes)
}
