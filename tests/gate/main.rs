//! Tests for the gate, which checks runs against a baseline: rules, changes with their call sites, and history.

#[path = "../support/mod.rs"]
mod support;

mod blind;
mod command;
mod gated;
mod h100;
mod history;
mod known_changes;
mod memory;
mod one_change;
mod one_engine;
mod scoped;
mod structure;
mod trust;
