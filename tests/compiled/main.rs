//! Tests for graphs and compiled regions: captures, replays and fusions.

#[path = "../support/mod.rs"]
mod support;

mod annotated;
mod compiled_pairs;
mod fusion;
mod graph_truth;
mod graphs;
mod recorded_on_a_gpu;
mod region_truth;
