//! Reports the regions that a program marks with `record_function`, by name and nesting, on both sides.
//!
//! ```text
//! user annotations ─by thread─▶ nested regions ─▶ path of names ─▶ row of both sides
//! launches ─by thread and time─▶ innermost region ─▶ GPU events of it and of the regions around it
//! ```
//! A region is an interval, not a call, so regions are not matched individually. A GPU annotation covers the
//! whole time from the first to the last kernel, idle time included, so it does not count as GPU time.

mod open;
mod rows;

pub use rows::{AnnotatedFigures, AnnotatedRow};
