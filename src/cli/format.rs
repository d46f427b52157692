//! `--format`: how a result is printed.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Csv,
    Md,
}
