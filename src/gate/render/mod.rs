//! [`Gate`] → text for people, JSON, JUnit, lines of GitHub, Markdown.

mod overview;
mod text;

use super::check::Gate;
use crate::program::nearest;
use std::io::{self, Write};
use std::str::FromStr;

/// How a gate is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GateFormat {
    /// For people.
    Text,
}

impl Gate {
    /// The outcome in a line.
    pub fn headline(&self) -> String {
        text::headline(self)
    }

    /// Writes what the gate says.
    ///
    /// # Errors
    /// If `out` cannot be written to.
    pub fn write(&self, format: GateFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            GateFormat::Text => text::write(self, out),
        }
    }
}

impl GateFormat {
    /// All formats.
    pub const ALL: [GateFormat; 1] = [GateFormat::Text];

    /// As the command line writes it.
    pub fn label(self) -> &'static str {
        match self {
            GateFormat::Text => "text",
        }
    }
}

impl FromStr for GateFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<GateFormat, String> {
        let known = GateFormat::ALL.map(GateFormat::label);
        let found = GateFormat::ALL.into_iter().find(|format| format.label() == text);
        found.ok_or_else(|| {
            let near = nearest(text, known).unwrap_or_default();
            format!("no such format; did you mean {near}? There are {}", known.join(", "))
        })
    }
}
