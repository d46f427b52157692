//! Splits an event that was read with the index into steps, and stores the steps so that similar
//! events can be read without the index.

use super::super::cursor::{Cursor, Value};
use super::super::event::Slot;
use super::{Fixed, Kind, Known, Step, Then, list_key, scan};

/// Maximum number of known steps, and maximum length of a step in bytes.
const MAX_STEPS: usize = 1024;
const MAX_LENGTH: usize = 512;

/// Maximum number of possible next steps that are stored for each step.
const MAX_AFTER: usize = 16;

/// The progress of splitting one event into steps, which ends at the first irregularity in the
/// event.
struct Lesson<'a, 'k> {
    known: &'k mut Known,
    text: &'a [u8],
    cursor: Cursor<'a>,
    in_args: bool,
    /// The most recently stored step. The next step begins at `start`, and `fixed` lists the values
    /// found in it so far.
    last: u32,
    start: usize,
    fixed: Vec<Fixed>,
    name: Value<'a>,
}

impl Known {
    /// Reads the well-formed event that starts with the next `{`, and stores its constant text as steps.
    pub(in super::super) fn learn(&mut self, text: &[u8], cursor: Cursor<'_>) {
        let Ok(start) = cursor.position() else { return };
        let (in_args, last, fixed, name) = (false, 0, Vec::new(), Value::Absent);
        Lesson { known: self, text, cursor, in_args, last, start, fixed, name }.event();
    }

    /// Returns the number of a step; adds the step if it is new, and records that it can follow the
    /// step `before`. Returns `None` if there are too many steps, or if the new step is too long.
    fn step(&mut self, step: Step, before: u32) -> Option<u32> {
        let after = &self.steps[before as usize].after;
        if let Some(&number) = after.iter().find(|&&at| self.steps[at as usize].is_same(&step)) {
            return Some(number);
        }
        let number = match self.steps.iter().position(|other| other.is_same(&step)) {
            Some(number) => number,
            None if self.steps.len() == MAX_STEPS || step.text.len() > MAX_LENGTH => return None,
            None => {
                self.steps.push(step);
                self.steps.len() - 1
            }
        } as u32;
        let after = &mut self.steps[before as usize].after;
        after.truncate(MAX_AFTER - 1);
        after.push(number);
        Some(number)
    }
}

impl Step {
    /// Whether two steps have the same text and the same meaning.
    fn is_same(&self, other: &Step) -> bool {
        self.text == other.text
            && self.then == other.then
            && self.in_args == other.in_args
            && self.fixed == other.fixed
    }
}

impl Lesson<'_, '_> {
    fn event(mut self) -> Option<()> {
        self.cursor.bump();
        loop {
            let key = self.cursor.key().ok()?;
            let slot = if self.in_args { Slot::of_argument(key) } else { Slot::of_field(key) };
            if slot == Slot::Args {
                self.args()?;
                if self.in_args {
                    continue;
                }
            } else {
                self.value(slot, is_same_in_all(slot, key))?;
            }
            let mut extra_commas = 0;
            while self.cursor.members_end(&mut extra_commas).ok()? {
                if !self.in_args {
                    return self.step(self.cursor.passed(), Then::End).map(drop);
                }
                self.in_args = false;
            }
            (extra_commas == 0).then_some(())?;
        }
    }

    /// Enters the object `args`, unless the object is empty. Returns `None` if the value of `args`
    /// is not an object.
    fn args(&mut self) -> Option<()> {
        self.fixed.push(Fixed { slot: Slot::Args, kind: Kind::Null, start: 0, end: 0 });
        self.cursor.eat(b'{').ok()?.then_some(())?;
        self.in_args = !self.cursor.eat(b'}').ok()?;
        Some(())
    }

    /// Reads the next value. A variable value ends the current step; any other value is part of the
    /// step's text.
    fn value(&mut self, slot: Slot, is_fixed: bool) -> Option<()> {
        let start = self.cursor.position().ok()?;
        let value = self.cursor.value().ok()?;
        (self.cursor.take_bare_words() == 0).then_some(())?;
        let (kind, start, raw) = match value {
            Value::Text(raw) => (Kind::Text, start + 1, raw),
            Value::Scalar(raw) => (Kind::Scalar, start, raw),
            Value::Composite(raw) => (Kind::Composite, start, raw),
            Value::Null | Value::Absent => (Kind::Null, start, &b""[..]),
        };
        let end = start + raw.len();
        if is_fixed || matches!(raw, b"" | b"[]" | b"{}" | b"true" | b"false") {
            let (start, end) = ((start - self.start) as u32, (end - self.start) as u32);
            if slot != Slot::Other {
                self.fixed.push(Fixed { slot, kind, start, end });
            }
            return Some(());
        }
        if kind == Kind::Scalar && scan::number_end(self.text, start) != Some(end) {
            return None;
        }
        self.step(start, Then::Value(slot, kind))?;
        if slot == Slot::Name {
            self.name = value;
        }
        if kind == Kind::Composite {
            let key = list_key(self.last, self.name);
            self.known.lists.remember(key, &self.text[start..], raw.len());
        }
        self.start = end;
        Some(())
    }

    /// Stores the current step, which ends at `end`.
    fn step(&mut self, end: usize, then: Then) -> Option<()> {
        let text = self.text[self.start..end].into();
        let fixed = std::mem::take(&mut self.fixed);
        let (beginning, in_args) = (then.beginning(), self.in_args);
        let step = Step { text, fixed, then, beginning, in_args, after: Vec::new() };
        self.last = self.known.step(step, self.last)?;
        Some(())
    }
}

/// Whether a value changes so rarely between events that it is treated as part of a step.
fn is_same_in_all(slot: Slot, key: &[u8]) -> bool {
    matches!(
        slot,
        Slot::Phase | Slot::Category | Slot::Pid | Slot::Tid | Slot::Device | Slot::ForwardThread
    ) || matches!(key, b"Trace name" | b"Trace iteration" | b"Device")
}
