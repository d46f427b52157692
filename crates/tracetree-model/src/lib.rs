//! Compares a predicted trace with a measured profile, and shows the prediction error for each kernel type.
//!
//! A performance model writes a Chrome trace of one forward pass with a predicted time for every op. The profiler
//! writes a table with a row for every kernel that ran. Predicted and measured times are summed by kernel type and
//! compared:
//! ```text
//! model_trace.json ─read─▶ ModelTrace ┐
//!                                     ├─▶ Prediction ┐
//! op_mapping.yaml  ─read─▶ OpMapping  ┘              ├─compare─▶ ModelComparison ─render─▶ text, json,
//! kernel_details.csv ─read─▶ Profile ────────────────┘                                csv, markdown
//! ```
//! [`Scenario::compare`] runs the whole pipeline; [`failures`] checks whether the model is accurate enough. This crate
//! is independent of the code that compares two traces; the two share only basics such as errors, times and notes.
//!
//! ```no_run
//! use tracetree_model::{Format, Outcome, Scenario, render};
//!
//! let mut scenario = Scenario::new("model_trace.json", "kernel_details.csv");
//! scenario.op_mapping = Some("op_mapping.yaml".into());
//! let comparison = scenario.compare()?;
//! for row in &comparison.rows {
//!     let error = row.amounts.error_pct().map_or("no profile".into(), |e| format!("{e:+.1} %"));
//!     println!("{:40} {error}", row.kernel_type);
//! }
//! let report = render(&[Outcome::Compared(Box::new(comparison))], Format::Markdown, 15);
//! # Ok::<(), tracetree_trace::Error>(())
//! ```

// Only `tracetree_trace::storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod accuracy;
mod collectives;
mod compare;
mod csv_rows;
mod document;
mod fail_on;
mod forward_passes;
mod input;
mod kernel_type;
mod mapping;
mod micros;
mod predict;
mod process;
mod profile;
mod quantity;
mod render;
mod scenario;
mod scenario_file;
mod status;
mod sub_kernels;
mod trace;

pub use accuracy::{Accuracy, CONTRIBUTORS, Contributor, Coverage, RowId};
pub use compare::{Amounts, Row};
pub use fail_on::{FailOn, Failure, failures, unchecked};
pub use forward_passes::ForwardPasses;
pub use kernel_type::KernelType;
pub use mapping::{Lowering, OpMapping};
pub use predict::{PredictedKernel, Prediction};
pub use process::ModelProcess;
pub use profile::{MeasuredKernel, Profile, ProfileRows};
pub use quantity::Quantity;
pub use render::{Format, render};
pub use scenario::{ModelComparison, ModelOps, Outcome, Scenario};
pub use scenario_file::{read_scenarios, scenarios_from_bytes};
pub use status::Status;
pub use trace::{ModelOp, ModelTrace, Source};

/// Compiles the example programs in the documentation page about model comparisons.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/model-diff.md")]
pub struct Page;
