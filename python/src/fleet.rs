//! Compares one pair of traces from a fleet in this process, and writes the pair's shard.

use super::errors::raise;
use super::work::{self, Watch};
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use tracetree::report::ReportOptions;
use tracetree::{Cancel, Error, Result};
use tracetree_fleet::{Mapping, Plan};

/// Compares the only pair of a plan, and writes the pair's shard below `out`. `plan` is the text of a plan in JSON.
/// Returns the outcome as a line of JSON.
#[pyfunction]
pub(crate) fn map_pair(
    py: Python<'_>,
    plan: String,
    out: PathBuf,
    threads: usize,
) -> PyResult<String> {
    let watch = Watch { progress: None, cancel: Cancel::new() };
    let mapped = work::run(py, threads, &watch, move |_| map(&plan, out))?;
    mapped.map_err(|error| raise(py, &error))
}

fn map(plan: &str, out: PathBuf) -> Result<String> {
    let plan = Plan::parse(plan, Path::new("plan"))?;
    let mapping = Mapping::new(&plan, out)?;
    let mapping = match plan.options.reports {
        true => mapping.reports(ReportOptions::default()),
        false => mapping,
    };
    let pair = plan.pairs.first().ok_or_else(|| Error::usage("plan", "the plan has no pair"))?;
    Ok(mapping.map(pair).to_json(pair))
}
