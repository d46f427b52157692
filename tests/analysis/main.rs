//! Pairs → where the time is, why it differs, and whether that can be told.

#[path = "../support/mod.rs"]
mod support;

mod account;
mod causes;
mod comparability;
mod efficiency;
mod example_traces;
mod laws;
mod like_with_like;
mod real_pairs;
mod several_runs;
mod verdict;
mod wall;
