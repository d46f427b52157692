//! Reports the regions that a program marks with `record_function`, by name and nesting, on both sides.
//!
//! ```text
//! user annotations ─by thread─▶ nested regions ─▶ path of names ─▶ row of both sides
//! launches ─by thread and time─▶ innermost region ─▶ GPU events of it and of the regions around it
//! ```
//! A region is a time interval rather than a call, so individual regions are not matched. A GPU annotation
//! spans the time from a region's first kernel to its last kernel, including idle time, so the annotation
//! does not count as GPU time.

mod open;
mod rows;

pub use rows::{AnnotatedFigures, AnnotatedRow};
