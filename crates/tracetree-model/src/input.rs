//! Reads and decompresses a file. Gzip is detected by the first bytes of the file, not by the file name.

use std::fs::File;
use std::path::Path;
use tracetree_trace::error::{Error, ErrorKind, Place, Result};
use tracetree_trace::escape;
use tracetree_trace::trace::{ReadOptions, unpack};

/// Maximum size of a decompressed input, in bytes. The limit prevents a decompression bomb from exhausting memory;
/// for comparison, the trace of a 64-layer model takes 3 MB.
const MAX_BYTES: u64 = 256 << 20;

/// Reads and decompresses the file at `path`. `what` describes the file in error messages, for example `model's trace`.
///
/// # Errors
/// Fails if the file cannot be opened or read, if compressed data is damaged, or if the decompressed file exceeds 256
/// MiB.
pub(crate) fn read(path: &Path, what: &str) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|e| Error::io(path, &format!("open the {what}"), e))?;
    let options = ReadOptions::default().max_unpacked(MAX_BYTES);
    unpack(&path.display().to_string(), file, &options).map_err(|error| {
        if error.kind() == ErrorKind::LimitExceeded {
            let message = format!("the {what} unpacks to more than {MAX_BYTES} bytes");
            Error::new(ErrorKind::LimitExceeded, path, message)
                .remedy("write a trace with fewer forward passes")
        } else if error.kind() == ErrorKind::Malformed {
            let message = format!("cannot unpack the {what}: {}", error.message());
            Error::new(ErrorKind::Malformed, path, message)
                .remedy("the file is truncated or damaged; copy the file again")
        } else {
            error
        }
    })
}

/// Converts a line and column, as reported by JSON and YAML parsers, to a byte offset. Lines and columns are
/// counted from 1.
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

/// Maximum length of a quoted string in a message, in characters.
const LONGEST: usize = 80;

/// Maximum number of names in one message.
const LISTED: usize = 60;

/// Quotes a string from a file in a message: in backquotes, truncated, and on one line.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", short(text))
}

/// Formats names from a file as a comma-separated list for a message.
pub(crate) fn listed(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut names = names.into_iter();
    let mut shown: Vec<String> =
        names.by_ref().take(LISTED).map(|name| short(name.as_ref())).collect();
    match names.count() {
        0 => {}
        more => shown.push(format!("{more} more")),
    }
    shown.join(", ")
}

/// Puts a string on one line, and truncates it after [`LONGEST`] characters.
fn short(text: &str) -> String {
    let line = escape::one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.into_owned(),
    }
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
        assert_eq!(quoted("a\tb\nc"), "`a\\tb\\nc`");
        assert_eq!(quoted(&"x".repeat(500)).chars().count(), 83);
    }
}
