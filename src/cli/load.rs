//! Paths → a trace, or the comparison of two, with progress on the way.

use super::output::Console;
use std::path::{Path, PathBuf};
use tracetree::trace::Trace;
use tracetree::{Comparison, ComparisonOptions, PerSide, Result};

/// Reads one trace.
pub(super) fn one(path: &Path, console: &Console) -> Result<Trace> {
    console.progress().reading(&[path], |options| Trace::open_with(path, &options[0]))
}

/// Reads and compares the runs of both sides.
pub(super) fn of_runs(
    runs: PerSide<Vec<PathBuf>>,
    options: ComparisonOptions,
    console: &Console,
) -> Result<Comparison> {
    let first = runs.as_ref().map(|runs| runs.first().map_or(Path::new(""), PathBuf::as_path));
    let comparing = console.progress().comparing(first);
    let options = comparing.watched(options.read(console.reading().clone()));
    Comparison::of_runs(runs, &options)
}

/// Reads and compares two traces.
pub(super) fn comparison(
    paths: PerSide<&Path>,
    options: ComparisonOptions,
    console: &Console,
) -> Result<Comparison> {
    let comparing = console.progress().comparing(paths);
    let options = comparing.watched(options.read(console.reading().clone()));
    Comparison::open(paths.baseline, paths.candidate, &options)
}
