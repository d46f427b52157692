//! `--efficiency` and `--peaks`: options for the efficiency computation. Its inputs are models that compute the minimum
//! work of each op, and the peak rates of devices.

use super::headings;
use clap::Args;
use std::path::PathBuf;
use tracetree::Result;
use tracetree::analysis::AnalysisOptions;
use tracetree::analysis::efficiency::{Models, Peaks};

#[derive(Args)]
pub(super) struct EfficiencyArgs {
    /// TOML file with models for the minimum work of ops; these models take precedence over the built-in models.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    efficiency: Option<PathBuf>,
    /// TOML file with device peak rates, which take precedence over the built-in rates.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    peaks: Option<PathBuf>,
}

impl EfficiencyArgs {
    /// The user's models for the minimum work of ops; `None` if no model file was given.
    pub(super) fn models(&self) -> Result<Option<Models>> {
        self.efficiency.as_ref().map(Models::extended).transpose()
    }

    /// The user's peak rates for devices; `None` if no peaks file was given.
    pub(super) fn peaks(&self) -> Result<Option<Peaks>> {
        self.peaks.as_ref().map(Peaks::extended).transpose()
    }

    /// Adds the user's models and peak rates to the analysis options.
    pub(super) fn add_to(&self, mut options: AnalysisOptions) -> Result<AnalysisOptions> {
        options.models = self.models()?;
        options.peaks = self.peaks()?;
        Ok(options)
    }
}
