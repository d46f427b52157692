//! Runs the gate, which checks runs against other runs or against a baseline file, based on rules.

use crate::errors::raise;
use crate::options::{Anonymize, reading};
use crate::read::open;
use crate::source::{Capture, Source, captures};
use crate::work::{self, Watch, all_cores};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use tracetree::program::CaptureSource;
use tracetree::trace::ReadOptions;
use tracetree::{Cancel, Error, Input, Result};
use tracetree_gate::{Date, Gate, GateFormat, Recorder, Recording, Rules, run_files};

/// File name extension of baseline files.
const BASELINE: &str = "ttb";

/// Checks the candidate. Returns the outcome (`pass`, `fail` or `inconclusive`), the report as
/// text, and the report as JSON.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the arguments of the Python function")]
pub(crate) fn gate(
    py: Python<'_>,
    baseline: Vec<Source<'_>>,
    candidate: Vec<Source<'_>>,
    rules: Option<PathBuf>,
    inconclusive: Option<String>,
    baseline_captures: Option<Vec<Capture<'_>>>,
    candidate_captures: Option<Vec<Capture<'_>>>,
    anonymize: Option<Anonymize>,
) -> PyResult<(&'static str, String, String)> {
    let watch = Watch { progress: None, cancel: Cancel::new() };
    let reading = reading(false, None, anonymize).cancel(watch.cancel.clone());
    let inputs = |runs: Vec<Source<'_>>| runs.into_iter().map(Source::into_input).collect();
    let (baseline, candidate): (Vec<Input>, Vec<Input>) = (inputs(baseline), inputs(candidate));
    let failed = |error: Error| raise(py, &error);
    let before = captures(baseline_captures).map_err(failed)?;
    let after = captures(candidate_captures).map_err(failed)?;
    let checked = work::run(py, all_cores(), &watch, move |_| {
        let rules = chosen(rules.as_deref(), inconclusive.as_deref())?;
        check((baseline, &before), (candidate, &after), &rules, &reading)
    })?;
    checked.map_err(|error| raise(py, &error))
}

fn chosen(rules: Option<&Path>, inconclusive: Option<&str>) -> Result<Rules> {
    let mut rules = rules.map_or_else(|| Ok(Rules::default()), Rules::read)?;
    if let Some(word) = inconclusive {
        rules.inconclusive = word.parse()?;
    }
    Ok(rules)
}

/// The runs on one side, and where their graph captures come from.
type Runs<'a> = (Vec<Input>, &'a CaptureSource);

fn check(
    (baseline, before): Runs<'_>,
    (candidate, after): Runs<'_>,
    rules: &Rules,
    reading: &ReadOptions,
) -> Result<(&'static str, String, String)> {
    let baseline = match baseline.as_slice() {
        [Input::File(path)] if path.extension().is_some_and(|end| end == BASELINE) => {
            if !matches!(before, CaptureSource::Beside) {
                let message =
                    "a baseline file already includes the captures chosen when it was recorded";
                return Err(Error::usage(path.display().to_string(), message)
                    .remedy("omit baseline_captures, or record with `baseline record --capture`"));
            }
            Recording::read_baseline(path)?
        }
        _ => record(baseline, before, reading)?,
    };
    let candidate = record(candidate, after, reading)?;
    let gate = Gate::check(&baseline, &candidate, rules, Date::today());
    let write = |format: GateFormat| {
        let mut text = Vec::new();
        gate.write(format, &mut text).expect("writing to memory cannot fail");
        String::from_utf8_lossy(&text).into_owned()
    };
    Ok((gate.outcome.label(), write(GateFormat::Text), write(GateFormat::Json)))
}

/// Reads the runs on one side, one after another, and combines them into the recording that the
/// gate checks.
fn record(runs: Vec<Input>, captures: &CaptureSource, reading: &ReadOptions) -> Result<Recording> {
    let mut recorder = Recorder::default().captures(captures.clone());
    for run in runs {
        match run {
            Input::File(path) => {
                for file in run_files(&[path])? {
                    let trace = open(Input::File(file.clone()), reading)?;
                    recorder.add_trace(trace, Some(&file), reading)?;
                }
            }
            other => recorder.add_trace(open(other, reading)?, None, reading)?,
        }
    }
    recorder.finish()
}
