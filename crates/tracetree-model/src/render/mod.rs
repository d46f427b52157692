//! Renders the outcomes of scenarios as a report in one of four text formats.

mod csv;
mod figures;
mod json;
mod markdown;
mod table;
mod text;

use super::scenario::Outcome;
use std::path::Path;
use std::str::FromStr;
use tracetree_trace::error::{Error, Result};

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Text,
    /// JSON with all data and a versioned schema.
    Json,
    /// CSV with a line for each kernel type of each scenario.
    Csv,
    /// Markdown tables for a merge request or a job summary.
    Markdown,
}

impl Format {
    /// The format for a file name extension: `.txt`, `.json`, `.csv` or `.md`.
    pub fn of_path(path: impl AsRef<Path>) -> Option<Format> {
        let ending = path.as_ref().extension()?.to_str()?.to_ascii_lowercase();
        match ending.as_str() {
            "txt" => Some(Format::Text),
            "json" => Some(Format::Json),
            "csv" => Some(Format::Csv),
            "md" => Some(Format::Markdown),
            _ => None,
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "csv" => Ok(Format::Csv),
            "md" => Ok(Format::Markdown),
            _ => Err(Error::usage(text, "unknown format").remedy("use text, json, csv or md")),
        }
    }
}

/// Renders `outcomes` as a report that ends in a newline. For each scenario, text and Markdown show the `top`
/// largest kernel types and the sum of the others. JSON and CSV contain all kernel types.
pub fn render(outcomes: &[Outcome], format: Format, top: usize) -> String {
    match format {
        Format::Text => text::render(outcomes, top),
        Format::Json => json::render(outcomes),
        Format::Csv => csv::render(outcomes),
        Format::Markdown => markdown::render(outcomes, top),
    }
}
