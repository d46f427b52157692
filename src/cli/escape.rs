//! Text that leaves for a terminal → the same text, without what would steer the terminal.
//!
//! Names, paths and devices come from files that others made: an escape sequence in one of them could
//! clear the screen, hide a line or change what is pasted. Into a file or a pipe every byte goes as
//! it is.

use std::borrow::Cow;
use std::io::{self, Write};

/// The styles that this program writes itself (`ESC [ … m`): those with these numbers pass.
const STYLES: [&[u8]; 9] = [b"", b"0", b"1", b"2", b"31", b"32", b"33", b"34", b"36"];

/// The longest of such sequences; what is longer is none of ours.
const LONGEST: usize = 8;

/// A writer that escapes where it leads to a terminal.
pub(super) struct Escaping<W: Write> {
    inner: W,
    is_terminal: bool,
    /// The beginning of a character or sequence whose rest was not written yet.
    rest: Vec<u8>,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(inner: W, is_terminal: bool) -> Self {
        Escaping { inner, is_terminal, rest: Vec::new() }
    }

    /// Whether it leads to a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let whole = self.rest.len() - open_end(&self.rest);
        let escaped = escaped(&self.rest[..whole]);
        self.inner.write_all(&escaped)?;
        self.rest.drain(..whole);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        self.inner.write_all(&escaped(&rest))?;
        self.inner.flush()
    }
}

/// A text as a terminal may show it.
pub(super) fn text(text: &str) -> String {
    String::from_utf8_lossy(&escaped(text.as_bytes())).into_owned()
}

/// How many bytes at the end may be the beginning of a sequence or character that is not whole.
fn open_end(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(LONGEST)..];
    match tail.iter().rposition(|&byte| byte == 0x1b || byte >= 0xc0) {
        Some(at) if tail[at] == 0x1b && !tail[at..].contains(&b'm') => tail.len() - at,
        Some(at) if tail[at] >= 0xc0 && length(tail[at]) > tail.len() - at => tail.len() - at,
        Some(_) | None => 0,
    }
}

/// How many bytes a character has that starts with this one.
fn length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

fn escaped(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let mut kept = 0;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = length(rest[0]).min(rest.len());
        if let Some(style) = style_length(rest) {
            at += style;
        } else if let Some(name) = steering(&rest[..length]) {
            out.extend_from_slice(&bytes[kept..at]);
            out.extend_from_slice(name.as_bytes());
            at += length;
            kept = at;
        } else {
            at += length;
        }
    }
    if kept == 0 {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(&bytes[kept..]);
    Cow::Owned(out)
}

/// The length of the style at the beginning, if it is one of ours.
fn style_length(text: &[u8]) -> Option<usize> {
    let numbers = text.strip_prefix(b"\x1b[")?;
    let end = numbers.iter().take(LONGEST).position(|&byte| byte == b'm')?;
    let is_ours = numbers[..end].split(|&byte| byte == b';').all(|number| STYLES.contains(&number));
    is_ours.then_some(end + 3)
}

/// What is shown for a character that steers: control characters but line ends and tabs, and those
/// that turn the direction of writing.
fn steering(character: &[u8]) -> Option<String> {
    match *character {
        [b'\n' | b'\t'] => None,
        [byte @ (..0x20 | 0x7f)] => Some(format!("\\x{byte:02x}")),
        [0xc2, byte @ 0x80..0xa0] => Some(format!("\\u{{{byte:02x}}}")),
        [0xe2, 0x80, byte @ (0x8e | 0x8f | 0xa8..=0xae)] => {
            Some(format!("\\u{{20{:02x}}}", byte & 0x3f))
        }
        [0xe2, 0x81, byte @ 0xa6..=0xa9] => Some(format!("\\u{{20{:02x}}}", 0x40 + (byte & 0x3f))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_instead() {
        for (name, shown) in [
            ("\x1b[2J", "\\x1b[2J"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\x1b[8mhidden", "\\x1b[8mhidden"),
            ("a\rb", "a\\x0db"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}evil", "\\u{202e}evil"),
            ("\u{2066}x", "\\u{2066}x"),
            ("\u{7f}", "\\x7f"),
        ] {
            assert_eq!(text(name), shown);
        }
    }

    #[test]
    fn our_styles_and_all_other_text_stay() {
        for same in ["\x1b[1m\x1b[31m+5 %\x1b[0m\n", "a\tb", "grüße 你好 😀", "│ ├── └──", ""]
        {
            assert_eq!(text(same), same);
        }
    }

    #[test]
    fn it_is_the_same_however_the_text_is_cut() {
        let name = "x\x1b[1my\x1b[2J\u{202e}z\u{9b}ü\u{1f600}\x1b";
        let expected = text(name);
        for size in 1..name.len() {
            let mut out = Escaping::new(Vec::new(), true);
            for piece in name.as_bytes().chunks(size) {
                out.write_all(piece).expect("written");
            }
            out.flush().expect("flushed");
            assert_eq!(String::from_utf8_lossy(&out.inner), expected, "{size} bytes at once");
        }
    }

    #[test]
    fn a_file_gets_the_bytes_as_they_are() {
        let mut out = Escaping::new(Vec::new(), false);
        out.write_all(b"\x1b[2J").expect("written");
        assert_eq!(out.inner, b"\x1b[2J");
    }
}
