//! What the user may choose about a comparison.

use super::compare::CompareArgs;
use super::emit::EmitArgs;
use super::examples;
use super::format::Format;
use super::headings;
use super::limit::Limit;
use super::selection::SelectionArgs;
use super::side_names::SideNameArgs;
use super::yardstick::YardstickArgs;
use clap::Args;
use std::path::PathBuf;
use tracetree::analysis::{AnalysisOptions, Categories};
use tracetree::trace::Nanos;
use tracetree::{ComparisonOptions, PerSide, Result};

#[derive(Args)]
#[command(after_help = examples::DIFF)]
pub(super) struct DiffArgs {
    /// The trace to compare against (JSON, plain, gzip or zstd; `-` for standard input), or a folder
    /// with the traces of several ranks.
    #[arg(required_unless_present = "base", requires = "candidate", value_name = "BASELINE")]
    pub(super) baseline: Option<PathBuf>,
    /// The trace to look at.
    #[arg(value_name = "CANDIDATE")]
    pub(super) candidate: Option<PathBuf>,
    /// Several runs before, instead of one: traces, folders, patterns. Tables are of the median
    /// run of each side;
    /// verdicts rest on all.
    #[arg(long, value_name = "TRACE", num_args = 1.., requires = "new", conflicts_with = "baseline")]
    pub(super) base: Vec<PathBuf>,
    /// Several runs after, instead of one.
    #[arg(long = "new", value_name = "TRACE", num_args = 1.., requires = "base")]
    pub(super) new: Vec<PathBuf>,
    /// Folder for the report; created if missing, other files in it are kept.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_report", help_heading = headings::REPORT)]
    pub(super) output: PathBuf,
    /// Write nothing: print the result alone.
    #[arg(long, conflicts_with_all = ["output", "emit", "open", "no_html", "perfetto_slices"], help_heading = headings::REPORT)]
    pub(super) no_report: bool,
    #[command(flatten)]
    pub(super) emit: EmitArgs,
    /// How the result is printed.
    #[arg(long, default_value = "text")]
    pub(super) format: Format,
    /// Differences that are printed.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(super) top: usize,
    /// TOML file with rules for kinds of work, put before the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    categories: Option<PathBuf>,
    #[command(flatten)]
    yardstick: YardstickArgs,
    /// List up to N distinct Python stacks for each op and kernel (stacks.json, kernels.csv).
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = headings::REPORT)]
    stacks: usize,
    /// Exit with 1 if the structure of the traces differs.
    #[arg(long, help_heading = headings::LIMITS)]
    pub(super) exit_code: bool,
    /// Exit with 1 if the candidate takes longer by more than this (`5%`, `200us`, `1.5ms`).
    ///
    /// Compared is the GPU time of a step, where both traces have steps. What is within noise passes;
    /// a side without GPU events, a file that is cut off and another model do not.
    #[arg(long, value_name = "LIMIT", help_heading = headings::LIMITS)]
    pub(super) fail_on: Option<Limit>,
    #[command(flatten)]
    side_names: SideNameArgs,
    #[command(flatten)]
    pub(super) compare: CompareArgs,
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
}

impl DiffArgs {
    /// What the user chose about the comparison, but for how the traces are read.
    pub(super) fn comparison_options(&self) -> Result<ComparisonOptions> {
        let options = self.compare.options()?.analysis(self.analysis_options()?);
        Ok(self.selection.add_to(options))
    }

    fn analysis_options(&self) -> Result<AnalysisOptions> {
        let options =
            AnalysisOptions::default().stacks(self.stacks).thresholds(self.selection.thresholds());
        let options = self.yardstick.add_to(options)?;
        let options = self.side_names.add_to(options)?;
        Ok(match &self.categories {
            Some(path) => options.categories(Categories::extended(path)?),
            None => options,
        })
    }

    /// Whether the user asked to be told of such a result of one rank by exit code.
    pub(super) fn is_failed(&self, time: PerSide<Nanos>, points_of_difference: usize) -> bool {
        (self.exit_code && points_of_difference > 0)
            || self.fail_on.is_some_and(|limit| limit.is_passed(time))
    }
}
