//! Writes events as the lines of a JSON array.

use std::io::{self, Write};

/// Writes the elements of the event array, one per line.
pub(super) struct Lines<'o> {
    pub(super) out: &'o mut dyn Write,
    pub(super) first: bool,
}

impl Lines<'_> {
    pub(super) fn push(&mut self, event: &impl serde::Serialize) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",\n")?;
        }
        self.first = false;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }
}
