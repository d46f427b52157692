//! `tracetree fleet plan|map|reduce|run`: compares the ranks of a job, on one machine or on many.

use super::compare::PairingArgs;
use super::emit::TablesName;
use super::examples;
use super::fleet::{compare_all, nothing_compared, say, say_some};
use super::fleet_summary;
use super::headings;
use super::limit;
use super::outcome::Outcome;
use super::output::{Console, Format};
use super::selection::PartArgs;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use tracetree::program::counted;
use tracetree::report::{CsvTexts, Existing, ReportOptions};
use tracetree::{Error, ErrorKind, Result};
use tracetree_fleet::{
    Fleet, FleetFiles, Lost, Mapping, PairRow, Plan, PlanOptions, Status, read_lost, whole_path,
};

#[derive(Args)]
#[command(after_help = examples::FLEET)]
pub(super) struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Subcommand)]
enum FleetCommand {
    /// Match the traces of two folders. Reads only the start of each file.
    Plan(PlanCommand),
    /// Compare the pairs of a plan and write a shard of a few kilobytes per pair. Existing shards
    /// are kept.
    Map(MapCommand),
    /// Combine the shards of a plan into tables, fleet.json and fleet.html.
    Reduce(ReduceCommand),
    /// Run plan, map and reduce in a single step, on all cores of this machine.
    Run(RunCommand),
}

/// The traces to compare, and options for the comparison.
#[derive(Args)]
struct PlanArgs {
    /// Folder with the baseline traces.
    baseline: PathBuf,
    /// Folder with the candidate traces.
    candidate: PathBuf,
    #[command(flatten)]
    pairing: PairingArgs,
    #[command(flatten)]
    part: PartArgs,
    /// TOML file with category rules that precede the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    categories: Option<PathBuf>,
    /// Also write a report for each rank (megabytes each).
    #[arg(long, help_heading = headings::REPORT)]
    reports: bool,
}

/// Options for the output of a whole fleet.
#[derive(Args)]
struct OutputArgs {
    /// Folder for shards, tables and pages.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_fleet", help_heading = headings::REPORT)]
    output: PathBuf,
    /// Format of the tables.
    #[arg(long, value_name = "FORMAT", default_value = "parquet", help_heading = headings::REPORT)]
    tables: TablesName,
    /// Do not write fleet.html.
    #[arg(long, help_heading = headings::REPORT)]
    no_html: bool,
    /// Overwrite existing files that have the same names as fleet files, even if tracetree did not write the existing
    /// files.
    #[arg(long, help_heading = headings::REPORT)]
    force: bool,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: Format,
    /// Exit with 3 if less than this percentage of the planned pairs was compared (`95%`).
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = limit::part, help_heading = headings::LIMITS)]
    min_coverage: f64,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_PLAN)]
struct PlanCommand {
    #[command(flatten)]
    plan: PlanArgs,
    /// File to write the plan to.
    #[arg(short, long, value_name = "FILE", default_value = "plan.json", help_heading = headings::REPORT)]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_MAP)]
struct MapCommand {
    /// Plan written by `fleet plan`.
    plan: PathBuf,
    /// Folder for the shards.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_fleet", help_heading = headings::REPORT)]
    output: PathBuf,
    /// Compare only the pair at this position in the plan, counted from 0. Intended for job arrays with one task per
    /// pair.
    #[arg(long, value_name = "N")]
    pair: Option<usize>,
    /// Print the result of the pair as a line of JSON.
    #[arg(long, requires = "pair")]
    json: bool,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_REDUCE)]
struct ReduceCommand {
    /// Plan written by `fleet plan`.
    plan: PathBuf,
    /// Folder that `fleet map -o` wrote to, if different from --output.
    #[arg(long, value_name = "DIR")]
    shards: Option<PathBuf>,
    /// JSON file with the pairs that an engine such as Ray could not process: an object of `key:
    /// [code, message]`.
    #[arg(long, value_name = "FILE")]
    lost: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_RUN)]
struct RunCommand {
    #[command(flatten)]
    plan: PlanArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &FleetArgs, console: &mut Console) -> Result<Outcome> {
    match &args.command {
        FleetCommand::Plan(command) => plan(command, console),
        FleetCommand::Map(command) => map(command, console),
        FleetCommand::Reduce(command) => {
            let plan = Plan::read(&command.plan)?;
            let lost = command.lost.as_deref().map_or_else(|| Ok(Lost::new()), read_lost)?;
            reduce(&plan, &lost, command.shards.as_deref(), &command.output, console)
        }
        FleetCommand::Run(command) => {
            command.output.files(command.plan.reports)?.check_target(&command.output.output)?;
            let plan = command.plan.make(console)?;
            let lost = compare(&plan, &command.output.output, console)?;
            reduce(&plan, &lost, None, &command.output, console)
        }
    }
}

impl OutputArgs {
    fn files(&self, has_reports: bool) -> Result<FleetFiles> {
        Ok(FleetFiles {
            tables: self.tables.formats()?,
            has_page: !self.no_html,
            has_reports,
            existing: if self.force { Existing::Replace } else { Existing::Keep },
            ..FleetFiles::default()
        })
    }
}

impl PlanArgs {
    fn make(&self, console: &Console) -> Result<Plan> {
        let text = |path: &Option<PathBuf>| -> Result<Option<String>> {
            let read = |path: &PathBuf| {
                std::fs::read_to_string(path)
                    .map_err(|error| Error::io(path, "read the rules", error))
            };
            path.as_ref().map(read).transpose()
        };
        let (base_steps, new_steps) = self.part.steps();
        let options = PlanOptions {
            no_python: self.pairing.no_python,
            no_repeats: self.pairing.no_repeats,
            phase: self.part.phase.map(|phase| phase.label().to_owned()),
            base_steps: base_steps.map(|steps| steps.to_string()),
            new_steps: new_steps.map(|steps| steps.to_string()),
            aliases: text(&self.pairing.alias)?,
            categories: text(&self.categories)?,
            strict: console.reading().strict,
            max_unpacked: console.reading().max_unpacked,
            reports: self.reports,
            ..PlanOptions::default()
        };
        Plan::make(&whole_path(&self.baseline), &whole_path(&self.candidate), options)
    }
}

fn plan(command: &PlanCommand, console: &mut Console) -> Result<Outcome> {
    let plan = command.plan.make(console)?;
    for note in &plan.notes {
        console.say(&format!("warning: {note}"));
    }
    let lines = plan
        .unmatched
        .iter()
        .map(|single| format!("warning: {} {}: {}", single.path, single.code, single.message));
    say_some(lines, "see the plan", console);
    plan.write(&command.output)?;
    let (pairs, single) = (counted(plan.pairs.len() as u64, "pair"), plan.unmatched.len());
    console
        .print(|out| writeln!(out, "{} planned = {pairs} + {single} unmatched", plan.planned()))?;
    console.say(&format!("plan in {}", command.output.display()));
    Ok(Outcome::Done)
}

fn mapping(plan: &Plan, output: &Path, console: &Console) -> Result<Mapping> {
    let mapping = Mapping::new(plan, output)?;
    let unfinished = console.unfinished();
    Ok(if plan.options.reports {
        mapping.reports(ReportOptions { unfinished, ..ReportOptions::default() })
    } else {
        mapping
    })
}

/// Compares a single pair, or all pairs on the cores of this machine.
fn map(command: &MapCommand, console: &mut Console) -> Result<Outcome> {
    let plan = Plan::read(&command.plan)?;
    let Some(at) = command.pair else {
        let lost = compare(&plan, &command.output, console)?;
        let lines = lost.values().map(|(code, message)| format!("warning: {code}: {message}"));
        say_some(lines, "`fleet reduce` lists them all", console);
        return Ok(Outcome::Done);
    };
    let Some(pair) = plan.pairs.get(at) else {
        let pairs = counted(plan.pairs.len() as u64, "pair");
        let message = format!("has no pair {at}; it has {pairs}");
        return Err(Error::new(ErrorKind::Usage, &command.plan, message)
            .remedy("pairs are numbered from 0"));
    };
    let mapped = mapping(&plan, &command.output, console)?.map(pair);
    if command.json {
        console.print(|out| writeln!(out, "{}", mapped.to_json(pair)))?;
        return Ok(Outcome::Done);
    }
    if let (true, Status::Failed { message, .. }) =
        (mapped.status.is_write_failure(), &mapped.status)
    {
        return Err(Error::new(ErrorKind::Io, &command.output, message));
    }
    let done = if mapped.was_there { "existing shard kept" } else { "shard written" };
    console.print(|out| match &mapped.status {
        Status::Compared => writeln!(out, "{} ok ({done})", pair.folder),
        Status::Failed { code, message } => {
            writeln!(out, "{} failed ({done}): {code} {message}", pair.folder)
        }
    })?;
    Ok(Outcome::Done)
}

fn compare(plan: &Plan, output: &Path, console: &mut Console) -> Result<Lost> {
    let mapping = mapping(plan, output, console)?;
    let (lost, there) = compare_all(plan, &mapping, console)?;
    let compared = counted((plan.pairs.len() - there) as u64, "pair");
    console.say(&format!("{compared} compared, {there} skipped (shard exists)"));
    Ok(lost)
}

fn reduce(
    plan: &Plan,
    lost: &Lost,
    shards: Option<&Path>,
    args: &OutputArgs,
    console: &mut Console,
) -> Result<Outcome> {
    let fleet = Fleet::reduce(plan, shards.unwrap_or(&args.output), lost)?;
    let fleet = fleet.shown(console.reading());
    say(&fleet, console);
    fleet.write(&args.output, &args.files(plan.options.reports)?)?;
    let format = (args.format, CsvTexts::default());
    console.print(|out| fleet_summary::print(&fleet, format, out))?;
    console.say(&format!("fleet.json and tables in {}", args.output.display()));
    let counts = fleet.counts();
    if counts.ok == 0 && args.min_coverage == 0.0 {
        return Err(nothing_compared(&fleet));
    }
    let is_unfinished = fleet.pairs.iter().any(PairRow::is_unfinished);
    Ok(if counts.coverage() < args.min_coverage || is_unfinished {
        Outcome::NotComparable
    } else {
        Outcome::Done
    })
}
