//! Tests of reading events from bytes: intact, damaged and hostile files, and what is reported
//! about them.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod damage;
mod exports;
mod files;
mod fuzz_cases;
mod laws;
mod protobuf;
mod recorders;
