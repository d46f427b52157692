//! Defines one [`TraceSource`] for each recorder whose files can be read. All sources produce the
//! same kind of trace.
//!
//! The source that reads a file is chosen by the file's content, not by the file name. After
//! reading, nothing depends on the recorder; [`Header::recorder`](crate::trace::header::Header::recorder) only stores the name of the
//! recorder.

mod nsight;
mod rocprof;
mod rows;
mod source;
mod xla;

use super::options::ReadOptions;
use super::reading;
use super::source::Source;
use crate::error::Result;
use crate::trace::columns::Trace;
use crate::trace::header::Header;
use source::TraceSource;

/// All formats. The last format accepts every file. If the file is not a trace, the error of the
/// last format names the format that the file seems to have.
const SOURCES: [&dyn TraceSource; 5] =
    [&nsight::NsightSystems, &xla::Xla, &xla::XlaJson, &rocprof::Rocprof, &Kineto];

/// The format of a file, detected from the file's content.
///
/// # Errors
/// Fails if reading fails.
pub(super) fn of(source: &mut Source<'_>) -> Result<&'static dyn TraceSource> {
    let head = source.head(|head| SOURCES.iter().any(|kind| kind.needs_more(head)))?;
    let found = SOURCES.into_iter().find(|kind| kind.recognises(head));
    Ok(found.unwrap_or(&Kineto))
}

/// JSON from `export_chrome_trace`, or from any other program that writes Chrome's trace viewer
/// format.
struct Kineto;

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
