//! What the user asks for besides the tables: formats of the report, by name.

use std::fmt;
use std::str::FromStr;

/// A format of the report besides the tables, which are always written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Emit {
    /// `report.html`: one page to look at.
    Html,
    /// `report.md`: for an issue or a step summary.
    Markdown,
    /// `report.xlsx`: a workbook with a sheet for each table.
    Xlsx,
    /// `flamegraph.svg` and `folded.txt`.
    Flamegraph,
    /// `perfetto.json.gz`: both traces as one.
    Perfetto,
}

impl Emit {
    /// All formats.
    pub const ALL: [Emit; 5] =
        [Emit::Html, Emit::Markdown, Emit::Xlsx, Emit::Flamegraph, Emit::Perfetto];

    /// The name on the command line: `html`, `md`, `xlsx`, `svg`, `perfetto`.
    pub fn label(self) -> &'static str {
        match self {
            Emit::Html => "html",
            Emit::Markdown => "md",
            Emit::Xlsx => "xlsx",
            Emit::Flamegraph => "svg",
            Emit::Perfetto => "perfetto",
        }
    }
}

impl fmt::Display for Emit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for Emit {
    type Err = String;

    fn from_str(text: &str) -> Result<Emit, String> {
        Emit::ALL.into_iter().find(|emit| emit.label() == text).ok_or_else(|| {
            let known: Vec<&str> = Emit::ALL.iter().map(|emit| emit.label()).collect();
            format!("`{text}` is no format of the report; known are {}", known.join(", "))
        })
    }
}

/// What is written besides the tables, and how much of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportOptions {
    /// The formats; order and repetition do not matter.
    pub emits: Vec<Emit>,
    /// Most slices in `perfetto.json.gz`, both traces together.
    pub perfetto_slices: usize,
}

impl Default for ReportOptions {
    /// A page and a text to paste; 200,000 slices where a Perfetto file is asked for.
    fn default() -> ReportOptions {
        ReportOptions { emits: vec![Emit::Html, Emit::Markdown], perfetto_slices: 200_000 }
    }
}
