//! Any bytes → no panic, and the same trace for every block size.
//!
//! ```text
//! cargo +nightly fuzz run read fuzz/corpus/read fuzz/seeds/read -- -dict=fuzz/trace.dict
//! ```

#![no_main]

#[path = "../../tests/support/laws.rs"]
#[allow(dead_code)]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::hold_for_reading(bytes));
