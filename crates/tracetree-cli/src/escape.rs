//! Escapes characters in the program's output that could control a terminal or a CI log.
//!
//! Code that prints a name from a trace already escapes the name. As a second safeguard, this module escapes the whole
//! output of every command in every format, whether the output goes to a terminal, a pipe or a file. CI systems execute
//! some log lines as commands: GitHub executes lines that start with `::`, and Azure executes lines that contain `##[`
//! anywhere.

use std::io::{self, Write};
use tracetree::escape::{is_disruptive, push_escape};

/// This program prints style sequences (`ESC [ … m`) only with these parameters. All other escape sequences in the
/// output are escaped.
const STYLES: [&[u8]; 10] = [b"", b"0", b"1", b"2", b"4", b"31", b"32", b"33", b"34", b"36"];

/// Maximum length of a style sequence that this program prints.
const LONGEST: usize = 8;

/// A writer that escapes the text written to it.
pub(super) struct Escaping<W: Write> {
    inner: W,
    /// The bytes of a character or style sequence that is not complete yet. They are kept until the remaining bytes
    /// arrive.
    rest: Vec<u8>,
    place: Place,
}

/// The state of the current output line, which determines whether the next character must be escaped.
struct Place {
    /// Whether the current line contains only blanks so far.
    is_start: bool,
    /// Number of consecutive `#` characters at the end of the current line.
    hashes: usize,
    /// Whether lines that start with `::` are written unchanged, because the program writes them as CI commands on
    /// purpose.
    has_commands: bool,
}

impl<W: Write> Escaping<W> {
    pub(super) fn new(inner: W) -> Self {
        let place = Place { is_start: true, hashes: 0, has_commands: false };
        Escaping { inner, rest: Vec::new(), place }
    }

    /// From now on, writes lines that start with `::` unchanged, because this program writes them as commands.
    pub(super) fn pass_commands(&mut self) {
        self.place.has_commands = true;
    }

    fn write_whole(&mut self, length: usize) -> io::Result<()> {
        let shown = self.place.escaped(&String::from_utf8_lossy(&self.rest[..length]));
        self.rest.drain(..length);
        self.inner.write_all(shown.as_bytes())
    }
}

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.rest.extend_from_slice(bytes);
        self.write_whole(self.rest.len() - open_end(&self.rest))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_whole(self.rest.len())?;
        self.inner.flush()
    }
}

impl Place {
    /// Escapes `text`, and updates the state of the current line.
    fn escaped(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let mut end_of_style = 0;
        for (at, letter) in text.char_indices() {
            if let Some(length) = style_length(&text.as_bytes()[at..]) {
                end_of_style = at + length;
            }
            if at < end_of_style { shown.push(letter) } else { self.push(&mut shown, letter) }
        }
        shown
    }

    fn push(&mut self, shown: &mut String, letter: char) {
        let is_command = match letter {
            ':' => self.is_start && !self.has_commands,
            '[' => self.hashes > 1,
            _ => false,
        };
        if is_command || (is_disruptive(letter) && !matches!(letter, '\n' | '\t')) {
            push_escape(shown, letter)
        } else {
            shown.push(letter)
        }
        self.is_start = letter == '\n' || (self.is_start && letter.is_whitespace());
        self.hashes = if letter == '#' { self.hashes + 1 } else { 0 };
    }
}

/// Number of bytes at the end of `bytes` that may be the beginning of a style sequence or character whose other bytes
/// follow later.
fn open_end(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(LONGEST)..];
    match tail.iter().rposition(|&byte| byte == 0x1b || byte >= 0xc0) {
        Some(at) if tail[at] == 0x1b && !tail[at..].contains(&b'm') => tail.len() - at,
        Some(at) if tail[at] >= 0xc0 && length(tail[at]) > tail.len() - at => tail.len() - at,
        Some(_) | None => 0,
    }
}

/// Length in bytes of the UTF-8 character whose first byte is `first`.
fn length(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

/// Length of the style sequence at the start of `text`. `None` if `text` does not start with a style sequence that this
/// program prints.
fn style_length(text: &[u8]) -> Option<usize> {
    let numbers = text.strip_prefix(b"\x1b[")?;
    let end = numbers.iter().take(LONGEST).position(|&byte| byte == b'm')?;
    let is_ours = numbers[..end].split(|&byte| byte == b';').all(|number| STYLES.contains(&number));
    is_ours.then_some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> String {
        let mut out = Escaping::new(Vec::new());
        out.write_all(text.as_bytes()).and_then(|()| out.flush()).expect("written");
        String::from_utf8(out.inner).expect("text")
    }

    #[test]
    fn control_characters_are_made_visible() {
        for (name, shown) in [
            ("\x1b[2J", "\\u001b[2J"),
            ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
            ("\x1b[8mhidden", "\\u001b[8mhidden"),
            ("a\rb", "a\\rb"),
            ("\u{9b}31m", "\\u009b31m"),
            ("\u{202e}evil", "\\u202eevil"),
            ("\u{2066}x", "\\u2066x"),
            ("\u{7f}", "\\u007f"),
        ] {
            assert_eq!(text(name), shown);
        }
    }

    #[test]
    fn no_line_is_a_command_of_a_workflow() {
        assert_eq!(text("a\n  ::error::x"), "a\n  \\u003a:error::x");
        assert_eq!(text("\x1b[1m::error::x"), "\x1b[1m\\u003a:error::x");
        assert_eq!(text("a ##[error]x # [b]"), "a ##\\u005berror]x # [b]");
        assert_eq!(text("aten::mm a[0]"), "aten::mm a[0]");
        let mut out = Escaping::new(Vec::new());
        out.pass_commands();
        out.write_all(b"::error::ours").and_then(|()| out.flush()).expect("written");
        assert_eq!(out.inner, b"::error::ours");
    }

    #[test]
    fn styles_and_ordinary_text_are_unchanged() {
        for same in ["\x1b[1m\x1b[31m+5 %\x1b[0m\n", "a\tb", "grüße 你好 😀", "│ ├── └──", ""]
        {
            assert_eq!(text(same), same);
        }
    }

    #[test]
    fn the_result_does_not_depend_on_how_the_text_is_split() {
        let name = "x\x1b[1my\x1b[2J\u{202e}z\u{9b}ü\u{1f600}##[a\n ::b\x1b";
        let expected = text(name);
        for size in 1..name.len() {
            let mut out = Escaping::new(Vec::new());
            for piece in name.as_bytes().chunks(size) {
                out.write_all(piece).expect("written");
            }
            out.flush().expect("flushed");
            assert_eq!(String::from_utf8_lossy(&out.inner), expected, "{size} bytes at once");
        }
    }
}
