//! Escapes control characters in untrusted text. No other module escapes control characters.
//!
//! The names, paths, versions and devices that reports show come from files of unknown origin. In a string from an
//! untrusted file, a line break could start a separate log line (`::error::` is a command in GitHub workflows), an
//! escape sequence could clear the screen, and a bidirectional control character could hide the text that follows.
//! Control characters are escaped as in JSON (`\\n`, `\\u001b`), so inside a JSON string, the escaped text still
//! represents the original characters.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Returns a string on one line, with control characters, line separators and bidirectional control characters escaped.
pub fn one_line(text: &str) -> Cow<'_, str> {
    // All bytes are checked, because a vectorized check of every byte is faster than a loop that exits early.
    let is_plain = text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(is_disruptive) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text, is_disruptive))
}

/// Makes a single-line string for a CSV cell. A string that a spreadsheet would evaluate as a formula gets a leading
/// `'`; numbers are left unchanged.
pub fn cell(text: &str) -> Cow<'_, str> {
    // Spreadsheets ignore blanks before a formula.
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    if is_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{}", one_line(text)))
    } else {
        one_line(text)
    }
}

/// Escapes a string for an element or an attribute of HTML, XML or SVG, on one line.
pub fn markup(text: &str) -> String {
    one_line(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Escapes control characters in multi-line JSON or markup; newlines and tabs are kept. `serde_json` escapes only ASCII
/// control characters. In HTML pages, only this function escapes the other control characters.
pub fn in_json(text: &str) -> Cow<'_, str> {
    let acts = |letter: char| is_disruptive(letter) && !matches!(letter, '\n' | '\t');
    let is_plain = text.bytes().fold(true, |all, byte| all & matches!(byte, b'\n' | b' '..=b'~'));
    if is_plain || !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(escaped(text, acts))
}

/// Quotes a string as one word for a shell, on one line.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/+-:@=,%".contains(c);
    let text = one_line(text);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn escaped(text: &str, acts: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if acts(letter) { push_escape(&mut shown, letter) } else { shown.push(letter) }
    }
    shown
}

/// A writer for JSON or HTML that escapes control characters in the same way as [`in_json`]. No character is split
/// between two writes, because `serde_json` and `write!` write whole characters. Invalid UTF-8 passes through
/// unchanged.
pub struct JsonWriter<'w>(pub &'w mut dyn Write);

impl Write for JsonWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match str::from_utf8(bytes).map(in_json) {
            Ok(Cow::Owned(shown)) => self.0.write_all(shown.as_bytes())?,
            Ok(Cow::Borrowed(_)) | Err(_) => self.0.write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether a character has an effect other than being displayed.
pub fn is_disruptive(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}')
        || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends the escape sequence of a character in the basic multilingual plane.
pub fn push_escape(shown: &mut String, letter: char) {
    match letter {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        // Writing to a `String` cannot fail.
        _ => drop(write!(shown, "\\u{:04x}", u32::from(letter))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_as_one_word_for_a_shell() {
        assert_eq!(shell_word("a/b-c_1.json.gz"), "a/b-c_1.json.gz");
        assert_eq!(shell_word("my trace.json"), "'my trace.json'");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }

    #[test]
    fn names_cannot_end_an_element_or_an_attribute() {
        assert_eq!(markup("<a>&\"\n"), "&lt;a&gt;&amp;&quot;\\n");
    }

    #[test]
    fn a_name_cannot_act_on_a_terminal_or_a_log() {
        assert_eq!(one_line("a\u{1b}[31m\nb\u{202e}c"), "a\\u001b[31m\\nb\\u202ec");
        assert_eq!(one_line("a\tb\r\u{9b}\u{7f}"), "a\\tb\\r\\u009b\\u007f");
        assert_eq!(one_line("ядро ✓"), "ядро ✓");
    }

    #[test]
    fn a_cell_is_never_a_formula_and_numbers_are_unchanged() {
        for (text, expected) in
            [("=1+1", "'=1+1"), ("\t@a", "'\\t@a"), ("-a", "'-a"), ("-1.5", "-1.5"), ("a=b", "a=b")]
        {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn escaped_text_is_the_same_text_in_json() {
        let text = "a\u{1b}\n\t\u{9b}\u{202e}\u{feff}";
        let read: String = serde_json::from_str(&format!("\"{}\"", one_line(text))).expect("JSON");
        assert_eq!(read, text);
    }

    #[test]
    fn no_character_of_a_json_file_acts_and_it_means_the_same() {
        let value = vec!["a\u{1b}\n\u{9b}31m\u{202e}b", "ядро ✓"];
        let mut written = Vec::new();
        serde_json::to_writer_pretty(JsonWriter(&mut written), &value).expect("written");
        let text = String::from_utf8(written).expect("text");
        assert!(text.contains("\\u009b31m\\u202eb") && text.contains("ядро ✓"), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).expect("JSON"), value);
    }
}
