//! Tests folders with the traces of several ranks: matching, stragglers, missing files.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod pairs;
mod plants;
