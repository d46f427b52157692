//! A file of bytes → [`Trace`].
//!
//! ```text
//! file ─source, feed─▶ unpacked blocks ─known────────────────────────────────▶ fields ─builder─▶ columns
//!                                     └─index─▶ positions ─document, event─▶┘
//! ```
//!
//! One thread reads one trace; where a core has nothing to do, another one inflates ahead of it. The
//! text stands in one buffer that stays in cache. Events that look like those before are compared with what was met; for any other the structure of the
//! text is found, and a cursor walks from token to token. Then the unfinished event moves to the
//! front and the buffer is filled again. No value tree, no tape, no copy of the text: memory is that
//! of the columns.

mod block;
mod builder;
mod category;
mod clocks;
mod cursor;
mod decode;
mod document;
mod event;
mod feed;
mod grammar;
mod gzip;
mod header;
mod index;
mod known;
mod left_out;
mod normal;
mod numbers;
mod oddity;
mod options;
mod packed;
mod pairs;
mod reading;
mod records;
mod repair;
mod sniff;
mod sound;
mod source;
mod strings;
mod threads;
mod words;

#[cfg(feature = "model")]
pub(crate) use numbers::nanos;
pub use options::{ReadOptions, ReadProgress};

use super::columns::Trace;
use super::header::Header;
use crate::error::Result;
use crate::storage;
use source::Source;
use std::io::Read;
use std::path::Path;

/// The path that stands for standard input.
const STDIN: &str = "-";

impl Trace {
    /// Reads the trace at `path`: JSON, plain, gzip or zstd (decided by its first bytes, not its
    /// name); `-` is standard input.
    ///
    /// Text that real profilers write and JSON forbids is repaired and counted in the notes
    /// (`REPAIRED_JSON`); of a file that is cut off, all whole events are kept (`TRUNCATED`).
    ///
    /// ```
    /// use tracetree::Trace;
    ///
    /// let trace = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// assert_eq!(trace.header().devices[0].name, "AMD Instinct MI300X");
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the file cannot be read, is no trace, or passes one of the bounds of [`ReadOptions`].
    pub fn open(path: impl AsRef<Path>) -> Result<Trace> {
        Trace::open_with(path, &ReadOptions::default())
    }

    /// Like [`Trace::open`], with options.
    ///
    /// # Errors
    /// Like [`Trace::open`]; under [`ReadOptions::strict`] also where the text is damaged.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Trace> {
        let path = path.as_ref();
        let name = path.display().to_string();
        reading::read(open(&name, path, options)?, options)
    }

    /// Reads a trace from any source of bytes; `name` stands for it in messages. What is packed may be
    /// read and unpacked by another thread.
    ///
    /// # Errors
    /// Like [`Trace::open_with`]; such a thread ends when a read that is under way returns.
    pub fn from_reader(
        name: &str,
        source: impl Read + Send,
        options: &ReadOptions,
    ) -> Result<Trace> {
        reading::read(Source::new(name, source, options)?, options)
    }

    /// Reads only what the file at `path` says about itself before its events: in most traces
    /// devices, versions and options, in some nothing.
    ///
    /// # Errors
    /// If the file cannot be read, or does not begin like JSON.
    pub fn read_header(path: impl AsRef<Path>) -> Result<Header> {
        Trace::read_header_with(path, &ReadOptions::default())
    }

    /// Like [`Trace::read_header`], with options.
    ///
    /// # Errors
    /// Like [`Trace::read_header`]; also where the text passes a bound of the options or, under
    /// [`ReadOptions::strict`], is damaged.
    pub fn read_header_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Header> {
        let path = path.as_ref();
        let name = path.display().to_string();
        reading::read_header(open(&name, path, options)?, options)
    }
}

/// The bytes of a file, or of standard input.
fn open<'a>(name: &'a str, path: &Path, options: &'a ReadOptions) -> Result<Source<'a>> {
    if path == Path::new(STDIN) {
        return Ok(Source::new(name, std::io::stdin(), options)?.piped());
    }
    let source = Source::new(name, storage::open(path)?, options)?;
    let is_piped = !storage::is_remote(path) && !path.is_file();
    Ok(if is_piped { source.piped() } else { source })
}
