//! Defines one [`TraceSource`] for each recorder whose files can be read. All sources produce the
//! same kind of trace.
//!
//! The source that reads a file is chosen by the file's content, not by the file name. After
//! reading, nothing depends on the recorder; [`Header::recorder`] only stores the name of the
//! recorder.

mod kineto;
mod nsight;
mod rocprof;
mod rows;
mod xla;

use super::options::ReadOptions;
use super::source::Source;
use crate::error::Result;
use crate::trace::columns::Trace;
use crate::trace::header::Header;

/// A file format for traces.
pub(super) trait TraceSource: Sync {
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

/// All formats. The last format accepts every file. If the file is not a trace, the error of the
/// last format names the format that the file seems to have.
const SOURCES: [&dyn TraceSource; 5] =
    [&nsight::NsightSystems, &xla::Xla, &xla::XlaJson, &rocprof::Rocprof, &kineto::Kineto];

/// The format of a file, detected from the file's content.
///
/// # Errors
/// Fails if reading fails.
pub(super) fn of(source: &mut Source<'_>) -> Result<&'static dyn TraceSource> {
    let head = source.head(|head| SOURCES.iter().any(|kind| kind.needs_more(head)))?;
    let found = SOURCES.into_iter().find(|kind| kind.recognises(head));
    Ok(found.unwrap_or(&kineto::Kineto))
}

/// Whether a text begins with `start`, without white space; `None` if the text is shorter
/// than `start`.
fn begins(text: &[u8], start: &[u8]) -> Option<bool> {
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

/// All unpacked bytes of a file, for a format that cannot be read block by block.
///
/// # Errors
/// Fails if reading fails, if the bytes exceed the limit, or if compressed data is truncated or
/// damaged.
pub(super) fn whole(source: &mut Source<'_>) -> Result<Vec<u8>> {
    const STEP: usize = 1 << 20;
    let mut bytes = Vec::new();
    let mut step = vec![0; STEP];
    loop {
        let count = source.read(&mut step)?;
        bytes.extend_from_slice(&step[..count]);
        if count == 0 {
            break;
        }
    }
    source.refuse_damage()?;
    Ok(bytes)
}
