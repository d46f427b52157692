//! Options that name the two sides of a comparison.

use super::headings;
use clap::Args;
use tracetree::analysis::AnalysisOptions;
use tracetree::{Error, ErrorKind, Result, Side};

/// Maximum length of a side name. Longer names would push the figures out of their columns.
const LONGEST: usize = 40;

#[derive(Args)]
pub(super) struct SideNameArgs {
    /// Name of the baseline in the summary and the report. Default: the baseline's device or file name, whichever
    /// differs from the candidate's.
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = headings::NAMES)]
    base_name: Option<String>,
    /// Name of the candidate. Table columns are still called trace1 and trace2.
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = headings::NAMES)]
    new_name: Option<String>,
}

fn name(text: &str) -> std::result::Result<String, String> {
    let name = text.trim();
    match name.chars().count() {
        0 => Err("the name is empty".to_owned()),
        1..=LONGEST if !name.contains(char::is_control) => Ok(name.to_owned()),
        1..=LONGEST => Err("the name contains control characters".to_owned()),
        _ => Err(format!("the name has more than {LONGEST} characters")),
    }
}

impl SideNameArgs {
    /// Adds the names to the analysis options.
    pub(super) fn add_to(&self, options: AnalysisOptions) -> Result<AnalysisOptions> {
        let [base, new] =
            [&self.base_name, &self.new_name].map(|name| name.clone().unwrap_or_default());
        for (name, side) in [(&base, Side::Candidate), (&new, Side::Baseline)] {
            if name == side.label() || name == side.word() {
                let message = "this name is reserved for the other side";
                return Err(Error::usage(name, message).remedy("choose another name"));
            }
        }
        if base == new && !base.is_empty() {
            let message = "both traces have this name";
            return Err(Error::new(ErrorKind::Usage, base, message)
                .remedy("choose different names with --base-name and --new-name"));
        }
        Ok(options.names(base, new))
    }
}
