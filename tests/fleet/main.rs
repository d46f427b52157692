//! Folders of ranks: pairs, stragglers, what is missing.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod pairs;
mod plants;
