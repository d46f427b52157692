//! The text of an event that is no JSON → the event with its quotes escaped, or where to go on.
//!
//! Names of Python frames can hold quotes that the profiler did not escape:
//!
//! ```text
//! {"ph": "X", "name": "{"device": "cpu"}(12): run", "pid": 7, "args": {"Ev Idx": 3}},
//!                     └ opens               closes ┘ └ the next key of an event follows
//! ```
//!
//! So here a quote closes a string only where what follows it is the next key, or the end, of an
//! event. If that gives no event either, this one is lost. Both look no further than the next text
//! that looks like the start of an event, and find the same however much text is in memory.

/// The most text of one event that is looked at.
const REACH: usize = 64 * 1024;

/// Keys of events.
const EVENT_KEYS: [&[u8]; 16] = [
    b"ph",
    b"cat",
    b"name",
    b"pid",
    b"tid",
    b"ts",
    b"dur",
    b"args",
    b"id",
    b"bp",
    b"s",
    b"sf",
    b"tts",
    b"tdur",
    b"cname",
    b"sort_index",
];

/// Keys that stand beside `traceEvents`.
const TOP_KEYS: [&[u8]; 9] = [
    b"schemaVersion",
    b"deviceProperties",
    b"distributedInfo",
    b"traceName",
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
    b"otherData",
    b"metadata",
    b"trace_id",
];

/// How long the broken element at the beginning of `text` is: where the next event starts, or the
/// list of them ends. All of `text` if nothing follows (`at_end`); `None` if more is needed to tell.
pub(super) fn extent(text: &[u8], at_end: bool) -> Option<usize> {
    for at in 1..text.len() {
        let found = match text[at] {
            b'{' => starts_event(text, at),
            b']' => ends_list(&text[at..], at_end),
            _ => Some(false),
        };
        match found {
            Some(true) => return Some(at),
            None if !at_end => return None,
            Some(false) | None => {}
        }
    }
    at_end.then_some(text.len())
}

/// The event in `text` with all quotes inside its strings escaped, and how long it was.
pub(super) fn escaped(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let reach = &text[..text.len().min(REACH)];
    rewritten(reach, Quotes::Unescaped).or_else(|| rewritten(reach, Quotes::All))
}

/// Whether the `{` at `at` starts an event: a comma or bracket before it, a key of events behind.
/// `None` where the text ends too early to tell.
fn starts_event(text: &[u8], at: usize) -> Option<bool> {
    let before = text[..at].trim_ascii_end().last();
    if !matches!(before, Some(b',' | b'[')) {
        return Some(false);
    }
    member_key(&text[at + 1..]).map(|key| key.is_some_and(|key| EVENT_KEYS.contains(&key)))
}

/// Whether the `]` at the beginning of `text` ends `traceEvents`.
fn ends_list(text: &[u8], at_end: bool) -> Option<bool> {
    let rest = text[1..].trim_ascii_start();
    match rest.first() {
        None => at_end.then_some(true),
        Some(b',') => member_key(&rest[1..]).map(|key| key.is_some_and(is_top_key)),
        Some(b'}') => match rest[1..].trim_ascii_start() {
            [] => at_end.then_some(true),
            _ => Some(false),
        },
        Some(_) => Some(false),
    }
}

fn is_top_key(key: &[u8]) -> bool {
    TOP_KEYS.contains(&key) || key.ends_with(b"_version") || key.starts_with(b"with_")
}

/// The key at the beginning of `text`, if there is one with its colon; `None` where `text` ends
/// before that is known.
fn member_key(text: &[u8]) -> Option<Option<&[u8]>> {
    const LONGEST_KEY: usize = 64;
    let start = text.trim_ascii_start();
    let (&first, rest) = start.split_first()?;
    if first != b'"' {
        return Some(None);
    }
    let window = &rest[..rest.len().min(LONGEST_KEY)];
    let Some(length) = window.iter().position(|&b| b == b'"') else {
        return (window.len() == LONGEST_KEY).then_some(None);
    };
    let is_plain =
        !rest[..length].iter().any(|b| matches!(b, b'{' | b'}' | b'[' | b']' | b',' | b'\\'));
    match rest[length + 1..].trim_ascii_start().first() {
        None => None,
        Some(b':') if is_plain => Some(Some(&rest[..length])),
        Some(_) => Some(None),
    }
}

/// Which quotes may close a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// Those that no backslash escapes.
    Unescaped,
    /// All: a path on Windows can end in a backslash.
    All,
}

/// What a string stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    Event,
    /// A field of an event that holds no text of the user: the first quote closes it.
    Field,
    Args,
    List,
}

/// An event that is being written again.
struct Rewriter<'a> {
    text: &'a [u8],
    at: usize,
    out: Vec<u8>,
    quotes: Quotes,
}

/// The event with all quotes inside its strings escaped, and its length in `text`.
fn rewritten(text: &[u8], quotes: Quotes) -> Option<(Vec<u8>, usize)> {
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

    /// Writes an event, or its arguments.
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

    /// Writes a list, or an object inside the arguments, whatever it holds.
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

/// The key behind the comma that `text` starts with.
fn next_key(text: &[u8]) -> Option<&[u8]> {
    member_key(&text[1..]).flatten()
}

/// Whether the `}` that `text` starts with ends an event: another one, or the end of the list.
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

/// Whether the `}` that `text` starts with ends the arguments of an event.
fn args_end(text: &[u8]) -> bool {
    let rest = text[1..].trim_ascii_start();
    match rest.first() {
        Some(b'}') => event_ends(rest),
        Some(b',') => next_key(rest).is_some_and(|key| EVENT_KEYS.contains(&key)),
        _ => false,
    }
}

/// Copies the content of a string; a quote in it that is not escaped gets its backslash.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(text: &str) -> String {
        let extent = extent(text.as_bytes(), true).expect("all text is there");
        let (text, _) = escaped(&text.as_bytes()[..extent]).expect("an event");
        String::from_utf8(text).expect("text")
    }

    #[test]
    fn quotes_inside_a_name_are_escaped() {
        let text = r#"{"ph":"X","name":"{"device": "cpu", "dtype": "float32"}(12): run","pid":7,"args":{"Ev Idx":3}}, {"#;
        let expected = r#"{"ph":"X","name":"{\"device\": \"cpu\", \"dtype\": \"float32\"}(12): run","pid":7,"args":{"Ev Idx":3}}"#;
        assert_eq!(mended(text), expected);
    }

    #[test]
    fn quotes_inside_arguments_and_lists_are_escaped() {
        let text = r#"{"args": {"kernel": "say "hi" to", "Concrete Inputs": ["a "b" c", ""]}, "name": "n"}]"#;
        let expected =
            r#"{"args":{"kernel":"say \"hi\" to","Concrete Inputs":["a \"b\" c", ""]},"name":"n"}"#;
        assert_eq!(mended(text), expected);
    }

    #[test]
    fn a_path_may_end_in_a_backslash() {
        let text = r#"{"name": "C:\dir\", "pid": 7}]"#;
        assert_eq!(mended(text), r#"{"name":"C:\dir\\","pid":7}"#);
    }

    #[test]
    fn a_broken_event_reaches_to_the_next_one() {
        let text = br#"{"name": "a" "pid": 7}, {"name": "b"}]"#;
        assert_eq!(extent(text, true), Some(24));
        assert_eq!(escaped(&text[..24]), None);
        let text = br#"{"name": "a" "pid": 7}], "traceName": "t"}"#;
        assert_eq!(extent(text, true), Some(22));
        assert_eq!(extent(&text[..25], false), None);
        let arguments = br#"x {"name": 1, "args": {"name": "b"}}"#;
        assert_eq!(extent(arguments, true), Some(arguments.len()));
    }
}
