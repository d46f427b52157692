//! What was odd about a file, counted by kind with the first place → [`Notes`].

use crate::error::Place;
use crate::trace::columns::Uid;
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

/// All kinds, in the order in which a note lists them.
const ALL: [Oddity; 24] = [
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
    WrongType,
    NoStart,
    NoDuration,
    UnmatchedBegin,
    UnmatchedEnd,
    NegativeDuration,
    AbsurdDuration,
    OverlongGpuEvent,
];

/// The codes of the notes, with the hint of each.
const CODES: [(&str, &str); 5] = [
    ("REPAIRED_JSON", "profile with a current PyTorch, or read with --strict to refuse such files"),
    ("WRONG_TYPE", ""),
    ("MISSING_TIME", ""),
    ("UNPAIRED_EVENTS", ""),
    ("CLOCK_ANOMALY", "profile again; the time of these events is left out of every sum"),
];

impl Oddity {
    /// The code of the note that counts this kind.
    pub(super) fn code(self) -> &'static str {
        match self {
            Backslash | ControlCharacter | InvalidUtf8 | LoneSurrogate | UnescapedQuote
            | LostEvent | BareWord | ExtraComma | MissingComma | EmptyEvent | NotAnEvent
            | DamagedHeader | ByteOrderMark | TextAfterEnd | GarbageAfterGzip | BadChecksum => {
                "REPAIRED_JSON"
            }
            WrongType => "WRONG_TYPE",
            NoStart | NoDuration => "MISSING_TIME",
            UnmatchedBegin | UnmatchedEnd => "UNPAIRED_EVENTS",
            NegativeDuration | AbsurdDuration | OverlongGpuEvent => "CLOCK_ANOMALY",
        }
    }

    /// Whether `--strict` refuses it: the bytes are not what a sound file holds.
    pub(super) fn is_damage(self) -> bool {
        self.code() == "REPAIRED_JSON"
    }

    /// What happened, to read after a count.
    pub(super) fn label(self) -> &'static str {
        match self {
            Backslash => "text with backslashes that are not escaped",
            ControlCharacter => "text with raw control characters",
            InvalidUtf8 => "text that is not UTF-8",
            LoneSurrogate => "text with half a surrogate pair",
            UnescapedQuote => "event with quotes that are not escaped",
            LostEvent => "event that cannot be read and is left out",
            BareWord => "value that is no JSON (NaN, inf, N/A)",
            ExtraComma => "extra comma",
            MissingComma => "missing comma",
            EmptyEvent => "empty event",
            NotAnEvent => "element that is no event",
            DamagedHeader => "damage outside the events",
            ByteOrderMark => "byte order mark",
            TextAfterEnd => "text after the end of the trace",
            GarbageAfterGzip => "something after the gzip data",
            BadChecksum => "gzip checksum or size that does not match",
            WrongType => "field of the wrong type, ignored",
            NoStart => "event without ts, left out",
            NoDuration => "event without dur, taken as 0",
            UnmatchedBegin => "begin without its end, taken as 0 long",
            UnmatchedEnd => "end without its begin, left out",
            NegativeDuration => "negative duration, taken as 0",
            AbsurdDuration => "absurd duration, taken as 0",
            OverlongGpuEvent => {
                "GPU event that runs over the next ones on its stream, taken as 0 long"
            }
        }
    }

    fn index(self) -> usize {
        ALL.iter().position(|&o| o == self).expect("every kind is listed")
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
        self.seen[oddity.index()].get_or_insert((0, First::Place(place))).0 += count;
        if oddity.is_damage() {
            self.damage.get_or_insert((oddity, place));
        }
    }

    /// Counts an event, by its uid, that turned out to be odd when all were read.
    pub(super) fn add_event(&mut self, oddity: Oddity, uid: Uid) {
        self.seen[oddity.index()].get_or_insert((0, First::Event(uid.0.into()))).0 += 1;
    }

    /// The first damage, which `--strict` refuses.
    pub(super) fn first_damage(&self) -> Option<(Oddity, Place)> {
        self.damage
    }

    /// Whether reading ended at damage behind the events.
    pub(super) fn has_damaged_header(&self) -> bool {
        self.seen[DamagedHeader.index()].is_some()
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
    fn every_kind_has_a_listed_code() {
        for kind in ALL {
            assert!(CODES.iter().any(|(code, _)| *code == kind.code()), "{kind:?}");
        }
    }
}
