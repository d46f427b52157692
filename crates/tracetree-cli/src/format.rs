//! `--format`: the output format of a result.

use clap::ValueEnum;

/// The output format of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The result for people; with -v, all details.
    Text,
    /// The result as `key: value` lines for scripts and coding agents, at most 2 kB.
    Brief,
    /// The content of summary.json.
    Json,
    /// A table of the differences by name.
    Csv,
    /// The report as Markdown.
    Md,
}
