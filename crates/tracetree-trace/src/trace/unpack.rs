//! Reads all bytes of any source, and decompresses gzip or zstd data. This module is used for files
//! that are not traces.

use super::zstd::{self, Zstd};
use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// The first bytes of every gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Returns whether the source is compressed, and its decompressed bytes. Reads at most `most` + 1
/// decompressed bytes. If the result is longer than `most` bytes, the source exceeds the limit.
pub fn unpack(source: impl Read, most: u64) -> (bool, io::Result<Vec<u8>>) {
    let mut source = BufReader::new(source);
    let (is_gzip, is_zstd) = match source.fill_buf() {
        Ok(start) => (start.starts_with(&GZIP_MAGIC), start.starts_with(&zstd::MAGIC)),
        Err(error) => return (false, Err(error)),
    };
    let bytes = match (is_gzip, is_zstd) {
        (true, _) => read_all(MultiGzDecoder::new(source), most),
        (_, true) => Zstd::with_buffer(source).and_then(|source| read_all(source, most)),
        _ => read_all(source, most),
    };
    (is_gzip || is_zstd, bytes)
}

fn read_all(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
