//! What was odd about a file, counted by kind with the first place → [`Notes`].

use crate::error::Place;
use crate::trace::ids::Uid;
use crate::trace::losses::Losses;
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

/// All kinds, in the order of their declaration, in which a note lists them.
const ALL: [Oddity; 35] = [
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
];

const REPAIRED: &str = "REPAIRED_JSON";
const LOST: &str = "LOST_EVENTS";
const WRONG_TYPE: &str = "WRONG_TYPE";
const MISSING_TIME: &str = "MISSING_TIME";
const UNPAIRED: &str = "UNPAIRED_EVENTS";
const CLOCK: &str = "CLOCK_ANOMALY";

/// The codes of the notes, with the hint of each.
const CODES: [(&str, &str); 6] = [
    (REPAIRED, "profile with a current PyTorch, or read with --strict to refuse such files"),
    (
        LOST,
        "copy the file again, or profile again: what is lost takes no part in any sum, and uids behind it may be shifted",
    ),
    (WRONG_TYPE, ""),
    (MISSING_TIME, ""),
    (UNPAIRED, ""),
    (CLOCK, "profile again; durations that cannot be are left out of every sum"),
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
            BareWord => (REPAIRED, "value that is no JSON (NaN, inf, N/A)"),
            NotJson => (REPAIRED, "number, bracket or comma that is no JSON"),
            ExtraComma => (REPAIRED, "extra comma"),
            MissingComma => (REPAIRED, "missing comma"),
            EmptyEvent => (REPAIRED, "empty event"),
            NotAnEvent => (REPAIRED, "element that is no event"),
            StrayBracket => (REPAIRED, "bracket that does not belong between the events"),
            MissingBracket => (REPAIRED, "bracket missing around the events"),
            BareEvents => (REPAIRED, "list of events without its brackets, one event a line"),
            DamagedHeader => (REPAIRED, "damage outside the events"),
            ByteOrderMark => (REPAIRED, "byte order mark"),
            TextAfterEnd => (REPAIRED, "text after the end of the trace"),
            GarbageAfterGzip => (REPAIRED, "something after the gzip data"),
            BadChecksum => (REPAIRED, "gzip checksum or size that does not match"),
            CutArchive => (REPAIRED, "packed data cut off behind the end of the trace"),
            LostEvent => (LOST, "event that cannot be read and is left out"),
            Hole => (
                LOST,
                "event that a hole of zero bytes runs through, left out with all that stood in the hole",
            ),
            DeepEvent => (LOST, "event nested deeper than 512 values, left out"),
            OtherTrace => (LOST, "event of another trace behind the end of this one, not read"),
            OtherDocument => (LOST, "other document behind the end of the trace, not read"),
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
            AbsurdStart => (CLOCK, "ts that no clock shows, taken as the end of time"),
            StartAtZero => (CLOCK, "event at time 0, long before all others"),
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
        matches!(self.code(), REPAIRED | LOST)
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
#[derive(Debug)]
pub(super) struct Oddities {
    seen: [Option<(u64, First)>; ALL.len()],
    /// Bytes that were not read, for each kind.
    skipped: [u64; ALL.len()],
    damage: Option<(Oddity, Place)>,
}

impl Default for Oddities {
    fn default() -> Self {
        Oddities { seen: [None; ALL.len()], skipped: [0; ALL.len()], damage: None }
    }
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

    /// Counts `bytes` of the text that are not read because of a kind.
    pub(super) fn add_skipped(&mut self, oddity: Oddity, bytes: u64) {
        self.skipped[oddity as usize] += bytes;
    }

    /// Counts an event, by its uid, that turned out to be odd when all were read.
    pub(super) fn add_event(&mut self, oddity: Oddity, uid: Uid) {
        self.seen[oddity as usize].get_or_insert((0, First::Event(uid.0.into()))).0 += 1;
    }

    /// The first damage, which `--strict` refuses.
    pub(super) fn first_damage(&self) -> Option<(Oddity, Place)> {
        self.damage
    }

    /// One note for each code that was met in a text of so many bytes.
    pub(super) fn into_notes(self, text_bytes: u64, notes: &mut Notes) {
        for (code, hint) in CODES {
            let kinds = || ALL.into_iter().filter(|kind| kind.code() == code);
            let count = |kind: Oddity| self.seen[kind as usize].map_or(0, |(count, _)| count);
            notes.add(code, kinds().map(count).sum(), hint, || {
                let parts: Vec<String> =
                    kinds().filter_map(|kind| self.describe(kind, text_bytes)).collect();
                parts.join("; ")
            });
        }
    }

    /// The counts that mean that something is missing. A single empty event is none: some profilers end
    /// their list with one.
    pub(super) fn losses(&self) -> Losses {
        let count = |kind: Oddity| self.seen[kind as usize].map_or(0, |(count, _)| count);
        let sum = |kinds: &[Oddity]| kinds.iter().map(|&kind| count(kind)).sum::<u64>();
        let of_code = |code: &str| -> u64 {
            ALL.into_iter().filter(|kind| kind.code() == code).map(count).sum()
        };
        Losses {
            events: of_code(LOST) + sum(&[NotAnEvent]) + count(EmptyEvent).saturating_sub(1),
            bytes: self.skipped.iter().sum(),
            untimed: of_code(MISSING_TIME) + of_code(UNPAIRED),
            clocks: of_code(CLOCK),
            is_truncated: false,
            is_corrupt: count(BadChecksum) > 0,
        }
    }

    fn describe(&self, kind: Oddity, text_bytes: u64) -> Option<String> {
        let (count, first) = self.seen[kind as usize]?;
        let skipped = match self.skipped[kind as usize] {
            0 => String::new(),
            bytes => {
                let share = 100.0 * bytes as f64 / text_bytes.max(1) as f64;
                format!(", {bytes} bytes, {share:.1} % of the text,")
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
