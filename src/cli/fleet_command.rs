//! `tracetree fleet plan|map|reduce|run`: the ranks of a job, on one machine or on many.

use super::compare::PairingArgs;
use super::emit::TablesName;
use super::examples;
use super::fleet::{nothing_compared, say, say_some};
use super::format::Format;
use super::headings;
use super::limit;
use super::output::Console;
use super::selection::PartArgs;
use super::{Outcome, fleet_summary};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use tracetree::fleet::{
    Fleet, FleetFiles, Lost, Mapping, Plan, PlanOptions, Status, map_all, read_lost, whole_path,
};
use tracetree::report::{CsvTexts, Existing, ReportOptions};
use tracetree::{Error, ErrorKind, Result};

#[derive(Args)]
#[command(after_help = examples::FLEET)]
pub(super) struct FleetArgs {
    #[command(subcommand)]
    command: FleetCommand,
}

#[derive(Subcommand)]
enum FleetCommand {
    /// List the traces of two folders and pair them; reads the heads of the files only.
    Plan(PlanCommand),
    /// Compare pairs of a plan: a shard of a few kilobytes each. What has its shard is left as it is.
    Map(MapCommand),
    /// Add up the shards of a plan: tables, fleet.json, fleet.html.
    Reduce(ReduceCommand),
    /// All three on this machine: plan, map on all cores, reduce.
    Run(RunCommand),
}

/// What is compared, and how.
#[derive(Args)]
struct PlanArgs {
    /// Folder with the traces before.
    baseline: PathBuf,
    /// Folder with the traces after.
    candidate: PathBuf,
    #[command(flatten)]
    pairing: PairingArgs,
    #[command(flatten)]
    part: PartArgs,
    /// TOML file with rules for kinds of work, put before the built-in ones.
    #[arg(long, value_name = "FILE", help_heading = headings::NAMES)]
    categories: Option<PathBuf>,
    /// Write a report of each rank, too: megabytes a rank.
    #[arg(long, help_heading = headings::REPORT)]
    reports: bool,
}

/// What is written of the whole fleet.
#[derive(Args)]
struct OutputArgs {
    /// Folder for shards, tables and pages.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_fleet", help_heading = headings::REPORT)]
    output: PathBuf,
    /// How the tables are written.
    #[arg(long, value_name = "FORMAT", default_value = "parquet", help_heading = headings::REPORT)]
    tables: TablesName,
    /// Leave out fleet.html.
    #[arg(long, help_heading = headings::REPORT)]
    no_html: bool,
    /// Overwrite files of the fleet's names that tracetree did not write.
    #[arg(long, help_heading = headings::REPORT)]
    force: bool,
    /// How the result is printed.
    #[arg(long, default_value = "text")]
    format: Format,
    /// Exit with 3 where a smaller share of what was planned was compared (`95%`).
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = limit::part, help_heading = headings::LIMITS)]
    min_coverage: f64,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_PLAN)]
struct PlanCommand {
    #[command(flatten)]
    plan: PlanArgs,
    /// The plan.
    #[arg(short, long, value_name = "FILE", default_value = "plan.json", help_heading = headings::REPORT)]
    output: PathBuf,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_MAP)]
struct MapCommand {
    /// What `fleet plan` wrote.
    plan: PathBuf,
    /// Folder for the shards.
    #[arg(short, long, value_name = "DIR", default_value = "tracetree_fleet", help_heading = headings::REPORT)]
    output: PathBuf,
    /// Only this pair, by its position from 0: for one task of many.
    #[arg(long, value_name = "N")]
    pair: Option<usize>,
    /// Tell what became of the pair as a line of JSON.
    #[arg(long, requires = "pair")]
    json: bool,
}

#[derive(Args)]
#[command(after_help = examples::FLEET_REDUCE)]
struct ReduceCommand {
    /// What `fleet plan` wrote.
    plan: PathBuf,
    /// Folder that `fleet map -o` wrote to, where it is not that of --output.
    #[arg(long, value_name = "DIR")]
    shards: Option<PathBuf>,
    /// JSON file with what the engine could not do: an object of `key: [code, message]`.
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
            command.output.files(command.plan.reports).check_target(&command.output.output)?;
            let plan = command.plan.make(console)?;
            let lost = compare(&plan, &command.output.output, console)?;
            reduce(&plan, &lost, None, &command.output, console)
        }
    }
}

impl OutputArgs {
    fn files(&self, has_reports: bool) -> FleetFiles {
        FleetFiles {
            tables: self.tables.formats(),
            has_page: !self.no_html,
            has_reports,
            existing: if self.force { Existing::Replace } else { Existing::Keep },
            ..FleetFiles::default()
        }
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
    say_some(lines, "the plan has all", console);
    plan.write(&command.output)?;
    let (pairs, single) = (plan.pairs.len(), plan.unmatched.len());
    console.print(|out| {
        writeln!(out, "{} planned = {pairs} pairs + {single} unmatched", plan.planned())
    })?;
    console.say(&format!("plan in {}", command.output.display()));
    Ok(Outcome::Done)
}

fn mapping(plan: &Plan, output: &Path, console: &Console) -> Result<Mapping> {
    let mapping = Mapping::new(plan, output)?;
    let unfinished = console.unfinished();
    Ok(match plan.options.reports {
        true => mapping.reports(ReportOptions { unfinished, ..ReportOptions::default() }),
        false => mapping,
    })
}

/// One pair, or all on the cores of this machine.
fn map(command: &MapCommand, console: &mut Console) -> Result<Outcome> {
    let plan = Plan::read(&command.plan)?;
    let Some(at) = command.pair else {
        let lost = compare(&plan, &command.output, console)?;
        let lines = lost.values().map(|(code, message)| format!("warning: {code}: {message}"));
        say_some(lines, "`fleet reduce` tells all", console);
        return Ok(Outcome::Done);
    };
    let Some(pair) = plan.pairs.get(at) else {
        let message = format!("has {} pairs, there is no pair {at}", plan.pairs.len());
        return Err(Error::new(ErrorKind::Usage, &command.plan, message).remedy("count from 0"));
    };
    let mapped = mapping(&plan, &command.output, console)?.map(pair)?;
    if command.json {
        console.print(|out| writeln!(out, "{}", mapped.to_json(pair)))?;
        return Ok(Outcome::Done);
    }
    let done = if mapped.was_there { "was there" } else { "done" };
    console.print(|out| match &mapped.status {
        Status::Compared => writeln!(out, "{} ok, {done}", pair.folder),
        Status::Failed { code, message } => {
            writeln!(out, "{} failed, {done}: {code} {message}", pair.folder)
        }
    })?;
    Ok(Outcome::Done)
}

fn compare(plan: &Plan, output: &Path, console: &mut Console) -> Result<Lost> {
    let mapping = mapping(plan, output, console)?;
    let counter = console.progress().counting("comparing ranks", plan.pairs.len());
    let there = std::sync::atomic::AtomicUsize::new(0);
    let lost = map_all(plan, &mapping, |mapped| {
        there.fetch_add(usize::from(mapped.was_there), std::sync::atomic::Ordering::Relaxed);
        counter.one_done();
    })?;
    drop(counter);
    let there = there.into_inner();
    let count = plan.pairs.len();
    console.say(&format!("{} pairs compared, {there} were there already", count - there));
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
    say(&fleet, console);
    fleet.write(&args.output, &args.files(plan.options.reports))?;
    let format = (args.format, CsvTexts::default());
    console.print(|out| fleet_summary::print(&fleet, format, out))?;
    console.say(&format!("fleet.json and tables in {}", args.output.display()));
    let counts = fleet.counts();
    if counts.ok == 0 && args.min_coverage == 0.0 {
        return Err(nothing_compared(&fleet));
    }
    Ok(match counts.coverage() < args.min_coverage {
        true => Outcome::NotComparable,
        false => Outcome::Done,
    })
}
