//! Stores the allocations and frees of a trace that was recorded with `profile_memory=True`.

use super::ids::{ThreadId, Uid};
use super::time::Nanos;

/// Identifies the memory of one device by its `Device Type` and `Device Id` in the trace. A value
/// is `None` if it was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[doc(hidden)]
pub struct MemoryDevice {
    /// `Device Type`: 0 is the CPU, 1 is CUDA, 6 is HIP.
    pub kind: Option<i64>,
    /// `Device Id`; -1 for the CPU.
    pub number: Option<i64>,
}

impl MemoryDevice {
    /// Whether the memory is host memory.
    pub fn is_host(self) -> bool {
        self.kind == Some(0)
    }
}

/// An allocation or a free, recorded as an instant event `[memory]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct MemoryEvent {
    /// Position in `traceEvents`.
    pub uid: Uid,
    /// The thread that allocated or freed the block.
    pub thread: ThreadId,
    /// Time of the allocation or free.
    pub time: Nanos,
    /// The memory that contains the block.
    pub device: MemoryDevice,
    /// `Bytes`: size of the block; negative for a free.
    pub bytes: i64,
    /// `Addr`: address of the block, as the bits of a `u64`.
    pub address: Option<i64>,
    /// `Total Allocated`: number of bytes in live blocks after the event.
    pub allocated: Option<i64>,
    /// `Total Reserved`: number of bytes that are reserved by the allocator after the event.
    pub reserved: Option<i64>,
    /// `Ev Idx`: determines the order of events at the same time.
    pub order: Option<i64>,
}
