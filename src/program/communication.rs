//! A kernel → whether it communicates with other ranks.

use crate::trace::{Category, EventId, Trace};

/// Whether a kernel communicates with other ranks: it carries a collective's name, or its own name,
/// template arguments left out, is one that NCCL, RCCL or an engine's own collectives have.
pub fn is_communication(trace: &Trace, event: EventId) -> bool {
    if trace.category(event) != Category::Kernel {
        return false;
    }
    if trace.collectives().get(event).is_some() {
        return true;
    }
    let name = trace.name(event).split(['<', '(']).next().unwrap_or_default().to_ascii_lowercase();
    COLLECTIVES.iter().any(|word| name.contains(word))
}

/// What names of communication kernels hold, in lower case.
const COLLECTIVES: [&str; 10] = [
    "ncclkernel",
    "nccldevkernel",
    "cross_device_reduce",
    "all_reduce",
    "allreduce",
    "all_gather",
    "allgather",
    "reduce_scatter",
    "all_to_all",
    "alltoall",
];
