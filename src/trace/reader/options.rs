//! How a trace is read: strictness, bounds, progress, and a way to stop.

use crate::cancel::Cancel;
use std::fmt;
use std::sync::Arc;

/// How a trace is read.
///
/// ```
/// use tracetree::trace::ReadOptions;
/// let options = ReadOptions::default().strict().max_unpacked(2_000_000_000);
/// assert!(options.strict);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Repairs become errors.
    pub strict: bool,
    /// The most bytes of unpacked text; by default [`ReadOptions::default_max_unpacked`].
    pub max_unpacked: Option<u64>,
    /// Points of flow arrows are not kept.
    pub without_flows: bool,
    /// Who is told how much of the file was read so far.
    pub progress: Option<ReadProgress>,
    /// Ends the reading where it is requested.
    pub cancel: Cancel,
    /// Bytes of text that are held at once. The trace does not depend on it: smaller blocks are slower,
    /// and no smaller than the longest event.
    pub block_bytes: Option<usize>,
}

/// Is called with the bytes of the file that were read so far, packed as they are.
#[derive(Clone)]
pub struct ReadProgress(Arc<dyn Fn(u64) + Send + Sync>);

impl ReadProgress {
    /// Calls `tell` from the thread that reads, once for every few hundred KiB.
    pub fn new(tell: impl Fn(u64) + Send + Sync + 'static) -> ReadProgress {
        ReadProgress(Arc::new(tell))
    }

    pub(super) fn tell(&self, bytes: u64) {
        (self.0)(bytes);
    }
}

impl fmt::Debug for ReadProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadProgress")
    }
}

/// What every file may unpack to, however small it is.
const FREE_UNPACKED: u64 = 1 << 30;

/// Real traces unpack to 14 to 60 times their size; deflate alone can reach 1,000 times.
const MAX_RATIO: u64 = 200;

impl ReadOptions {
    /// Makes every repair an error.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Holds so many bytes of text at once.
    #[must_use]
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = Some(bytes);
        self
    }

    /// Refuses a file that unpacks to more than `bytes`.
    #[must_use]
    pub fn max_unpacked(mut self, bytes: u64) -> Self {
        self.max_unpacked = Some(bytes);
        self
    }

    /// Does not keep the points of flow arrows, which a comparison does not look at. They
    /// are counted and checked all the same.
    #[must_use]
    pub fn without_flows(mut self) -> Self {
        self.without_flows = true;
        self
    }

    /// Tells `progress` of the bytes of the file as they are read.
    #[must_use]
    pub fn progress(mut self, progress: ReadProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Ends the reading where `cancel` is requested.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The bound where none is set: 1 GiB, and 200 bytes for each byte of the packed file, which no
    /// trace reaches but a file made to fill the memory does.
    pub fn default_max_unpacked(packed_bytes: u64) -> u64 {
        FREE_UNPACKED.saturating_add(packed_bytes.saturating_mul(MAX_RATIO))
    }
}
