//! Determines which matched ops allocate memory, which memory is live at the peak, and which memory grows from step to
//! step. [`crate::program::memory`] determines the allocations of each trace.

mod leaks;
mod live;
mod rows;
mod timeline;

pub use crate::program::memory::{
    Block, DeviceUsage, MemoryPlace, MemorySummary, MemoryUsage, bytes,
};
pub(super) use leaks::{Leak, leaks_of, shows_leaks};
pub(crate) use live::live_set_at_peak;
pub use live::{LiveRow, LiveSet, live_sets, live_sets_of_steps};
pub use rows::{MemoryFigures, MemoryRow, MemorySource, memory_rows};
pub use timeline::{MemorySpan, MemoryTimelineRow, memory_timeline};
