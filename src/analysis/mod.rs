//! Attributes all measured time in a [`TraceDiff`](crate::TraceDiff) to rows, one for each lowest common op, and derives
//! everything else from these rows: wall time, changes, the bill. Each event counts in exactly one row.
//!
//! `stages.rs` lists the stages and the values that each of them needs.

pub mod account;
#[doc(hidden)]
pub mod annotated;
pub mod bill;
pub mod categories;
pub mod changes;
pub mod comparability;
mod conditions;
pub mod efficiency;
mod figures;
#[doc(hidden)]
pub mod fusion;
mod grouped;
mod in_order;
#[doc(hidden)]
pub mod kernel_facts;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod lag;
#[doc(hidden)]
pub mod layers;
pub mod memory;
mod modules;
#[doc(hidden)]
pub mod named_calls;
#[doc(hidden)]
pub mod obstacles;
mod options;
#[doc(hidden)]
pub mod porting;
mod precision;
mod pytorch;
pub mod replay;
#[doc(hidden)]
pub mod robust;
pub mod runs;
mod shared_texts;
mod side_names;
mod stages;
#[doc(hidden)]
pub mod steps;
pub mod verdict;
pub mod wall;

pub(crate) use figures::Figures;
pub use options::AnalysisOptions;
pub use stages::Analysis;
pub(crate) use stages::prepare;
