//! Any bytes → traces → trees → comparison → totals, all of which must satisfy their invariants.
//!
//! ```text
//! cargo +nightly fuzz run compare fuzz/corpus/compare fuzz/seeds/compare -- -dict=fuzz/trace.dict
//! ```

#![no_main]

#[path = "../../tests/support/laws.rs"]
#[allow(dead_code)]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold_for_comparing(bytes));
