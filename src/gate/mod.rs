//! Runs before and after a change → does the change break a rule, where, and why.
//!
//! ```text
//! run ─read─▶ CallTree ─digest─▶ Digest ─┬─ kept as a baseline file
//!                                        ▼
//! runs before ─────────────────▶ Digest ─compare─▶ changes ─rules─▶ Verdict: pass, fail, inconclusive
//! ```
//! Both sides are digests, whether they come from traces or from a file, so that a recorded baseline
//! says what the traces that it was recorded of would say.

mod baseline;
mod check;
mod compare;
mod digest;
mod history;
mod render;
mod rules;
mod runs;

pub use baseline::BASELINE_SCHEMA;
pub use check::{Check, Finding, Floor, Gate, Outcome, State};
pub use compare::{Change, Item, Place, Site, Structure, StructureRule};
pub use digest::{Captured, Digest, Digester, Node, NodeKind, Range, RunFacts, Setup, Variant};
pub use history::{ChangePoint, History, HistoryFormat, Search, Series, change_points};
pub use render::GateFormat;
pub use rules::{
    Allow, Budget, Date, Inconclusive, Limit, Rule, Rules, Scope, Severity, TimeMeasure, TimeRule,
};
pub use runs::run_files;
