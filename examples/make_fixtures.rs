//! Writes the two traces in each folder in `tests/fixtures` that demonstrates a lowering phenomenon.
//!
//! ```text
//! cargo run --example make_fixtures
//! ```
//! A test compares the fixture files with the output of the same generator, so the files always match the generator.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{Result, Write};
use support::phenomena;
use tracetree::Side;

fn main() -> Result<()> {
    for phenomenon in phenomena::ALL {
        std::fs::create_dir_all(phenomenon.folder())?;
        let (texts, files) = (phenomenon.texts(), phenomenon.files());
        for side in Side::BOTH {
            std::fs::write(&files[side], &texts[side])?;
        }
        writeln!(std::io::stdout(), "{}", phenomenon.folder().display())?;
    }
    Ok(())
}
