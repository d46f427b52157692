//! Tests how events are read from bytes: undamaged, damaged and hostile files, and how problems are reported.

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
