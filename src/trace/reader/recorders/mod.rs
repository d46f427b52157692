//! The recorders whose files can be read: one [`TraceSource`] each, all with the same result.
//!
//! The content of a file decides which one reads it, not its name. Whatever follows the reader does
//! not depend on the recorder, which [`Header::recorder`] only names.

mod kineto;
mod nsight;
mod rows;
mod xla;

use super::options::ReadOptions;
use super::source::Source;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::columns::Trace;
use crate::trace::header::Header;

/// A kind of file that contains a trace.
pub(super) trait TraceSource: Sync {
    /// Whether a file that begins with these unpacked bytes is of this kind.
    fn recognises(&self, head: &[u8]) -> bool;

    /// Whether a file that begins with these bytes may be of this kind, but further ones are needed
    /// to know.
    fn needs_more(&self, head: &[u8]) -> bool;

    /// Reads the whole file.
    ///
    /// # Errors
    /// If reading fails, or the bytes are not a trace of this kind or exceed a limit.
    fn read(&self, source: Source<'_>, options: &ReadOptions) -> Result<Trace>;

    /// Reads what is known about the recording as a whole.
    ///
    /// # Errors
    /// Like [`TraceSource::read`].
    fn read_header(&self, source: Source<'_>, options: &ReadOptions) -> Result<Header> {
        Ok(self.read(source, options)?.header)
    }
}

/// All kinds. The last one takes every file, and says what a file is if it is none of them.
const SOURCES: [&dyn TraceSource; 4] =
    [&nsight::NsightSystems, &xla::Xla, &xla::XlaJson, &kineto::Kineto];

/// The kind of a file, by its content.
///
/// # Errors
/// If reading fails.
pub(super) fn of(source: &mut Source<'_>) -> Result<&'static dyn TraceSource> {
    let head = source.head(|head| SOURCES.iter().any(|kind| kind.needs_more(head)))?;
    let found = SOURCES.into_iter().find(|kind| kind.recognises(head));
    Ok(found.unwrap_or(&kineto::Kineto))
}

/// All unpacked bytes of a file whose format needs them at once.
///
/// # Errors
/// If reading fails, if the bytes exceed the limit, or if compressed data is cut or damaged.
fn whole(source: &mut Source<'_>) -> Result<Vec<u8>> {
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
    match source.damage() {
        Some(damage) => Err(Error::new(ErrorKind::Malformed, source.name(), damage)
            .remedy("copy the file again: this format cannot be read in part")),
        None => Ok(bytes),
    }
}
