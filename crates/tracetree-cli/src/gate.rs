//! `tracetree gate` checks runs against a baseline; `tracetree baseline` manages the baseline file.

use super::captures::{CaptureArgs, CapturePairArgs};
use super::examples;
use super::headings;
use super::outcome::Outcome;
use super::output::Console;
use super::progress::Progress;
use clap::{ArgGroup, Args, Subcommand};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tracetree::Side;
use tracetree::escape::shell_word;
use tracetree::program::{CaptureSource, Damage, Obstacle};
use tracetree::report::one_line;
use tracetree::{Error, Result, write_file};
use tracetree_gate::{
    Date, Gate, GateFormat, Inconclusive, Layout, Outcome as GateOutcome, Recorder, Recording,
    Rules, run_files,
};

/// Number of paths that a suggested command contains.
const SUGGESTED: usize = 40;

/// Without `--rules`, the rules are read from this file if it exists.
const USUAL_RULES: &str = "tracetree.toml";

#[derive(Args)]
#[command(after_help = examples::GATE)]
#[command(group = ArgGroup::new("before").args(["baseline", "base"]).required(true))]
pub(super) struct GateArgs {
    /// Baseline file written by `tracetree baseline record`.
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Baseline runs, instead of a baseline file: traces, folders, glob patterns.
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    base: Vec<PathBuf>,
    /// The runs to check.
    #[arg(long = "new", value_name = "TRACE", num_args = 1.., conflicts_with = "runs")]
    new: Vec<PathBuf>,
    /// The runs to check: traces, folders, glob patterns.
    #[arg(value_name = "NEW")]
    runs: Vec<PathBuf>,
    #[command(flatten)]
    captures: CapturePairArgs,
    /// TOML file with the rules [default: tracetree.toml if it exists].
    #[arg(long, value_name = "FILE", help_heading = headings::LIMITS)]
    rules: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = word::<GateFormat>)]
    format: GateFormat,
    /// Write the result to this file instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = headings::REPORT)]
    output: Option<PathBuf>,
    /// Whether to `fail` (exit with 3) or `pass` if a rule cannot be decided [default: the setting in the rule file,
    /// otherwise fail].
    #[arg(long, value_name = "WHAT", value_parser = word::<Inconclusive>, help_heading = headings::LIMITS)]
    inconclusive: Option<Inconclusive>,
    /// Check the structure only; ignore time rules and time budgets.
    #[arg(long, help_heading = headings::LIMITS)]
    structure_only: bool,
    /// The date that the expiry dates of `allow` entries are compared with [default: today].
    #[arg(long, value_name = "DAY", hide = true)]
    today: Option<Date>,
}

/// Parses the value of an option. `clap` adds the option and the rejected value to the error message.
pub(super) fn word<W: FromStr<Err = Error>>(text: &str) -> std::result::Result<W, String> {
    text.parse().map_err(|error: Error| error.message().to_owned())
}

pub(super) fn run(args: &GateArgs, console: &mut Console) -> Result<Outcome> {
    let rules = args.rules()?;
    let candidate = args.candidate()?;
    let base = if args.baseline.is_some() { Vec::new() } else { run_files(&args.base)? };
    let progress = console.progress();
    let (before, after) = args.captures.sources();
    if let (Some(path), CaptureSource::Files(_)) = (&args.baseline, &before) {
        let message = "a baseline file already includes the captures chosen when it was recorded";
        return Err(Error::usage(path.display().to_string(), message)
            .remedy("omit --base-capture, or record with `baseline record --capture`"));
    }
    let (baseline, checked) = rayon::join(
        || args.before(&base, before, &progress),
        || read(&candidate, after, &progress),
    );
    let (baseline, checked) = (baseline?, checked?);
    let gate = Gate::check(&baseline, &checked, &rules, args.today.unwrap_or_else(Date::today));
    match &args.output {
        Some(path) => write_result(&gate, args.format, path)?,
        None if args.format == GateFormat::Github => {
            console.print_commands(|out| gate.write(args.format, out))?
        }
        None if args.format == GateFormat::Text => {
            let layout = layout(console);
            console.print(|out| gate.write_text(layout, out))?;
            if gate.outcome != GateOutcome::Pass {
                args.suggest(console)?;
            }
        }
        None => console.print(|out| gate.write(args.format, out))?,
    }
    if gate.outcome != GateOutcome::Pass {
        let headline = format!("gate: {}", one_line(&gate.headline()));
        let is_shown = args.output.is_none() && args.format == GateFormat::Text;
        if is_shown { console.say_if_quiet(&headline) } else { console.tell(&headline) }
    }
    Ok(gate.outcome.into())
}

fn layout(console: &Console) -> Layout {
    Layout { width: console.width(), is_verbose: console.is_verbose() }
}

/// Prints problems with graph captures, and which runs were left out.
fn say_remarks(recording: &Recording, console: &mut Console) {
    for remark in &recording.remarks {
        console.say(&one_line(remark));
    }
}

/// Warns about runs that are incomplete or not repeats: a gate against such a baseline is inconclusive.
fn say_damage(recording: &Recording, console: &mut Console) {
    let facts = &recording.facts;
    if facts.ranks().len() > 1 {
        let obstacle = Obstacle::SeveralRanks(Side::Baseline, facts.ranks());
        console.tell(&format!("warning: {obstacle}; gates against this baseline are inconclusive"));
    }
    for (run, evidence) in recording.runs.iter().zip(&facts.runs) {
        for damage in Damage::of(evidence) {
            console.tell(&format!(
                "warning: {}: {damage}; gates against this baseline are inconclusive",
                one_line(&run.name)
            ));
        }
    }
}

impl From<GateOutcome> for Outcome {
    fn from(outcome: GateOutcome) -> Outcome {
        match outcome {
            GateOutcome::Pass => Outcome::Done,
            GateOutcome::Fail => Outcome::Differences,
            GateOutcome::Inconclusive => Outcome::NotComparable,
        }
    }
}

fn write_result(gate: &Gate, format: GateFormat, path: &Path) -> Result<()> {
    let mut bytes = Vec::new();
    gate.write(format, &mut bytes).map_err(|error| Error::io(path, "write the result", error))?;
    write_file(path, &bytes)
}

/// Reads the runs of one side, with a progress bar for each run.
fn read(files: &[PathBuf], captures: CaptureSource, progress: &Progress) -> Result<Recording> {
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    progress.reading(&paths, |options| Recorder::default().captures(captures).read(files, options))
}

impl GateArgs {
    fn rules(&self) -> Result<Rules> {
        let usual = Path::new(USUAL_RULES);
        let mut rules = match &self.rules {
            Some(path) => Rules::read(path)?,
            None if usual.is_file() => Rules::read(usual)?,
            None => Rules::default(),
        };
        if let Some(inconclusive) = self.inconclusive {
            rules.inconclusive = inconclusive;
        }
        Ok(if self.structure_only { rules.structure_only() } else { rules })
    }

    /// Reads the baseline recording to check against.
    fn before(
        &self,
        base: &[PathBuf],
        captures: CaptureSource,
        progress: &Progress,
    ) -> Result<Recording> {
        match &self.baseline {
            Some(path) => Recording::read_baseline(path),
            None => read(base, captures, progress),
        }
    }

    /// If the gate does not pass, prints two commands to run next: one shows the comparison, the other accepts the new
    /// runs.
    fn suggest(&self, console: &mut Console) -> Result<()> {
        let reading = console.reading().clone();
        let word = |path: &PathBuf| shell_word(&reading.shown(&path.display().to_string()));
        let words = |paths: &[PathBuf]| {
            let mut words: Vec<String> = paths.iter().take(SUGGESTED).map(word).collect();
            words.extend((paths.len() > SUGGESTED).then(|| "…".to_owned()));
            words.join(" ")
        };
        let new = words(self.given());
        console.print(|out| match &self.baseline {
            Some(file) => {
                let file = word(file);
                writeln!(out, "\naccept: tracetree baseline accept {file} {new}")
            }
            None => {
                let base = words(&self.base);
                writeln!(out, "\nsee: tracetree diff --base {base} --new {new}")
            }
        })
    }

    /// The candidate's paths, as they were passed.
    fn given(&self) -> &[PathBuf] {
        if self.new.is_empty() { &self.runs } else { &self.new }
    }

    fn candidate(&self) -> Result<Vec<PathBuf>> {
        let given = self.given();
        if given.is_empty() {
            return Err(Error::usage("gate", "no runs to check")
                .remedy("pass the candidate traces: tracetree gate --baseline base.ttb NEW…"));
        }
        run_files(given)
    }
}

#[derive(Args)]
#[command(after_help = examples::BASELINE)]
pub(super) struct BaselineArgs {
    #[command(subcommand)]
    command: BaselineCommand,
}

#[derive(Subcommand)]
enum BaselineCommand {
    /// Record runs in a baseline file.
    #[command(after_help = examples::BASELINE)]
    Record {
        /// The runs to record: traces, folders, glob patterns.
        #[arg(required = true, value_name = "TRACE")]
        runs: Vec<PathBuf>,
        /// The file to write.
        #[arg(short, long, value_name = "FILE", default_value = "base.ttb", help_heading = headings::REPORT)]
        output: PathBuf,
        #[command(flatten)]
        captures: CaptureArgs,
    },
    /// Print the contents of a baseline file.
    #[command(after_help = examples::BASELINE)]
    Show {
        /// The baseline file.
        file: PathBuf,
    },
    /// Show the changes in new runs, and make the new runs the baseline.
    #[command(after_help = examples::BASELINE)]
    Accept {
        /// The baseline file, which is overwritten.
        file: PathBuf,
        /// The new runs: traces, folders, glob patterns.
        #[arg(required = true, value_name = "NEW")]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        captures: CaptureArgs,
    },
}

pub(super) fn run_baseline(args: &BaselineArgs, console: &mut Console) -> Result<Outcome> {
    match &args.command {
        BaselineCommand::Record { runs, output, captures } => {
            let runs = run_files(runs)?;
            let recording = read(&runs, captures.source(), &console.progress())?;
            say_remarks(&recording, console);
            say_damage(&recording, console);
            recording.write_baseline(output)?;
            console.print(|out| recording.write_overview(out))?;
            console.say(&format!("baseline in {}", output.display()));
        }
        BaselineCommand::Show { file } => {
            let recording = Recording::read_baseline(file)?;
            console.print(|out| recording.write_overview(out))?;
        }
        BaselineCommand::Accept { file, runs, captures } => {
            let before = Recording::read_baseline(file)?;
            let runs = run_files(runs)?;
            let after = read(&runs, captures.source(), &console.progress())?;
            let gate = Gate::check(&before, &after, &Rules::default(), Date::today());
            let layout = layout(console);
            console.print(|out| gate.write_text(layout, out))?;
            after.write_baseline(file)?;
            console.say(&format!("updated the baseline {}", file.display()));
        }
    }
    Ok(Outcome::Done)
}
