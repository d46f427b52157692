//! Text of others → the same text without characters that act: the one place that escapes them.
//!
//! Names, paths, versions and devices come from files that others made. A line end in one of them could begin a
//! line of its own in a log (`::error::` is a command of GitHub's workflows), an escape sequence could clear
//! the screen, and a character that turns the direction of writing could hide what follows. Each is shown as
//! JSON writes it (`\\n`, `\\u001b`), so that it means the same inside of a JSON text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text in one line: control characters, and those that turn the direction of what follows, are escaped.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    // All bytes are looked at, many at once: that is faster than to stop at the first that is not plain.
    let is_plain = text.bytes().fold(true, |all, byte| all & matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(is_disruptive) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match is_disruptive(letter) {
            true => push_escape(&mut shown, letter),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

/// The text in one line for a cell of a CSV file: `'` goes before what a spreadsheet would compute. A number stays
/// a number.
pub(crate) fn cell(text: &str) -> Cow<'_, str> {
    // A spreadsheet skips blanks before a formula.
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']);
    match is_formula && text.parse::<f64>().is_err() {
        true => Cow::Owned(format!("'{}", one_line(text))),
        false => one_line(text),
    }
}

/// Whether a character does something else than being shown.
pub(crate) fn is_disruptive(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}')
        || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Appends the escape of a character of the first plane.
pub(crate) fn push_escape(shown: &mut String, letter: char) {
    match letter {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        // A text takes whatever is written to it.
        _ => drop(write!(shown, "\\u{:04x}", u32::from(letter))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_act_on_a_terminal_or_a_log() {
        assert_eq!(one_line("a\u{1b}[31m\nb\u{202e}c"), "a\\u001b[31m\\nb\\u202ec");
        assert_eq!(one_line("a\tb\r\u{9b}\u{7f}"), "a\\tb\\r\\u009b\\u007f");
        assert_eq!(one_line("ядро ✓"), "ядро ✓");
    }

    #[test]
    fn a_cell_is_no_formula_and_a_number_stays_one() {
        for (text, expected) in
            [("=1+1", "'=1+1"), ("\t@a", "'\\t@a"), ("-a", "'-a"), ("-1.5", "-1.5"), ("a=b", "a=b")]
        {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn what_is_escaped_is_the_same_text_in_json() {
        let text = "a\u{1b}\n\t\u{9b}\u{202e}\u{feff}";
        let read: String = serde_json::from_str(&format!("\"{}\"", one_line(text))).expect("JSON");
        assert_eq!(read, text);
    }
}
