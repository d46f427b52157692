//! `tracetree diff BASE NEW`: compares two traces, or two folders of ranks.

use super::diff_args::DiffArgs;
#[cfg(feature = "fleet")]
use super::fleet;
use super::only::Only;
use super::outcome::Outcome;
use super::output::{Console, Format};
use super::{load, mistakes, summary};
use std::path::{Path, PathBuf};
use tracetree::analysis::Analysis;
use tracetree::program::counted;
use tracetree::report::{
    ReportOptions, one_line, was_interrupted, write_brief, write_csv_with, write_markdown,
    write_summary,
};
use tracetree::tables::TableKind;
use tracetree::{Error, ErrorKind, PerSide, Result};
#[cfg(feature = "fleet")]
use tracetree_fleet::is_folder;
use tracetree_gate::{Outcome as GateOutcome, run_files, run_folders};

pub(super) fn run(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    if args.only.is_some() {
        Only::check(args.format)?;
    }
    let (Some(baseline), Some(candidate)) = (&args.baseline, &args.candidate) else {
        let runs = PerSide::new(run_files(&args.base)?, run_files(&args.new)?);
        return run_pair(args, runs, console);
    };
    // Recordings of `tracetree.profile` are in folders run0, run1, …: these are the runs of a side.
    let has_runs =
        |path: &Path| path.is_dir() && run_folders(path).is_ok_and(|runs| !runs.is_empty());
    if has_runs(baseline) && has_runs(candidate) {
        let runs = |side| run_files(std::slice::from_ref(side));
        let runs = PerSide::new(runs(baseline)?, runs(candidate)?);
        return run_pair(args, runs, console);
    }
    match (is_folder(baseline), is_folder(candidate)) {
        (true, true) if args.no_report => {
            let message = "a comparison of folders needs a report for each rank, but --no-report disables reports";
            Err(Error::new(ErrorKind::Usage, baseline, message)
                .remedy("omit --no-report, or pass two traces"))
        }
        (true, true) if args.only.is_some() => {
            let message = "--only works with two traces, not with two folders of ranks";
            Err(Error::new(ErrorKind::Usage, baseline, message).remedy("pass two traces"))
        }
        #[cfg(feature = "fleet")]
        (true, true) => fleet::run(args, PerSide::new(baseline, candidate), console),
        #[cfg(not(feature = "fleet"))]
        (true, true) => Err(Error::left_out("comparing folders")),
        (false, false) => {
            run_pair(args, PerSide::new(vec![baseline.clone()], vec![candidate.clone()]), console)
        }
        (true, false) => Err(not_a_folder(candidate, baseline)),
        (false, true) => Err(not_a_folder(baseline, candidate)),
    }
}

#[cfg(not(feature = "fleet"))]
fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

fn not_a_folder(file: &Path, folder: &Path) -> Error {
    let message = format!("is a file, but {} is a folder", folder.display());
    Error::new(ErrorKind::Usage, file, message)
        .remedy("pass two traces, or two folders with the traces of several ranks")
}

/// Fails if the report cannot be written to the output folder, and warns if the folder contains an incomplete report.
/// Runs before the traces are read, so that the user learns immediately that a folder cannot be used.
fn check_output(folder: &Path, options: &ReportOptions, console: &mut Console) -> Result<()> {
    options.check_target(folder)?;
    if was_interrupted(folder) {
        console.say(&format!(
            "warning: the run that wrote the report in {} was interrupted before all files were in place, so the \
             report's figures may be inconsistent. All files will now be replaced; discard earlier copies of the \
             report.",
            folder.display()
        ));
    }
    Ok(())
}

fn run_pair(
    args: &DiffArgs,
    runs: PerSide<Vec<PathBuf>>,
    console: &mut Console,
) -> Result<Outcome> {
    let options = args.emit.options(console.unfinished())?;
    if !args.no_report {
        check_output(&args.output, &options, console)?;
    }
    if let ([one], [two]) = (&runs.baseline[..], &runs.candidate[..])
        && let Some(mistake) = mistakes::same_file(one, two)
    {
        console.say(&format!("warning: {}", mistake.what));
        console.say(&format!("to compare two recordings: {}", mistake.command));
    }
    let comparison = load::of_runs(runs, args.comparison_options()?, console)?;
    let analysis = comparison.analysis();
    let report = comparison.report(options);
    if !args.no_report {
        console.progress().stage("writing the report", || report.write(&args.output))?;
    }
    let (width, is_verbose) = (console.width(), console.is_verbose());
    let texts = args.emit.csv_texts();
    console.print(|out| match (args.format, args.only) {
        (Format::Text, Some(only)) => only.write(analysis, width, out),
        (Format::Csv, Some(only)) => only.write_csv(analysis, texts, out),
        (Format::Text, None) if is_verbose => {
            summary::text(analysis, &report, args.top, width, out)
        }
        (Format::Text, None) => summary::answer(&report, width, out),
        (Format::Csv, None) => write_csv_with(&TableKind::Names.of(analysis), texts, out),
        (Format::Brief, _) => write_brief(&report, out),
        (Format::Json, _) => write_summary(report.summary(), out),
        (Format::Md, _) => write_markdown(analysis, args.top, out),
    })?;
    for note in report.notes() {
        console.say(&summary::note_line(analysis.names(), note));
    }
    if !args.no_report {
        console.say(&format!("report in {}", args.output.display()));
        if report.has_grouped_events() {
            console.say(
                "diff_stats_kernels has one row per group of equal GPU events; pass --per-instance for one row per event",
            );
        }
        args.emit.show(&args.output, console);
    }
    let obstacle = analysis.comparability().obstacles().next();
    if let Some(obstacle) = obstacle.filter(|_| args.selection.strict_comparability) {
        let reason = one_line(&obstacle.message);
        console.say_if_quiet(&format!("--strict-comparability: {}: {reason}", obstacle.code));
        return Ok(Outcome::NotComparable);
    }
    let limits = check_limits(args, analysis, console);
    let points = report.summary().points_of_difference;
    if limits != GateOutcome::Pass || !args.exit_code || points == 0 {
        return Ok(limits.into());
    }
    console.say_if_quiet(&format!("--exit-code: {} of difference", counted(points, "point")));
    Ok(Outcome::Differences)
}

/// Checks each limit of `--fail-on` and prints the result to stderr. If one limit is exceeded and another limit is
/// inconclusive, the result counts as exceeded.
fn check_limits(args: &DiffArgs, analysis: &Analysis, console: &mut Console) -> GateOutcome {
    let mut worst = GateOutcome::Pass;
    for limit in &args.fail_on {
        let checked = limit.check(analysis);
        for message in &checked.messages {
            console.say(&format!("--fail-on {limit}: {}", one_line(message)));
        }
        if checked.outcome != GateOutcome::Pass {
            let reasons = checked.messages.join("; ");
            console.say_if_quiet(&format!("--fail-on {limit}: {}", one_line(&reasons)));
        }
        worst = worst.and(checked.outcome);
    }
    worst
}
