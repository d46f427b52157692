//! Writes the generated traces in this repository: the ResNet pair in `examples/traces`, and the small pairs in
//! `tests/fixtures` that each demonstrate one lowering phenomenon.
//!
//! ```text
//! cargo run --example make_traces [-- ROOT]
//! ```
//! The files are written to subfolders of ROOT (default `.`). A given version of the generator always writes the same
//! bytes.

#[path = "../tests/support/mod.rs"]
mod support;

use flate2::{Compression, GzBuilder};
use std::fs;
use std::io::{Result, Write};
use std::path::{Path, PathBuf};
use support::fixtures::FIXTURES;
use support::resnet;
use support::trace_builder::Platform;

/// Number of steps in each trace.
const STEPS: u32 = 3;

fn main() -> Result<()> {
    let root = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| ".".to_owned()));
    for (name, platform) in [("resnet.rocm", Platform::Rocm), ("resnet.cuda", Platform::Cuda)] {
        let json = resnet::training(platform, STEPS).json();
        write_file(&root.join("examples/traces"), &format!("{name}.json.gz"), &packed(&json)?)?;
    }
    for fixture in &FIXTURES {
        let folder = root.join("tests/fixtures").join(fixture.folder);
        write_file(&folder, "baseline.json", (fixture.baseline)().as_bytes())?;
        write_file(&folder, "candidate.json", (fixture.candidate)().as_bytes())?;
    }
    Ok(())
}

fn write_file(folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(name);
    fs::write(&path, bytes)?;
    writeln!(std::io::stdout(), "{}: {} bytes", path.display(), bytes.len())
}

/// Compresses a string with gzip. The gzip header contains no file name and no time, so the same string always gives
/// the same bytes.
fn packed(text: &str) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
