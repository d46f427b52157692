//! Headings that group the options in `--help`.

/// Output files.
pub(super) const REPORT: &str = "Report";
/// Which work of the traces is compared, and how.
pub(super) const WORK: &str = "What is compared";
/// Thresholds for differences, and exit codes.
pub(super) const LIMITS: &str = "Thresholds and exit codes";
/// Side names, categories, performance models and peaks.
pub(super) const NAMES: &str = "Names and models";
/// Where to find captures of graphs.
pub(super) const CAPTURES: &str = "Captures of graphs";
/// Options of every command.
pub(super) const GLOBAL: &str = "Every command";
