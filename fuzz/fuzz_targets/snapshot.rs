//! Any bytes → a memory snapshot, compared with itself, or an error.
//!
//! ```text
//! cargo +nightly fuzz run snapshot fuzz/corpus/snapshot
//! ```

#![no_main]

use tracetree::PerSide;
use tracetree::snapshot::{Snapshot, SnapshotDiff};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(snapshot) = Snapshot::parse(bytes, "a.pickle") {
        let diff = SnapshotDiff { sides: PerSide::new(snapshot.clone(), snapshot) };
        assert!(diff.rows().iter().all(|row| row.difference() == 0));
    }
});
