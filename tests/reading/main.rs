//! Tests for reading events from bytes and for reporting problems. The files are undamaged, damaged or
//! hostile.

#[path = "../support/mod.rs"]
mod support;

mod accelerators;
mod coarse;
mod command;
mod damage;
mod exports;
mod files;
mod fuzz_cases;
mod laws;
mod memory_snapshots;
mod protobuf;
mod recorders;
mod rocprof;
