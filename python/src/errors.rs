//! Converts a [`tracetree::Error`] to a Python exception that names the file, the position in the file and the remedy.

use pyo3::exceptions::{PyKeyError, PyOSError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error as _;
use tracetree::{Error, ErrorKind};

/// The exception for an error: the matching `OSError` subclass if the operating system reported the error,
/// otherwise a `TraceError`.
pub(crate) fn raise(py: Python<'_>, error: &Error) -> PyErr {
    match system_code(error) {
        // Python derives the subclass from the error code: FileNotFoundError, PermissionError, …
        Some(code) => {
            let message = error.message().replace(&format!(" (os error {code})"), "");
            PyOSError::new_err((code, message, path(error)))
        }
        None => trace_error(py, error).unwrap_or_else(|error| error),
    }
}

/// The file that caused the error; empty if the request itself is invalid.
fn path(error: &Error) -> String {
    error.path().map_or_else(String::new, |path| path.to_string_lossy().into_owned())
}

/// The error number of the operating system.
fn system_code(error: &Error) -> Option<i32> {
    let source = error.source()?.downcast_ref::<std::io::Error>()?;
    source.raw_os_error()
}

fn trace_error(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let (class, kind) = match error.kind() {
        ErrorKind::Usage | ErrorKind::NoEvent | ErrorKind::NoTraces => ("UsageError", "usage"),
        ErrorKind::Io => ("TraceError", "io"),
        ErrorKind::Malformed => ("TraceError", "malformed"),
        ErrorKind::NotATrace => ("TraceError", "not_a_trace"),
        ErrorKind::LimitExceeded => ("TraceError", "limit_exceeded"),
        ErrorKind::Cancelled => ("TraceError", "cancelled"),
        _ => ("TraceError", ""),
    };
    let class = py.import("tracetree._errors")?.getattr(class)?;
    let about = PyDict::new(py);
    about.set_item("kind", kind)?;
    about.set_item("path", path(error))?;
    about.set_item("offset", error.place().map(|place| place.offset))?;
    about.set_item("event", error.place().and_then(|place| place.event))?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&about))?))
}

/// The exception for a name that is not `known`. The message suggests the most similar name.
pub(crate) fn unknown(py: Python<'_>, what: &str, name: &str, known: &[impl AsRef<str>]) -> PyErr {
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    let text = || -> PyResult<String> {
        py.import("tracetree._names")?.call_method1("unknown", (what, name, known))?.extract()
    };
    text().map_or_else(|error| error, PyKeyError::new_err)
}

/// The exception for an invalid request.
pub(crate) fn usage(py: Python<'_>, what: impl AsRef<str>, message: String) -> PyErr {
    raise(py, &Error::usage(what.as_ref(), message))
}
