//! Walks over indexed text and returns the keys and values in order.
//!
//! The cursor allocates and decodes nothing: values are slices of the text. Every token is checked
//! against the JSON grammar. If a quote inside a string is not escaped, all text after it is
//! misread: text outside of strings is read as strings, and vice versa. Only an irregular token
//! reveals this error.

mod skip;

/// Why the cursor cannot continue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text ends before the value does.
    Incomplete,
    /// The text at this point is not JSON.
    Broken,
    /// Values are nested too deeply.
    TooDeep,
}

/// A value as it is written in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Value<'a> {
    #[default]
    Absent,
    /// The content of a string without its quotes.
    Text(&'a [u8]),
    /// A number, `true`, `false`, or a word that JSON does not define.
    Scalar(&'a [u8]),
    /// An object or list, including its brackets.
    Composite(&'a [u8]),
    Null,
}

impl<'a> Value<'a> {
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Text(bytes) | Value::Scalar(bytes) => Some(bytes),
            Value::Absent | Value::Composite(_) | Value::Null => None,
        }
    }
}

/// A position in indexed text.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    index: &'a [u32],
    at: usize,
    bare_words: u32,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor at the first token of the text.
    pub(super) fn new(text: &'a [u8], index: &'a [u32]) -> Self {
        Cursor { text, index, at: 0, bare_words: 0 }
    }

    /// Position of the next token in the text.
    #[inline]
    pub(super) fn position(&self) -> Result<usize, Stop> {
        self.index.get(self.at).map(|&position| position as usize).ok_or(Stop::Incomplete)
    }

    /// Position up to which all text was consumed: the start of the next token or, if no token
    /// follows, the end of the last token.
    pub(super) fn consumed(&self) -> usize {
        match self.index.get(self.at) {
            Some(&position) => position as usize,
            // There is no next token. A string or number is read only if the next token is known,
            // so the last consumed token must be one byte long.
            None => self.passed(),
        }
    }

    /// The position after the last token. Call this function only if the last token is one byte
    /// long.
    pub(super) fn passed(&self) -> usize {
        self.index[self.at - 1] as usize + 1
    }

    /// First byte of the next token.
    #[inline]
    pub(super) fn peek(&self) -> Result<u8, Stop> {
        Ok(self.text[self.position()?])
    }

    /// Skips a token of one byte.
    #[inline]
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Skips the next token if that token is `byte`; returns whether the token was skipped.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    /// Number of unquoted words that JSON does not define, such as `NaN`, that were read since the
    /// last call of this function.
    pub(super) fn take_bare_words(&mut self) -> u32 {
        std::mem::take(&mut self.bare_words)
    }

    /// Reads the next token as the key of an object, including its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Result<&'a [u8], Stop> {
        let &[quote, colon] = self.next_two()?;
        if self.text[quote as usize] != b'"' || self.text[colon as usize] != b':' {
            return Err(Stop::Broken);
        }
        self.at += 2;
        self.string_between(quote, colon)
    }

    /// Reads the next value of an object or list.
    // This function is always inlined. Without inlining, a `Value` is returned through memory: it
    // is written in chunks of one size and read in chunks of a different size. The resulting stall
    // took 40% of the time for reading an event.
    #[inline(always)]
    pub(super) fn value(&mut self) -> Result<Value<'a>, Stop> {
        let &[start, next] = self.next_two()?;
        match self.text[start as usize] {
            b'"' => {
                self.at += 1;
                Ok(Value::Text(self.string_between(start, next)?))
            }
            b'0'..=b'9' => {
                self.at += 1;
                Ok(Value::Scalar(self.scalar_between(start, next)))
            }
            b'{' | b'[' => {
                let end = self.skip_composite()?;
                Ok(Value::Composite(&self.text[start as usize..end]))
            }
            b'}' | b']' | b',' | b':' => Err(Stop::Broken),
            _ => {
                self.at += 1;
                let word = self.scalar_between(start, next);
                Ok(if self.is_null(word) { Value::Null } else { Value::Scalar(word) })
            }
        }
    }

    /// Moves from a member of an object to the key of the next member or, if there is none, past
    /// the end of the object. Returns whether the object ended. Counts superfluous commas.
    #[inline]
    pub(super) fn members_end(&mut self, extra_commas: &mut u32) -> Result<bool, Stop> {
        let mut commas = 0;
        loop {
            match self.peek()? {
                b',' => commas += 1,
                b'"' if commas > 0 => {
                    *extra_commas += commas - 1;
                    return Ok(false);
                }
                b'}' => {
                    self.at += 1;
                    *extra_commas += commas;
                    return Ok(true);
                }
                _ => return Err(Stop::Broken),
            }
            self.at += 1;
        }
    }

    #[inline]
    fn next_two(&self) -> Result<&[u32; 2], Stop> {
        self.index.get(self.at..).and_then(<[u32]>::first_chunk).ok_or(Stop::Incomplete)
    }

    /// The content of the string that starts at `quote`; `next` is the token after the string.
    #[inline]
    fn string_between(&self, quote: u32, next: u32) -> Result<&'a [u8], Stop> {
        match self.scalar_between(quote, next) {
            [b'"', content @ .., b'"'] => Ok(content),
            _ => Err(Stop::Broken),
        }
    }

    /// The text from `start` to `next`, without the blanks before `next`.
    #[inline]
    fn scalar_between(&self, start: u32, next: u32) -> &'a [u8] {
        let mut text = &self.text[start as usize..next as usize];
        while let [rest @ .., b' ' | b'\n' | b'\r' | b'\t'] = text {
            text = rest;
        }
        text
    }

    /// Whether a scalar that does not start with a digit is `null`. Also counts the scalar if it is
    /// a word that JSON does not define.
    fn is_null(&mut self, word: &[u8]) -> bool {
        match word {
            b"null" => return true,
            [b'-', b'0'..=b'9', ..] | b"true" | b"false" => {}
            _ => self.bare_words += 1,
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::find_tokens;
    use super::*;

    fn with_cursor<T>(text: &str, run: impl FnOnce(Cursor<'_>) -> T) -> T {
        let mut index = Vec::new();
        find_tokens(text.as_bytes(), &mut index);
        run(Cursor::new(text.as_bytes(), &index))
    }

    #[test]
    fn values_are_slices_of_the_text() {
        with_cursor(
            r#"{"a" : "x\"y" , "b":[1, {"c":2}],"d": null, "e": -1.5e3 }"#,
            |mut cursor| {
                assert_eq!(cursor.eat(b'{'), Ok(true));
                let expected = [
                    (&b"a"[..], Value::Text(br#"x\"y"#)),
                    (b"b", Value::Composite(br#"[1, {"c":2}]"#)),
                    (b"d", Value::Null),
                    (b"e", Value::Scalar(b"-1.5e3")),
                ];
                for (key, value) in expected {
                    assert_eq!(cursor.key(), Ok(key));
                    assert_eq!(cursor.value(), Ok(value));
                    cursor.bump();
                }
                assert_eq!(cursor.peek(), Err(Stop::Incomplete));
                assert_eq!(cursor.take_bare_words(), 0);
            },
        );
    }

    #[test]
    fn words_that_json_does_not_know_are_counted() {
        with_cursor(r#"[NaN, -Infinity, N/A, true, 1]"#, |mut cursor| {
            assert!(cursor.value().map(drop).is_ok());
            assert_eq!(cursor.take_bare_words(), 3);
        });
    }

    #[test]
    fn an_unescaped_quote_is_broken() {
        for text in [r#"["say "hi"", 1]"#, r#"["a" "b"]"#, r#"["a"b]"#] {
            assert_eq!(
                with_cursor(text, |mut cursor| cursor.value().map(drop)),
                Err(Stop::Broken),
                "{text}"
            );
        }
    }

    #[test]
    fn nesting_is_bounded_and_cut_text_is_incomplete() {
        assert_eq!(
            with_cursor(&"[".repeat(10_000), |mut c| c.value().map(drop)),
            Err(Stop::TooDeep)
        );
        assert_eq!(
            with_cursor(&"[".repeat(100), |mut c| c.value().map(drop)),
            Err(Stop::Incomplete)
        );
        assert_eq!(with_cursor("[\"abc", |mut c| c.value().map(drop)), Err(Stop::Incomplete));
    }
}
