//! Determines which calls allocate memory, and how much memory is allocated at any time.
//!
//! ```text
//! [memory] instants ─by device, in order of time─▶ curve of allocated bytes, peak
//!        │          ─by (device, address)────────▶ blocks: allocated, freed
//!        └─by thread and time────────────────────▶ innermost call of each allocation
//! ```
//! Only allocations are attributed to calls. Most frees are triggered by Python's reference counting, so the call that
//! happens to run during a free is not the reason for the free. Allocated bytes are sums of block sizes, which
//! allocators round up.

mod device;
mod usage;

pub use device::{MemoryPlace, bytes};
pub use usage::{Block, DeviceUsage, MemorySummary, MemoryUsage, root_op};
