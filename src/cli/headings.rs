//! What options are grouped under in `--help`.

/// What a run writes.
pub(super) const REPORT: &str = "Report";
/// Which work of the traces is compared, and how.
pub(super) const WORK: &str = "What is compared";
/// From where on a difference matters, and what the exit code tells.
pub(super) const LIMITS: &str = "Thresholds and exit codes";
/// How sides, kinds of work and peaks are called and known.
pub(super) const NAMES: &str = "Names and models";
/// Where captures of graphs are.
pub(super) const CAPTURES: &str = "Captures of graphs";
/// Options of every command.
pub(super) const GLOBAL: &str = "Every command";
