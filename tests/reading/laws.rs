//! Tests for properties of the reader on damaged input: the reader never panics, and the result depends neither on the
//! block size nor on compression.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::io::Write;
use tracetree::trace::{ReadOptions, Trace};

/// A small trace with one event of each kind that Kineto writes, both in compact and in multi-line form.
const TEXT: &str = include_str!("../fixtures/reader_every_kind/trace.json");

/// The whole trace or the error, as text.
fn outcome(bytes: &[u8], block_size: usize) -> String {
    let options = ReadOptions::default().block_bytes(block_size);
    match Trace::from_reader("t", bytes, &options) {
        Ok(trace) => contents(&trace),
        Err(error) => error.to_string(),
    }
}

/// The whole trace as text. The hash of the bytes is omitted, because it depends on compression.
fn contents(trace: &Trace) -> String {
    format!("{trace:?}").replace(&format!("content_hash: {}", trace.content_hash()), "")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("finished")
}

/// The trace in [`TEXT`] with its events repeated, so that most events resemble an earlier event.
fn repeated(times: usize) -> String {
    let key = "\"traceEvents\": [";
    let start = TEXT.find(key).expect("events") + key.len();
    let end = start + TEXT[start..].find("\n  ],\n  \"traceName\"").expect("the end of the events");
    format!("{}{}{}", &TEXT[..start], vec![&TEXT[start..end]; times].join(","), &TEXT[end..])
}

#[test]
fn events_that_resemble_earlier_ones_are_read_equally() {
    let options = ReadOptions::default();
    let read = |text: &str| Trace::from_reader("t", text.as_bytes(), &options).expect("a trace");
    let (once, often) = (read(TEXT), read(&repeated(5)));
    assert_eq!(often.len(), 5 * once.len());
    assert_eq!(often.total_events(), 5 * once.total_events());
    let others: Vec<_> = (0..5).flat_map(|_| once.events()).collect();
    for (event, other) in often.events().zip(others) {
        assert_eq!(often.name(event), once.name(other));
        assert_eq!(often.category(event), once.category(other));
        assert_eq!(often.start(event), once.start(other));
        assert_eq!(often.duration(event), once.duration(other));
    }
}

#[test]
fn the_sound_text_reads_equally_in_every_block_size() {
    let whole = Trace::from_reader("t", TEXT.as_bytes(), &ReadOptions::default().strict());
    let whole = contents(&whole.expect("a trace"));
    for block_size in [512, 513, 700, 1024, 4096] {
        assert_eq!(outcome(TEXT.as_bytes(), block_size), whole, "{block_size}");
    }
    assert_eq!(outcome(&gzip(TEXT.as_bytes()), 600), whole);
}

#[derive(Debug, Clone)]
enum Change {
    Replace(usize, u8),
    Insert(usize, &'static str),
    Delete(usize, usize),
    Repeat(usize, usize),
    Cut(usize),
}

/// Bytes and strings that are significant to a JSON reader.
const PIECES: [&str; 24] = [
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n",
    "\0",
    "\u{feff}",
    "NaN",
    "-Infinity",
    "null",
    "1e999",
    "\\u12",
    "{\"ph\": \"X\"}",
    "},{",
    "\"args\": {",
    "\"name\": \"",
    "]}",
    "\\\"",
    "ü",
    "/*",
];

fn change() -> impl Strategy<Value = Change> {
    let at = 0..TEXT.len();
    prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (at.clone(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Insert(at, PIECES[piece])),
        (at.clone(), 1..40usize).prop_map(|(at, count)| Change::Delete(at, count)),
        (at.clone(), 1..400usize).prop_map(|(at, count)| Change::Repeat(at, count)),
        at.prop_map(Change::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let clamp = |at: usize, len: usize| at.min(len);
    let len = bytes.len();
    match *change {
        Change::Replace(at, byte) => {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        Change::Insert(at, piece) => {
            let at = clamp(at, len);
            bytes.splice(at..at, piece.bytes());
        }
        Change::Delete(at, count) => {
            let at = clamp(at, len);
            bytes.drain(at..clamp(at + count, len));
        }
        Change::Repeat(at, count) => {
            let at = clamp(at, len);
            let part = bytes[at..clamp(at + count, len)].to_vec();
            bytes.splice(at..at, part);
        }
        Change::Cut(at) => bytes.truncate(at),
    }
}

/// A trace whose events are repeated six times, with the given changes applied to the last third of the text.
fn damaged_later(changes: &[Change]) -> Vec<u8> {
    let text = repeated(6);
    let at = text.len() * 2 / 3;
    let mut tail = text.as_bytes()[at..].to_vec();
    changes.iter().for_each(|change| apply(&mut tail, change));
    [&text.as_bytes()[..at], &tail].concat()
}

/// Reads the input in blocks of the given size, both uncompressed and compressed. Checks that the result is the same as
/// with large blocks.
fn reads_alike(bytes: &[u8], block_size: usize) -> Result<(), TestCaseError> {
    let whole = outcome(bytes, 1 << 16);
    prop_assert_eq!(&outcome(bytes, block_size), &whole);
    prop_assert_eq!(&outcome(&gzip(bytes), block_size), &whole);
    Ok(())
}

fn damaged(changes: &[Change]) -> Vec<u8> {
    let mut bytes = TEXT.as_bytes().to_vec();
    changes.iter().for_each(|change| apply(&mut bytes, change));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(16), ..ProptestConfig::default() })]

    #[test]
    fn block_size_and_compression_do_not_matter(changes in prop::collection::vec(change(), 1..4), block_size in 512..3000usize) {
        reads_alike(&damaged(&changes), block_size)?;
    }

    #[test]
    fn block_size_and_compression_do_not_matter_for_events_that_resemble_earlier_ones(changes in prop::collection::vec(change(), 1..4), block_size in 512..3000usize) {
        reads_alike(&damaged_later(&changes), block_size)?;
    }

    #[test]
    fn every_element_is_kept_or_counted(changes in prop::collection::vec(change(), 1..6)) {
        let bytes = damaged(&changes);
        if let Ok(trace) = Trace::from_reader("t", &bytes[..], &ReadOptions::default()) {
            let left_out: u64 = trace.left_out().iter().map(|(_, count)| count).sum();
            prop_assert_eq!(trace.len() as u64 + left_out, trace.total_events());
        }
    }

    #[test]
    fn strict_reads_only_what_needs_no_repair(changes in prop::collection::vec(change(), 1..3)) {
        let bytes = damaged(&changes);
        let loose = Trace::from_reader("t", &bytes[..], &ReadOptions::default());
        let strict = Trace::from_reader("t", &bytes[..], &ReadOptions::default().strict());
        let is_sound = loose.as_ref().is_ok_and(|trace| {
            let damage = ["REPAIRED_JSON", "LOST_EVENTS", "TRUNCATED"];
            damage.iter().all(|code| trace.notes().get(code).is_none())
        });
        prop_assert_eq!(strict.is_ok(), is_sound);
    }

    #[test]
    fn strict_rejects_every_text_that_is_not_json(changes in prop::collection::vec(change(), 1..3)) {
        let bytes = damaged_later(&changes);
        let strict = Trace::from_reader("t", &bytes[..], &ReadOptions::default().strict());
        // This check must not convert numbers, because `1e999` is valid JSON although it does not fit into a double.
        let is_json = serde_json::from_slice::<Box<serde_json::value::RawValue>>(&bytes).is_ok();
        prop_assert!(is_json || strict.is_err());
    }

    #[test]
    fn block_size_does_not_matter_for_damaged_compressed_bytes(at in 0..1500usize, byte in any::<u8>(), block_size in 512..3000usize) {
        let mut bytes = gzip(TEXT.as_bytes());
        let at = at % bytes.len();
        bytes[at] = byte;
        prop_assert_eq!(outcome(&bytes, block_size), outcome(&bytes, 1 << 16));
    }
}
