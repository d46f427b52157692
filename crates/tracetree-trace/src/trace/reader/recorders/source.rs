//! What the reader of each recorder provides.

use crate::error::Result;
use crate::trace::columns::Trace;
use crate::trace::header::Header;
use crate::trace::reader::options::ReadOptions;
use crate::trace::reader::source::Source;

/// A file format for traces.
pub(in crate::trace::reader) trait TraceSource: Sync {
    /// Whether a file that begins with these unpacked bytes has this format.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Whether these first bytes of a file are too few to detect this format.
    fn needs_more(&self, head: &[u8]) -> bool;

    /// Reads the whole file.
    ///
    /// # Errors
    /// Fails if reading fails, if the bytes are not a trace in this format, or if the bytes exceed
    /// a limit.
    fn read(&self, source: Source<'_>, options: &ReadOptions) -> Result<Trace>;

    /// Reads the metadata that describes the recording as a whole.
    ///
    /// # Errors
    /// Fails for the same reasons as [`TraceSource::read`].
    fn read_header(&self, source: Source<'_>, options: &ReadOptions) -> Result<Header> {
        Ok(self.read(source, options)?.header)
    }
}

/// Whether a text begins with `start`, without white space; `None` if the text is shorter
/// than `start`.
pub(super) fn begins(text: &[u8], start: &[u8]) -> Option<bool> {
    let mut own = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    for wanted in start {
        match own.next() {
            None => return None,
            Some(byte) if byte != wanted => return Some(false),
            Some(_) => {}
        }
    }
    Some(true)
}
