//! Reads events that resemble earlier events, without an index of the text structure.
//!
//! Profilers write events in only a few shapes. Events of the same shape have the same keys in the
//! same order with the same blanks. The text between two variable values is called a *step*. Events
//! of the same shape consist of the same steps in the same order:
//!
//! ```text
//! {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 12.5, …
//! └────────────── step ────────────────┘└─ text ──┘└──────── step ───────────┘└ number
//! ```
//!
//! An event is known if its text consists of known steps, and each of these steps has followed the
//! step before it in an earlier event. The values between the steps may be strings, plain numbers
//! (without an exponent), plain lists (of strings, plain numbers and plain lists), and exact copies
//! of a list that was read before. The tokens of an event depend only on the event's text, from its
//! `{` on. An event therefore has the same tokens whether it is read with the index or without it.
//! An event that is not known is read with the index, and its steps are stored for later events.

mod learn;
mod lists;
mod scan;

use super::cursor::Value;
use super::event::{Fields, Slot};
use super::numbers;
use crate::trace::time::Nanos;
use lists::Lists;

pub(super) use scan::{behind_blanks, string_end};

/// The steps and lists found in earlier events.
#[derive(Debug)]
pub(super) struct Known {
    /// All known steps. The first entry is an empty step that represents the beginning of an event.
    steps: Vec<Step>,
    lists: Lists,
    /// Counter that decides whether to keep searching for known events; see [`PATIENCE`].
    patience: u32,
}

/// The text between two variable values of an event.
#[derive(Debug)]
struct Step {
    text: Box<[u8]>,
    /// The values that are part of the step's text, in order.
    fixed: Vec<Fixed>,
    then: Then,
    /// The kind of byte that may follow the step's text, as one of the bits in [`BEGINNINGS`].
    beginning: u8,
    /// Whether the text after the step belongs to `args`.
    in_args: bool,
    /// The steps that came next in earlier events, after this step and the value that follows it;
    /// the most likely step comes first.
    after: Vec<u32>,
}

/// A value that is part of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fixed {
    slot: Slot,
    kind: Kind,
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Scalar,
    Composite,
    Null,
}

/// What follows a step: a value for a slot, or the end of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Value(Slot, Kind),
    End,
}

/// Initial and maximum value of the counter [`Known::patience`]. A known event adds 1 to the
/// counter, and a miss subtracts [`MISS`]. Once the counter is 0, all events are read with the
/// index, because a miss costs about ten times as much time as a known event saves.
const PATIENCE: u32 = 16 * 1024;
/// The amount by which a miss reduces the counter [`Known::patience`].
const MISS: u32 = 8;

impl Known {
    pub(super) fn new() -> Self {
        let start = Step {
            text: Box::default(),
            fixed: Vec::new(),
            then: Then::End,
            beginning: 0,
            in_args: false,
            after: Vec::new(),
        };
        Known { steps: vec![start], lists: Lists::default(), patience: PATIENCE }
    }

    /// Whether searching for known events is still worthwhile.
    pub(super) fn is_useful(&self) -> bool {
        self.patience > 0
    }

    /// Reduces the counter [`Known::patience`] after an element whose shape was not known.
    pub(super) fn miss(&mut self) {
        self.patience = self.patience.saturating_sub(MISS);
    }

    /// If the event that starts at `start` is known, reads the event into `fields` and returns the
    /// end position.
    ///
    /// If the event is not known, the content of `fields` is meaningless.
    pub(super) fn read<'a>(
        &mut self,
        text: &'a [u8],
        start: usize,
        fields: &mut Fields<'a>,
    ) -> Option<usize> {
        let mut at = start;
        let mut step = 0;
        let mut skips_args = false;
        loop {
            let number = self.next(step, &text[at..])?;
            step = number as usize;
            let Step { text: between, fixed, then, .. } = &self.steps[step];
            for &Fixed { slot, kind, start, end } in fixed {
                if slot == Slot::Args {
                    skips_args = fields.skips_args();
                } else if is_kept(slot, skips_args) {
                    fields.set(slot, kind.value(&text[at + start as usize..at + end as usize]));
                }
            }
            at += between.len();
            // The next three lines are repeated for each kind of value, because shared code for all
            // kinds would make reading 3% slower.
            at = match *then {
                Then::Value(slot, Kind::Text) => {
                    let end = scan::string_end(text, at)?;
                    if is_kept(slot, skips_args) {
                        fields.set(slot, Value::Text(&text[at..end]));
                    }
                    end
                }
                Then::Value(Slot::Start, Kind::Scalar) => time(text, at, &mut fields.start)?,
                Then::Value(Slot::Duration, Kind::Scalar) => time(text, at, &mut fields.duration)?,
                Then::Value(slot, Kind::Scalar) => {
                    let end = scan::number_end(text, at)?;
                    if is_kept(slot, skips_args) {
                        fields.set(slot, Value::Scalar(&text[at..end]));
                    }
                    end
                }
                Then::Value(slot, Kind::Composite) => {
                    let end = self.list_end(list_key(number, fields.name), text, at)?;
                    if is_kept(slot, skips_args) {
                        fields.set(slot, Value::Composite(&text[at..end]));
                    }
                    end
                }
                Then::Value(_, Kind::Null) => return None,
                Then::End => {
                    self.patience = (self.patience + 1).min(PATIENCE);
                    return Some(at);
                }
            };
        }
    }

    /// The end of the list that starts at `at`, if the list is remembered or plain.
    #[inline]
    fn list_end(&mut self, key: u64, text: &[u8], at: usize) -> Option<usize> {
        if let Some(length) = self.lists.length(key, &text[at..]) {
            return Some(at + length);
        }
        let end = scan::list_end(text, at)?;
        self.lists.remember(key, &text[at..], end - at);
        Some(end)
    }

    /// Returns the known step that `text` starts with. `text` begins after the value that follows
    /// `step`.
    #[inline]
    fn next(&mut self, step: usize, text: &[u8]) -> Option<u32> {
        let likeliest = *self.steps[step].after.first()?;
        if self.steps[likeliest as usize].starts(text) {
            Some(likeliest)
        } else {
            self.next_of_others(step, text)
        }
    }

    /// The slow path for text that does not start with the most likely step. When a step is found,
    /// it moves one position toward the front of the list, so that frequent steps are tried
    /// earlier.
    #[inline(never)]
    fn next_of_others(&mut self, step: usize, text: &[u8]) -> Option<u32> {
        let others = &self.steps[step].after[1..];
        let place = others.iter().position(|&next| self.steps[next as usize].starts(text))?;
        let next = others[place];
        self.steps[step].after.swap(place, place + 1);
        Some(next)
    }
}

/// Reads the time value that starts at `at`; returns the end position.
#[inline]
fn time(text: &[u8], at: usize, field: &mut Option<Nanos>) -> Option<usize> {
    match numbers::nanos_at(text, at) {
        Some((time, end)) => {
            *field = Some(time);
            Some(end)
        }
        None => uncommon_time(text, at, field),
    }
}

/// The slow path for a time value that is not in the common form.
#[inline(never)]
fn uncommon_time(text: &[u8], at: usize, field: &mut Option<Nanos>) -> Option<usize> {
    let end = scan::number_end(text, at)?;
    *field = numbers::nanos(&text[at..end]);
    Some(end)
}

/// Whether the value in this slot is stored. If `skips_args` is true, the arguments of the event
/// are not stored.
#[inline]
fn is_kept(slot: Slot, skips_args: bool) -> bool {
    slot != Slot::Other && !(skips_args && slot.is_argument())
}

impl Kind {
    /// Wraps the bytes as a value of this kind.
    #[inline]
    fn value(self, bytes: &[u8]) -> Value<'_> {
        match self {
            Kind::Text => Value::Text(bytes),
            Kind::Scalar => Value::Scalar(bytes),
            Kind::Composite => Value::Composite(bytes),
            Kind::Null => Value::Null,
        }
    }
}

impl Step {
    /// Whether `text` starts with this step, followed by a non-empty value. A step's text includes
    /// empty values, so at most one step matches a given text.
    // This function is always inlined, because a function call for each step would increase the
    // number of instructions for reading by 2%.
    #[inline(always)]
    fn starts(&self, text: &[u8]) -> bool {
        let Some((start, value)) = text.split_at_checked(self.text.len()) else { return false };
        if start != &*self.text {
            return false;
        }
        match value {
            [first, second, ..] => {
                self.beginning & BEGINNINGS[usize::from(*first)] != 0
                    && (self.beginning != LIST || !matches!(second, b']' | b'}'))
            }
            _ => self.then == Then::End,
        }
    }
}

/// The bits of [`BEGINNINGS`]. In order, they represent a non-empty string, a number, a list or
/// object, and anything.
const TEXT: u8 = 1;
const NUMBER: u8 = 2;
const LIST: u8 = 4;
const ANY: u8 = 8;

/// For each byte, the kinds of values that may begin with that byte. Strings are classified by the
/// byte after the opening quote.
const BEGINNINGS: [u8; 256] = {
    let mut beginnings = [ANY | TEXT; 256];
    let mut digit = b'0';
    while digit <= b'9' {
        beginnings[digit as usize] |= NUMBER;
        digit += 1;
    }
    beginnings[b'-' as usize] |= NUMBER;
    beginnings[b'[' as usize] |= LIST;
    beginnings[b'{' as usize] |= LIST;
    beginnings[b'"' as usize] = ANY;
    beginnings
};

impl Then {
    /// The kinds of values that may follow the step, as bits of [`BEGINNINGS`].
    fn beginning(self) -> u8 {
        match self {
            Then::Value(_, Kind::Text) => TEXT,
            Then::Value(_, Kind::Scalar) => NUMBER,
            Then::Value(_, Kind::Composite) => LIST,
            Then::Value(_, Kind::Null) => 0,
            Then::End => ANY,
        }
    }
}

/// The key under which [`Lists`] remembers a list. Lists that follow different steps, or belong to
/// ops with different names, usually have different keys.
#[inline]
fn list_key(step: u32, name: Value<'_>) -> u64 {
    let name = name.bytes().unwrap_or_default();
    let end = name.last_chunk::<8>().map_or(0, |end| u64::from_le_bytes(*end));
    u64::from(step) << 32 ^ end.wrapping_add(name.len() as u64)
}

#[cfg(test)]
mod tests;
