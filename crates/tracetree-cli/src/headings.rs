//! Headings that group the options in `--help`.

/// Heading for the options that select output files.
pub(super) const REPORT: &str = "Report";
/// Heading for the options that select which work is compared, and how it is compared.
pub(super) const WORK: &str = "What is compared";
/// Heading for the options that set thresholds and exit codes.
pub(super) const LIMITS: &str = "Thresholds and exit codes";
/// Heading for the options that set side names, categories, performance models and peaks.
pub(super) const NAMES: &str = "Names and models";
/// Heading for the options that locate graph captures.
pub(super) const CAPTURES: &str = "Captures of graphs";
/// Heading for the options that every command has.
pub(super) const GLOBAL: &str = "Every command";
