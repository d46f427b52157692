//! The arguments of `tracetree diff`.

use super::compare::CompareArgs;
use super::efficiency_args::EfficiencyArgs;
use super::emit::EmitArgs;
use super::examples;
use super::gate::word;
use super::headings;
use super::only::Only;
use super::output::Format;
use super::selection::SelectionArgs;
use clap::Args;
use std::path::PathBuf;
use tracetree::analysis::AnalysisOptions;
use tracetree::analysis::categories::Categories;
use tracetree::{ComparisonOptions, Error, ErrorKind, Result, Side};
use tracetree_gate::FailOn;

#[derive(Args)]
#[command(after_help = examples::DIFF)]
pub(super) struct DiffArgs {
    /// Baseline trace (JSON, plain or compressed with gzip or zstd; `-` for standard input), or a folder with
    /// the traces of several ranks.
    #[arg(required_unless_present = "base", requires = "candidate", value_name = "BASELINE")]
    pub(super) baseline: Option<PathBuf>,
    /// Candidate trace, or a folder with the traces of several ranks.
    #[arg(value_name = "CANDIDATE")]
    pub(super) candidate: Option<PathBuf>,
    /// Several baseline runs: traces, folders, glob patterns. Tables show the median run on each side; significance is
    /// tested across all runs.
    #[arg(long, value_name = "TRACE", num_args = 1.., requires = "new", conflicts_with = "baseline")]
    pub(super) base: Vec<PathBuf>,
    /// Several candidate runs: traces, folders, glob patterns.
    #[arg(long = "new", value_name = "TRACE", num_args = 1.., requires = "base")]
    pub(super) new: Vec<PathBuf>,
    /// Folder for the report. The folder is created if missing; other files in the folder are kept.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_report", help_heading = headings::REPORT)]
    pub(super) output: PathBuf,
    /// Only print the result; do not write a report.
    #[arg(long, conflicts_with_all = ["output", "emit", "open", "no_html", "perfetto_slices", "full_tree", "per_instance"], help_heading = headings::REPORT)]
    pub(super) no_report: bool,
    #[command(flatten)]
    pub(super) emit: EmitArgs,
    /// Output format.
    #[arg(long, default_value = "text")]
    pub(super) format: Format,
    /// Print only the ops that the candidate adds or removes, instead of the summary, as text or CSV.
    #[arg(long, value_name = "WHICH")]
    pub(super) only: Option<Only>,
    /// Maximum number of differences to print.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,
    /// TOML file with category rules that precede the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    categories: Option<PathBuf>,
    #[command(flatten)]
    efficiency: EfficiencyArgs,
    /// List up to N distinct Python stacks for each op and kernel (stacks.json, kernels.csv); 0 for none.
    #[arg(long, value_name = "N", default_value_t = AnalysisOptions::default().stacks, help_heading = headings::REPORT)]
    stacks: usize,
    /// Exit with 1 if the structure of the traces differs.
    #[arg(long, help_heading = headings::LIMITS)]
    pub(super) exit_code: bool,
    /// Exit with 1 if the candidate takes longer by more than this: `5%`, `200us`, `gpu:1.5ms`, `wait:5ms`, `change`.
    ///
    /// `5%` or `step:5%` limits the wall time of a step. `gpu:` limits the total time of the step's GPU events. `busy:`
    /// and `idle:` limit the time during which the GPU is busy or idle. A kind of line in the bill limits the sum of its
    /// prices: `change:`, `wait:`, `host:`, `pauses:`, `clock:`, …; `change` alone allows no change of the program.
    /// Traces without steps are compared as a whole.
    /// With several runs per side, a difference within run-to-run noise does not fail the check. Exits with 3 if no
    /// decision is possible: a trace is incomplete, the models differ, or the steps of a side's only run vary too much.
    /// The measured values are printed to stderr. Can be repeated.
    #[arg(long, value_name = "LIMIT", value_parser = word::<FailOn>, help_heading = headings::LIMITS)]
    pub(super) fail_on: Vec<FailOn>,
    #[command(flatten)]
    side_names: SideNameArgs,
    #[command(flatten)]
    pub(super) compare: CompareArgs,
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
}

impl DiffArgs {
    /// The options for comparing traces, without the options for reading them.
    pub(super) fn comparison_options(&self) -> Result<ComparisonOptions> {
        let options = self.compare.options()?.analysis(self.analysis_options()?);
        Ok(self.selection.add_to(options))
    }

    fn analysis_options(&self) -> Result<AnalysisOptions> {
        let options =
            AnalysisOptions::default().stacks(self.stacks).thresholds(self.selection.thresholds());
        let options = self.efficiency.add_to(options)?;
        let options = self.side_names.add_to(options)?;
        Ok(match &self.categories {
            Some(path) => options.categories(Categories::extended(path)?),
            None => options,
        })
    }
}

/// Maximum length of a side name. Longer names would push the figures out of their columns.
const LONGEST: usize = 40;

/// Options that name the two sides of a comparison.
#[derive(Args)]
struct SideNameArgs {
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
    fn add_to(&self, options: AnalysisOptions) -> Result<AnalysisOptions> {
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
