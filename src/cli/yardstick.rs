//! `--efficiency`, `--peaks`: what the efficiency of ops is told by.

use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::Result;
use tracetree::analysis::{AnalysisOptions, Models, Peaks};

#[derive(Args)]
pub(super) struct YardstickArgs {
    /// TOML file with models of what ops must do at least, put before the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    efficiency: Option<PathBuf>,
    /// TOML file with what devices can do at most, put before what is known of them.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    peaks: Option<PathBuf>,
}

impl YardstickArgs {
    /// The user's models of what ops must do at least; `None` where there are none.
    pub(super) fn models(&self) -> Result<Option<Models>> {
        self.efficiency.as_ref().map(Models::extended).transpose()
    }

    /// The user's peaks of devices; `None` where there are none.
    pub(super) fn peaks(&self) -> Result<Option<Peaks>> {
        self.peaks.as_ref().map(Peaks::extended).transpose()
    }

    /// The options with what the user gave.
    pub(super) fn add_to(&self, mut options: AnalysisOptions) -> Result<AnalysisOptions> {
        options.models = self.models()?;
        options.peaks = self.peaks()?;
        Ok(options)
    }
}
