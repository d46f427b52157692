//! Tests where the time in a pair of traces goes, why it differs, and whether the difference is significant.

#[path = "../support/mod.rs"]
mod support;

mod account;
mod causes;
mod comparability;
mod efficiency;
mod example_traces;
mod laws;
mod like_with_like;
mod memory;
mod memory_peaks;
mod named_calls;
mod overlap;
mod real_pairs;
mod regions;
mod several_runs;
mod verdict;
mod wall;
mod what_if;
