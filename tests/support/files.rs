//! Reads and compresses trace files, and finds the folder with real traces.

use super::skipped;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The folder with real traces. If `TRACETREE_TRACES` is not set, returns `None` and prints that the test was skipped.
/// A relative path is relative to the root of the repository.
///
/// # Panics
/// Panics if `TRACETREE_TRACES` is set and names no folder: a test that should run must not be skipped.
pub fn real_traces() -> Option<PathBuf> {
    let Some(path) = std::env::var_os("TRACETREE_TRACES").filter(|path| !path.is_empty()) else {
        skipped("TRACETREE_TRACES is not set");
        return None;
    };
    let folder = super::root().join(path);
    assert!(folder.is_dir(), "TRACETREE_TRACES: {} is no folder", folder.display());
    Some(folder)
}

/// Reads a file, and decompresses it if it is a gzip file.
///
/// # Errors
/// Fails if the file cannot be read or decompressed.
pub fn unpacked(path: &Path) -> std::io::Result<Vec<u8>> {
    inflated(&fs::read(path)?)
}

/// Decompresses the bytes if they are gzip; returns other bytes unchanged.
///
/// # Errors
/// Fails if the bytes cannot be decompressed.
pub fn inflated(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.to_vec());
    }
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

/// Compresses the bytes with gzip.
pub fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).expect("writing to memory cannot fail");
    packer.finish().expect("writing to memory cannot fail")
}
