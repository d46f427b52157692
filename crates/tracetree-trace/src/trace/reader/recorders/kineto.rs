//! Reads the JSON that Kineto, PyTorch's profiler, writes, block by block.

use super::super::options::ReadOptions;
use super::super::reading;
use super::super::source::Source;
use super::source::TraceSource;
use crate::error::Result;
use crate::trace::columns::Trace;
use crate::trace::header::Header;

/// JSON from `export_chrome_trace`, or from any other program that writes Chrome's trace viewer
/// format.
pub(super) struct Kineto;

impl TraceSource for Kineto {
    fn recognises(&self, _head: &[u8]) -> bool {
        true
    }

    fn needs_more(&self, _head: &[u8]) -> bool {
        false
    }

    fn read(&self, source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
        reading::read(source, options)
    }

    fn read_header(&self, source: Source<'_>, options: &ReadOptions) -> Result<Header> {
        reading::read_header(source, options)
    }
}
