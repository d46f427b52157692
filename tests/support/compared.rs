//! Texts or files of two traces → their comparison with the default options, lent to a closure.

use super::compare;
use std::path::Path;
use tracetree::PerSide;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::trace::{ReadOptions, Trace};

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
pub fn compare_texts<T>(texts: &PerSide<String>, look: impl FnOnce(&Analysis<'_>) -> T) -> T {
    let PerSide { baseline, candidate } = texts;
    compare::compare_json(baseline, candidate, AnalysisOptions::default(), look)
}

/// Compares two files.
///
/// # Panics
/// If one of them cannot be read.
pub fn compare_files<T>(
    paths: PerSide<impl AsRef<Path>>,
    look: impl FnOnce(&Analysis<'_>) -> T,
) -> T {
    let traces = paths.map(|path| Trace::read(path).expect("a readable trace"));
    compare::compare(&traces, AnalysisOptions::default(), look)
}
