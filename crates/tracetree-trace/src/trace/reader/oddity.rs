//! Counts irregularities in a file by kind, with the first position of each kind, and turns the
//! counts into [`Notes`].

use crate::error::Place;
use crate::trace::ids::Uid;
use crate::trace::notes::Losses;
use crate::trace::notes::Notes;
use std::fmt;

/// A kind of irregularity in a file. Most kinds are repairs of the JSON text; see [`KINDS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    Backslash,
    ControlCharacter,
    InvalidUtf8,
    LoneSurrogate,
    UnescapedQuote,
    BareWord,
    NotJson,
    ExtraComma,
    MissingComma,
    EmptyEvent,
    NotAnEvent,
    StrayBracket,
    MissingBracket,
    BareEvents,
    DamagedHeader,
    ByteOrderMark,
    TextAfterEnd,
    GarbageAfterGzip,
    BadChecksum,
    CutArchive,
    LostEvent,
    Hole,
    DeepEvent,
    OtherTrace,
    OtherDocument,
    WrongType,
    NoStart,
    NoDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    NegativeDuration,
    AbsurdDuration,
    OverlongGpuEvent,
    AbsurdStart,
    StartAtZero,
}

use Oddity::*;

const REPAIRED: &str = "REPAIRED_JSON";
const LOST: &str = "LOST_EVENTS";
const WRONG_TYPE: &str = "WRONG_TYPE";
const MISSING_TIME: &str = "MISSING_TIME";
const UNPAIRED: &str = "UNPAIRED_EVENTS";
const CLOCK: &str = "CLOCK_ANOMALY";

/// The codes of the notes, each with its hint.
const CODES: [(&str, &str); 6] = [
    (
        REPAIRED,
        "values were repaired; profile with a current PyTorch, or pass --strict to reject such \
         files",
    ),
    (
        LOST,
        "lost events are missing from every total, and the uids after them may be shifted; copy \
         the file again, or profile again",
    ),
    (WRONG_TYPE, ""),
    (MISSING_TIME, ""),
    (UNPAIRED, ""),
    (CLOCK, "impossible durations count as 0 in every total; profile again"),
];

/// For each kind, in declaration order, the code of the note that counts it and the phrase that
/// follows the count. Notes list kinds in this order.
const KINDS: [(Oddity, &str, &str); 35] = [
    (Backslash, REPAIRED, "text with unescaped backslashes"),
    (ControlCharacter, REPAIRED, "text with raw control characters"),
    (InvalidUtf8, REPAIRED, "text that is not UTF-8"),
    (LoneSurrogate, REPAIRED, "text with half of a surrogate pair"),
    (UnescapedQuote, REPAIRED, "event with unescaped quotes"),
    (BareWord, REPAIRED, "value that is not JSON (NaN, inf, N/A)"),
    (NotJson, REPAIRED, "number, bracket or comma that is not JSON"),
    (ExtraComma, REPAIRED, "extra comma"),
    (MissingComma, REPAIRED, "missing comma"),
    (EmptyEvent, REPAIRED, "empty event"),
    (NotAnEvent, REPAIRED, "element that is not an event"),
    (StrayBracket, REPAIRED, "stray bracket between the events"),
    (MissingBracket, REPAIRED, "missing bracket around the events"),
    (BareEvents, REPAIRED, "list of events without brackets, one event per line"),
    (DamagedHeader, REPAIRED, "damage outside the events"),
    (ByteOrderMark, REPAIRED, "byte order mark"),
    (TextAfterEnd, REPAIRED, "text after the end of the trace"),
    (GarbageAfterGzip, REPAIRED, "unexpected data after the gzip data"),
    (BadChecksum, REPAIRED, "gzip checksum or size that does not match"),
    (CutArchive, REPAIRED, "compressed data truncated after the end of the trace"),
    (LostEvent, LOST, "event that cannot be read, skipped"),
    (Hole, LOST, "event damaged by a hole of zero bytes, skipped with everything inside the hole"),
    (DeepEvent, LOST, "event nested deeper than 512 values, skipped"),
    (OtherTrace, LOST, "event from another trace after the end of this trace, not read"),
    (OtherDocument, LOST, "second document after the end of the trace, not read"),
    (WrongType, WRONG_TYPE, "field of the wrong type, ignored"),
    (NoStart, MISSING_TIME, "event without ts, skipped"),
    (NoDuration, MISSING_TIME, "event without dur, duration counted as 0"),
    (UnmatchedBegin, UNPAIRED, "begin event without its end, duration counted as 0"),
    (UnmatchedEnd, UNPAIRED, "end event without its begin, skipped"),
    (NegativeDuration, CLOCK, "negative duration, counted as 0"),
    (AbsurdDuration, CLOCK, "impossibly long duration, counted as 0"),
    (
        OverlongGpuEvent,
        CLOCK,
        "GPU event that overlaps the next events on its stream, duration counted as 0",
    ),
    (AbsurdStart, CLOCK, "ts out of range, clamped"),
    (StartAtZero, CLOCK, "event at time 0, long before all other events"),
];

impl Oddity {
    /// The kinds that the note with this code counts.
    fn all_of(code: &str) -> impl Iterator<Item = Oddity> {
        KINDS.into_iter().filter(move |(_, own, _)| *own == code).map(|(kind, ..)| kind)
    }

    pub(super) fn label(self) -> &'static str {
        KINDS[self as usize].2
    }

    /// Whether `--strict` rejects a file with this irregularity: true if the file itself is
    /// damaged, false if only the recorded values are wrong.
    pub(super) fn is_damage(self) -> bool {
        matches!(KINDS[self as usize].1, REPAIRED | LOST)
    }
}

/// Where a kind of irregularity first occurred.
#[derive(Debug, Clone, Copy)]
enum First {
    Place(Place),
    Event(u64),
}

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            First::Place(place) => write!(f, "{place}"),
            First::Event(event) => write!(f, "event {event}"),
        }
    }
}

/// The counts of irregularities in one file.
#[derive(Debug)]
pub(super) struct Oddities {
    seen: [Option<(u64, First)>; KINDS.len()],
    /// For each kind of irregularity, the number of bytes that were skipped because of it.
    skipped: [u64; KINDS.len()],
    damage: Option<(Oddity, Place)>,
}

impl Default for Oddities {
    fn default() -> Self {
        Oddities { seen: [None; KINDS.len()], skipped: [0; KINDS.len()], damage: None }
    }
}

impl Oddities {
    /// Counts `count` more occurrences of a kind.
    pub(super) fn add(&mut self, oddity: Oddity, count: u64, place: Place) {
        if count == 0 {
            return;
        }
        self.seen[oddity as usize].get_or_insert((0, First::Place(place))).0 += count;
        if oddity.is_damage() {
            self.damage.get_or_insert((oddity, place));
        }
    }

    /// Counts `bytes` bytes of text that are not read because of this kind of irregularity.
    pub(super) fn add_skipped(&mut self, oddity: Oddity, bytes: u64) {
        self.skipped[oddity as usize] += bytes;
    }

    /// Counts an irregular event that was found after all events were read. The event is given by
    /// its uid.
    pub(super) fn add_event(&mut self, oddity: Oddity, uid: Uid) {
        self.seen[oddity as usize].get_or_insert((0, First::Event(uid.0.into()))).0 += 1;
    }

    /// The first damage that makes `--strict` reject the file.
    pub(super) fn first_damage(&self) -> Option<(Oddity, Place)> {
        self.damage
    }

    /// Adds one note for each code that occurred in the file. `text_bytes` is the size of the
    /// file's decompressed text.
    pub(super) fn into_notes(self, text_bytes: u64, notes: &mut Notes) {
        for (code, hint) in CODES {
            notes.add(code, self.count_of(code), hint, || {
                let kinds = Oddity::all_of(code);
                let parts: Vec<String> =
                    kinds.filter_map(|kind| self.describe(kind, text_bytes)).collect();
                parts.join("; ")
            });
        }
    }

    /// Counts the lost data, the events without times, and the impossible times. A single empty
    /// event is not counted, because some profilers end the event list with an empty event.
    pub(super) fn losses(&self) -> Losses {
        let empty = self.count(EmptyEvent).saturating_sub(1);
        Losses {
            events: self.count_of(LOST) + self.count(NotAnEvent) + empty,
            bytes: self.skipped.iter().sum(),
            untimed: self.count_of(MISSING_TIME) + self.count_of(UNPAIRED),
            clocks: self.count_of(CLOCK),
            is_truncated: false,
            is_corrupt: self.count(BadChecksum) > 0,
        }
    }

    fn count(&self, kind: Oddity) -> u64 {
        self.seen[kind as usize].map_or(0, |(count, _)| count)
    }

    /// Number of occurrences of all kinds that the note with this code counts.
    fn count_of(&self, code: &str) -> u64 {
        Oddity::all_of(code).map(|kind| self.count(kind)).sum()
    }

    fn describe(&self, kind: Oddity, text_bytes: u64) -> Option<String> {
        let (count, first) = self.seen[kind as usize]?;
        let skipped = match self.skipped[kind as usize] {
            0 => String::new(),
            bytes => {
                let share = 100.0 * bytes as f64 / text_bytes.max(1) as f64;
                format!(", {bytes} bytes, {share:.1}% of the text,")
            }
        };
        Some(format!("{count} × {}{skipped} (first: {first})", kind.label()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_lists_kinds_counts_and_first_places() {
        let mut odd = Oddities::default();
        odd.add(ExtraComma, 1, Place { offset: 9, event: Some(3) });
        odd.add(Backslash, 2, Place { offset: 5, event: Some(1) });
        odd.add(Backslash, 1, Place { offset: 7, event: Some(2) });
        assert_eq!(odd.first_damage().map(|(kind, _)| kind), Some(ExtraComma));
        let mut notes = Notes::default();
        odd.into_notes(100, &mut notes);
        let note = notes.get("REPAIRED_JSON").expect("a note");
        assert_eq!(note.count, 4);
        assert_eq!(
            note.message,
            "3 × text with unescaped backslashes (first: byte 5, event 1); 1 × extra comma (first: \
             byte 9, event 3)"
        );
    }

    #[test]
    fn every_kind_is_listed_in_order_and_has_a_code() {
        for (at, (kind, own, _)) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
            assert!(CODES.iter().any(|(code, _)| *code == own), "{kind:?}");
        }
    }
}
