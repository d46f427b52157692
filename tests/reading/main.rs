//! Bytes → events: whole, damaged and hostile files, and what the user is told.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod damage;
mod files;
mod fuzz_cases;
mod laws;
