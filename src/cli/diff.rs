//! `tracetree diff BASE NEW`: the main job, for two traces or for two folders of ranks.

use super::diff_args::DiffArgs;
use super::format::Format;
use super::output::Console;
use super::{Outcome, fleet, load, summary};
use std::path::Path;
use tracetree::report::{summarise, write_csv_with, write_markdown, write_summary};
use tracetree::tables::TableKind;
use tracetree::{Error, ErrorKind, PerSide, Result};

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
    let report = comparison.report(args.emit.options(console.unfinished()));
    console.progress().stage("writing the report", || report.write(&args.output))?;
    let summary = summarise(analysis);
    let width = console.width();
    console.print(|out| match args.format {
        Format::Text => summary::text(analysis, &summary, args.top, width, out),
        Format::Json => write_summary(&summary, out),
        Format::Csv => write_csv_with(&TableKind::Names.of(analysis), args.emit.csv_texts(), out),
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
