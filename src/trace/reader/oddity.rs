//! What was odd about a file, counted by kind with the first place → [`Notes`].

use crate::error::Place;
use crate::trace::ids::Uid;
use crate::trace::notes::Notes;
use std::fmt;

/// A kind of odd data. Most are repairs of the JSON text; see [`Oddity::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Oddity {
    Backslash,
    ControlCharacter,
    InvalidUtf8,
    LoneSurrogate,
    UnescapedQuote,
    LostEvent,
    BareWord,
    ExtraComma,
    MissingComma,
    EmptyEvent,
    NotAnEvent,
    DamagedHeader,
    ByteOrderMark,
    TextAfterEnd,
    GarbageAfterGzip,
    BadChecksum,
    CutArchive,
    WrongType,
    NoStart,
    NoDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    NegativeDuration,
    AbsurdDuration,
    OverlongGpuEvent,
}

use Oddity::*;

/// All kinds, in the order of their declaration, in which a note lists them.
const ALL: [Oddity; 25] = [
    Backslash,
    ControlCharacter,
    InvalidUtf8,
    LoneSurrogate,
    UnescapedQuote,
    LostEvent,
    BareWord,
    ExtraComma,
    MissingComma,
    EmptyEvent,
    NotAnEvent,
    DamagedHeader,
    ByteOrderMark,
    TextAfterEnd,
    GarbageAfterGzip,
    BadChecksum,
    CutArchive,
    WrongType,
    NoStart,
    NoDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    NegativeDuration,
    AbsurdDuration,
    OverlongGpuEvent,
];

const REPAIRED: &str = "REPAIRED_JSON";
const WRONG_TYPE: &str = "WRONG_TYPE";
const MISSING_TIME: &str = "MISSING_TIME";
const UNPAIRED: &str = "UNPAIRED_EVENTS";
const CLOCK: &str = "CLOCK_ANOMALY";

/// The codes of the notes, with the hint of each.
const CODES: [(&str, &str); 5] = [
    (REPAIRED, "profile with a current PyTorch, or read with --strict to refuse such files"),
    (WRONG_TYPE, ""),
    (MISSING_TIME, ""),
    (UNPAIRED, ""),
    (CLOCK, "profile again; the time of these events is left out of every sum"),
];

impl Oddity {
    /// The code of the note that counts this kind, and what happened, to read after a count.
    fn description(self) -> (&'static str, &'static str) {
        match self {
            Backslash => (REPAIRED, "text with backslashes that are not escaped"),
            ControlCharacter => (REPAIRED, "text with raw control characters"),
            InvalidUtf8 => (REPAIRED, "text that is not UTF-8"),
            LoneSurrogate => (REPAIRED, "text with half a surrogate pair"),
            UnescapedQuote => (REPAIRED, "event with quotes that are not escaped"),
            LostEvent => (REPAIRED, "event that cannot be read and is left out"),
            BareWord => (REPAIRED, "value that is no JSON (NaN, inf, N/A)"),
            ExtraComma => (REPAIRED, "extra comma"),
            MissingComma => (REPAIRED, "missing comma"),
            EmptyEvent => (REPAIRED, "empty event"),
            NotAnEvent => (REPAIRED, "element that is no event"),
            DamagedHeader => (REPAIRED, "damage outside the events"),
            ByteOrderMark => (REPAIRED, "byte order mark"),
            TextAfterEnd => (REPAIRED, "text after the end of the trace"),
            GarbageAfterGzip => (REPAIRED, "something after the gzip data"),
            BadChecksum => (REPAIRED, "gzip checksum or size that does not match"),
            CutArchive => (REPAIRED, "packed data cut off behind the end of the trace"),
            WrongType => (WRONG_TYPE, "field of the wrong type, ignored"),
            NoStart => (MISSING_TIME, "event without ts, left out"),
            NoDuration => (MISSING_TIME, "event without dur, taken as 0"),
            UnmatchedBegin => (UNPAIRED, "begin without its end, taken as 0 long"),
            UnmatchedEnd => (UNPAIRED, "end without its begin, left out"),
            NegativeDuration => (CLOCK, "negative duration, taken as 0"),
            AbsurdDuration => (CLOCK, "absurd duration, taken as 0"),
            OverlongGpuEvent => {
                (CLOCK, "GPU event that runs over the next ones on its stream, taken as 0 long")
            }
        }
    }

    /// The code of the note that counts this kind.
    pub(super) fn code(self) -> &'static str {
        self.description().0
    }

    /// What happened, to read after a count.
    pub(super) fn label(self) -> &'static str {
        self.description().1
    }

    /// Whether `--strict` refuses it: the bytes are not what a sound file holds.
    pub(super) fn is_damage(self) -> bool {
        self.code() == REPAIRED
    }
}

/// Where a kind of odd data was first met.
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

/// The counts of one file.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    seen: [Option<(u64, First)>; ALL.len()],
    damage: Option<(Oddity, Place)>,
}

impl Oddities {
    /// Counts `count` more of a kind.
    pub(super) fn add(&mut self, oddity: Oddity, count: u64, place: Place) {
        if count == 0 {
            return;
        }
        self.seen[oddity as usize].get_or_insert((0, First::Place(place))).0 += count;
        if oddity.is_damage() {
            self.damage.get_or_insert((oddity, place));
        }
    }

    /// Counts an event, by its uid, that turned out to be odd when all were read.
    pub(super) fn add_event(&mut self, oddity: Oddity, uid: Uid) {
        self.seen[oddity as usize].get_or_insert((0, First::Event(uid.0.into()))).0 += 1;
    }

    /// The first damage, which `--strict` refuses.
    pub(super) fn first_damage(&self) -> Option<(Oddity, Place)> {
        self.damage
    }

    /// One note for each code that was met.
    pub(super) fn into_notes(self, notes: &mut Notes) {
        for (code, hint) in CODES {
            let kinds = || ALL.iter().zip(&self.seen).filter(|(kind, _)| kind.code() == code);
            let total = kinds().filter_map(|(_, seen)| *seen).map(|(count, _)| count).sum();
            notes.add(code, total, hint, || {
                let parts: Vec<String> =
                    kinds().filter_map(|(kind, seen)| describe(*kind, *seen)).collect();
                parts.join("; ")
            });
        }
    }
}

fn describe(kind: Oddity, seen: Option<(u64, First)>) -> Option<String> {
    let (count, first) = seen?;
    Some(format!("{count} × {} (first: {first})", kind.label()))
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
        odd.into_notes(&mut notes);
        let note = notes.get("REPAIRED_JSON").expect("a note");
        assert_eq!(note.count, 4);
        assert_eq!(
            note.message,
            "3 × text with backslashes that are not escaped (first: byte 5, event 1); \
             1 × extra comma (first: byte 9, event 3)"
        );
    }

    #[test]
    fn every_kind_is_listed_in_order_and_has_a_code() {
        for (at, kind) in ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at);
            assert!(CODES.iter().any(|(code, _)| *code == kind.code()), "{kind:?}");
        }
    }
}
