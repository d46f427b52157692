//! Compares the time of an op with the minimum time for its work in a roofline model. The minimum work of an op
//! consists of operations and bytes.
//!
//! ```text
//! name, shapes, types ──models──▶ demand: operations, bytes
//! events of the op    ──────────▶ time                        ─▶ TFLOP/s, TB/s
//! name of the device  ──peaks───▶ peak rates of the device    ─▶ bound, time at the roofline, share
//! ```
//! `models.toml` describes the formulas, and `docs/reference/efficiency.md` what the figures mean.

mod brief;
mod clause;
mod demand;
mod dtype;
mod formulas;
mod inputs;
mod jobs;
mod peaks;
mod roofline;
mod rules;
mod table;
mod trace;

pub use super::precision::Precision;
pub use brief::{EfficiencyInfo, FurthestOp};
pub use clause::{WorkChange, clause, work_change};
pub use demand::{Demand, Unit};
pub use peaks::{DevicePeaks, Peaks};
pub use roofline::{Bound, Efficiency};
pub use rules::Models;
pub use table::EfficiencyRow;
pub(super) use table::sort_by_efficiency;
pub use trace::{OpEfficiency, TraceEfficiency};
