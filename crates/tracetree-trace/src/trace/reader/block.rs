//! Turns a feed of bytes into windows of indexed text that are small enough for the processor's
//! cache.
//!
//! One buffer contains the text from the first byte that is still needed to the last byte that was
//! read. When the whole buffer has been used, the unfinished element is moved to the front, and new
//! bytes are read after it. Memory use therefore depends on the largest element, not on the file
//! size.

use super::feed::Feed;
use super::index::find_tokens;
use crate::error::{Error, ErrorKind, Place, Result};

/// Number of text bytes that are read at a time. All sizes from 128 to 512 KiB are equally fast and
/// fit into a second-level cache.
pub(super) const BLOCK: usize = 256 * 1024;

/// Size of the first window at the start of the text and after a repair; later windows double in
/// size as needed.
const SMALL_WINDOW: usize = 8 * 1024;

/// Size of a window that is large enough for most single events.
const ONE_EVENT: usize = 2 * 1024;

/// Maximum size of a single element in bytes. If an element does not end within this size, reading
/// fails.
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// The section of the text that is in memory.
pub(super) struct Block {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    window: usize,
    base: u64,
    at_end: bool,
    is_part: bool,
    /// The positions of the tokens in the last window.
    positions: Vec<u32>,
}

/// Indexed text. Position `p` is at offset `base + p` of the decompressed text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a [u8],
    pub(super) index: &'a [u32],
    pub(super) base: u64,
}

impl Window<'_> {
    /// Converts the position `at` in the window to an offset in the decompressed text.
    pub(super) fn offset(&self, at: usize) -> u64 {
        self.base + at as u64
    }
}

impl Block {
    /// Creates an empty block that reads `capacity` bytes at a time.
    pub(super) fn new(capacity: usize) -> Self {
        let (bytes, positions) = (vec![0; capacity], Vec::new());
        let (window, at_end, is_part) = (SMALL_WINDOW, false, false);
        Block { bytes, start: 0, end: 0, window, base: 0, at_end, is_part, positions }
    }

    /// The text in memory that has not been consumed yet.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether all text up to the end of the file is in memory.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the last window covered only part of the text in memory.
    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// Offset of the first byte that has not been consumed yet, counted from the start of the
    /// decompressed text.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Discards the first `count` bytes of the text.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.base += count as u64;
    }

    /// Uses a small window again after damage was found, because the index may be wrong for all
    /// text after the damage.
    pub(super) fn distrust(&mut self) {
        self.window = SMALL_WINDOW;
    }

    /// Uses the smallest window, because most of the following events are expected to be read
    /// without an index.
    pub(super) fn narrow(&mut self) {
        self.window = ONE_EVENT;
    }

    /// Indexes the text in memory. If the text is longer than the window, only its beginning is
    /// indexed.
    pub(super) fn index(&mut self) -> Window<'_> {
        self.is_part = self.window < self.end - self.start;
        let end = if self.is_part { self.start + self.window } else { self.end };
        let text = &self.bytes[self.start..end];
        find_tokens(text, &mut self.positions);
        Window { text, index: &self.positions, base: self.base }
    }

    /// Makes the next window longer. Reads more text if the last window already covered all text in
    /// memory. Returns `false` at the end of the text.
    ///
    /// # Errors
    /// Fails if reading fails, or if an element is too large to be kept.
    pub(super) fn extend(&mut self, feed: &mut Feed<'_, '_>) -> Result<bool> {
        if self.is_part {
            self.window *= 2;
            return Ok(true);
        }
        self.read(feed)
    }

    /// Reads more text and appends it to the text in memory. Returns `false` if there is no more
    /// text.
    ///
    /// # Errors
    /// Fails for the same reasons as [`Block::extend`].
    pub(super) fn read(&mut self, feed: &mut Feed<'_, '_>) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        self.make_room(feed)?;
        let before = self.end;
        while self.end < self.bytes.len() && !self.at_end {
            let count = feed.read(&mut self.bytes[self.end..])?;
            self.end += count;
            self.at_end = count == 0;
        }
        Ok(self.end > before)
    }

    /// Moves the unfinished element to the front, and doubles the buffer if the element fills more
    /// than half of it.
    fn make_room(&mut self, feed: &Feed<'_, '_>) -> Result<()> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let (rest, capacity) = (self.end, self.bytes.len());
        if rest > MAX_KEPT {
            let message = format!("an element is longer than {} MiB", MAX_KEPT >> 20);
            return Err(Error::new(ErrorKind::LimitExceeded, feed.name(), message)
                .at(Place { offset: self.base, event: None })
                .remedy(
                    "the file is not a profiler trace, or it is damaged beyond repair: record or \
                     copy it again",
                ));
        }
        if rest > capacity / 2 {
            self.bytes.resize(capacity * 2, 0);
        }
        Ok(())
    }
}
