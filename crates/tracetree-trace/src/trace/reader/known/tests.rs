//! Reading an event as a known event must produce the same fields as reading it with the index.

use super::super::cursor::Cursor;
use super::super::event::{self, Fields};
use super::super::index::find_tokens;
use super::Known;
use proptest::prelude::*;

/// Events from several profilers and years. Each string also contains the first characters that
/// follow the event.
const EVENTS: [&str; 8] = [
    r#"{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 8, "ts": 12.5, "dur": 3, "args": {"External id": 1, "Input Dims": [[2, 3], []], "Input type": ["float", "a\"b"], "Call stack": "x.py(3): f", "Fwd thread id": 0, "Sequence number": 4}}, {"#,
    r#"{ "ph": "X", "cat": "Operator",
    "name": "aten::add", "pid": 7, "tid": "8", "ts": 125, "dur": 3,
    "args": { "Input dims": [], "Input names": [],
      "Device": 0, "External id": 5, "Trace name": "PyTorch Profiler", "Trace iteration": 0 , "Call stack": "" } }, "#,
    "{\n  \"ph\": \"X\",\n  \"cat\": \"python_function\",\n  \"name\": \"a.py(1): f\",\n  \"pid\": 7,\n  \"tid\": 8,\n  \"ts\": 1.5,\n  \"dur\": 0.04,\n  \"args\": {\n    \"Python parent id\": null,\n    \"External id\": [7],\n    \"Python id\": 77\n  }\n},\n",
    r#"{"ph":"X","cat":"kernel","name":"k<4>","pid":0,"tid":7,"ts":5,"dur":1,"args":{"stream":7,"correlation":31,"grid":[1,2,3],"bytes":64,"graph node id":"5","Collective name":"x"}},{"#,
    r#"{"ph": "s", "id": 5, "pid": 7, "tid": 8, "ts": 3.25, "cat": "ac2g", "name": "ac2g"}, {"#,
    r#"{"args": {"External id": 3, "name": "first"}, "ph": "X", "cat": "cpu_op", "name": "late", "ts": 1, "x": {"y": [true]}}, {"args": {"External id": 4"#,
    r#"{"ph": "M", "name": "thread_name", "pid": 7, "tid": 8, "ts": 0, "args": {"name": "main"}}]"#,
    r#"{"name": "x", "args": {}, "ph": "i", "s": "g", "ok": true, "args": {"External id": 9}}, {"#,
];

/// Builds a token index of `text`, and uses the index to read the event at the beginning of `text`. Returns the event's
/// fields and end position, unless the event is irregular.
fn with_index(text: &str) -> Option<(String, usize)> {
    let mut index = Vec::new();
    find_tokens(text.as_bytes(), &mut index);
    let mut cursor = Cursor::new(text.as_bytes(), &index);
    let mut fields = Fields::default();
    event::read(&mut cursor, &mut fields).ok()?;
    let is_sound = cursor.take_bare_words() == 0 && fields.extra_commas == 0;
    is_sound.then(|| (format!("{fields:?}"), cursor.passed()))
}

fn known(known: &mut Known, text: &str) -> Option<(String, usize)> {
    let mut fields = Fields::default();
    let end = known.read(text.as_bytes(), 0, &mut fields)?;
    Some((format!("{fields:?}"), end))
}

fn learn(known: &mut Known, text: &str) {
    let mut index = Vec::new();
    find_tokens(text.as_bytes(), &mut index);
    known.learn(text.as_bytes(), Cursor::new(text.as_bytes(), &index));
}

fn taught() -> Known {
    let mut known = Known::new();
    EVENTS.iter().for_each(|event| learn(&mut known, event));
    known
}

#[test]
fn an_event_with_a_known_shape_is_recognized() {
    let mut taught = taught();
    for event in EVENTS {
        assert!(known(&mut Known::new(), event).is_none());
        assert_eq!(known(&mut taught, event), with_index(event), "{event}");
    }
    let other = EVENTS[0]
        .replace("12.5", "4350725992784.785")
        .replace("[[2, 3], []]", "[[], [-1, 2.5], \"\"]")
        .replace("aten::add", r#"say \"hi\" and more than a few words of it, \\"#);
    assert!(known(&mut taught, &other).is_some());
    assert_eq!(known(&mut taught, &other), with_index(&other));
}

#[test]
fn keys_known_from_another_position_are_not_confused() {
    let mut taught = taught();
    // This event is a Python frame. All arguments of Python frames are ignored, including
    // `External id`.
    let frame = EVENTS[2].replace("[7]", "[8, 9]");
    assert_eq!(known(&mut taught, &frame), with_index(&frame));
    // The key `External id` counts as an argument only inside `args`, but in this event, the key is
    // outside of `args`.
    let outside = r#"{"name": "x", "args": {}, "External id": 9}, {"#;
    learn(&mut taught, outside);
    assert_eq!(known(&mut taught, outside), with_index(outside));
}

#[test]
fn a_list_is_compared_to_its_last_byte() {
    let mut taught = taught();
    let (list, end) = ("[[2, 3], []]", "\"Input type\"");
    assert!(EVENTS[0].contains(list));
    for other in ["[[2, 3], [}]", "[[2, 3], []}", "[[2, 3], []", "[[2, 3], [] 1]", "[[2, 3], [],]"]
    {
        assert_eq!(known(&mut taught, &EVENTS[0].replace(list, other)), None, "{other}");
    }
    assert_eq!(known(&mut taught, &EVENTS[0].replace(end, "\"Input typf\"")), None);
}

#[test]
fn a_truncated_event_is_not_recognized() {
    let mut taught = taught();
    for event in EVENTS {
        let (_, end) = with_index(event).expect("an event");
        for cut in 0..end {
            assert_eq!(known(&mut taught, &event[..cut]), None, "{}", &event[..cut]);
        }
    }
}

#[test]
fn patience_ends() {
    let mut known = taught();
    let mut misses = 0;
    while known.is_useful() {
        known.miss();
        misses += 1;
    }
    assert!((1_000..10_000).contains(&misses));
}

/// Fragments from which a test composes random event texts.
const PIECES: [&str; 20] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    " ",
    "\n",
    "1",
    "-",
    ".",
    "e5",
    "null",
    "NaN",
    "\u{c}",
    "\"args\": {",
    "\"x\": 1, ",
    "[[1], \"\"]",
];

fn changed(event: usize, changes: &[(usize, usize, usize)]) -> String {
    let mut text: Vec<char> = EVENTS[event].chars().collect();
    for &(at, length, piece) in changes {
        let at = at % text.len();
        let end = (at + length).min(text.len());
        text.splice(at..end, PIECES[piece].chars());
    }
    text.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading a known event gives the same result as reading it with the index, regardless of the
    /// events that were learned before.
    #[test]
    fn the_index_gives_the_same_result(
        lessons in prop::collection::vec((0..EVENTS.len(), prop::collection::vec((0..500usize, 0..4usize, 0..PIECES.len()), 0..3)), 0..6),
        event in 0..EVENTS.len(),
        changes in prop::collection::vec((0..500usize, 0..4usize, 0..PIECES.len()), 1..4),
    ) {
        let mut taught = taught();
        for (event, changes) in &lessons {
            let lesson = changed(*event, changes);
            learn(&mut taught, &lesson);
        }
        let text = changed(event, &changes);
        if let Some(found) = known(&mut taught, &text) {
            prop_assert_eq!(Some(found), with_index(&text), "{}", text);
        }
    }
}
