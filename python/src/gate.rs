//! The gate: runs against runs, or against a baseline file, by rules.

use crate::errors::raise;
use crate::source::Source;
use crate::trace::open;
use crate::work::{self, Watch, all_cores};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use tracetree::gate::{Date, Digest, Digester, Gate, GateFormat, Outcome, Rules, run_files};
use tracetree::trace::ReadOptions;
use tracetree::{CallTree, Cancel, Input, Result};

/// End of the names of baseline files.
const BASELINE: &str = "ttb";

/// What the gate says: `pass`, `fail` or `inconclusive`, then its text and its JSON.
#[pyfunction]
pub(crate) fn gate(
    py: Python<'_>,
    baseline: Vec<Source<'_>>,
    candidate: Vec<Source<'_>>,
    rules: Option<PathBuf>,
    inconclusive: Option<String>,
) -> PyResult<(&'static str, String, String)> {
    let watch = Watch { progress: None, cancel: Cancel::new() };
    let reading = ReadOptions::default().cancel(watch.cancel.clone());
    let inputs = |runs: Vec<Source<'_>>| runs.into_iter().map(Source::into_input).collect();
    let (baseline, candidate): (Vec<Input>, Vec<Input>) = (inputs(baseline), inputs(candidate));
    let checked = work::run(py, all_cores(), &watch, move |_| {
        check(baseline, candidate, rules.as_deref(), inconclusive.as_deref(), &reading)
    })?;
    checked.map_err(|error| raise(py, &error))
}

fn check(
    baseline: Vec<Input>,
    candidate: Vec<Input>,
    rules: Option<&Path>,
    inconclusive: Option<&str>,
    reading: &ReadOptions,
) -> Result<(&'static str, String, String)> {
    let mut rules = rules.map_or_else(|| Ok(Rules::default()), Rules::read)?;
    if let Some(word) = inconclusive {
        rules.inconclusive = word.parse()?;
    }
    let baseline = match baseline.as_slice() {
        [Input::File(path)] if path.extension().is_some_and(|end| end == BASELINE) => {
            Digest::read_baseline(path)?
        }
        _ => digest(baseline, reading)?,
    };
    let gate = Gate::check(&baseline, &digest(candidate, reading)?, &rules, Date::today());
    let outcome = match gate.outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Inconclusive => "inconclusive",
    };
    let write = |format: GateFormat| {
        let mut text = Vec::new();
        gate.write(format, &mut text).expect("memory takes every text");
        String::from_utf8_lossy(&text).into_owned()
    };
    Ok((outcome, write(GateFormat::Text), write(GateFormat::Json)))
}

/// Reads the runs of one side, one after the other: only their digest is kept.
fn digest(runs: Vec<Input>, reading: &ReadOptions) -> Result<Digest> {
    let mut digester = Digester::default();
    for run in runs {
        match run {
            Input::File(path) => {
                for file in run_files(&[path])? {
                    digester.add(CallTree::build(open(Input::File(file), reading)?))?;
                }
            }
            other => digester.add(CallTree::build(open(other, reading)?))?,
        }
    }
    Ok(digester.finish())
}
