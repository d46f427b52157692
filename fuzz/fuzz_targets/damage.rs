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

use damage::{Kind, Sample, judge};
use splitmix::SplitMix;
use std::sync::LazyLock;

static SAMPLE: LazyLock<Sample> = LazyLock::new(|| {
    let text = include_bytes!("../../tests/fixtures/reader_every_kind/trace.json");
    Sample::new(text.to_vec()).expect("a sound trace")
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, choices)) = bytes.split_first() else { return };
    let mut choices = SplitMix::given(choices);
    let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
    let (outcome, message) = judge(&SAMPLE.damaged(kind, &mut choices));
    assert!(!outcome.is_failure(), "{}: {outcome:?}: {message}", kind.label());
});
