//! Bytes as a list of changes to a sound trace → nothing whole is lost in silence.
//!
//! The bytes choose a kind of damage and its places: elements cut, doubled or exchanged, brackets,
//! quotes, control bytes, holes. What the reader makes of the text is held against the elements that
//! were not touched, which serde_json told (`tests/support/damage.rs`).
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
