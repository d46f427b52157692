//! Memory snapshots of PyTorch → what is live at the peak and at the end, by Python stack, on both sides.
//!
//! ```text
//! .pickle ─pickle─▶ values ─read─▶ Snapshot: blocks with lifetimes and stacks ─compare─▶ rows by stack
//! ```
//! `torch.cuda.memory._dump_snapshot` writes them, after `torch.cuda.memory._record_memory_history()`. They are not
//! traces: they know each block and the Python code that allocated it, but no times of ops and kernels.

mod compare;
mod pickle;
mod read;

pub use compare::{Moment, SnapshotDiff, StackRow};
pub use read::{DeviceSnapshot, LiveStacks, Snapshot, StackFigures};
