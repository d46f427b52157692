//! Tests for the comparison of a predicted trace with a measured profile.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod errors;
mod fail_on;
mod formats;
mod laws;
mod real;
mod rules;
