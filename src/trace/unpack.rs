//! Any source of bytes → all of its bytes, unpacked where they are gzip: for files that are no traces.

use flate2::read::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

/// The first bytes of every gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Whether a source is packed, and its bytes: at most one more than `most`, unpacked.
pub(crate) fn unpack(source: impl Read, most: u64) -> (bool, io::Result<Vec<u8>>) {
    let mut source = BufReader::new(source);
    let is_packed = match source.fill_buf() {
        Ok(start) => start.starts_with(&GZIP_MAGIC),
        Err(error) => return (false, Err(error)),
    };
    let bytes = match is_packed {
        true => read_all(MultiGzDecoder::new(source), most),
        false => read_all(source, most),
    };
    (is_packed, bytes)
}

fn read_all(source: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
