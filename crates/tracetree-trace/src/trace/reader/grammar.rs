//! Checks whether tokens follow each other as JSON requires.
//!
//! The walk over the events is lenient and continues wherever the meaning is clear. The check in
//! this module is strict: it reports whether the text is JSON, so that repairs can be counted.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    OpenObject,
    OpenList,
    CloseObject,
    CloseList,
    Comma,
    Colon,
    Text,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

/// The tokens that may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expects {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    Colon,
    CommaOrEnd,
}

/// Maximum nesting depth that the check supports. Values that are nested more deeply are rejected
/// before the check.
const MAX_DEPTH: usize = 1024;

/// The state of the grammar check of one value.
#[derive(Debug, Clone)]
pub(super) struct Grammar {
    /// One bit for each unclosed object or list; the bit is set for an object.
    objects: [u64; MAX_DEPTH / 64],
    depth: usize,
    expects: Expects,
}

impl Grammar {
    /// The state before the first token.
    pub(super) fn new() -> Self {
        Grammar { objects: [0; MAX_DEPTH / 64], depth: 0, expects: Expects::Value }
    }

    /// Whether the token is allowed after the previous tokens. After the first token that is not
    /// allowed, the result is meaningless.
    pub(super) fn allows(&mut self, token: Token) -> bool {
        use Expects::{Colon, CommaOrEnd, Key, KeyOrEnd, Value, ValueOrEnd};
        let expects = self.expects;
        let is_value = matches!(expects, Value | ValueOrEnd);
        let may_open = is_value && self.depth < MAX_DEPTH;
        let is_behind_value = expects == CommaOrEnd && self.depth > 0;
        let next = match token {
            Token::OpenObject if may_open => self.open(1),
            Token::OpenList if may_open => self.open(0),
            Token::Text | Token::Scalar if is_value => CommaOrEnd,
            Token::Text if matches!(expects, Key | KeyOrEnd) => Colon,
            Token::Colon if expects == Colon => Value,
            Token::Comma if is_behind_value && self.is_in_object() => Key,
            Token::Comma if is_behind_value => Value,
            Token::CloseObject if expects == KeyOrEnd => self.close(),
            Token::CloseList if expects == ValueOrEnd => self.close(),
            Token::CloseObject if is_behind_value && self.is_in_object() => self.close(),
            Token::CloseList if is_behind_value && !self.is_in_object() => self.close(),
            Token::OpenObject
            | Token::OpenList
            | Token::CloseObject
            | Token::CloseList
            | Token::Comma
            | Token::Colon
            | Token::Text
            | Token::Scalar => return false,
        };
        self.expects = next;
        true
    }

    /// Whether the tokens so far form exactly one whole value.
    pub(super) fn is_complete(&self) -> bool {
        self.depth == 0 && self.expects == Expects::CommaOrEnd
    }

    fn is_in_object(&self) -> bool {
        let innermost = self.depth - 1;
        self.objects[innermost / 64] >> (innermost % 64) & 1 == 1
    }

    fn open(&mut self, is_object: u64) -> Expects {
        let bit = self.depth % 64;
        let word = &mut self.objects[self.depth / 64];
        *word = *word & !(1 << bit) | is_object << bit;
        self.depth += 1;
        if is_object == 1 { Expects::KeyOrEnd } else { Expects::ValueOrEnd }
    }

    fn close(&mut self) -> Expects {
        self.depth -= 1;
        Expects::CommaOrEnd
    }
}

/// Whether a scalar is a JSON number, `true`, `false` or `null`.
pub(super) fn is_scalar(text: &[u8]) -> bool {
    matches!(text, b"true" | b"false" | b"null") || is_number(text)
}

/// Whether a string is a JSON number; `020`, `20.`, `.5`, `+1` and `0x14` are not.
fn is_number(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, rest) = digits(text);
    if whole.is_empty() || (whole.len() > 1 && whole[0] == b'0') {
        return false;
    }
    let rest = match rest {
        [b'.', rest @ ..] => match digits(rest) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        _ => rest,
    };
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', power @ ..] | [b'e' | b'E', power @ ..] => {
            matches!(digits(power), ([_, ..], []))
        }
        _ => false,
    }
}

/// Splits a string into the leading digits and the rest.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_json() {
        for good in ["0", "-1", "20", "1.5", "0.25", "1e5", "1E-05", "-0.0e+1"] {
            assert!(is_number(good.as_bytes()), "{good}");
        }
        for bad in ["", "-", "020", "20.", ".5", "+1", "0x14", "20x", "1e", "1.e5", "1.2.3", "NaN"]
        {
            assert!(!is_number(bad.as_bytes()), "{bad}");
        }
    }
}
