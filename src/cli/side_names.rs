//! What people call the two sides.

use super::headings;
use clap::Args;
use tracetree::analysis::AnalysisOptions;
use tracetree::{Error, ErrorKind, Result, Side};

/// Longer names would push the figures out of their columns.
const LONGEST: usize = 40;

#[derive(Args)]
pub(super) struct SideNameArgs {
    /// What the baseline is called in the summary, the page and the texts of the report; else its
    /// device or file where that tells the traces apart.
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = headings::NAMES)]
    base_name: Option<String>,
    /// What the candidate is called there. Columns of tables stay trace1 and trace2.
    #[arg(long, value_name = "NAME", value_parser = name, help_heading = headings::NAMES)]
    new_name: Option<String>,
}

fn name(text: &str) -> std::result::Result<String, String> {
    let name = text.trim();
    match name.chars().count() {
        0 => Err("the name is empty".to_owned()),
        1..=LONGEST if !name.contains(char::is_control) => Ok(name.to_owned()),
        1..=LONGEST => Err("the name has control characters".to_owned()),
        _ => Err(format!("the name has more than {LONGEST} characters")),
    }
}

impl SideNameArgs {
    /// Adds the names to what the user chose about the analysis.
    pub(super) fn add_to(&self, options: AnalysisOptions) -> Result<AnalysisOptions> {
        let [base, new] =
            [&self.base_name, &self.new_name].map(|name| name.clone().unwrap_or_default());
        for (name, side) in [(&base, Side::Candidate), (&new, Side::Baseline)] {
            if name == side.label() {
                let message = "the other trace is called that in the tables";
                return Err(Error::usage(name, message).remedy("choose another name"));
            }
        }
        if base == new && !base.is_empty() {
            let message = "both traces have this name";
            return Err(Error::new(ErrorKind::Usage, base, message)
                .remedy("give them two with --base-name and --new-name"));
        }
        Ok(options.names(base, new))
    }
}
