//! How a trace is read: strictness, bounds, progress.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

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
    /// Counts the bytes of the file that were read so far, packed as they are.
    pub progress: Option<Arc<AtomicU64>>,
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

    /// Adds the bytes of the file to `counter` as they are read.
    #[must_use]
    pub fn progress(mut self, counter: Arc<AtomicU64>) -> Self {
        self.progress = Some(counter);
        self
    }

    /// The bound where none is set: 1 GiB, and 200 bytes for each byte of the packed file, which no
    /// trace reaches but a file made to fill the memory does.
    pub fn default_max_unpacked(packed_bytes: u64) -> u64 {
        FREE_UNPACKED.saturating_add(packed_bytes.saturating_mul(MAX_RATIO))
    }
}
