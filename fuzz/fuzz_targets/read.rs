//! Any bytes → no panic, and the same trace however many bytes are held at once.
//!
//! ```text
//! cargo +nightly fuzz run read fuzz/seeds/read
//! ```

#![no_main]

use libfuzzer_sys::fuzz_target;
use tracetree::trace::{ReadOptions, Trace};

/// All of the trace, or the error, as text.
fn outcome(bytes: &[u8], options: &ReadOptions, block_size: usize) -> String {
    match Trace::from_reader_in_blocks("t", bytes, options, block_size) {
        Ok(trace) => {
            let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
            assert_eq!(trace.len() as u64 + left_out, trace.total_events());
            assert!(trace.events().all(|event| trace.duration(event).0 >= 0));
            format!("{trace:?}")
        }
        Err(error) => error.to_string(),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions::default().max_unpacked(1 << 22);
    let whole = outcome(bytes, &options, 1 << 16);
    assert_eq!(outcome(bytes, &options, 600), whole);
    let strict = outcome(bytes, &options.clone().strict(), 1 << 16);
    assert!(strict == whole || !strict.starts_with("Trace"), "strict repaired something");
});
