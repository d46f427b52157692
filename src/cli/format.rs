//! `--format`: the output format of a result.

use clap::ValueEnum;

/// The output format of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The answer for people; if -v is given, all details.
    Text,
    /// The answer as `key: value` lines for scripts and coding agents, at most 2 kB.
    Brief,
    /// The content of summary.json.
    Json,
    /// The differences by name.
    Csv,
    /// The report as Markdown.
    Md,
}
