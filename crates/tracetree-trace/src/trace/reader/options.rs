//! Defines the options for reading a trace: strictness, limits, progress and cancellation.

use crate::cancel::Cancel;
use crate::trace::anonymous::Anonymizer;
use std::fmt;
use std::sync::Arc;

/// Options for reading a trace.
///
/// ```
/// use tracetree::trace::ReadOptions;
/// let options = ReadOptions::default().strict().max_unpacked(2_000_000_000);
/// assert!(options.strict);
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// Treats repairs as errors.
    pub strict: bool,
    /// Maximum size of the decompressed text, in bytes; by default 64 MiB plus 200 bytes for each byte of the
    /// compressed file.
    pub max_unpacked: Option<u64>,
    /// Drops the points of flow arrows, except those that show which call launched a GPU event.
    pub without_flows: bool,
    /// Replaces the names of folders, users and hosts in the strings of the trace.
    pub anonymizer: Option<Arc<Anonymizer>>,
    /// A callback that receives the number of bytes of the file read so far.
    pub progress: Option<ReadProgress>,
    /// Stops reading when cancellation is requested.
    pub cancel: Cancel,
    /// Number of text bytes that are in memory at a time. The resulting trace does not depend on
    /// this number. A smaller number makes reading slower. The memory always grows to fit the
    /// longest event.
    pub block_bytes: Option<usize>,
}

/// A callback that receives how many bytes of the file have been read so far, before decompression.
#[derive(Clone)]
#[doc(hidden)]
pub struct ReadProgress(Arc<dyn Fn(u64) + Send + Sync>);

impl ReadProgress {
    /// The reading thread calls `tell` after each read from the file. One read returns at most a
    /// few hundred KiB.
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

/// Decompressed size in bytes that even the smallest file may have.
const FREE_UNPACKED: u64 = 64 << 20;

/// Maximum ratio of decompressed size to compressed size. Real traces reach ratios of 14 to 60;
/// deflate alone can reach 1,000.
const MAX_RATIO: u64 = 200;

impl ReadOptions {
    /// Treats every repair as an error.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Sets the number of text bytes that are in memory at a time.
    #[must_use]
    #[doc(hidden)]
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = Some(bytes);
        self
    }

    /// Rejects a file that decompresses to more than `bytes` bytes.
    #[must_use]
    pub fn max_unpacked(mut self, bytes: u64) -> Self {
        self.max_unpacked = Some(bytes);
        self
    }

    /// Drops the points of flow arrows that a comparison does not use. It uses only those that show
    /// which call launched a GPU event. The points are still counted and checked.
    #[must_use]
    #[doc(hidden)]
    pub fn without_flows(mut self) -> Self {
        self.without_flows = true;
        self
    }

    /// Replaces the names of folders above the project, of users and of hosts with pseudonyms.
    #[must_use]
    pub fn anonymize(mut self, anonymizer: Anonymizer) -> Self {
        self.anonymizer = Some(Arc::new(anonymizer));
        self
    }

    /// If names are replaced, also replaces the users and hosts that occur in `texts`, such as the paths of all inputs.
    #[must_use]
    #[doc(hidden)]
    pub fn knowing(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.anonymizer = self.anonymizer.map(|names| {
            let all =
                texts.into_iter().fold((*names).clone(), |all, text| all.with_names_in(&text));
            Arc::new(all)
        });
        self
    }

    /// The name of an input as reports show it.
    #[doc(hidden)]
    pub fn shown(&self, name: &str) -> String {
        let anonymizer = self.anonymizer.as_deref();
        anonymizer.map_or_else(
            || name.to_owned(),
            |names| names.clone().with_names_in(name).text(name).into_owned(),
        )
    }

    /// Reports to `progress` how many bytes of the file have been read.
    #[must_use]
    #[doc(hidden)]
    pub fn progress(mut self, progress: ReadProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Stops reading when cancellation is requested through `cancel`.
    #[must_use]
    pub fn cancel(mut self, cancel: Cancel) -> Self {
        self.cancel = cancel;
        self
    }

    /// The default limit in bytes: 64 MiB plus 200 bytes for each byte of the compressed file. Real
    /// traces stay below this limit, unlike files that are crafted to exhaust memory.
    pub(crate) fn default_max_unpacked(packed_bytes: u64) -> u64 {
        FREE_UNPACKED.saturating_add(packed_bytes.saturating_mul(MAX_RATIO))
    }
}
