//! Tests for the attribution of time in a pair of traces, for its bill, and for the significance of differences.

#[path = "../support/mod.rs"]
mod support;

mod account;
mod bill;
mod comparability;
mod efficiency;
mod example_traces;
mod lag;
mod laws;
mod like_with_like;
mod memory;
mod memory_peaks;
mod named_calls;
mod overlap;
mod porting;
mod real_pairs;
mod regions;
mod several_runs;
mod verdict;
mod waits;
mod wall;
mod what_if;
