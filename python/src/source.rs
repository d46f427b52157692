//! What Python gives → what the library reads.

use crate::trace::Trace;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use std::io::{self, Read};
use std::path::PathBuf;
use tracetree::Input;

/// A trace: read before, bytes with the name that stands for them in messages, or a file.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Trace(Bound<'py, Trace>),
    Bytes(String, PyBackedBytes),
    File(PathBuf),
}

impl Source<'_> {
    /// The input of the library. Bytes are shared with Python, not copied.
    pub(crate) fn into_input(self) -> Input {
        match self {
            Source::Trace(trace) => Input::from(trace.get().trace().clone()),
            Source::Bytes(name, bytes) => Input::Reader(name, Box::new(Bytes { bytes, at: 0 })),
            Source::File(path) => Input::File(path),
        }
    }
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
