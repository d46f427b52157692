//! Decides whether the difference between two sets of runs violates a rule, and shows where and why.
//!
//! ```text
//! runs ─read─▶ Recording ─┬─ kept as a baseline file
//!                         ▼
//! baseline ────▶ Recording ─align, as `diff` does─▶ changes ─rules─▶ findings: pass, fail, inconclusive
//! ```
//! Only [`Analysis::changes`](tracetree::analysis::Analysis::changes) decides what changed, so the gate and `diff`
//! never disagree. The rules of the gate decide only which changes are violations.

// Only `tracetree::storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod baseline;
mod check;
mod history;
mod place;
mod recording;
mod render;
mod rules;
mod runs;

pub use baseline::BASELINE_SCHEMA;
pub use check::{Check, Checked, Finding, FindingSite, Floor, Gate, Outcome, State};
pub use history::{ChangePoint, History, Search, Series, change_points};
pub use place::{Place, Site};
pub use recording::{Captured, Range, Recorder, Recording, RunFacts, Setup};
pub use render::{GateFormat, Layout};
pub use rules::{
    Allow, Budget, Date, FailOn, Inconclusive, Limit, Limited, MemoryMeasure, MemoryRule, Rule,
    Rules, Scope, Severity, StepMeasure, StructureRule, TimeMeasure, TimeRule, Timing,
};
pub use runs::{run_files, run_folders};
