//! Compares two traces and passes the comparison to a closure.

use super::enter_root;
use super::trace_builder::{HostThread, Op, TraceBuilder};
use std::path::Path;
use tracetree::analysis::{Analysis, AnalysisOptions};
use tracetree::diff::TraceDiff;
use tracetree::trace::{ReadOptions, Trace};
use tracetree::tree::CallTree;
use tracetree::{PerSide, Result};

/// Reads a trace from JSON text.
///
/// # Panics
/// Panics if the text is not a trace.
pub fn trace(name: &str, text: &str) -> Trace {
    read(name, text).expect("a trace")
}

fn read(name: &str, text: &str) -> Result<Trace> {
    Trace::from_reader(name, text.as_bytes(), &ReadOptions::default())
}

/// Analyzes two traces that are given as JSON text. The traces get the names `names` instead of file names.
///
/// # Errors
/// Fails if one of the texts is not a trace.
pub fn analyse_texts(names: PerSide<&str>, texts: &PerSide<String>) -> Result<Analysis> {
    let baseline = read(names.baseline, &texts.baseline)?;
    let candidate = read(names.candidate, &texts.candidate)?;
    Ok(analyse(PerSide::new(baseline, candidate), AnalysisOptions::default()))
}

fn analyse(traces: PerSide<Trace>, options: AnalysisOptions) -> Analysis {
    let PerSide { baseline, candidate } = traces.map(CallTree::build);
    Analysis::with_options(TraceDiff::new(baseline, candidate), options)
}

/// Compares two traces given as JSON text.
///
/// # Panics
/// Panics if one of the texts is not a trace.
pub fn compare_texts<T>(texts: &PerSide<String>, look: impl FnOnce(&Analysis) -> T) -> T {
    let names = PerSide::new("baseline", "candidate");
    look(&analyse_texts(names, texts).expect("two traces"))
}

/// Compares two files.
///
/// # Panics
/// Panics if one of the files cannot be read.
pub fn compare_files<T>(paths: PerSide<impl AsRef<Path>>, look: impl FnOnce(&Analysis) -> T) -> T {
    enter_root();
    let traces = paths.map(|path| Trace::open(path).expect("a readable trace"));
    compare_with(traces, AnalysisOptions::default(), look)
}

/// Compares two traces with options.
pub fn compare_with<T>(
    traces: PerSide<Trace>,
    options: AnalysisOptions,
    look: impl FnOnce(&Analysis) -> T,
) -> T {
    look(&analyse(traces, options))
}

/// Compares two traces that each have a single host thread.
pub fn align_threads(
    baseline: impl FnOnce(&mut HostThread<'_>),
    candidate: impl FnOnce(&mut HostThread<'_>),
    look: impl FnOnce(&TraceDiff),
) {
    let texts = PerSide::new(
        TraceBuilder::cuda().thread("main", baseline).json(),
        TraceBuilder::cuda().thread("main", candidate).json(),
    );
    compare_texts(&texts, |analysis| look(analysis.diff()));
}

/// A trace with `count` identical steps on one thread.
pub fn steps_of(count: u32, body: impl Fn(&mut HostThread<'_>)) -> String {
    let trace = TraceBuilder::cuda().thread("main", |t| {
        for number in 3..3 + count {
            t.step(number, &body);
        }
    });
    trace.json()
}

/// An op on matrices with `rows` rows.
pub fn shaped(name: &str, rows: i64) -> Op {
    Op::new(name).dims(&[&[rows, 64]])
}
