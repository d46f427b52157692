//! Escapes the quotes in an event that is not valid JSON. If this does not repair the event,
//! searches for the position after the event where reading can continue.
//!
//! Names of Python frames can contain quotes that the profiler did not escape:
//!
//! ```text
//! {"ph": "X", "name": "{"device": "cpu"}(12): run", "pid": 7, "args": {"Ev Idx": 3}},
//!                     └ opens               closes ┘ └ the next key of an event follows
//! ```
//!
//! A quote is therefore treated as the end of a string only if it is followed by the next key of an
//! event or by the event's end. If the repaired text is still not an event, the event is lost.
//! Neither the repair nor the search goes past the next text that looks like the start of an event.
//! The result does not depend on how much text is in memory.

mod rewrite;

use super::decode;
use rewrite::{Quotes, rewritten};

/// Maximum number of bytes of an event that are examined.
const REACH: usize = 64 * 1024;

/// The phase key is searched for in the first `PHASE_REACH` bytes of an event.
const PHASE_REACH: usize = 4 * 1024;

/// The key of the phase, which every event has.
const PHASE: &[u8] = b"\"ph\"";

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

/// Keys next to `traceEvents`.
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

/// Length of the broken element at the beginning of `text`: up to the start of the next event, or
/// the end of the list. If neither is found, returns the length of `text` if the file ends there
/// (`at_end`), or `None` if more text must be read first.
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

/// Position of the next event. If there is no event, returns an error that contains a position: the
/// text from this position on must be kept until more text is read. The last non-blank byte before
/// a `{` must also be kept, because it shows whether the object is the value of a key.
pub(super) fn next_event(text: &[u8], at_end: bool) -> Result<usize, usize> {
    for at in (0..text.len()).filter(|&at| text[at] == b'{') {
        match starts_event(text, at) {
            Some(true) => return Ok(at),
            None if !at_end => return Err(before(text, at)),
            Some(false) | None => {}
        }
    }
    Err(before(text, text.len()))
}

/// Position of the last non-blank byte before `at`.
fn before(text: &[u8], at: usize) -> usize {
    text[..at].trim_ascii_end().len().saturating_sub(1)
}

/// Whether an event starts inside the element, which means that the element was not closed and the
/// events after it became part of it.
pub(super) fn contains_event(element: &[u8]) -> bool {
    element.get(1..).is_some_and(|inside| next_event(inside, true).is_ok())
}

/// Whether `text` begins with an event that is not in a list. An object that contains events is a
/// document, whatever else it contains. Returns `None` if `text` ends too early to decide, unless
/// `at_end` is true.
pub(super) fn starts_lines(text: &[u8], at_end: bool) -> Option<bool> {
    if text.first() != Some(&b'{') {
        return Some(false);
    }
    match starts_event(text, 0) {
        Some(true) => {}
        Some(false) => return Some(false),
        None => return at_end.then_some(false),
    }
    let end = object_end(text);
    let is_known = end.is_some() || at_end;
    match next_event(&text[1..end.unwrap_or(text.len())], is_known) {
        Ok(_) => Some(false),
        Err(_) => is_known.then_some(true),
    }
}

/// Position of the bracket that closes the object at the beginning of `text`.
fn object_end(text: &[u8]) -> Option<usize> {
    let mut depth = 0u32;
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return Some(at),
            b'}' | b']' => depth -= 1,
            b'"' => at = decode::string_end(text, at + 1),
            _ => {}
        }
        at += 1;
    }
}

/// Whether `text` begins with a key of the trace's top-level object, which means that the list of
/// events was not closed. Returns `None` if `text` ends too early to decide.
pub(super) fn starts_header(text: &[u8]) -> Option<bool> {
    member_key(text).map(|key| key.is_some_and(is_top_key))
}

/// Number of events in unreadable text, found by counting the phase key; at least 1.
pub(super) fn events_in(stretch: &[u8]) -> u32 {
    phases(stretch, stretch.len()).max(1)
}

/// Number of events that start before `end` in the text, found by counting the phase key, which
/// each event has.
pub(super) fn phases(text: &[u8], end: usize) -> u32 {
    let phases = decode::finds(text, PHASE)
        .take_while(|&at| at < end)
        .filter(|&at| text[at + PHASE.len()..].trim_ascii_start().first() == Some(&b':'));
    u32::try_from(phases.count()).unwrap_or(u32::MAX)
}

/// Returns the event in `text` with all quotes inside strings escaped, and the length of the event
/// in `text`.
pub(super) fn escaped(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let reach = &text[..text.len().min(REACH)];
    rewritten(reach, Quotes::Unescaped).or_else(|| rewritten(reach, Quotes::All))
}

/// Whether the `{` at `at` starts an event. An event is not the value of a key, has a phase, and
/// begins with a key that events have. Returns `None` if the text ends too early to decide.
pub(super) fn starts_event(text: &[u8], at: usize) -> Option<bool> {
    if text[..at].trim_ascii_end().last() == Some(&b':') {
        return Some(false);
    }
    match member_key(&text[at + 1..])? {
        Some(b"ph") => Some(true),
        Some(key) if EVENT_KEYS.contains(&key) => has_phase(&text[at..]),
        Some(_) | None => Some(false),
    }
}

/// Whether the first [`PHASE_REACH`] bytes of the object at the beginning of `text` contain a phase
/// key. Keys of nested objects do not count. Returns `None` if the text ends too early to decide.
fn has_phase(text: &[u8]) -> Option<bool> {
    let reach = &text[..text.len().min(PHASE_REACH)];
    let mut depth = 0u32;
    let mut at = 0;
    while let Some(&byte) = reach.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 1 => return Some(false),
            b'}' | b']' => depth -= 1,
            b'"' => {
                let is_key = depth == 1 && member_key(&reach[at..]) == Some(Some(b"ph"));
                if is_key {
                    return Some(true);
                }
                at = decode::string_end(reach, at + 1);
            }
            _ => {}
        }
        at += 1;
    }
    (reach.len() == PHASE_REACH).then_some(false)
}

/// Whether the `]` at the beginning of `text` ends `traceEvents`. Returns `None` if the text ends
/// too early to decide.
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

/// The key at the beginning of `text`, if there is a key followed by a colon. The outer `None`
/// means that `text` ends too early to decide.
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
        let text = br#"{"name": "a" "pid": 7}, {"name": "b", "ph": "X"}]"#;
        assert_eq!(extent(text, true), Some(24));
        assert_eq!(escaped(&text[..24]), None);
        let text = br#"{"name": "a" "pid": 7}], "traceName": "t"}"#;
        assert_eq!(extent(text, true), Some(22));
        assert_eq!(extent(&text[..25], false), None);
        let arguments = br#"x {"name": 1, "args": {"name": "b"}, [{"name": "c"}, 1}"#;
        assert_eq!(extent(arguments, true), Some(arguments.len()));
    }

    #[test]
    fn events_in_a_lost_stretch_are_counted_by_their_phases() {
        assert_eq!(events_in(br#"{"ph": "X", "name": "\"ph\"", {"ph" : "M""#), 2);
        assert_eq!(events_in(b"garbage"), 1);
    }

    #[test]
    fn events_on_lines_are_distinguished_from_a_document_that_begins_like_one() {
        let line = br#"{"ph": "X", "args": {"name": "a"}}"#;
        assert_eq!(starts_lines(line, false), Some(true));
        assert_eq!(starts_lines(&line[..20], false), None);
        assert_eq!(starts_lines(&line[..20], true), Some(true));
        let document = br#"{"ph": 1, "traceEvents": [{"ph": "X"}"#;
        assert_eq!(starts_lines(&document[..30], false), None);
        assert_eq!(starts_lines(document, false), Some(false));
        assert_eq!(starts_lines(br#"{"schemaVersion": 1"#, false), Some(false));
    }

    #[test]
    fn the_next_event_is_found_or_what_may_become_one_is_kept() {
        assert_eq!(next_event(br#"]}, {"a": 1}, {"ph": "X"}"#, false), Ok(14));
        assert_eq!(next_event(br#"]}, {"a": 1}, {"na"#, false), Err(12));
        assert_eq!(next_event(br#""args": "#, false), Err(6));
        assert_eq!(next_event(b"]}]", false), Err(2));
        // An object that is truncated by the end of the file is not an event, but an object inside
        // it may be one.
        let cut = br#"{"id": 0, "na": [ {"ph": "X"}"#;
        assert_eq!((next_event(cut, false), next_event(cut, true)), (Err(0), Ok(18)));
        assert!(contains_event(br#"{"args": [1, {"ph": "X"}"#));
        assert!(!contains_event(br#"{"ph": "X", "args": {"ph": 1}}"#));
    }
}
