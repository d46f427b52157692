//! Collects irregularities in the data instead of printing them. Every result of the pipeline
//! carries its [`Notes`].

use serde::{Deserialize, Serialize};

/// A kind of irregularity, how often it occurred, and what the user can do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Stable code in capitals, such as `REPAIRED_JSON`.
    pub code: &'static str,
    /// How many times the irregularity occurred.
    pub count: u64,
    /// A description of the irregularity, with the position of the first occurrence if that helps.
    pub message: String,
    /// A hint on what the user can do; empty if nothing can be done.
    pub hint: &'static str,
}

/// The notes on a result, one for each code, in the order in which the codes first occurred.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Notes(Vec<Note>);

impl Notes {
    /// Counts `count` more occurrences of `code`; the first message and hint are kept.
    pub fn add(
        &mut self,
        code: &'static str,
        count: u64,
        hint: &'static str,
        message: impl FnOnce() -> String,
    ) {
        if count == 0 {
            return;
        }
        match self.0.iter_mut().find(|note| note.code == code) {
            Some(note) => note.count += count,
            None => self.0.push(Note { code, count, message: message(), hint }),
        }
    }

    /// Adds that two runs are copies of one file.
    #[doc(hidden)]
    pub fn add_copy(&mut self, copy: &str, original: &str) {
        self.add("REPEATED_RUN", 1, "record each run on its own", || {
            format!(
                "{copy} has the same content as {original}: copies do not show how much runs vary"
            )
        });
    }

    /// Changes the message of every note.
    pub(super) fn for_each_message(&mut self, change: impl Fn(&mut String)) {
        self.0.iter_mut().for_each(|note| change(&mut note.message));
    }

    /// The note that has this code.
    pub fn get(&self, code: &str) -> Option<&Note> {
        self.0.iter().find(|note| note.code == code)
    }

    /// The notes about captures of graphs.
    #[doc(hidden)]
    pub fn of_captures(&self) -> impl Iterator<Item = &Note> {
        self.0.iter().filter(|note| note.code.starts_with("CAPTURE_"))
    }

    /// All notes.
    pub fn iter(&self) -> std::slice::Iter<'_, Note> {
        self.0.iter()
    }

    /// Whether there are no notes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a Notes {
    type Item = &'a Note;
    type IntoIter = std::slice::Iter<'a, Note>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Counts of events and bytes in a file that were lost or repaired, and of events whose times are
/// impossible. [`Trace::notes`](super::Trace::notes) describes the same losses for users; these
/// counts are for code that must react to losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
#[doc(hidden)]
pub struct Losses {
    /// Number of elements in `traceEvents` that could not be read or are not events. One empty
    /// element (`null` or `{}`) per file is not counted.
    pub events: u64,
    /// Number of bytes of decompressed text that were not read.
    pub bytes: u64,
    /// Number of events that lack a start or a duration, plus begin and end events that lack a
    /// counterpart.
    pub untimed: u64,
    /// Number of impossible durations (each counts as 0 ns) and impossible start times.
    pub clocks: u64,
    /// Whether the text ends before the JSON document does.
    pub is_truncated: bool,
    /// Whether the compressed data does not match its checksum or size.
    pub is_corrupt: bool,
}
