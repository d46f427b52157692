//! Compare two PyTorch profiler (Kineto) traces by the structure of their call stacks.
//!
//! The two traces show the same work, before and after a change or on two platforms. tracetree answers three questions:
//! *where does the GPU time differ, by how much, and which calls in the stack cause the difference?* Kernel names
//! cannot answer these questions: on another platform, in another version, or under a compiler, the same op launches
//! different kernels. tracetree therefore converts both traces to call trees, aligns the trees, and attributes every
//! microsecond of GPU time to the lowest op that is in both traces.
//!
//! # A tour
//!
//! ```text
//! file ─read─▶ Trace ─nest, link─▶ CallTree ─what runs─▶ Program ┐
//!                                                                ├─align─▶ TraceDiff ─attribute─▶ Analysis ─▶ tables ─▶ report
//! file ─read─▶ Trace ─nest, link─▶ CallTree ─what runs─▶ Program ┘
//! ```
//!
//! Each module is a stage of the pipeline: [`trace`] → [`tree`] → [`program`] → [`diff`] → [`analysis`] → [`tables`] →
//! [`report`]. Each stage returns a result that owns the stage's inputs, so the result can be kept, returned and sent
//! to another thread. No stage modifies its input or prints anything. [`Comparison::open`] runs the whole pipeline.
//!
//! ```
//! use tracetree::report::ReportOptions;
//! use tracetree::{Comparison, ComparisonOptions};
//!
//! let comparison = Comparison::open(
//!     "examples/traces/resnet.rocm.json.gz",
//!     "examples/traces/resnet.cuda.json.gz",
//!     &ComparisonOptions::default(),
//! )?;
//! let analysis = comparison.analysis();
//!
//! // Where the time differs, largest baseline time first.
//! let slowest = &analysis.by_name()[0];
//! assert_eq!(slowest.name, "aten::convolution_backward");
//! assert_eq!(slowest.time.difference(), tracetree::trace::Nanos(-1_448_771));
//!
//! // Every GPU event is in exactly one row, so the rows add up.
//! assert!(analysis.account().is_exact());
//!
//! // The same files that the command line writes.
//! let folder = std::env::temp_dir().join(format!("tracetree-tour-{}", std::process::id()));
//! let files = comparison.report(ReportOptions::default()).write(&folder)?;
//! assert!(files.contains(&"diff_stats.csv".to_owned()));
//! # std::fs::remove_dir_all(&folder).expect("the folder was written");
//! # Ok::<(), tracetree::Error>(())
//! ```
//!
//! # Which value answers which question
//!
//! | question | ask |
//! |---|---|
//! | which events are in the file, and what is irregular about the file | [`Trace::events`], [`Trace::notes`] |
//! | what launched this kernel, in which module, in which step | [`CallTree::ancestors`], [`CallTree::module_stack`], [`program::Steps::step`] |
//! | which backward op belongs to a forward op | [`CallTree::backward_links`], [`CallTree::links`] |
//! | what is this event's counterpart in the other trace | [`TraceDiff::corresponding_uid`], [`TraceDiff::counterpart`] |
//! | where do the traces diverge, and below which common node | [`TraceDiff::differences`] |
//! | what do the two call trees look like when merged into one tree | [`TraceDiff::merged`] |
//! | at which calls does the time differ | [`Analysis::by_name`], [`Analysis::rows`] |
//! | which ops and kernels was an op lowered to on each side | [`Analysis::lowerings`] |
//! | do the rows of a table add up | [`Analysis::account`] |
//! | how to write files for people and programs | [`Report::write`], [`report::summarise`] |
//!
//! # Terms and conventions
//!
//! A [`Side`] is the baseline or the candidate; tables call them `trace1` and `trace2`. Differences are candidate −
//! baseline, ratios are candidate / baseline, and undefined ratios are `None`. A [`Uid`] is the position of an event in
//! its file; for a Kineto trace, this is the position in `traceEvents`. Times are whole nanoseconds ([`trace::Nanos`]).
//! Irregularities in a trace are counted and reported as notes. An [`Error`] names the file, the position in the file,
//! and a remedy.
//!
//! The module [`snapshot`] reads and compares PyTorch memory snapshots, which are not traces.
//!
//! Other crates build on this one: `tracetree-gate` checks runs against a baseline, `tracetree-fleet`
//! compares the traces of many ranks, `tracetree-model` compares predictions of a performance model with a
//! measured profile, and `tracetree-cli` is the command-line tool. Items that only these crates use are
//! hidden from this documentation, and may change at any time.
//!
//! # Features
//!
//! No feature is enabled by default.
//!
//! | feature | adds |
//! |---|---|
//! | `html` | `report.html` |
//! | `xlsx` | `report.xlsx` |
//! | `flamegraph` | `flamegraph.svg`, `folded.txt` |
//! | `arrow` | [`report::ArrowTable`](report): tables as Arrow record batches |
//! | `parquet` | tables as Parquet files |
//! | `zstd` | reading files that are compressed with zstd |
//! | `remote` | `s3://`, `gs://`, `az://` and `https://` addresses as paths of traces and reports |

// Only `storage` writes files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod analysis;
mod comparison;
pub mod diff;
pub mod report;
pub mod snapshot;
pub mod tables;

pub use tracetree_trace::{Cancel, error, program, side, trace, tree};
#[doc(hidden)]
pub use tracetree_trace::{condition, escape, order, signed, storage};

pub use analysis::Analysis;
pub use comparison::{Comparison, ComparisonOptions, Input, Stage};
pub use diff::TraceDiff;
pub use error::{Error, ErrorKind, Result};
pub use report::Report;
pub use side::{PerSide, Presence, Side};
pub use storage::write_file;
pub use trace::{Trace, Uid};
pub use tree::CallTree;

/// Includes the docs, so that their Rust examples are compiled and run as tests.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../docs/guides/walkthrough.md")]
    struct Walkthrough;
}
