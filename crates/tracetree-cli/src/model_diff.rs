//! `tracetree model-diff`: writes a report to stdout, and determines whether the model is accurate
//! enough.

use super::headings;
use super::output::Console;
use std::path::{Path, PathBuf};
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::write_file;
use tracetree_model::{
    FailOn, Format, ForwardPasses, ModelComparison, Outcome, Scenario, failures, read_scenarios,
    render, unchecked,
};

const EXAMPLES: &str = "\
Examples:
  tracetree model-diff model_trace.json kernel_details.csv --op-mapping op_mapping.yaml
          print the model's error by kernel type
  tracetree model-diff --scenarios scenarios.toml --strict -o accuracy.json
          run all scenarios in a file; a missing input is an error
  tracetree model-diff model_trace.json kernel_details.csv --fail-on 'error>20% & share>1%'
          exit with 1 if the error exceeds 20% for a kernel type with more than 1% of the time

Conditions of --fail-on, in percent, with >, >=, < or <= and joined by &:
  of each kernel type   error, count_error, share          'MatMulV2: error>10%' checks only one
  of a scenario         weighted_error, total_error, unmodeled, model_only

Exit codes: 0 done, 1 a --fail-on condition holds, 2 unreadable input or bad usage, 3 a --fail-on condition could not
be checked.";

/// Compare a performance model's predicted trace with a measured kernel profile
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct ModelDiffArgs {
    /// Chrome trace written by the model (.json or .json.gz)
    #[arg(
        required_unless_present = "scenarios",
        conflicts_with = "scenarios",
        requires = "profile"
    )]
    model_trace: Option<PathBuf>,

    /// kernel_details.csv written by the profiler (.csv or .csv.gz)
    #[arg(value_name = "KERNELS")]
    profile: Option<PathBuf>,

    /// Op mapping (YAML): kernel types for ops that the model did not look up
    #[arg(long, value_name = "FILE", conflicts_with = "scenarios", help_heading = headings::NAMES)]
    op_mapping: Option<PathBuf>,

    /// Number of forward passes that the profile covers
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "scenarios", help_heading = headings::WORK)]
    forward_passes: ForwardPasses,

    /// Name of the comparison; with --scenarios, the name of the only scenario to run
    #[arg(long, value_name = "NAME", help_heading = headings::WORK)]
    scenario: Option<String>,

    /// Compare every scenario of this TOML file
    #[arg(long, value_name = "FILE", help_heading = headings::WORK)]
    scenarios: Option<PathBuf>,

    /// Number of kernel types shown in text and md
    #[arg(long, value_name = "N", default_value_t = 15)]
    top: usize,

    /// Output format: text, json, csv or md
    #[arg(long, default_value = "text")]
    format: Format,

    /// Also write the report to this file; its extension (.txt, .json, .csv, .md) selects the format
    #[arg(short, long, value_name = "FILE", help_heading = headings::REPORT)]
    output: Option<PathBuf>,

    /// Exit with 1 if this condition holds, such as 'error>20%'. Can be repeated
    #[arg(long, value_name = "CONDITION", help_heading = headings::LIMITS)]
    fail_on: Vec<FailOn>,
}

/// Runs the comparisons, prints the report, and returns the outcome.
pub(super) fn run(args: &ModelDiffArgs, console: &mut Console) -> Result<super::Outcome> {
    let outcomes = outcomes(args)?;
    let comparisons: Vec<&ModelComparison> = compared(&outcomes).collect();
    let failed = failures(&args.fail_on, &comparisons)?;
    let mut unchecked = unchecked(&args.fail_on, &comparisons);
    if !args.fail_on.is_empty() {
        unchecked
            .extend(skipped(&outcomes).map(|name| format!("{name}: the scenario was skipped")));
    }
    warn(&outcomes, console);
    if let Some(path) = &args.output {
        let format = Format::of_path(path).unwrap_or(args.format);
        write_file(path, render(&outcomes, format, args.top).as_bytes())?;
    }
    console.print(|out| out.write_all(render(&outcomes, args.format, args.top).as_bytes()))?;
    for failure in &failed {
        console.tell(&format!("failed: {failure}"));
    }
    for reason in &unchecked {
        console.tell(&format!("not checked: {reason}"));
    }
    let is_missing = console.reading().strict && skipped(&outcomes).next().is_some();
    Ok(match (failed.is_empty(), unchecked.is_empty()) {
        _ if is_missing => super::Outcome::Missing,
        (false, _) => super::Outcome::Differences,
        (true, false) => super::Outcome::NotComparable,
        (true, true) => super::Outcome::Done,
    })
}

/// Compares each scenario and returns its outcome. Only the files in a scenario file may be missing; a file named on
/// the command line must exist.
fn outcomes(args: &ModelDiffArgs) -> Result<Vec<Outcome>> {
    match (&args.scenarios, &args.model_trace, &args.profile) {
        (Some(file), _, _) => {
            scenarios(file, args.scenario.as_deref())?.iter().map(Scenario::outcome).collect()
        }
        (None, Some(model_trace), Some(profile)) => {
            let comparison = scenario(args, model_trace, profile).compare()?;
            Ok(vec![Outcome::Compared(Box::new(comparison))])
        }
        (None, _, _) => Err(Error::usage("model-diff", "no input given")
            .remedy("pass a model trace and a kernel profile, or --scenarios FILE")),
    }
}

fn scenario(args: &ModelDiffArgs, model_trace: &Path, profile: &Path) -> Scenario {
    let mut scenario = Scenario::new(model_trace, profile);
    scenario.op_mapping.clone_from(&args.op_mapping);
    scenario.forward_passes = args.forward_passes;
    if let Some(name) = &args.scenario {
        scenario.name.clone_from(name);
    }
    scenario
}

fn scenarios(file: &Path, only: Option<&str>) -> Result<Vec<Scenario>> {
    let mut scenarios = read_scenarios(file)?;
    let Some(only) = only else { return Ok(scenarios) };
    let names: Vec<String> = scenarios.iter().map(|scenario| scenario.name.clone()).collect();
    scenarios.retain(|scenario| scenario.name == only);
    if scenarios.is_empty() {
        return Err(Error::new(ErrorKind::Usage, file, format!("no scenario `{only}`"))
            .remedy(format!("the scenarios are {}", names.join(", "))));
    }
    Ok(scenarios)
}

fn compared(outcomes: &[Outcome]) -> impl Iterator<Item = &ModelComparison> {
    outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Compared(comparison) => Some(&**comparison),
        Outcome::Skipped { .. } => None,
    })
}

/// The names of the skipped scenarios.
fn skipped(outcomes: &[Outcome]) -> impl Iterator<Item = &str> {
    outcomes.iter().filter_map(|outcome| match outcome {
        Outcome::Compared(_) => None,
        Outcome::Skipped { scenario, .. } => Some(&**scenario),
    })
}

fn warn(outcomes: &[Outcome], console: &mut Console) {
    for outcome in outcomes {
        match outcome {
            Outcome::Compared(comparison) => {
                for note in &comparison.notes {
                    let name = &comparison.scenario.name;
                    let hint = if note.hint.is_empty() { "" } else { "; " };
                    console.say(&format!(
                        "warning: {name}: {} ×{}: {}{hint}{}",
                        note.code, note.count, note.message, note.hint
                    ));
                }
            }
            Outcome::Skipped { scenario, reason } => {
                console.say(&format!("warning: scenario {scenario} was skipped: {reason}"));
            }
        }
    }
}
