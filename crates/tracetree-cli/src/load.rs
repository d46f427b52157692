//! Loads a trace, or the comparison of two traces, while showing progress.

use super::output::Console;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::program::CaptureSource;
use tracetree::trace::Trace;
use tracetree::tree::TreeOptions;
use tracetree::{CallTree, Comparison, ComparisonOptions, PerSide, Result};

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

/// Reads one trace and builds its call tree, including the calls that captured the trace's graphs.
pub(super) fn tree(path: &Path, captures: &CaptureSource, console: &Console) -> Result<CallTree> {
    let trace = Arc::new(one(path, console)?);
    let found = captures.open(&trace, Some(path), console.reading())?;
    console.progress().stage("building the call tree", || {
        found.complete(CallTree::build(trace), TreeOptions::default(), console.reading())
    })
}

pub(super) fn comparison(
    paths: PerSide<&Path>,
    options: ComparisonOptions,
    console: &Console,
) -> Result<Comparison> {
    let comparing = console.progress().comparing(paths);
    let options = comparing.watched(options.read(console.reading().clone()));
    Comparison::open(paths.baseline, paths.candidate, &options)
}
