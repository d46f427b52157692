//! `tracetree diff BASE NEW`: the main job.

use super::compare::CompareArgs;
use super::emit::EmitArgs;
use super::output::Console;
use super::selection::SelectionArgs;
use super::side_names::SideNameArgs;
use super::{Outcome, fleet, load, summary};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tracetree::analysis::{AnalysisOptions, Categories};
use tracetree::report::{summarise, write_csv, write_markdown, write_summary};
use tracetree::tables::TableKind;
use tracetree::trace::Nanos;
use tracetree::{ComparisonOptions, Error, ErrorKind, PerSide, Result};

#[derive(Args)]
pub(super) struct DiffArgs {
    /// The trace to compare against (JSON, plain, gzip or zstd; `-` for standard input), or a folder
    /// with the traces of several ranks.
    pub(super) baseline: PathBuf,
    /// The trace to look at.
    pub(super) candidate: PathBuf,
    /// Folder for the report; created if missing, other files in it are kept.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_report")]
    pub(super) output: PathBuf,
    #[command(flatten)]
    pub(super) emit: EmitArgs,
    /// How the result is printed.
    #[arg(long, default_value = "text")]
    pub(super) format: Format,
    /// Differences that are printed.
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// TOML file with rules for kinds of work, put before the built-in ones.
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// List up to N distinct Python stacks for each op and kernel (stacks.json, kernels.csv).
    #[arg(long, value_name = "N", default_value_t = 0)]
    stacks: usize,
    /// Exit with 1 if the structure of the traces differs.
    #[arg(long)]
    exit_code: bool,
    /// Exit with 1 if the candidate takes longer by more than this (`5%`, `200us`, `1.5ms`).
    #[arg(long, value_name = "LIMIT")]
    fail_on: Option<Limit>,
    #[command(flatten)]
    side_names: SideNameArgs,
    #[command(flatten)]
    pub(super) compare: CompareArgs,
    #[command(flatten)]
    pub(super) selection: SelectionArgs,
}

/// How a result is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Text,
    Json,
    Csv,
    Md,
}

/// How much longer the candidate may take.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    Percent(f64),
    Time(Nanos),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Limit, String> {
        let units = [("%", 0.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let (number, scale) = units
            .iter()
            .find_map(|&(unit, scale)| Some((text.strip_suffix(unit)?, scale)))
            .ok_or_else(|| format!("`{text}` has no unit; write 5%, 200us, 1.5ms or 2s"))?;
        let value: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite() && *value >= 0.0)
            .ok_or_else(|| format!("`{number}` is no number of at least 0"))?;
        Ok(match scale {
            0.0 => Limit::Percent(value),
            scale => Limit::Time(Nanos((value * scale).round() as i64)),
        })
    }
}

impl Limit {
    fn is_passed(self, time: PerSide<Nanos>) -> bool {
        match self {
            Limit::Time(most) => time.difference() > most,
            Limit::Percent(percent) => {
                time.difference().0 as f64 > time.baseline.0 as f64 * percent / 100.0
            }
        }
    }
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
        let options = self.side_names.add_to(options)?;
        Ok(match &self.categories {
            Some(path) => options.categories(Categories::extended(path)?),
            None => options,
        })
    }

    /// Whether the user asked to be told of such a result by exit code.
    pub(super) fn is_failed(&self, time: PerSide<Nanos>, points_of_difference: usize) -> bool {
        (self.exit_code && points_of_difference > 0)
            || self.fail_on.is_some_and(|limit| limit.is_passed(time))
    }
}

pub(super) fn run(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    match (args.baseline.is_dir(), args.candidate.is_dir()) {
        (true, true) => fleet::run(args, console),
        (false, false) => run_pair(args, console),
        (true, false) => Err(not_a_folder(&args.candidate, &args.baseline)),
        (false, true) => Err(not_a_folder(&args.baseline, &args.candidate)),
    }
}

fn not_a_folder(file: &Path, folder: &Path) -> Error {
    let message = format!("is a file, but {} is a directory", folder.display());
    Error::new(ErrorKind::Usage, file, message)
        .remedy("give two traces, or two directories with the traces of several ranks")
}

fn run_pair(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    let paths = PerSide::new(args.baseline.as_path(), args.candidate.as_path());
    let comparison = load::comparison(paths, args.comparison_options()?, console)?;
    let analysis = comparison.analysis();
    let report = comparison.report(args.emit.options());
    console.progress().stage("writing the report", || report.write(&args.output))?;
    let summary = summarise(analysis);
    let width = console.width();
    console.print(|out| match args.format {
        Format::Text => summary::text(analysis, &summary, args.top, width, out),
        Format::Json => write_summary(&summary, out),
        Format::Csv => write_csv(&TableKind::Names.of(analysis), out),
        Format::Md => write_markdown(analysis, args.top, out),
    })?;
    for note in &summary.notes {
        console.say(&summary::note_line(&summary, note));
    }
    console.say(&format!("report in {}", args.output.display()));
    args.emit.show(&args.output, console);
    if args.selection.strict_comparability && !summary.comparable {
        return Ok(Outcome::NotComparable);
    }
    let time = analysis.account().totals.map(|totals| totals.time);
    match args.is_failed(time, analysis.diff().differences().len()) {
        true => Ok(Outcome::Differences),
        false => Ok(Outcome::Done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_a_unit() {
        assert_eq!("5%".parse(), Ok(Limit::Percent(5.0)));
        assert_eq!("1.5ms".parse(), Ok(Limit::Time(Nanos(1_500_000))));
        assert_eq!("2s".parse(), Ok(Limit::Time(Nanos(2_000_000_000))));
        assert!("5".parse::<Limit>().is_err());
        assert!("-5%".parse::<Limit>().is_err());
        assert!("nan%".parse::<Limit>().is_err());
    }
}
