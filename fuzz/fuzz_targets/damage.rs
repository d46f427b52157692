//! Bytes as a list of edits to an intact trace → no untouched event is lost without a note.
//!
//! The bytes choose a kind of damage and where it happens: elements cut, doubled or swapped, brackets,
//! quotes, control bytes, holes. The trace that is read is checked against the elements that were not
//! touched, as found by serde_json (`tests/support/damage.rs`).
//!
//! ```text
//! cargo +nightly fuzz run damage fuzz/corpus/damage fuzz/seeds/damage
//! ```

#![no_main]

#[path = "../../tests/support/damage.rs"]
#[allow(dead_code)]
mod damage;

#[path = "../../tests/support/splitmix.rs"]
#[allow(dead_code)]
mod splitmix;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| damage::hold_for_choices(bytes));
