//! Tests with folders that contain traces of several ranks: matching, stragglers and missing files.

#[path = "../support/mod.rs"]
mod support;

mod bad_input;
mod pairs;
mod plants;
