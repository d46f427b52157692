//! A path → its unpacked bytes: plain or gzip, told apart by the first bytes and not by the name.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{Error, ErrorKind, Place, Result};

/// Largest unpacked input, in bytes. A model's trace of a 64-layer model has 3 MB; two gigabytes
/// keep a compressed bomb from taking the machine's memory.
const MAX_BYTES: u64 = 2 << 30;

/// The first bytes of every gzip member.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// All bytes of the file at `path`, unpacked. `what` names it in errors (`model's trace`).
///
/// # Errors
/// A file that cannot be opened or read, a damaged gzip stream, more than two gigabytes.
pub(crate) fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io(path, &format!("open the {what}"), e))?;
    let mut file = BufReader::new(file);
    let start = file.fill_buf().map_err(|e| Error::io(path, &format!("read the {what}"), e))?;
    if start.starts_with(&GZIP_MAGIC) {
        read_all(MultiGzDecoder::new(file)).map_err(|e| damaged(path, what, &e))
    } else {
        read_all(file).map_err(|e| Error::io(path, &format!("read the {what}"), e))
    }
    .and_then(|bytes| within_limit(bytes, path, what))
}

fn read_all(source: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn damaged(path: &Path, what: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Malformed, path, format!("cannot unpack the {what}: {error}"))
        .remedy("the gzip file is cut off or damaged, copy it again")
}

fn within_limit(bytes: Vec<u8>, path: &Path, what: &str) -> Result<Vec<u8>> {
    if bytes.len() as u64 <= MAX_BYTES {
        return Ok(bytes);
    }
    let message = format!("the {what} is larger than {MAX_BYTES} bytes when unpacked");
    Err(Error::new(ErrorKind::LimitExceeded, path, message)
        .remedy("write a trace of fewer forward passes"))
}

/// The place of a line and column, both counted from 1, as JSON and YAML parsers report them.
pub(crate) fn place(bytes: &[u8], line: usize, column: usize) -> Place {
    let line_start = match line.checked_sub(2) {
        None => 0,
        Some(breaks) => {
            let mut newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
            newlines.nth(breaks).map_or(bytes.len(), |(at, _)| at + 1)
        }
    };
    let offset = (line_start + column.saturating_sub(1)).min(bytes.len());
    Place { offset: offset as u64, event: None }
}

/// Longest text of a file that stands in a message, in characters.
const LONGEST: usize = 80;

/// Most names of a file that stand in one message.
const LISTED: usize = 60;

/// Text of a file for a message, in backquotes, short and on one line.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", one_line(text))
}

/// Names of a file for a message, with commas between them.
pub(crate) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> =
        names.by_ref().take(LISTED).map(|name| one_line(name.as_ref())).collect();
    match names.count() {
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    shown.join(", ")
}

/// Control characters become blanks, and the text is cut after [`LONGEST`].
fn one_line(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = chars.by_ref().take(LONGEST).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_column_become_a_byte_offset() {
        let text = b"ab\ncde\nf";
        assert_eq!(place(text, 1, 2).offset, 1);
        assert_eq!(place(text, 2, 1).offset, 3);
        assert_eq!(place(text, 3, 1).offset, 7);
        assert_eq!(place(text, 9, 9).offset, 8);
    }

    #[test]
    fn quoted_text_is_one_short_line() {
        assert_eq!(quoted("a\tb\nc"), "`a b c`");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), 83);
    }
}
