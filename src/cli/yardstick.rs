//! `--efficiency`, `--peaks`: what the efficiency of ops is told by.

use clap::Args;
use std::path::PathBuf;
use tracetree::Result;
use tracetree::analysis::{Models, Peaks};

#[derive(Args)]
pub(super) struct YardstickArgs {
    /// TOML file with models of what ops must do at least, put before the built-in ones.
    #[arg(long, value_name = "FILE")]
    efficiency: Option<PathBuf>,
    /// TOML file with what devices can do at most, put before what is known of them.
    #[arg(long, value_name = "FILE")]
    peaks: Option<PathBuf>,
}

impl YardstickArgs {
    /// What ops must do at least.
    pub(super) fn models(&self) -> Result<Models> {
        self.efficiency.as_ref().map_or_else(|| Ok(Models::builtin()), Models::extended)
    }

    /// What devices can do at most.
    pub(super) fn peaks(&self) -> Result<Peaks> {
        self.peaks.as_ref().map_or_else(|| Ok(Peaks::builtin()), Peaks::extended)
    }
}
