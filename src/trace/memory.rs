//! The allocations and frees of a trace that was recorded with `profile_memory=True`.

use super::ids::{ThreadId, Uid};
use super::time::Nanos;

/// The memory that an allocator serves: `Device Type` and `Device Id` of the trace, `None` if it
/// does not record them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemoryDevice {
    /// `Device Type`: 0 is the CPU, 1 CUDA, 6 HIP.
    pub kind: Option<i64>,
    /// `Device Id`; -1 for the CPU.
    pub number: Option<i64>,
}

impl MemoryDevice {
    /// Whether this is the memory of the host.
    pub fn is_host(self) -> bool {
        self.kind == Some(0)
    }
}

/// An allocation or a free: an instant `[memory]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEvent {
    /// Position in `traceEvents`.
    pub uid: Uid,
    /// The thread that allocated or freed.
    pub thread: ThreadId,
    /// When it did.
    pub time: Nanos,
    /// Where.
    pub device: MemoryDevice,
    /// `Bytes`: size of the block; negative for a free.
    pub bytes: i64,
    /// `Addr`: address of the block, as the bits of a `u64`.
    pub address: Option<i64>,
    /// `Total Allocated`: bytes in live blocks after the event.
    pub allocated: Option<i64>,
    /// `Total Reserved`: bytes that the allocator holds after the event.
    pub reserved: Option<i64>,
    /// `Ev Idx`: order of events that happen at the same time.
    pub order: Option<i64>,
}
