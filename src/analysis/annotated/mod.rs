//! Reports the regions that a program marks with `record_function`. Regions of both sides are compared if they have the
//! same names and nesting.
//!
//! ```text
//! user annotations ─by thread─▶ nested regions ─▶ path of names ─▶ row of both sides
//! launches ─by thread and time─▶ innermost region ─▶ GPU events of it and of the regions around it
//! ```
//! A region is a time interval rather than a call, so individual regions are not matched. The profiler also records
//! GPU annotations. A GPU annotation spans the time from a region's first kernel to its last kernel, including idle
//! time, so it does not count as GPU time.

mod open;
mod rows;

pub use rows::{AnnotatedFigures, AnnotatedRow, annotated_rows};
