//! Turns a feed of bytes into windows of indexed text that stay in cache.
//!
//! One buffer contains the text from the first byte that is still needed to the last byte that was
//! read. When the buffer is used up, the unfinished rest moves to the front and new bytes follow
//! it, so memory use grows only with the largest element, not with the file.
//!
//! ```text
//! | used │ guard │ unfinished event, then fresh text │ blanks │ padding |
//!         start-1 start                           end
//! ```

use super::feed::Feed;
use super::index::{GUARD, Indexer, PADDING, TAIL};
use crate::error::{Error, ErrorKind, Place, Result};

/// Number of text bytes to read at once. 128 to 512 KiB are equally fast; all of these sizes fit
/// into a second-level cache.
pub(super) const BLOCK: usize = 256 * 1024;

/// Size of the first window, at the start of the text and after a repair; it doubles as needed.
const SMALL_WINDOW: usize = 8 * 1024;

/// Size of a window into which most single events fit.
const ONE_EVENT: usize = 2 * 1024;

/// Maximum number of bytes kept of one element, or of the text in which the end of an element is
/// searched for.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// Number of buffer bytes that are not text: the guard before it, and the tail and padding after
/// it.
const EXTRA: usize = 1 + TAIL + PADDING;

/// The part of the text that is in memory.
pub(super) struct Block {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    window: usize,
    base: u64,
    at_end: bool,
    is_part: bool,
    indexer: Indexer,
}

/// Indexed text. Position 0 is the guard; position `p` is at offset `base + p - 1` of the
/// decompressed text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a [u8],
    pub(super) index: &'a [u32],
    pub(super) base: u64,
    /// Number of blanks at the end of `text`, appended because no more text is in memory.
    tail: usize,
}

impl<'a> Window<'a> {
    /// The text of the window without the blanks after it, because these would end a token that may
    /// continue in the next block.
    pub(super) fn content(&self) -> &'a [u8] {
        &self.text[..self.text.len() - self.tail]
    }

    /// Offset of position `at` of the window in the decompressed text.
    pub(super) fn offset(&self, at: usize) -> u64 {
        self.base + at as u64 - 1
    }
}

impl Block {
    /// An empty block that reads `capacity` bytes at once.
    pub(super) fn new(capacity: usize) -> Self {
        let bytes = vec![0; capacity + EXTRA];
        let indexer = Indexer::new(SMALL_WINDOW);
        let (window, at_end, is_part) = (SMALL_WINDOW, false, false);
        Block { bytes, start: 1, end: 1, window, base: 0, at_end, is_part, indexer }
    }

    /// The text in memory that has not been consumed yet.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether the text in memory is the last of the file.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the last window ended before the text in memory did.
    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// Offset in the decompressed text of the first byte that has not been consumed yet.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Discards the first `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.base += count as u64;
    }

    /// Goes back to a small window because, after damage, the index of the following text may have
    /// been wrong.
    pub(super) fn distrust(&mut self) {
        self.window = SMALL_WINDOW;
    }

    /// Switches to the smallest window, because most of what follows needs no index.
    pub(super) fn narrow(&mut self) {
        self.window = ONE_EVENT;
    }

    /// Indexes the text in memory, or as much of its beginning as the window covers.
    pub(super) fn index(&mut self) -> Window<'_> {
        let guard = self.start - 1;
        self.is_part = self.window < self.end - self.start;
        let len = if self.is_part {
            self.window
        } else {
            self.bytes[self.end..self.end + TAIL].fill(b' ');
            self.end + TAIL - guard
        };
        self.bytes[guard] = GUARD;
        self.indexer.index(&mut self.bytes[guard..], len);
        Window {
            text: &self.bytes[guard..guard + len],
            index: self.indexer.positions(),
            base: self.base,
            tail: if self.is_part { 0 } else { TAIL },
        }
    }

    /// Makes the next window longer, with text that is in memory or is read now. Returns `false` at
    /// the end of the text.
    ///
    /// # Errors
    /// Fails if reading fails, or an element is too large to be kept.
    pub(super) fn extend(&mut self, feed: &mut Feed<'_, '_>) -> Result<bool> {
        if self.is_part {
            self.window *= 2;
            return Ok(true);
        }
        self.read(feed)
    }

    /// Reads more text after the text in memory. Returns `false` if there is no more text.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Block::extend`].
    pub(super) fn read(&mut self, feed: &mut Feed<'_, '_>) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        self.make_room(feed)?;
        let limit = self.bytes.len() - TAIL - PADDING;
        let before = self.end;
        while self.end < limit && !self.at_end {
            let count = feed.read(&mut self.bytes[self.end..limit])?;
            self.end += count;
            self.at_end = count == 0;
        }
        Ok(self.end > before)
    }

    /// Moves the unfinished rest to the front, and doubles the buffer if the rest fills more than
    /// half of it.
    fn make_room(&mut self, feed: &Feed<'_, '_>) -> Result<()> {
        self.bytes.copy_within(self.start..self.end, 1);
        self.end -= self.start - 1;
        self.start = 1;
        let (rest, capacity) = (self.end - self.start, self.bytes.len() - EXTRA);
        if rest > MAX_KEPT {
            let message = format!("one element is longer than {} MiB", MAX_KEPT >> 20);
            return Err(Error::new(ErrorKind::LimitExceeded, feed.name(), message)
                .at(Place { offset: self.base, event: None })
                .remedy(
                    "the file is not a profiler trace, or it is damaged beyond repair: record or \
                     copy it again",
                ));
        }
        if rest > capacity / 2 {
            self.bytes.resize(capacity * 2 + EXTRA, 0);
        }
        Ok(())
    }
}
