//! Tests the facts about the program in a trace: call tree, steps, layers, kinds of work.

#[path = "../support/mod.rs"]
mod support;

mod batches;
mod categories;
mod info;
mod kernel_kinds;
mod layers;
mod lowering;
mod steps;
mod tree;
