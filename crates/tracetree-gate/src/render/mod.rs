//! Renders a [`Gate`] as text, JSON, JUnit, GitHub workflow commands, or Markdown.

mod github;
mod json;
#[cfg(feature = "junit")]
mod junit;
mod markdown;
mod overview;
mod text;

use super::check::Gate;
use std::io::{self, Write};
use std::str::FromStr;
pub use text::Layout;
use tracetree::error::{Error, Result};
use tracetree::program::nearest;

/// An output format for gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum GateFormat {
    /// The gate as plain text for people.
    Text,
    /// The gate as JSON for programs, described by `docs/reference/schemas/gate.schema.json`.
    Json,
    /// The gate as JUnit XML for CI servers, with one test case per rule.
    #[cfg(feature = "junit")]
    Junit,
    /// GitHub workflow commands such as `::error file=…,line=…`.
    Github,
    /// The gate as Markdown for a CI step summary.
    Markdown,
}

impl GateFormat {
    /// All formats that this build writes.
    pub const ALL: &[GateFormat] = &[
        GateFormat::Text,
        GateFormat::Json,
        #[cfg(feature = "junit")]
        GateFormat::Junit,
        GateFormat::Github,
        GateFormat::Markdown,
    ];

    /// The name of the format on the command line: `text`, `json`, `junit`, `github` or `md`.
    pub fn label(self) -> &'static str {
        match self {
            GateFormat::Text => "text",
            GateFormat::Json => "json",
            #[cfg(feature = "junit")]
            GateFormat::Junit => "junit",
            GateFormat::Github => "github",
            GateFormat::Markdown => "md",
        }
    }
}

impl FromStr for GateFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<GateFormat> {
        let known: Vec<&str> = GateFormat::ALL.iter().map(|format| format.label()).collect();
        let found = GateFormat::ALL.iter().find(|format| format.label() == text);
        found.copied().ok_or_else(|| {
            if text == "junit" {
                return Error::left_out(text);
            }
            let near = nearest(text, known.iter().copied()).unwrap_or_default();
            Error::usage(text, format!("unknown format; did you mean {near}?"))
                .remedy(format!("the formats are {}", known.join(", ")))
        })
    }
}

impl Gate {
    /// Describes the outcome in one line.
    pub fn headline(&self) -> String {
        text::headline(self)
    }

    /// Writes the result of the gate as text with the given layout.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write_text(&self, layout: Layout, out: &mut dyn Write) -> io::Result<()> {
        text::write(self, layout, out)
    }

    /// Writes the result of the gate.
    ///
    /// # Errors
    /// Fails if `out` cannot be written to.
    pub fn write(&self, format: GateFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            GateFormat::Text => text::write(self, Layout::default(), out),
            GateFormat::Json => json::write(self, out),
            #[cfg(feature = "junit")]
            GateFormat::Junit => junit::write(self, out),
            GateFormat::Github => github::write(self, out),
            GateFormat::Markdown => markdown::write(self, out),
        }
    }
}
