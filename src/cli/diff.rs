//! `tracetree diff BASE NEW`: the main job, for two traces or for two folders of ranks.

use super::diff_args::DiffArgs;
use super::fail_on::{Checked, check};
use super::format::Format;
use super::output::Console;
use super::{Outcome, fleet, load, summary};
use std::path::{Path, PathBuf};
use tracetree::fleet::is_folder;
use tracetree::gate::run_files;
use tracetree::report::{
    ReportOptions, one_line, was_interrupted, write_csv_with, write_markdown, write_summary,
};
use tracetree::tables::TableKind;
use tracetree::{Error, ErrorKind, PerSide, Result};

pub(super) fn run(args: &DiffArgs, console: &mut Console) -> Result<Outcome> {
    let (Some(baseline), Some(candidate)) = (&args.baseline, &args.candidate) else {
        let runs = PerSide::new(run_files(&args.base)?, run_files(&args.new)?);
        return run_pair(args, runs, console);
    };
    match (is_folder(baseline), is_folder(candidate)) {
        (true, true) if args.no_report => {
            let message = "ranks are compared by their reports, and --no-report writes none";
            Err(Error::new(ErrorKind::Usage, baseline, message)
                .remedy("leave it out, or give two traces"))
        }
        (true, true) => fleet::run(args, PerSide::new(baseline, candidate), console),
        (false, false) => {
            run_pair(args, PerSide::new(vec![baseline.clone()], vec![candidate.clone()]), console)
        }
        (true, false) => Err(not_a_folder(candidate, baseline)),
        (false, true) => Err(not_a_folder(baseline, candidate)),
    }
}

fn not_a_folder(file: &Path, folder: &Path) -> Error {
    let message = format!("is a file, but {} is a directory", folder.display());
    Error::new(ErrorKind::Usage, file, message)
        .remedy("give two traces, or two directories with the traces of several ranks")
}

/// Refuses an output folder before the traces are read for it, and warns of a report that is replaced though
/// it never was whole.
fn check_output(folder: &Path, options: &ReportOptions, console: &mut Console) -> Result<()> {
    options.check_target(folder)?;
    if was_interrupted(folder) {
        console.say(&format!(
            "warning: the run that wrote the report in {} was stopped before all files were in place. They are \
             replaced now; discard what you took from them.",
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
    let options = args.emit.options(console.unfinished());
    if !args.no_report {
        check_output(&args.output, &options, console)?;
    }
    let comparison = load::of_runs(runs, args.comparison_options()?, console)?;
    let analysis = comparison.analysis();
    let report = comparison.report(options);
    if !args.no_report {
        console.progress().stage("writing the report", || report.write(&args.output))?;
    }
    let summary = report.summary();
    let width = console.width();
    console.print(|out| match args.format {
        Format::Text => summary::text(analysis, &report, args.top, width, out),
        Format::Json => write_summary(summary, out),
        Format::Csv => write_csv_with(&TableKind::Names.of(analysis), args.emit.csv_texts(), out),
        Format::Md => write_markdown(analysis, args.top, out),
    })?;
    for note in &summary.notes {
        console.say(&summary::note_line(summary, note));
    }
    if !args.no_report {
        console.say(&format!("report in {}", args.output.display()));
        args.emit.show(&args.output, console);
    }
    if args.selection.strict_comparability && !summary.comparable {
        return Ok(Outcome::NotComparable);
    }
    let differs = args.exit_code && summary.points_of_difference > 0;
    let checked = args.fail_on.map_or(Checked::Passed, |limit| check(limit, analysis, summary));
    let mut say = |reason: &str| console.say(&format!("--fail-on: {}", one_line(reason)));
    Ok(match checked {
        Checked::Broken(how) => {
            say(&how);
            Outcome::Differences
        }
        Checked::Inconclusive(reasons) => {
            reasons.iter().for_each(|reason| say(reason));
            Outcome::NotComparable
        }
        Checked::Passed if differs => Outcome::Differences,
        Checked::Passed => Outcome::Done,
    })
}
