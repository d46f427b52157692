//! `--format`: the output format of a result.

use clap::ValueEnum;

/// The output format of a result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Csv,
    Md,
}
