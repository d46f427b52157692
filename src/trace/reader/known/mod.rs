//! Events that look like those before → their fields, without the positions of their structure.
//!
//! Profilers write events of few shapes: the same keys in the same order with the same blanks. What
//! stands between two values that differ is a *step*, and steps follow each other as they did
//! before:
//!
//! ```text
//! {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 7, "tid": 7, "ts": 12.5, …
//! └────────────── step ────────────────┘└─ text ──┘└──────── step ───────────┘└ number
//! ```
//!
//! An event is known when its text is steps that were met, each behind one that it was met behind,
//! and between them plain numbers, strings, and lists that were met byte by byte. All of its
//! tokens are known then: they depend on the text from its `{` on, and on nothing else. Any other
//! event is read with the index, and its steps are learned.

mod learn;
mod lists;
mod scan;

use super::cursor::Value;
use super::event::{Fields, Slot};
use lists::Lists;

pub(super) use scan::behind_blanks;

/// The steps and lists that were met.
#[derive(Debug)]
pub(super) struct Known {
    /// The first one stands before the event and has no text.
    steps: Vec<Step>,
    lists: Lists,
    /// What is left of the misses that are allowed.
    patience: u32,
}

/// The text between two values that differ from event to event.
#[derive(Debug)]
struct Step {
    text: Box<[u8]>,
    /// Values in the text, in their order.
    fixed: Vec<Fixed>,
    then: Then,
    /// Whether what follows belongs to `args`.
    in_args: bool,
    /// The steps that were met behind the value, the likeliest first.
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

/// What follows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Text(Slot),
    Number(Slot),
    List(Slot),
    End,
}

/// The most that is kept of the patience.
const PATIENCE: u32 = 16 * 1024;

impl Known {
    pub(super) fn new() -> Self {
        let start = Step {
            text: Box::default(),
            fixed: Vec::new(),
            then: Then::End,
            in_args: false,
            after: Vec::new(),
        };
        Known { steps: vec![start], lists: Lists::default(), patience: PATIENCE }
    }

    /// Whether events are known often enough to look.
    pub(super) fn is_useful(&self) -> bool {
        self.patience > 0
    }

    /// Reads the event that starts at `start` into `fields`, if it is known; where it ends.
    #[inline]
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
                } else if !(skips_args && slot.is_argument()) {
                    let value = &text[at + start as usize..at + end as usize];
                    match kind {
                        Kind::Text => fields.set(slot, Value::Text(value)),
                        Kind::Scalar => fields.set(slot, Value::Scalar(value)),
                        Kind::Composite => fields.set(slot, Value::Composite(value)),
                        Kind::Null => fields.set(slot, Value::Null),
                    }
                }
            }
            at += between.len();
            let is_wanted = |slot: Slot| !(skips_args && slot.is_argument());
            at = match *then {
                Then::Text(slot) => {
                    let end = scan::string_end(text, at)?;
                    if is_wanted(slot) {
                        fields.set(slot, Value::Text(&text[at..end]));
                    }
                    end
                }
                Then::Number(slot) => {
                    let end = scan::number_end(text, at)?;
                    if is_wanted(slot) {
                        fields.set(slot, Value::Scalar(&text[at..end]));
                    }
                    end
                }
                Then::List(slot) => {
                    let key = u64::from(number) << 32 ^ name_key(fields.name);
                    let end = match self.lists.length(key, &text[at..]) {
                        Some(length) => at + length,
                        None => {
                            let end = scan::list_end(text, at)?;
                            self.lists.remember(key, &text[at..], end - at);
                            end
                        }
                    };
                    if is_wanted(slot) {
                        fields.set(slot, Value::Composite(&text[at..end]));
                    }
                    end
                }
                Then::End => {
                    self.patience = (self.patience + 1).min(PATIENCE);
                    return Some(at);
                }
            };
        }
    }

    /// The step that `text` starts with, behind the value that follows `step`.
    #[inline]
    fn next(&mut self, step: usize, text: &[u8]) -> Option<u32> {
        let after = &self.steps[step].after;
        let place = after.iter().position(|&next| self.steps[next as usize].starts(text))?;
        let next = after[place];
        if place > 0 {
            self.steps[step].after.swap(place - 1, place);
        }
        Some(next)
    }
}

impl Step {
    /// Whether `text` starts with the step and a value that is not empty. Empty ones are fixed, so
    /// no text starts with two steps.
    #[inline]
    fn starts(&self, text: &[u8]) -> bool {
        let Some((start, value)) = text.split_at_checked(self.text.len()) else { return false };
        if !scan::is_same(start, &self.text) {
            return false;
        }
        match self.then {
            Then::Text(_) => !matches!(value, [b'"', ..]),
            Then::Number(_) => matches!(value, [b'0'..=b'9' | b'-', ..]),
            Then::List(_) => matches!(value, [b'[', not, ..] if *not != b']')
                || matches!(value, [b'{', not, ..] if *not != b'}'),
            Then::End => true,
        }
    }
}

/// What tells the lists of one op from those of another.
#[inline]
fn name_key(name: Value<'_>) -> u64 {
    let name = name.bytes().unwrap_or_default();
    let end = name.last_chunk::<8>().map_or(0, |end| u64::from_le_bytes(*end));
    end.wrapping_add(name.len() as u64)
}
