//! Determines which calls allocate memory, what is live at the peak, and what grows from step to step.
//!
//! ```text
//! [memory] instants ─by device, in order of time─▶ curve of allocated bytes, peak
//!        │          ─by (device, address)────────▶ blocks: allocated, freed
//!        └─by thread and time────────────────────▶ innermost call of each allocation ─▶ matched op
//! ```
//! Only allocations are attributed to calls. Most frees come from Python's
//! reference counts, so the call that runs at the time of a free says nothing about
//! its cause. Allocated bytes are those of blocks, which allocators round up.

mod callers;
mod device;
mod leaks;
mod rows;
mod timeline;
mod usage;

pub use device::MemoryPlace;
pub(super) use leaks::Leak;
pub use rows::{MemoryFigures, MemoryRow, MemorySource};
pub use timeline::{MemorySpan, MemoryTimelineRow};
pub use usage::{Block, DeviceUsage, MemoryUsage};
