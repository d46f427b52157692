//! Writes the generated pair of `examples/traces`: one ResNet training, recorded on two platforms.
//!
//! ```text
//! cargo run --example make_traces [-- DIR]
//! ```
//! writes `resnet.rocm.json.gz` and `resnet.cuda.json.gz` to DIR (`examples/traces`). The same
//! version of the generator writes the same bytes.

#[path = "../tests/support/mod.rs"]
mod support;

use flate2::{Compression, GzBuilder};
use std::fs;
use std::io::{Result, Write};
use std::path::PathBuf;
use support::resnet;
use support::trace_builder::Platform;

/// Recorded steps of each trace.
const STEPS: u32 = 3;

fn main() -> Result<()> {
    let folder =
        std::env::args().nth(1).map_or_else(|| PathBuf::from("examples/traces"), PathBuf::from);
    fs::create_dir_all(&folder)?;
    for (name, platform) in [("resnet.rocm", Platform::Rocm), ("resnet.cuda", Platform::Cuda)] {
        let json = resnet::training(platform, STEPS).json();
        let path = folder.join(format!("{name}.json.gz"));
        fs::write(&path, packed(&json)?)?;
        writeln!(std::io::stdout(), "{}: {} bytes of JSON", path.display(), json.len())?;
    }
    Ok(())
}

/// Gzip without a name or a time, so that equal text gives equal bytes.
fn packed(text: &str) -> Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
