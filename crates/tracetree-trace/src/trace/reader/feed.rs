//! Supplies the decompressed bytes of a [`Source`]. The bytes are decompressed on demand or, if a
//! core is idle, by a thread that runs ahead of the reader.
//!
//! Decompression takes a third of the total reading time. Reading two traces at the same time
//! already keeps two cores busy. On a machine with two cores, a decompressing thread is therefore
//! started for the larger trace only after the smaller trace has been read. On a machine with more
//! cores, both traces get a decompressing thread. The resulting trace does not depend on whether a
//! decompressing thread ran.

use super::source::Source;
use crate::error::Result;
use std::num::NonZero;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope, ScopedJoinHandle};

/// A decompressing thread is started only after this many bytes of text have been decompressed.
const LARGE: u64 = 1024 * 1024;

/// Size of a block: the number of text bytes that the decompressing thread passes to the reader at
/// a time. All [`BLOCKS`] blocks together fit into a second-level cache.
const BLOCK: usize = 128 * 1024;

/// Number of blocks that circulate between the reader and the decompressing thread.
const BLOCKS: usize = 6;

/// Number of used blocks that the reader returns to the decompressing thread at a time. Blocks are
/// not returned one by one, because each return wakes the thread, and a wake-up takes longer than
/// decompressing part of a block.
const GIVEN_BACK: usize = 3;

/// Number of threads of this process that read or decompress traces.
static BUSY: AtomicUsize = AtomicUsize::new(0);

static CORES: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, NonZero::get));

/// While a value of this type exists, one reading or decompressing thread counts as busy.
struct Busy;

impl Busy {
    fn new() -> Busy {
        BUSY.fetch_add(1, Ordering::Relaxed);
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Supplies the decompressed bytes of a trace.
pub(super) struct Feed<'scope, 'a> {
    name: &'a str,
    scope: &'scope Scope<'scope, 'a>,
    supply: Supply<'scope, 'a>,
    may_run_ahead: bool,
    _busy: Busy,
}

enum Supply<'scope, 'a> {
    Here(Source<'a>),
    Ahead(Ahead<'scope, 'a>),
    /// A placeholder that is used while the source moves to a different thread.
    Nowhere,
}

/// A decompressing thread, and the block of its output that is currently being read.
struct Ahead<'scope, 'a> {
    thread: ScopedJoinHandle<'scope, Source<'a>>,
    full: Receiver<Result<Block>>,
    empty: Sender<Vec<u8>>,
    used: Vec<Vec<u8>>,
    block: Block,
}

/// Decompressed text; an empty block marks the end of the text.
struct Block {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl<'scope, 'a> Feed<'scope, 'a> {
    /// Creates a feed for the bytes of `source`; a decompressing thread may be started in `scope`.
    pub(super) fn new(source: Source<'a>, scope: &'scope Scope<'scope, 'a>) -> Self {
        let may_run_ahead = source.is_packed() && source.comes_at_once();
        Feed {
            name: source.name(),
            scope,
            supply: Supply::Here(source),
            may_run_ahead,
            _busy: Busy::new(),
        }
    }

    /// The name of the trace in error messages.
    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    /// Fills the beginning of `out` with the next bytes; returns 0 at the end of the text.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Source::read`].
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.may_run_ahead
            && let Supply::Here(source) = &self.supply
            && source.unpacked() >= LARGE
            && BUSY.load(Ordering::Relaxed) < *CORES
        {
            self.run_ahead();
        }
        if let Supply::Ahead(ahead) = &mut self.supply {
            let count = ahead.read(out)?;
            if count > 0 {
                return Ok(count);
            }
        }
        self.source().read(out)
    }

    /// Returns the source that the feed reads. Ends the decompressing thread, if there is one;
    /// bytes that it decompressed but that were not read are dropped.
    pub(super) fn source(&mut self) -> &mut Source<'a> {
        if let Supply::Ahead(_) = self.supply
            && let Supply::Ahead(ahead) = std::mem::replace(&mut self.supply, Supply::Nowhere)
        {
            self.supply = Supply::Here(ahead.stop());
        }
        match &mut self.supply {
            Supply::Here(source) => source,
            Supply::Ahead(_) | Supply::Nowhere => unreachable!("the thread returned the source"),
        }
    }

    /// Starts decompressing ahead of the reader, if a thread can be started.
    fn run_ahead(&mut self) {
        self.may_run_ahead = false;
        let (give, source) = channel();
        let (empty, to_fill) = channel();
        let (fill, full) = channel();
        // The source is sent only after the thread has started, because a thread that fails to
        // start would drop the source.
        let thread =
            thread::Builder::new().name("unpack".to_owned()).spawn_scoped(self.scope, move || {
                let _busy = Busy::new();
                let mut source: Source<'a> = source.recv().expect("the source follows");
                unpack(&mut source, &to_fill, &fill);
                source
            });
        let Ok(thread) = thread else { return };
        let Supply::Here(source) = std::mem::replace(&mut self.supply, Supply::Nowhere) else {
            unreachable!("called only while the feed owns the source")
        };
        // The empty blocks are sent before the source. Otherwise, the thread might finish reading
        // the source before this loop has sent every block, and sending would fail.
        for _ in 0..BLOCKS {
            empty.send(vec![0; BLOCK]).expect("the thread waits for the source");
        }
        give.send(source).expect("the thread waits for the source");
        let block = Block { bytes: Vec::new(), start: 0, end: 0 };
        self.supply = Supply::Ahead(Ahead { thread, full, empty, used: Vec::new(), block });
    }
}

/// Decompresses until the text ends, an error occurs, or the reader wants no more text.
fn unpack(source: &mut Source<'_>, empty: &Receiver<Vec<u8>>, full: &Sender<Result<Block>>) {
    while let Ok(mut bytes) = empty.recv() {
        let mut end = 0;
        let result = loop {
            match source.read(&mut bytes[end..]) {
                Ok(count) if count > 0 && end + count < BLOCK => end += count,
                result => break result.map(|count| end + count),
            }
        };
        let continues = result.as_ref().is_ok_and(|&end| end > 0);
        let block = result.map(|end| Block { bytes, start: 0, end });
        if full.send(block).is_err() || !continues {
            return;
        }
    }
}

impl<'a> Ahead<'_, 'a> {
    /// Reads the next bytes; returns 0 if the decompressing thread has ended.
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        if self.block.start == self.block.end {
            let Ok(next) = self.full.recv() else { return Ok(0) };
            let used = std::mem::replace(&mut self.block, next?);
            if !used.bytes.is_empty() {
                self.used.push(used.bytes);
            }
            if self.used.len() == GIVEN_BACK {
                // If the thread has ended, sending fails; the failure is ignored, because the
                // thread needs no more blocks.
                self.used.drain(..).for_each(|bytes| drop(self.empty.send(bytes)));
            }
        }
        let Block { bytes, start, end } = &mut self.block;
        let count = out.len().min(*end - *start);
        out[..count].copy_from_slice(&bytes[*start..*start + count]);
        *start += count;
        Ok(count)
    }

    /// Ends the decompressing thread, and returns the source that the thread was reading.
    fn stop(self) -> Source<'a> {
        drop((self.full, self.empty));
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::ReadOptions;
    use super::*;
    use crate::error::ErrorKind;
    use std::io::Write;

    /// Reads the text of `packed`, `step` bytes at a time, with or without a decompressing thread;
    /// also returns the damage at the end of the text.
    fn read_all(
        packed: &[u8],
        options: &ReadOptions,
        is_ahead: bool,
        step: usize,
    ) -> (Vec<u8>, Result<Option<String>>) {
        let source = Source::new("t", packed, options).expect("a source");
        thread::scope(|scope| {
            let mut feed = Feed::new(source, scope);
            feed.may_run_ahead = false;
            if is_ahead {
                feed.run_ahead();
                assert!(matches!(feed.supply, Supply::Ahead(_)), "a thread can be had");
            }
            let (mut text, mut out) = (Vec::new(), vec![0; step]);
            let end = loop {
                match feed.read(&mut out) {
                    Ok(0) => break Ok(feed.source().damage().map(str::to_owned)),
                    Ok(count) => text.extend_from_slice(&out[..count]),
                    Err(error) => break Err(error),
                }
            };
            (text, end)
        })
    }

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).expect("written");
        encoder.finish().expect("finished")
    }

    fn text() -> Vec<u8> {
        (0..600_000u32).flat_map(|at| (at.wrapping_mul(at) % 7919).to_le_bytes()).collect()
    }

    #[test]
    fn unpacking_on_a_thread_gives_the_same_bytes_and_the_same_damage() {
        let packed = packed(&text());
        let options = ReadOptions::default();
        for length in [packed.len(), packed.len() / 2, 100] {
            let (here, end) = read_all(&packed[..length], &options, false, 1 << 16);
            let end = end.expect("read");
            for step in [BLOCK - 1, BLOCK, 3 * BLOCK + 7] {
                let (ahead, at_end) = read_all(&packed[..length], &options, true, step);
                assert!(here == ahead, "{length} bytes, {step} at once");
                assert_eq!(at_end.expect("read"), end);
            }
        }
    }

    #[test]
    fn a_thread_that_ends_at_once_is_not_an_error() {
        let packed = packed(b"[]");
        for _ in 0..200 {
            let (text, end) = read_all(&packed, &ReadOptions::default(), true, 10);
            assert_eq!((&text[..], end.expect("read")), (&b"[]"[..], None));
        }
    }

    #[test]
    fn errors_are_the_same_with_and_without_a_thread() {
        let packed = packed(&text());
        let options = ReadOptions::default().max_unpacked(1_000_000);
        let error = |is_ahead| {
            let (text, end) = read_all(&packed, &options, is_ahead, BLOCK);
            assert!(text.len() <= 1_000_000);
            end.expect_err("the bound")
        };
        let (here, ahead) = (error(false), error(true));
        assert_eq!((here.kind(), here.to_string()), (ErrorKind::LimitExceeded, ahead.to_string()));
    }

    #[test]
    fn the_source_is_returned_if_reading_stops_early() {
        let packed = packed(&text());
        let options = ReadOptions::default();
        let source = Source::new("t", &packed[..], &options).expect("a source");
        let hash = thread::scope(|scope| {
            let mut feed = Feed::new(source, scope);
            feed.run_ahead();
            assert_eq!(feed.read(&mut [0; 10]).expect("bytes"), 10);
            feed.source().hash().expect("the rest is read")
        });
        let mut source = Source::new("t", &packed[..], &options).expect("a source");
        assert_eq!(hash, source.hash().expect("read"));
    }
}
