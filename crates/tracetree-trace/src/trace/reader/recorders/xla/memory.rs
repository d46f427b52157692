//! Converts allocator events to allocations and frees.
//!
//! `allocation_bytes` is the size of the block, and `bytes_allocated` is the total size of all live
//! blocks after the event. `allocation_bytes` and `bytes_allocated` refer to the allocator that
//! `allocator_name` identifies: `GPU_0_bfc` is the allocator for GPU 0.

use super::space::Stat;
use crate::trace::ids::{ThreadId, Uid};
use crate::trace::memory::{MemoryDevice, MemoryEvent};
use crate::trace::time::Nanos;

/// Returns 1 for the name of an allocation event, -1 for the name of a free event, and `None` for
/// any other name.
pub(super) fn sign(name: &str) -> Option<i64> {
    match name {
        "MemoryAllocation" => Some(1),
        "MemoryDeallocation" => Some(-1),
        _ => None,
    }
}

/// The memory event; `None` if the profile does not record the size of the block.
pub(super) fn event(
    (uid, thread, time): (Uid, ThreadId, Nanos),
    sign: i64,
    stats: &[(&str, Stat<'_>)],
) -> Option<MemoryEvent> {
    let find = |key: &str| stats.iter().find(|(name, _)| *name == key).map(|(_, stat)| *stat);
    let number = |key: &str| find(key)?.number();
    let bytes = number("allocation_bytes").or_else(|| number("requested_bytes"))?;
    let device = match find("allocator_name") {
        Some(Stat::Text(name)) => device(name),
        Some(Stat::Number(_) | Stat::Bytes(_)) | None => MemoryDevice::default(),
    };
    Some(MemoryEvent {
        uid,
        thread,
        time,
        device,
        bytes: sign * bytes.max(0),
        address: number("addr"),
        allocated: number("bytes_allocated"),
        // The value 0 means that the allocator does not count reserved bytes.
        reserved: number("bytes_reserved").filter(|bytes| *bytes > 0),
        order: Some(i64::from(uid.0)),
    })
}

/// `GPU_6_bfc` is the allocator for GPU 6; an allocator without a number manages host memory.
fn device(allocator: &str) -> MemoryDevice {
    const GPU: i64 = 1;
    const HOST: MemoryDevice = MemoryDevice { kind: Some(0), number: Some(-1) };
    let mut parts = allocator.split('_').skip_while(|part| !part.eq_ignore_ascii_case("gpu"));
    match (parts.next(), parts.next().map(str::parse)) {
        (Some(_), Some(Ok(number))) => MemoryDevice { kind: Some(GPU), number: Some(number) },
        (Some(_), Some(Err(_)) | None) => HOST,
        (None, _) if allocator.to_ascii_lowercase().contains("cpu") => HOST,
        (None, _) => MemoryDevice::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_is_that_of_a_gpu_or_of_the_host() {
        let number = |name| (device(name).kind, device(name).number);
        assert_eq!(number("GPU_6_bfc"), (Some(1), Some(6)));
        assert_eq!(number("gpu_host_bfc"), (Some(0), Some(-1)));
        assert_eq!(number("xla_cpu_bfc"), (Some(0), Some(-1)));
        assert_eq!(number("other"), (None, None));
    }

    #[test]
    fn a_free_has_negative_bytes() {
        let stats = [
            ("allocator_name", Stat::Text("GPU_1_bfc")),
            ("allocation_bytes", Stat::Number(512)),
            ("bytes_allocated", Stat::Text("1024")),
            ("addr", Stat::Number(7)),
        ];
        let spot = (Uid(3), ThreadId(0), Nanos(5));
        let freed = event(spot, -1, &stats).expect("a free");
        assert_eq!((freed.bytes, freed.allocated, freed.address), (-512, Some(1024), Some(7)));
        assert_eq!(event(spot, 1, &stats[..1]), None);
    }
}
