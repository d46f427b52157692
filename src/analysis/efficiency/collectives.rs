//! Computes the size of a communication kernel's message, and how many bytes each rank must send over its links to
//! transfer the message.
//!
//! Bandwidths are defined as in communication benchmarks. *Algorithm* bandwidth is the size of the whole message
//! divided by the time. *Bus* bandwidth is the algorithm bandwidth multiplied by the minimum number of bytes that each
//! rank must send per byte of the message. For any number of ranks, the bus bandwidth can therefore be compared with
//! the speed of a link. Source: nccl-tests, PERFORMANCE.md.
//!
//! ```text
//! all_reduce                             2 · (n − 1) / n     size: the input
//! all_gather, reduce_scatter, all_to_all     (n − 1) / n     size: the larger of input and output
//! broadcast, reduce, send, recv, gather …              1     size: the larger of input and output
//! ```
//! The time of a communication kernel includes the time spent waiting for other ranks.

use super::dtype::Dtype;
use crate::trace::{EventId, Trace};

/// The size of a collective's message, and the number of bytes that each rank must send to transfer the message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Transfer {
    /// Size of the whole message, in bytes.
    pub(super) message: f64,
    /// Minimum number of bytes that each rank must send per byte of the message.
    pub(super) factor: f64,
}

/// The transfer that a communication kernel makes; `None` if its message, or a number of ranks that is needed, was not
/// recorded.
pub(super) fn transfer(trace: &Trace, event: EventId) -> Option<Transfer> {
    let message = trace.messages().get(event)?;
    let dtype = Dtype::of_message(trace.text(message.dtype))?;
    let name = trace.text(*trace.collectives().get(event)?);
    let elements = message.sent.max(message.received) as f64;
    let size = elements * f64::from(dtype.bytes);
    Some(Transfer { message: size, factor: factor(name, message.ranks)? })
}

/// Minimum number of bytes that each rank must send per byte of a collective's message. `None` if this number depends
/// on the number of ranks, which was not recorded.
fn factor(name: &str, ranks: u64) -> Option<f64> {
    let plain: String = name.chars().filter(|c| c.is_alphabetic()).collect();
    let plain = plain.to_ascii_lowercase();
    let share = || (ranks > 0).then(|| (ranks - 1) as f64 / ranks as f64);
    if plain.contains("allreduce") {
        return share().map(|share| 2.0 * share);
    }
    let spread = ["allgather", "reducescatter", "alltoall"];
    if spread.iter().any(|part| plain.contains(part)) { share() } else { Some(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bus_factors_are_those_of_the_benchmarks() {
        assert_eq!(factor("allreduce", 8), Some(1.75));
        assert_eq!(factor("_allgather_base", 4), Some(0.75));
        assert_eq!(factor("reduce_scatter_tensor_coalesced", 2), Some(0.5));
        assert_eq!(factor("broadcast", 8), Some(1.0));
        assert_eq!(factor("allreduce", 0), None);
    }
}
