//! Rewrites an event with unescaped quotes as JSON.

use super::{EVENT_KEYS, member_key};

/// The quotes that may close a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Quotes that are not escaped by a backslash.
    Unescaped,
    /// All quotes, even those after a backslash, because a Windows path can end in a backslash.
    All,
}

/// The structure that directly contains a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Event,
    /// A field of an event that never contains user text, so the next quote always closes the
    /// string.
    Field,
    Args,
    List,
}

/// An event while it is being rewritten.
struct Rewriter<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    quotes: Quotes,
}

/// Returns the event with all quotes inside strings escaped, and the length of the event in `text`.
pub(super) fn rewritten(text: &[u8], quotes: Quotes) -> Option<(Vec<u8>, usize)> {
    let mut rewriter = Rewriter { text, at: 0, out: Vec::new(), quotes };
    rewriter.object(Within::Event)?;
    let used = rewriter.at;
    rewriter.skip_blanks();
    let ends_well = matches!(rewriter.peek(), None | Some(b',' | b']' | b'{'));
    ends_well.then_some((rewriter.out, used))
}

impl<'a> Rewriter<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_ascii_start().len();
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_blanks();
        (self.peek()? == byte).then(|| {
            self.at += 1;
            self.out.push(byte);
        })
    }

    /// Writes an event or the arguments of an event.
    fn object(&mut self, within: Within) -> Option<()> {
        self.take(b'{')?;
        while self.take(b'}').is_none() {
            let key = self.key()?;
            self.take(b':')?;
            self.skip_blanks();
            match self.peek()? {
                b'"' if within == Within::Event && key != b"name" => self.string(Within::Field)?,
                b'"' => self.string(within)?,
                b'{' if within == Within::Event && key == b"args" => self.object(Within::Args)?,
                b'{' | b'[' => self.nested()?,
                _ => self.scalar()?,
            }
            self.skip_blanks();
            match self.peek()? {
                b',' => self.take(b',')?,
                b'}' => {}
                _ => return None,
            }
        }
        Some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&b| b == b'"')?;
        self.out.extend_from_slice(&rest[..=length]);
        self.at += length + 1;
        Some(&rest[..length])
    }

    fn scalar(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let length =
            rest.iter().position(|b| matches!(b, b',' | b'}' | b']' | b'"' | b'{' | b'['))?;
        self.out.extend_from_slice(&rest[..length]);
        self.at += length;
        (length > 0).then_some(())
    }

    /// Writes a list, or an object inside the arguments. The values may have any type.
    fn nested(&mut self) -> Option<()> {
        let mut open = Vec::new();
        loop {
            let byte = self.peek()?;
            match byte {
                b'"' => {
                    self.string(Within::List)?;
                    continue;
                }
                b'{' => open.push(b'}'),
                b'[' => open.push(b']'),
                b'}' | b']' if open.pop() != Some(byte) => return None,
                _ => {}
            }
            self.out.push(byte);
            self.at += 1;
            if open.is_empty() {
                return Some(());
            }
        }
    }

    fn string(&mut self, within: Within) -> Option<()> {
        let start = self.at + 1;
        let mut at = start;
        while !self.closes(at, within) {
            at += 1;
            self.text.get(at)?;
        }
        self.out.push(b'"');
        escape_quotes(&self.text[start..at], &mut self.out);
        self.out.push(b'"');
        self.at = at + 1;
        Some(())
    }

    /// Whether the byte at `at` is a quote that closes a string.
    fn closes(&self, at: usize, within: Within) -> bool {
        let is_quote = self.text.get(at) == Some(&b'"');
        if !is_quote || (self.quotes == Quotes::Unescaped && self.is_escaped(at)) {
            return false;
        }
        let rest = self.text[at + 1..].trim_ascii_start();
        match (rest.first(), within) {
            (_, Within::Field) => true,
            (Some(b',' | b':' | b'}' | b']'), Within::List) => true,
            (Some(b','), Within::Event) => {
                next_key(rest).is_some_and(|key| EVENT_KEYS.contains(&key))
            }
            (Some(b','), Within::Args) => next_key(rest).is_some(),
            (Some(b'}'), Within::Event) => event_ends(rest),
            (Some(b'}'), Within::Args) => args_end(rest),
            _ => false,
        }
    }

    fn is_escaped(&self, at: usize) -> bool {
        let backslashes = self.text[..at].iter().rev().take_while(|&&b| b == b'\\').count();
        backslashes % 2 == 1
    }
}

/// The key that follows the comma at the start of `text`.
fn next_key(text: &[u8]) -> Option<&[u8]> {
    member_key(&text[1..]).flatten()
}

/// Whether the `}` at the start of `text` ends an event: true if another event, the end of the
/// list, or the end of `text` follows the `}`.
fn event_ends(text: &[u8]) -> bool {
    let rest = text[1..].trim_ascii_start();
    match rest.first() {
        None | Some(b']' | b'{') => true,
        Some(b',') => {
            matches!(rest[1..].trim_ascii_start().first(), None | Some(b'{' | b']' | b'n'))
        }
        Some(_) => false,
    }
}

/// Whether the `}` at the start of `text` ends the arguments of an event.
fn args_end(text: &[u8]) -> bool {
    let rest = text[1..].trim_ascii_start();
    match rest.first() {
        Some(b'}') => event_ends(rest),
        Some(b',') => next_key(rest).is_some_and(|key| EVENT_KEYS.contains(&key)),
        _ => false,
    }
}

/// Copies the content of a string. Escapes all unescaped quotes, and an unescaped backslash at the
/// end of the content.
fn escape_quotes(content: &[u8], out: &mut Vec<u8>) {
    let mut escaped = false;
    for &byte in content {
        if byte == b'"' && !escaped {
            out.push(b'\\');
        }
        escaped = byte == b'\\' && !escaped;
        out.push(byte);
    }
    if escaped {
        out.push(b'\\');
    }
}
