//! Determines which calls allocate memory, which memory is live at the peak, and which memory grows from step to
//! step.
//!
//! ```text
//! [memory] instants ─by device, in order of time─▶ curve of allocated bytes, peak
//!        │          ─by (device, address)────────▶ blocks: allocated, freed
//!        └─by thread and time────────────────────▶ innermost call of each allocation ─▶ matched op
//! ```
//! Only allocations are attributed to calls: most frees are triggered by Python's reference counting, so the
//! call that happens to run during a free is not the reason for the free. Allocated bytes are the sizes of
//! blocks, which allocators round up.

mod callers;
mod device;
mod leaks;
mod live;
mod rows;
mod summary;
mod timeline;
mod usage;

pub use device::MemoryPlace;
pub use device::bytes;
pub(super) use leaks::Leak;
pub use live::{LiveRow, LiveSet};
pub use rows::{MemoryFigures, MemoryRow, MemorySource};
pub use summary::MemorySummary;
pub use timeline::{MemorySpan, MemoryTimelineRow};
pub use usage::{Block, DeviceUsage, MemoryUsage};
