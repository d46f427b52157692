//! Tests for the facts about a program that are derived from its trace: call tree, steps, layers and kinds of work.

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
