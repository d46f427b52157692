//! Tests for reading events from bytes, with undamaged, damaged and hostile files, and for reporting problems.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod damage;
mod exports;
mod files;
mod fuzz_cases;
mod laws;
mod memory_snapshots;
mod protobuf;
mod recorders;
