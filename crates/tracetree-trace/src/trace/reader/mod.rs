//! Reads a trace file into a [`Trace`].
//!
//! ```text
//! file ─source, feed─▶ unpacked blocks ─known────────────────────────────────▶ fields ─builder─▶ columns
//!                                     └─index─▶ positions ─document, event─▶┘
//! ```
//!
//! One thread reads a trace; if a core is idle, a second thread decompresses ahead of the reading
//! thread. The text is read into one buffer, which is small enough to stay in the processor's
//! cache. Events that resemble earlier events are recognized by comparing their text. For all other
//! events, the reader finds the structure of the text, and a cursor moves from token to token. When
//! all complete events in the buffer have been read, an incomplete event at the end moves to the
//! front, and the rest of the buffer is filled with new text. The reader needs little memory
//! besides the columns, because it builds neither a value tree nor a tape and does not copy the
//! text.

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
mod recorders;
mod records;
mod repair;
mod sniff;
mod sound;
mod source;
mod strings;
mod threads;
mod words;

pub use numbers::nanos;
pub use options::{ReadOptions, ReadProgress};

use super::columns::Trace;
use super::header::Header;
use crate::error::Result;
use crate::storage;
use source::Source;
use std::io::{self, Read};
use std::path::Path;

/// The path that represents standard input.
const STDIN: &str = "-";

impl Trace {
    /// Reads the trace at `path`: Kineto JSON, an SQLite export of Nsight Systems, an XLA profile
    /// (`.xplane.pb`) or JSON from rocprofv3, uncompressed or compressed with gzip or zstd. The format is detected from
    /// the content, not from the file name. The path `-` represents standard input.
    ///
    /// Text that real profilers write but JSON forbids is repaired and counted in the notes
    /// (`REPAIRED_JSON`). If the file is truncated, all complete events are kept (`TRUNCATED`).
    ///
    /// ```
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("a folder");
    /// use tracetree::Trace;
    ///
    /// let trace = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// assert_eq!(trace.header().devices[0].name, "AMD Instinct MI300X");
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the file cannot be read, is not a trace, or exceeds one of the limits of
    /// [`ReadOptions`].
    pub fn open(path: impl AsRef<Path>) -> Result<Trace> {
        Trace::open_with(path, &ReadOptions::default())
    }

    /// Same as [`Trace::open`], but with options.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Trace::open`]. With [`ReadOptions::strict`], damaged text is
    /// also an error.
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Trace> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let mut source = open(&name, path, options)?;
        Ok(named(recorders::of(&mut source)?.read(source, options)?, options))
    }

    /// Reads a trace from any byte source; error messages refer to the source as `name`. Compressed
    /// data may be read and decompressed on a separate thread.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Trace::open_with`]. If a separate thread is still waiting
    /// for a read when an error occurs, the error is returned only after this read has finished.
    pub fn from_reader(
        name: &str,
        source: impl Read + Send,
        options: &ReadOptions,
    ) -> Result<Trace> {
        let mut source = Source::new(name, source, options)?;
        Ok(named(recorders::of(&mut source)?.read(source, options)?, options))
    }

    /// Reads only the metadata that precedes the events in the file at `path`. In most traces, this
    /// metadata consists of the devices, versions and options; some traces have no metadata before
    /// the events.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if its beginning is not JSON, if the text exceeds a limit
    /// of the options, or, with [`ReadOptions::strict`], if the text is damaged.
    #[doc(hidden)]
    pub fn read_header_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Header> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let mut source = open(&name, path, options)?;
        recorders::of(&mut source)?.read_header(source, options)
    }
}

/// The trace with the names that the options ask for.
fn named(mut trace: Trace, options: &ReadOptions) -> Trace {
    if let Some(anonymizer) = &options.anonymizer {
        anonymizer.apply(&mut trace);
    }
    trace
}

/// Opens a file, or standard input.
fn open<'a>(name: &'a str, path: &Path, options: &'a ReadOptions) -> Result<Source<'a>> {
    if path == Path::new(STDIN) {
        return Ok(Source::new(name, std::io::stdin(), options)?.piped());
    }
    let source = Source::new(name, storage::open(path)?, options)?;
    Ok(match (storage::is_remote(path), path.is_file()) {
        (true, _) => source,
        (false, true) => source.of_file(path),
        (false, false) => source.piped(),
    })
}

/// The unpacked bytes of a file, which may be compressed with gzip or zstd. An error that reading
/// returns contains an [`Error`](crate::Error), which [`Error::io`](crate::Error::io) returns
/// unchanged.
#[doc(hidden)]
pub struct Unpacked<'a>(Source<'a>);

impl<'a> Unpacked<'a> {
    /// Unpacks `input` while it is read; error messages refer to it as `name`.
    ///
    /// # Errors
    /// Fails if nothing can be read.
    pub fn new(
        name: &'a str,
        input: impl Read + Send + 'a,
        options: &'a ReadOptions,
    ) -> Result<Unpacked<'a>> {
        Source::new(name, input, options).map(Unpacked)
    }
}

impl Read for Unpacked<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(out).map_err(io::Error::other)?;
        if count == 0 {
            self.0.refuse_damage().map_err(io::Error::other)?;
        }
        Ok(count)
    }
}

/// All unpacked bytes of `input`; error messages refer to it as `name`.
///
/// # Errors
/// Fails if reading fails, if compressed data is truncated or damaged, or if the bytes exceed
/// [`ReadOptions::max_unpacked`].
#[doc(hidden)]
pub fn unpack(name: &str, input: impl Read + Send, options: &ReadOptions) -> Result<Vec<u8>> {
    Source::new(name, input, options)?.whole()
}
