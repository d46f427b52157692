//! Reads a trace from an input that Python code passed.

use crate::errors::raise;
use crate::options::{Anonymize, reading};
use crate::source::Source;
use crate::trace::Trace;
use crate::work::{self, Watch};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;
use tracetree::program::rank_of;
use tracetree::trace::{ReadOptions, ReadProgress};
use tracetree::{Cancel, Input, Side, Stage};

/// Reads a trace.
#[pyfunction]
pub(crate) fn read(
    py: Python<'_>,
    source: Source<'_>,
    strict: bool,
    max_unpacked: Option<u64>,
    anonymize: Option<Anonymize>,
    progress: Option<Bound<'_, PyAny>>,
    origin: Option<Py<PyAny>>,
) -> PyResult<Trace> {
    let tells = progress.is_some();
    let watch = Watch { progress, cancel: Cancel::new() };
    let options = reading(strict, max_unpacked, anonymize).cancel(watch.cancel.clone());
    let input = source.into_input();
    let trace = work::run(py, 1, &watch, move |teller| {
        let options = if tells {
            options.progress(ReadProgress::new(move |bytes| {
                teller.tell(Stage::Reading(Side::Baseline, bytes));
            }))
        } else {
            options
        };
        open(input, &options)
    })?;
    let trace = trace.map_err(|error| raise(py, &error))?;
    Ok(Trace::new(trace, origin.map(Arc::new)))
}

/// The rank that the trace in a file was recorded on, by the head of the file or by its name; `None` if unknown.
#[pyfunction]
pub(crate) fn rank_of_file(py: Python<'_>, path: String) -> Option<i64> {
    py.detach(|| {
        let header = tracetree::Trace::read_header_with(&path, &ReadOptions::default());
        rank_of(&header.unwrap_or_default(), &path)
    })
}

/// The traces that a path stands for: the files in a folder or of a pattern, or the path itself.
#[pyfunction]
pub(crate) fn run_files(py: Python<'_>, path: PathBuf) -> PyResult<Vec<PathBuf>> {
    let found = py.detach(|| tracetree_gate::run_files(&[path]));
    found.map_err(|error| raise(py, &error))
}

/// Reads an input.
pub(crate) fn open(
    input: Input,
    options: &ReadOptions,
) -> tracetree::Result<Arc<tracetree::Trace>> {
    match input {
        Input::File(path) => tracetree::Trace::open_with(path, options).map(Arc::new),
        Input::Reader(name, reader) => {
            tracetree::Trace::from_reader(&name, reader, options).map(Arc::new)
        }
        Input::Trace(trace) => Ok(trace),
        _ => unreachable!("every source is a file, a reader or a trace"),
    }
}
