//! Text and the positions of its structure → keys and values, one after the other.
//!
//! Nothing is allocated or decoded here: values are slices of the text. Every token is checked
//! against the grammar, because a quote that is not escaped turns what is text and what is not
//! around, and the first odd token is the only sign of it.

/// Values nest at most this deep; a gigabyte of `[` is refused after that many.
const MAX_DEPTH: u32 = 512;

/// Why the cursor cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The text ends before the value does.
    Incomplete,
    /// The text is not JSON here.
    Broken,
    /// Values nest deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// A value, as it stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Value<'a> {
    /// There is none.
    #[default]
    Absent,
    /// What stands between two quotes.
    Text(&'a [u8]),
    /// A number, `true`, `false`, or a word that JSON does not know.
    Scalar(&'a [u8]),
    /// An object or a list, with its brackets.
    Composite(&'a [u8]),
    /// `null`.
    Null,
}

impl<'a> Value<'a> {
    /// The bytes of a text or scalar.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Text(bytes) | Value::Scalar(bytes) => Some(bytes),
            Value::Absent | Value::Composite(_) | Value::Null => None,
        }
    }
}

/// A place in indexed text.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    index: &'a [u32],
    at: usize,
    bare_words: u32,
}

impl<'a> Cursor<'a> {
    /// A cursor at the first position of `index` that is not before `from`.
    pub(super) fn new(text: &'a [u8], index: &'a [u32], from: usize) -> Self {
        let at = index.partition_point(|&position| (position as usize) < from);
        Cursor {
            text,
            index,
            at,
            bare_words: 0,
        }
    }

    /// Position of the next token in the text.
    #[inline]
    pub(super) fn position(&self) -> Result<usize, Stop> {
        self.index
            .get(self.at)
            .map(|&position| position as usize)
            .ok_or(Stop::Incomplete)
    }

    /// Where the text starts that no token before the next one needs.
    pub(super) fn consumed(&self) -> usize {
        match self.index.get(self.at) {
            Some(&position) => position as usize,
            // A string or number is only read with the token after it, so the last one is a byte.
            None => self.index[self.at - 1] as usize + 1,
        }
    }

    /// First byte of the next token.
    #[inline]
    pub(super) fn peek(&self) -> Result<u8, Stop> {
        Ok(self.text[self.position()?])
    }

    /// Steps over a token of one byte.
    #[inline]
    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    /// Steps over `byte` if it is next.
    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    /// Words that JSON does not know, since the last call.
    pub(super) fn take_bare_words(&mut self) -> u32 {
        std::mem::take(&mut self.bare_words)
    }

    /// The next token as the key of an object, with its colon.
    #[inline]
    pub(super) fn key(&mut self) -> Result<&'a [u8], Stop> {
        if self.peek()? != b'"' {
            return Err(Stop::Broken);
        }
        let key = self.string()?;
        if self.eat(b':')? {
            Ok(key)
        } else {
            Err(Stop::Broken)
        }
    }

    /// The next value.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Value<'a>, Stop> {
        let start = self.position()?;
        match self.text[start] {
            b'"' => Ok(Value::Text(self.string()?)),
            b'{' | b'[' => {
                self.skip_nested()?;
                let end = self.index[self.at - 1] as usize;
                Ok(Value::Composite(&self.text[start..=end]))
            }
            b'}' | b']' | b',' | b':' => Err(Stop::Broken),
            _ => self.scalar(),
        }
    }

    /// Steps over the next value.
    #[inline]
    pub(super) fn skip(&mut self) -> Result<(), Stop> {
        self.value().map(|_| ())
    }

    /// The content of the string that starts at the next token. The token after it bounds it.
    #[inline]
    fn string(&mut self) -> Result<&'a [u8], Stop> {
        let start = self.position()? + 1;
        self.at += 1;
        let end = self.blanks_before(self.position()?);
        match self.text[..end].last() {
            Some(b'"') if end > start => Ok(&self.text[start..end - 1]),
            _ => Err(Stop::Broken),
        }
    }

    #[inline]
    fn scalar(&mut self) -> Result<Value<'a>, Stop> {
        let start = self.position()?;
        self.at += 1;
        let end = self.blanks_before(self.position()?);
        let scalar = &self.text[start..end];
        match scalar {
            [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..] | b"true" | b"false" => {
                Ok(Value::Scalar(scalar))
            }
            b"null" => Ok(Value::Null),
            _ => {
                self.bare_words += 1;
                Ok(Value::Scalar(scalar))
            }
        }
    }

    /// Where the blanks before `end` start.
    #[inline]
    fn blanks_before(&self, mut end: usize) -> usize {
        while matches!(self.text[end - 1], b' ' | b'\n' | b'\r' | b'\t') {
            end -= 1;
        }
        end
    }

    /// Steps over an object or list, however deep, without recursion.
    fn skip_nested(&mut self) -> Result<(), Stop> {
        let mut depth = 0;
        loop {
            match self.peek()? {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b',' | b':' => {}
                _ => {
                    self.skip_leaf()?;
                    continue;
                }
            }
            self.at += 1;
            match depth {
                0 => return Ok(()),
                1..=MAX_DEPTH => {}
                _ => return Err(Stop::TooDeep),
            }
        }
    }

    /// Steps over a string or scalar inside a value; what follows must end it.
    #[inline]
    fn skip_leaf(&mut self) -> Result<(), Stop> {
        match self.peek()? {
            b'"' => drop(self.string()?),
            _ => drop(self.scalar()?),
        }
        match self.peek()? {
            b',' | b'}' | b']' | b':' => Ok(()),
            _ => Err(Stop::Broken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::index_scalar;
    use super::*;

    fn with_cursor<T>(text: &str, run: impl FnOnce(Cursor<'_>) -> T) -> T {
        let mut index = Vec::new();
        index_scalar(text.as_bytes(), &mut index);
        run(Cursor::new(text.as_bytes(), &index, 0))
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
            assert!(cursor.skip().is_ok());
            assert_eq!(cursor.take_bare_words(), 3);
        });
    }

    #[test]
    fn an_unescaped_quote_is_broken() {
        for text in [r#"["say "hi"", 1]"#, r#"["a" "b"]"#, r#"["a"b]"#] {
            assert_eq!(
                with_cursor(text, |mut cursor| cursor.skip()),
                Err(Stop::Broken),
                "{text}"
            );
        }
    }

    #[test]
    fn nesting_is_bounded_and_cut_text_is_incomplete() {
        assert_eq!(
            with_cursor(&"[".repeat(10_000), |mut c| c.skip()),
            Err(Stop::TooDeep)
        );
        assert_eq!(
            with_cursor(&"[".repeat(100), |mut c| c.skip()),
            Err(Stop::Incomplete)
        );
        assert_eq!(
            with_cursor("[\"abc", |mut c| c.skip()),
            Err(Stop::Incomplete)
        );
    }
}
