//! Tests where the time of a pair of traces goes, why it differs, and whether the difference is significant.

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
mod named_calls;
mod real_pairs;
mod several_runs;
mod verdict;
mod wall;
mod what_if;
