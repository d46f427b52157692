//! Damages an intact trace, and checks that the reader never loses an event without reporting it. The damage is
//! determined by a seed.
//!
//! Only some bytes of the file are changed, and their positions show which elements of `traceEvents` are undamaged.
//! Either all undamaged elements must be in the trace, or the trace must report that events were lost. The crate
//! serde_json decides whether a damaged text is still JSON, and how many elements the text then has.

use super::splitmix::SplitMix;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tracetree::trace::{Nanos, ReadOptions, Trace};

/// The key that identifies an event: its name, start and duration.
type Key = (String, Nanos, Nanos);

/// An intact trace with known elements.
pub struct Sample {
    text: Vec<u8>,
    elements: Vec<Element>,
    /// Number of events that the trace keeps and whose times depend on other events.
    dependent: usize,
}

/// An element of `traceEvents`: the range of its bytes, and the key of its event. The key is `None` if the trace does
/// not keep the event, or if the event's time depends on other events.
struct Element {
    range: Range<usize>,
    key: Option<Key>,
}

#[derive(serde::Deserialize)]
struct Document<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<&'a RawValue>,
}

impl Sample {
    /// Creates a sample from an intact text. Returns `None` if serde_json and the reader disagree
    /// about the text, or if the text contains no events.
    pub fn new(text: Vec<u8>) -> Option<Sample> {
        let trace = read(&text, &ReadOptions::default().strict())?;
        let elements: Vec<Element> = elements(&text)?
            .into_iter()
            .enumerate()
            .map(|(uid, range)| {
                let event = trace.event_at(tracetree::trace::Uid(uid as u32));
                let event = event.filter(|_| is_complete(&text[range.clone()]));
                Element { range, key: event.map(|event| key(&trace, event)) }
            })
            .collect();
        let complete = elements.iter().filter(|element| element.key.is_some()).count();
        let dependent = trace.len() - complete;
        let agree = trace.total_events() == elements.len() as u64;
        (agree && !elements.is_empty()).then_some(Sample { text, elements, dependent })
    }

    /// Damages the text in the way given by `kind`.
    pub fn damaged(&self, kind: Kind, random: &mut SplitMix) -> Damaged {
        let mut edits = kind.edits(self, random);
        edits.sort_by_key(|edit| edit.range.start);
        let mut bytes = Vec::with_capacity(self.text.len());
        let mut from = 0;
        for edit in &edits {
            bytes.extend_from_slice(&self.text[from..edit.range.start]);
            bytes.extend_from_slice(&edit.text);
            from = edit.range.end;
        }
        bytes.extend_from_slice(&self.text[from..]);
        let whole: Vec<&Element> = self
            .elements
            .iter()
            .filter(|element| !edits.iter().any(|edit| touches(&edit.range, &element.range)))
            .collect();
        let touched = self.elements.len() - whole.len();
        let added = edits.iter().map(|edit| phases(&edit.text)).sum();
        let first = edits.first().map_or(0, |edit| edit.range.start);
        let is_unkept = |element: &&&Element| element.key.is_none() && element.range.start >= first;
        let unkept = whole.iter().filter(is_unkept).count();
        let whole = whole.into_iter().filter_map(|element| element.key.clone()).collect();
        let (edits, dependent) = (edits.len(), self.dependent);
        Damaged { bytes, whole, touched, unkept, added, edits, dependent }
    }
}

/// Whether an edit to the bytes in `edit` changes the element at `element`. Text between two elements is not part of
/// either element.
fn touches(edit: &Range<usize>, element: &Range<usize>) -> bool {
    if edit.is_empty() {
        element.start < edit.start && edit.start < element.end
    } else {
        edit.start < element.end && element.start < edit.end
    }
}

/// Whether the times of an event are independent of all other events. A begin event (`B`), for example, is not
/// independent, because its duration is determined by the matching end event.
fn is_complete(element: &[u8]) -> bool {
    let event: Option<serde_json::Value> = serde_json::from_slice(element).ok();
    event.is_some_and(|event| event["ph"] == "X")
}

/// The byte ranges of the elements in `traceEvents` (or in a top-level list) in a JSON text.
fn elements(text: &[u8]) -> Option<Vec<Range<usize>>> {
    let text = std::str::from_utf8(text).ok()?;
    let events = match text.trim_start().as_bytes().first()? {
        b'[' => serde_json::from_str::<Vec<&RawValue>>(text).ok()?,
        _ => serde_json::from_str::<Document<'_>>(text).ok()?.events,
    };
    let start = |event: &RawValue| event.get().as_ptr() as usize - text.as_ptr() as usize;
    Some(events.into_iter().map(|event| start(event)..start(event) + event.get().len()).collect())
}

fn read(text: &[u8], options: &ReadOptions) -> Option<Trace> {
    Trace::from_reader("t", text, options).ok()
}

fn key(trace: &Trace, event: tracetree::trace::EventId) -> Key {
    (trace.name(event).to_owned(), trace.start(event), trace.duration(event))
}

/// The number of elements in a text, counted by the key `ph`, which occurs in each element.
fn phases(text: &[u8]) -> usize {
    text.windows(5).filter(|window| *window == b"\"ph\":").count()
}

/// A way to damage a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Byte,
    Control,
    Hole,
    Garbage,
    Cut,
    Double,
    Exchange,
    Truncate,
    DropBracket,
    AddBracket,
    DropQuote,
    AddQuote,
    DropComma,
    Append,
}

impl Kind {
    /// All ways to damage a text.
    pub const ALL: [Kind; 14] = [
        Kind::Byte,
        Kind::Control,
        Kind::Hole,
        Kind::Garbage,
        Kind::Cut,
        Kind::Double,
        Kind::Exchange,
        Kind::Truncate,
        Kind::DropBracket,
        Kind::AddBracket,
        Kind::DropQuote,
        Kind::AddQuote,
        Kind::DropComma,
        Kind::Append,
    ];

    /// A human-readable description of the damage.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Byte => "one byte changed",
            Kind::Control => "a control byte inserted",
            Kind::Hole => "a hole of zero bytes",
            Kind::Garbage => "a stretch of random bytes",
            Kind::Cut => "a stretch cut out",
            Kind::Double => "a stretch doubled",
            Kind::Exchange => "two stretches exchanged",
            Kind::Truncate => "the end cut off",
            Kind::DropBracket => "a bracket dropped",
            Kind::AddBracket => "a bracket inserted",
            Kind::DropQuote => "a quote dropped",
            Kind::AddQuote => "a quote inserted",
            Kind::DropComma => "a comma or colon dropped",
            Kind::Append => "something appended",
        }
    }

    fn edits(self, sample: &Sample, random: &mut SplitMix) -> Vec<Edit> {
        let text = &sample.text;
        let at = random.below(text.len());
        let insert = |piece: &[u8]| vec![Edit { range: at..at, text: piece.to_vec() }];
        match self {
            Kind::Byte => vec![Edit { range: at..at + 1, text: vec![random.next() as u8] }],
            Kind::Control => insert(&[random.below(32) as u8]),
            Kind::Hole => {
                let range = stretch(text, random);
                vec![Edit { text: vec![0; range.len()], range }]
            }
            Kind::Garbage => {
                let range = stretch(text, random);
                let noise = range.clone().map(|_| random.next() as u8).collect();
                vec![Edit { text: noise, range }]
            }
            Kind::Cut => vec![Edit { range: stretch(text, random), text: Vec::new() }],
            Kind::Double => {
                let range = stretch(text, random);
                vec![Edit { text: text[range.clone()].to_vec(), range: range.end..range.end }]
            }
            Kind::Exchange => exchanged(text, random),
            Kind::Truncate => vec![Edit { range: at..text.len(), text: Vec::new() }],
            Kind::DropBracket => dropped(text, b"{}[]", random),
            Kind::AddBracket => insert(
                random.pick(&[&b"{"[..], b"}", b"[", b"]", b"]}", b"[[", b"}}"]).expect("a piece"),
            ),
            Kind::DropQuote => dropped(text, b"\"", random),
            Kind::AddQuote => insert(b"\""),
            Kind::DropComma => dropped(text, b",:", random),
            Kind::Append => appended(text, random),
        }
    }
}

/// A range of bytes and its replacement.
struct Edit {
    range: Range<usize>,
    text: Vec<u8>,
}

/// A random range of 1 to 8,192 bytes. The maximum length is a random power of two, so that short ranges are frequent
/// and long ranges also occur.
fn stretch(text: &[u8], random: &mut SplitMix) -> Range<usize> {
    let most = 1 << random.below(14);
    let length = 1 + random.below(most);
    let start = random.below(text.len());
    start..text.len().min(start + length)
}

fn exchanged(text: &[u8], random: &mut SplitMix) -> Vec<Edit> {
    let (one, other) = (stretch(text, random), stretch(text, random));
    let (one, other) = if one.start <= other.start { (one, other) } else { (other, one) };
    if one.end > other.start {
        return vec![Edit { range: one, text: Vec::new() }];
    }
    let (first, second) = (text[one.clone()].to_vec(), text[other.clone()].to_vec());
    vec![Edit { range: one, text: second }, Edit { range: other, text: first }]
}

/// Drops the first occurrence of any of the given bytes at or after a random position.
fn dropped(text: &[u8], bytes: &[u8], random: &mut SplitMix) -> Vec<Edit> {
    let from = random.below(text.len());
    let at = (from..text.len()).find(|&at| bytes.contains(&text[at]));
    let range = at.map_or(0..0, |at| at..at + 1);
    vec![Edit { range, text: Vec::new() }]
}

fn appended(text: &[u8], random: &mut SplitMix) -> Vec<Edit> {
    let more: &[u8] = match random.below(5) {
        0 => text,
        1 => b"\0\0\0\0\0\0\0\0\0\0\0\0",
        2 => b"garbage",
        3 => b",\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"late\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 1}",
        _ => b"[1, 2]",
    };
    vec![Edit { range: text.len()..text.len(), text: more.to_vec() }]
}

/// A damaged text, and what is known about its elements.
pub struct Damaged {
    /// The text.
    pub bytes: Vec<u8>,
    /// The undamaged events, which must be in the trace.
    whole: Vec<Key>,
    /// Number of damaged elements.
    touched: usize,
    /// Number of elements that start after the first edit, are undamaged, and have no key. These elements are not in
    /// `whole`, but the reader may report them as lost.
    unkept: usize,
    /// Number of elements in inserted text.
    added: usize,
    /// Number of edits to the text. An edit may leave a fragment between two elements.
    edits: usize,
    /// Number of events that depend on other events, and may therefore be missing from the trace.
    dependent: usize,
}

/// Number of edits that were made to the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The text is still JSON, and all elements in the text were counted.
    Sound,
    /// The reader rejected the text with an error.
    Refused,
    /// The reader reported repairs, and no undamaged event is lost.
    Repaired,
    /// Undamaged events are lost, and the loss is reported.
    Shown,
    /// The reader lost undamaged events without reporting it, or did not report the damage at all.
    Silent,
    /// A number in the trace or in its notes is wrong.
    WrongCount,
    /// `--strict` accepts text that is not JSON.
    NotStrict,
    /// The reader panics.
    Panic,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 8] = [
        Outcome::Sound,
        Outcome::Refused,
        Outcome::Repaired,
        Outcome::Shown,
        Outcome::Silent,
        Outcome::WrongCount,
        Outcome::NotStrict,
        Outcome::Panic,
    ];

    /// Whether the outcome counts as an error in the reader.
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Silent | Outcome::WrongCount | Outcome::NotStrict | Outcome::Panic)
    }
}

/// Reads the damaged text, and returns the outcome and a description.
pub fn judge(damaged: &Damaged) -> (Outcome, String) {
    let read = |strict: bool| {
        let options = ReadOptions::default();
        let options = if strict { options.strict() } else { options };
        Trace::from_reader("t", &damaged.bytes[..], &options)
    };
    let Ok((trace, strict)) =
        catch_unwind(AssertUnwindSafe(|| (read(false), read(true).map(|trace| trace.len()))))
    else {
        return (Outcome::Panic, String::new());
    };
    let count = elements(&damaged.bytes).map(|elements| elements.len() as u64);
    if strict.is_ok() && !is_json(&damaged.bytes) {
        return (Outcome::NotStrict, String::new());
    }
    match trace {
        Err(error) => (Outcome::Refused, error.to_string()),
        Ok(trace) => match count {
            Some(count) => sound(&trace, count),
            // The text has two lists of events: the reader reads both, and serde_json rejects the
            // duplicate key.
            None if is_json(&damaged.bytes) => (Outcome::Sound, "two lists".to_owned()),
            None => mended(&trace, damaged),
        },
    }
}

fn is_json(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| serde_json::from_str::<&RawValue>(text).is_ok())
}

/// The outcome for text that is still JSON. The trace must have as many elements as serde_json counts, and
/// nothing may be lost.
fn sound(trace: &Trace, count: u64) -> (Outcome, String) {
    let is_lossless =
        ["LOST_EVENTS", "TRUNCATED"].iter().all(|code| trace.notes().get(code).is_none());
    let outcome = if trace.total_events() == count && is_lossless {
        Outcome::Sound
    } else {
        Outcome::WrongCount
    };
    (outcome, format!("{} of {count} elements; {:?}", trace.total_events(), trace.notes()))
}

/// The outcome for text that is no longer JSON. Each undamaged event must be in the trace or be reported as lost, and
/// the trace must have a note about the damage.
fn mended(trace: &Trace, damaged: &Damaged) -> (Outcome, String) {
    let (missing, extra) = differences(trace, &damaged.whole);
    let message = format!(
        "{} whole events, {missing} missing, {extra} more than those; {} touched; {:?}",
        damaged.whole.len(),
        damaged.touched,
        trace.notes()
    );
    let count = |code: &str| trace.notes().get(code).map_or(0, |note| note.count);
    let (lost, cut) = (count("LOST_EVENTS"), count("TRUNCATED"));
    let is_reported = lost + cut > 0;
    let changed = damaged.touched + damaged.added;
    // The limits allow for two exceptions: text between two elements may look like an element, and lost elements may be
    // of a kind that a trace does not keep.
    let is_too_much = extra > changed + damaged.dependent
        || (missing == 0 && lost as usize > changed + damaged.edits + damaged.unkept);
    let outcome = if !is_reported && (missing > 0 || count("REPAIRED_JSON") == 0) {
        Outcome::Silent
    } else if is_too_much || (is_reported && cut == 0 && missing as u64 > lost) {
        Outcome::WrongCount
    } else if missing > 0 {
        Outcome::Shown
    } else {
        Outcome::Repaired
    };
    (outcome, message)
}

/// Counts the events in `whole` that are missing in the trace, and the events in the trace that are not in `whole`.
fn differences(trace: &Trace, whole: &[Key]) -> (usize, usize) {
    let mut counts: HashMap<Cow<'_, Key>, i64> = HashMap::new();
    for key in whole {
        *counts.entry(Cow::Borrowed(key)).or_default() += 1;
    }
    for event in trace.events() {
        *counts.entry(Cow::Owned(key(trace, event))).or_default() -= 1;
    }
    let missing: i64 = counts.values().filter(|&&count| count > 0).sum();
    let extra: i64 = counts.values().filter(|&&count| count < 0).sum();
    (missing as usize, -extra as usize)
}

/// A trace with one event of each kind, used by [`hold_for_choices`].
const EVERY_KIND: &str = include_str!("../fixtures/reader_every_kind/trace.json");

/// Damages a small trace, and checks that the reader never loses an event without reporting it. The first byte in
/// `bytes` selects the kind of damage; the remaining bytes determine positions and lengths.
pub fn hold_for_choices(bytes: &[u8]) {
    let Some((&kind, choices)) = bytes.split_first() else { return };
    let sample = Sample::new(EVERY_KIND.as_bytes().to_vec()).expect("a sound trace");
    let kind = Kind::ALL[usize::from(kind) % Kind::ALL.len()];
    let (outcome, message) = judge(&sample.damaged(kind, &mut SplitMix::given(choices)));
    assert!(!outcome.is_failure(), "{}: {outcome:?}: {message}", kind.label());
}
