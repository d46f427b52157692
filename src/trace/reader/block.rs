//! A feed of bytes → windows of indexed text that stay in cache.
//!
//! One buffer holds the text between the first byte that is still needed and the last that was
//! read. When it is used up, the unfinished rest moves to the front and new bytes follow it, so that
//! memory does not grow with the file, only with its largest element.
//!
//! ```text
//! | used │ guard │ unfinished event, then fresh text │ blanks │ padding |
//!         start-1 start                           end
//! ```

use super::feed::Feed;
use super::index::{GUARD, Indexer, PADDING, TAIL};
use crate::error::{Error, ErrorKind, Place, Result};

/// Text that is read at once. 128 to 512 KiB are equally fast; all of them fit a second-level cache.
pub(super) const BLOCK: usize = 256 * 1024;

/// The first window, of the text and after a repair: it starts small and doubles.
const SMALL_WINDOW: usize = 8 * 1024;

/// The window that most single events fit into.
const ONE_EVENT: usize = 2 * 1024;

/// The most that is kept of one element (or of the text in which the end of one is looked for).
const MAX_KEPT: usize = 16 * 1024 * 1024;

/// Bytes of the buffer besides the text: the guard, and what follows.
const EXTRA: usize = 1 + TAIL + PADDING;

/// The text that stands in memory.
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

/// Indexed text. Position 0 is the guard; a position `p` of it is at `base + p - 1` in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) text: &'a [u8],
    pub(super) index: &'a [u32],
    pub(super) base: u64,
    /// How many bytes at the end are blanks that stand for the text that is not there yet.
    tail: usize,
}

impl<'a> Window<'a> {
    /// What is there of the text, without blanks behind it: they would end what only goes on later.
    pub(super) fn content(&self) -> &'a [u8] {
        &self.text[..self.text.len() - self.tail]
    }

    /// Where position `at` of the window is in the unpacked text.
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

    /// The text that is not used up yet.
    pub(super) fn content(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether nothing follows the text in memory.
    pub(super) fn at_end(&self) -> bool {
        self.at_end
    }

    /// Whether the last window ended before the text in memory did.
    pub(super) fn is_part(&self) -> bool {
        self.is_part
    }

    /// Position of the first byte that is not used up, in the unpacked text.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Gives up the first `count` bytes.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.base += count as u64;
    }

    /// Starts over with a small window: the next text may not be what its index said.
    pub(super) fn distrust(&mut self) {
        self.window = SMALL_WINDOW;
    }

    /// Goes on with the smallest window: most of what follows needs no index.
    pub(super) fn narrow(&mut self) {
        self.window = ONE_EVENT;
    }

    /// Indexes what stands in memory, or as much of its beginning as the window holds.
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

    /// Makes the next window longer, with text that is there or is read. `false` at the end.
    ///
    /// # Errors
    /// If reading fails, or an element is too large to be kept.
    pub(super) fn extend(&mut self, feed: &mut Feed<'_, '_>) -> Result<bool> {
        if self.is_part {
            self.window *= 2;
            return Ok(true);
        }
        self.read(feed)
    }

    /// Reads text behind what is there. `false` where there is none.
    ///
    /// # Errors
    /// Like [`Block::extend`].
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

    /// Moves the rest to the front, and grows the buffer where the rest fills half of it.
    fn make_room(&mut self, feed: &Feed<'_, '_>) -> Result<()> {
        self.bytes.copy_within(self.start..self.end, 1);
        self.end -= self.start - 1;
        self.start = 1;
        let (rest, capacity) = (self.end - self.start, self.bytes.len() - EXTRA);
        if rest > MAX_KEPT {
            let message = format!("one element is longer than {} MiB", MAX_KEPT >> 20);
            return Err(Error::new(ErrorKind::LimitExceeded, feed.name(), message)
                .at(Place { offset: self.base, event: None })
                .remedy("this is no trace of a profiler, or it is damaged beyond repair"));
        }
        if rest > capacity / 2 {
            self.bytes.resize(capacity * 2 + EXTRA, 0);
        }
        Ok(())
    }
}
