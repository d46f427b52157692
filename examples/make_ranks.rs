//! Writes the traces of many small ranks before and after a change, with faults planted after.
//!
//! ```text
//! cargo run --example make_ranks -- FOLDER [RANKS]
//! tracetree fleet run FOLDER/before FOLDER/after -o FOLDER/fleet
//! ```
//! writes FOLDER/before and FOLDER/after (64 ranks, or as many as are asked for: a multiple of four), and
//! says what was planted. The same call writes the same bytes.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Error, Result, Write};
use std::path::PathBuf;
use support::ranks::Ranks;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map(PathBuf::from);
    let folder = folder.ok_or_else(|| Error::other("name a folder for the traces"))?;
    let count = arguments.next().map_or(Ok(64), |text| text.parse().map_err(Error::other))?;
    if count < 16 || count % 4 != 0 {
        return Err(Error::other("the number of ranks is a multiple of four, and 16 at least"));
    }
    let ranks = Ranks(count);
    ranks.write(&folder)?;
    writeln!(
        std::io::stdout(),
        "straggler {}, slow op on ranks {}, missing {}, truncated {}, without a collective {}",
        ranks.straggler(),
        ranks.of_role(ranks.slow_role()),
        ranks.missing(),
        ranks.truncated(),
        ranks.without_collective()
    )
}
