//! Two traces → their comparison, lent to a closure: each stage borrows from the one before it.

use std::path::Path;
use tracetree::PerSide;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;

/// Reads a trace from its text.
///
/// # Panics
/// If the text is no trace.
pub fn trace(name: &str, text: &str) -> Trace {
    Trace::from_reader(name, text.as_bytes(), &ReadOptions::default()).expect("a trace")
}

/// Compares two traces given as text.
///
/// # Panics
/// If one of them is no trace.
pub fn compare_texts<T>(texts: &PerSide<String>, look: impl FnOnce(&Analysis) -> T) -> T {
    let names = PerSide::new("baseline", "candidate");
    look_at(&PerSide::from_fn(|side| trace(names[side], &texts[side])), look)
}

/// Compares two files.
///
/// # Panics
/// If one of them cannot be read.
pub fn compare_files<T>(paths: PerSide<impl AsRef<Path>>, look: impl FnOnce(&Analysis) -> T) -> T {
    look_at(&paths.map(|path| Trace::open(path).expect("a readable trace")), look)
}

fn look_at<T>(traces: &PerSide<Trace>, look: impl FnOnce(&Analysis) -> T) -> T {
    compare_with(traces, AnalysisOptions::default(), look)
}

/// Compares two traces with options.
pub fn compare_with<T>(
    traces: &PerSide<Trace>,
    options: AnalysisOptions,
    look: impl FnOnce(&Analysis) -> T,
) -> T {
    let trees = traces.clone().map(CallTree::build);
    let diff = TraceDiff::new(trees.baseline.clone(), trees.candidate);
    look(&Analysis::with_options(diff, options))
}
