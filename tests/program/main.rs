//! Tests of what the program in a trace does: tree, steps, layers, kinds of work.

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
