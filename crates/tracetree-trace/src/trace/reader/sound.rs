//! Finds the JSON violations in the text of one element of `traceEvents`.
//!
//! If an event was read with the index, this module checks its text a second time. The check covers
//! the whole event, including strings and numbers that the trace does not store. Damage in such a
//! string may be the only evidence of lost events. For example, if a hole in the file starts in one
//! string and ends in another, all events between the two strings are lost.

use super::decode;
use super::grammar::{Grammar, Token, is_scalar};
use super::known::{behind_blanks, string_end};

/// Minimum number of consecutive bytes 0x00 or 0xFF that are treated as a hole in the file instead
/// of text. A single zero byte may be text: names come from C, where a zero byte ends a name, so a
/// name that was damaged in memory may contain one.
const HOLE: usize = 8;

/// The number of strings with each kind of damage, and whether the text outside of strings is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Faults {
    /// Number of strings with bytes below 0x20.
    pub(super) controls: u32,
    /// Number of strings that are not UTF-8.
    pub(super) not_utf8: u32,
    /// Number of strings with an escape that JSON does not define.
    pub(super) escapes: u32,
    /// Whether brackets, commas, colons, numbers or words violate the JSON grammar.
    pub(super) is_broken: bool,
    /// Whether the text contains a hole (see [`has_hole`]).
    pub(super) has_hole: bool,
}

impl Faults {
    /// Whether the text is valid JSON.
    pub(super) fn is_none(&self) -> bool {
        *self == Faults::default()
    }

    /// Adds the faults in a string.
    pub(super) fn add_string(&mut self, content: &[u8]) {
        self.controls += u32::from(content.iter().any(|&byte| byte < 0x20));
        self.not_utf8 += u32::from(std::str::from_utf8(content).is_err());
        self.escapes += u32::from(decode::has_unknown_escape(content));
        self.has_hole |= has_hole(content);
    }

    /// Checks the string whose content starts at `start`; returns the position of the quote that
    /// closes it.
    fn string(&mut self, text: &[u8], start: usize) -> usize {
        match string_end(text, start) {
            Some(end) => end,
            None => {
                let end = decode::string_end(text, start);
                self.add_string(&text[start..end]);
                end
            }
        }
    }
}

/// Finds all JSON violations in the text of one JSON value.
pub(super) fn faults(text: &[u8]) -> Faults {
    let mut faults = Faults::default();
    let mut grammar = Grammar::new();
    let mut at = 0;
    while let Some(start) = behind_blanks(text, at) {
        let token = token(text[start]);
        at = match token {
            Token::Text => faults.string(text, start + 1) + 1,
            Token::Scalar => {
                let end = start + scalar_length(&text[start..]);
                faults.is_broken |= !is_scalar(&text[start..end]);
                end
            }
            Token::OpenObject
            | Token::OpenList
            | Token::CloseObject
            | Token::CloseList
            | Token::Comma
            | Token::Colon => start + 1,
        };
        faults.is_broken |= faults.is_broken || !grammar.allows(token);
    }
    faults.is_broken |= !grammar.is_complete();
    faults
}

/// The kind of a token, determined by its first byte.
pub(super) fn token(first: u8) -> Token {
    match first {
        b'{' => Token::OpenObject,
        b'[' => Token::OpenList,
        b'}' => Token::CloseObject,
        b']' => Token::CloseList,
        b',' => Token::Comma,
        b':' => Token::Colon,
        b'"' => Token::Text,
        _ => Token::Scalar,
    }
}

/// Whether the text contains a hole: [`HOLE`] consecutive bytes 0x00 or 0xFF.
pub(super) fn has_hole(text: &[u8]) -> bool {
    let mut run = 0;
    text.iter().any(|&byte| {
        run = if matches!(byte, 0 | 0xff) { run + 1 } else { 0 };
        run == HOLE
    })
}

/// Length of the scalar (number or word) at the beginning of `text`.
fn scalar_length(text: &[u8]) -> usize {
    let ends = |byte: &u8| {
        matches!(
            byte,
            b'{' | b'}' | b'[' | b']' | b',' | b':' | b'"' | b' ' | b'\n' | b'\r' | b'\t'
        )
    };
    text.iter().position(ends).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_has_no_faults() {
        for text in [
            r#"{"a": [1, -2.5e3, {}], "b": {"c": null, "d": []}, "e": "x\"\u0041\n", "f": true}"#,
            "[]",
            "{ }",
            "\"\u{fc}\"",
            "7",
        ] {
            assert!(faults(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn text_that_serde_refuses_has_faults() {
        for text in [
            "{1]",
            "020",
            "20.",
            "20x",
            "0x14",
            "[1,]",
            "[,1]",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "[1:2]",
            "{1:2}",
            "[}",
            "{]",
            "[1}",
            "NaN",
            "[",
            "{},",
            "",
            "{\"a\",1}",
            "\"a\\x\"",
            "\"a\tb\"",
            "\"\\u12\"",
        ] {
            assert!(!faults(text.as_bytes()).is_none(), "{text}");
            assert!(serde_json::from_str::<serde_json::Value>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_are_counted_by_their_damage() {
        let faults = faults(b"[\"a\x01\", \"\xff\", \"\\c\", \"ok\", \"\x02\"]");
        assert_eq!((faults.controls, faults.not_utf8, faults.escapes), (2, 1, 1));
        assert!(!faults.is_broken && !faults.has_hole);
    }

    #[test]
    fn zero_bytes_in_a_row_are_a_hole_and_a_few_are_not() {
        assert!(!has_hole(b"kern\0\0el\0\0\0\0\0"));
        assert!(has_hole(b"kern\0\0\0\0\0\0\0\0el"));
    }
}
