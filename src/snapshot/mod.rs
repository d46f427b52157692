//! Compares PyTorch memory snapshots: the live memory on both sides, by Python stack, at the peak and at the end.
//!
//! ```text
//! .pickle ─pickle─▶ values ─read─▶ Snapshot: blocks with lifetimes and stacks ─compare─▶ rows by stack
//! ```
//! Snapshots are written by `torch.cuda.memory._dump_snapshot`, after
//! `torch.cuda.memory._record_memory_history()`. A snapshot is not a trace: it records each block and the Python
//! code that allocated the block, but no times of ops or kernels.

mod compare;
mod pickle;
mod read;

pub use compare::{Moment, SnapshotDiff, StackRow};
pub use read::{DeviceSnapshot, LiveStacks, Snapshot, Stack, StackFigures};
