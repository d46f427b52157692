//! `--efficiency`, `--peaks`: options for the models and peaks that efficiency is measured by.

use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::Result;
use tracetree::analysis::{AnalysisOptions, Models, Peaks};

#[derive(Args)]
pub(super) struct YardstickArgs {
    /// TOML file with models of the minimum work of ops; they precede the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    efficiency: Option<PathBuf>,
    /// TOML file with peak rates of devices; they precede the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    peaks: Option<PathBuf>,
}

impl YardstickArgs {
    /// The user's models of the minimum work of ops; `None` if no file was given.
    pub(super) fn models(&self) -> Result<Option<Models>> {
        self.efficiency.as_ref().map(Models::extended).transpose()
    }

    /// The user's peaks of devices; `None` if no file was given.
    pub(super) fn peaks(&self) -> Result<Option<Peaks>> {
        self.peaks.as_ref().map(Peaks::extended).transpose()
    }

    /// Adds the user's models and peaks to the options.
    pub(super) fn add_to(&self, mut options: AnalysisOptions) -> Result<AnalysisOptions> {
        options.models = self.models()?;
        options.peaks = self.peaks()?;
        Ok(options)
    }
}
