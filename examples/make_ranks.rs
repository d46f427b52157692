//! Writes small traces for many ranks, before and after a change. The traces after the change contain planted faults.
//!
//! ```text
//! cargo run --example make_ranks -- FOLDER [RANKS]
//! tracetree fleet run FOLDER/before FOLDER/after -o FOLDER/fleet
//! ```
//! The first command writes FOLDER/before and FOLDER/after and prints the planted faults. RANKS is a multiple
//! of four, and at least 16 (default 64). The same arguments always produce identical files.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Error, Result, Write};
use std::path::PathBuf;
use support::ranks::Ranks;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map(PathBuf::from);
    let folder = folder.ok_or_else(|| Error::other("pass a folder for the traces"))?;
    let count = arguments.next().map_or(Ok(64), |text| text.parse().map_err(Error::other))?;
    if count < 16 || count % 4 != 0 {
        return Err(Error::other("RANKS must be a multiple of four and at least 16"));
    }
    let ranks = Ranks(count);
    ranks.write(&folder)?;
    writeln!(
        std::io::stdout(),
        "straggler: rank {}; slow op: ranks {}; missing: rank {}; truncated: rank {}; skips a collective: rank {}",
        ranks.straggler(),
        ranks.of_role(ranks.slow_role()),
        ranks.missing(),
        ranks.truncated(),
        ranks.without_collective()
    )
}
