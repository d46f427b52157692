//! Converts trace arguments from Python to library inputs.

use crate::trace::Trace;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use tracetree::Input;
use tracetree::program::CaptureSource;

/// A trace argument in one of four forms.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    /// A trace that was already read.
    Trace(Bound<'py, Trace>),
    /// A name for messages, and the bytes of a trace.
    Bytes(String, PyBackedBytes),
    /// A name for messages, the first bytes of a trace, and a function that returns the next bytes each time it is
    /// called.
    Pieces(String, PyBackedBytes, Py<PyAny>),
    /// The path of a file.
    File(PathBuf),
}

impl Source<'_> {
    /// Converts the source to a library input. Bytes are shared with Python, not copied.
    pub(crate) fn into_input(self) -> Input {
        match self {
            Source::Trace(trace) => Input::from(trace.get().trace().clone()),
            Source::Bytes(name, bytes) => Input::Reader(name, Box::new(Bytes { bytes, at: 0 })),
            Source::Pieces(name, bytes, next) => {
                Input::Reader(name, Box::new(Pieces { current: Bytes { bytes, at: 0 }, next }))
            }
            Source::File(path) => Input::File(path),
        }
    }
}

/// A graph capture: a file or folder, or a trace that was already read.
#[derive(FromPyObject)]
pub(crate) enum Capture<'py> {
    Trace(Bound<'py, Trace>),
    File(PathBuf),
}

/// Determines where graph captures come from. `None` means the folder next to the trace; an empty list means no
/// captures.
///
/// # Errors
/// Fails if a file cannot be read. Files are read here only if the list also contains traces.
pub(crate) fn captures(given: Option<Vec<Capture<'_>>>) -> tracetree::Result<CaptureSource> {
    let Some(given) = given else { return Ok(CaptureSource::Beside) };
    if given.is_empty() {
        return Ok(CaptureSource::Nowhere);
    }
    let file = |capture: &Capture<'_>| match capture {
        Capture::File(path) => Some(path.clone()),
        Capture::Trace(_) => None,
    };
    if let Some(files) = given.iter().map(file).collect() {
        return Ok(CaptureSource::Files(files));
    }
    let traces = given.into_iter().map(|capture| match capture {
        Capture::Trace(trace) => Ok(trace.get().trace().clone()),
        Capture::File(path) => tracetree::Trace::open(path).map(Arc::new),
    });
    Ok(CaptureSource::Traces(traces.collect::<tracetree::Result<_>>()?))
}

/// Reads bytes that Python owns.
struct Bytes {
    bytes: PyBackedBytes,
    at: usize,
}

impl Read for Bytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = (&self.bytes[self.at..]).read(out)?;
        self.at += count;
        Ok(count)
    }
}

/// Reads a Python file object piece by piece. While this thread reads, the calling thread waits and lets other threads
/// use the interpreter.
struct Pieces {
    current: Bytes,
    next: Py<PyAny>,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.current.read(out)?;
        if count > 0 || self.current.bytes.is_empty() {
            return Ok(count);
        }
        let next = Python::attach(|py| -> PyResult<_> { Ok(self.next.call0(py)?.extract(py)?) });
        self.current = Bytes { bytes: next.map_err(failed)?, at: 0 };
        self.current.read(out)
    }
}

/// Converts an exception raised by the file object to an error with the same message.
fn failed(error: PyErr) -> io::Error {
    io::Error::other(error.to_string())
}
