//! The switches of the mutants. `TT_MUTANT` is the number of the active one. If `TT_REACHED` is set,
//! the numbers of all mutants that are reached are appended to that file.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of mutants.
const MOST: usize = 1 << 14;

static ACTIVE: LazyLock<u32> = LazyLock::new(|| {
    std::env::var("TT_MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX)
});

static RECORD: LazyLock<Option<File>> = LazyLock::new(|| {
    let path = std::env::var_os("TT_REACHED")?;
    OpenOptions::new().create(true).append(true).open(path).ok()
});

static SEEN: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];

/// Whether mutant `number` is active.
pub fn is(number: u32) -> bool {
    if let Some(mut file) = RECORD.as_ref()
        && !SEEN[number as usize].load(Ordering::Relaxed)
        && !SEEN[number as usize].swap(true, Ordering::Relaxed)
    {
        let _ = file.write_all(format!("{number}\n").as_bytes());
    }
    number == *ACTIVE
}
