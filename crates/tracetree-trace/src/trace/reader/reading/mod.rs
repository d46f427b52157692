//! Reads a [`Source`] into a [`Trace`], one window after another, until the text ends or nothing
//! more can be read.

mod end;
mod mend;

use super::block::{BLOCK, Block};
use super::cursor::Stop;
use super::document::{Document, End, LONG_ELEMENT, MAX_ELEMENT, State};
use super::feed::Feed;
use super::oddity::Oddity;
use super::options::ReadOptions;
use super::repair;
use super::sniff;
use super::source::Source;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use crate::trace::header::Header;
use std::thread;

/// Maximum total size in bytes of a trace's distinct strings, including their raw forms.
const MAX_TEXT: usize = 3 << 30;

/// A trace while it is being read.
struct Reading<'scope, 'a> {
    feed: Feed<'scope, 'a>,
    block: Block,
    document: Document,
    strict: bool,
    /// Whether reading stopped early, because the text after the events is damaged or is a second
    /// document.
    gave_up: bool,
}

/// Reads the whole `source`, block by block.
///
/// # Errors
/// Fails if the source cannot be read, if the text is not a trace or exceeds a limit, or, under
/// `--strict`, if the text is damaged.
pub(super) fn read(source: Source<'_>, options: &ReadOptions) -> Result<Trace> {
    thread::scope(|scope| {
        let mut reading = Reading::start(Feed::new(source, scope), options)?;
        while reading.step()? {}
        reading.finish()
    })
}

/// Reads the text before the events.
///
/// # Errors
/// Fails for the same reasons as [`read`].
pub(super) fn read_header(source: Source<'_>, options: &ReadOptions) -> Result<Header> {
    thread::scope(|scope| {
        let mut reading = Reading::start(Feed::new(source, scope), options)?;
        while !reading.document.has_trace_events() && reading.step()? {}
        Ok(std::mem::take(reading.document.builder.header_mut()))
    })
}

impl<'scope, 'a> Reading<'scope, 'a> {
    /// Reads the first block and checks that the block looks like JSON.
    fn start(feed: Feed<'scope, 'a>, options: &ReadOptions) -> Result<Self> {
        let block = Block::new(options.block_bytes.unwrap_or(BLOCK));
        let document = Document::new(options);
        let strict = options.strict;
        let mut reading = Reading { feed, block, document, strict, gave_up: false };
        while reading.block.content().trim_ascii().is_empty()
            && reading.block.read(&mut reading.feed)?
        {}
        if !reading.block.at_end() {
            reading.document.builder.reserve();
        }
        reading.check_unpacks()?;
        let skip = sniff::check(reading.feed.name(), reading.block.content())?;
        if skip > 0 {
            reading.document.note(Oddity::ByteOrderMark, 0);
            reading.block.consume(skip);
        }
        reading.look_for_lines()?;
        Ok(reading)
    }

    /// Checks whether the text begins with an event that is not in a list.
    fn look_for_lines(&mut self) -> Result<()> {
        self.block.consume(leading_blanks(self.block.content()));
        loop {
            let content = self.block.content();
            let text = &content[..content.len().min(LONG_ELEMENT)];
            let at_end = text.len() == LONG_ELEMENT || self.block.at_end();
            match repair::starts_lines(text, at_end) {
                Some(is_lines) => {
                    if is_lines {
                        self.document.enter_lines();
                    }
                    return Ok(());
                }
                None => self.block.read(&mut self.feed)?,
            };
        }
    }

    /// Rejects a non-empty compressed file if none of its data can be decompressed.
    fn check_unpacks(&mut self) -> Result<()> {
        match self.feed.source().damage() {
            Some(damage) if self.block.content().is_empty() => {
                let message = format!("nothing can be decompressed: {damage}");
                let error = Error::new(ErrorKind::Malformed, self.feed.name(), message);
                Err(error.remedy("copy the file again, or profile again"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// First reads the events of known shape without an index, then reads one window with the
    /// index. Returns `false` at the end of the text or of the document.
    fn step(&mut self) -> Result<bool> {
        let known = self.document.skim(self.block.content(), self.block.base());
        self.block.consume(known);
        if known > 0 {
            self.block.narrow();
        }
        let walked = self.document.walk(self.block.index());
        self.block.consume(walked.used);
        self.block.consume(leading_blanks(self.block.content()));
        self.check()?;
        match walked.end {
            End::Document => self.look_behind(),
            End::Miss => {
                self.block.narrow();
                Ok(true)
            }
            End::Stop(Stop::Incomplete) if self.may_go_on() => {
                Ok(self.block.extend(&mut self.feed)? || self.mend_last()?)
            }
            End::Stop(Stop::Incomplete | Stop::Broken) => self.mend(),
            End::Stop(Stop::TooDeep) if self.leave_deep_event()? => Ok(true),
            End::Stop(Stop::TooDeep) => Err(self
                .error(ErrorKind::LimitExceeded, "values are nested too deeply".to_owned())
                .remedy("the file is not a profiler trace")),
        }
    }

    /// Whether an incomplete element may become complete when more text is read.
    fn may_go_on(&self) -> bool {
        let content = self.block.content();
        let is_event = matches!(self.document.state(), State::Elements(_));
        let is_not_closed =
            || is_event && content.len() > LONG_ELEMENT && repair::contains_event(content);
        self.block.is_part() || (content.len() < MAX_ELEMENT && !is_not_closed())
    }

    /// Fails if the trace exceeds a size limit or, under `--strict`, if the trace is damaged.
    fn check(&self) -> Result<()> {
        if let (true, Some((oddity, place))) =
            (self.strict, self.document.builder.odd().first_damage())
        {
            return Err(self.refusal(oddity, place));
        }
        if self.document.builder.total_events() >= u64::from(u32::MAX) {
            return Err(self
                .error(ErrorKind::LimitExceeded, "more than 4 billion events".to_owned())
                .remedy("record fewer steps"));
        }
        if self.document.builder.text_bytes() > MAX_TEXT {
            let message = "more than 3 GiB of distinct strings, counting raw and decoded forms";
            return Err(self
                .error(ErrorKind::LimitExceeded, message.to_owned())
                .remedy("record fewer steps, or record without shapes or Python stacks"));
        }
        Ok(())
    }

    fn refusal(&self, oddity: Oddity, place: Place) -> Error {
        Error::new(ErrorKind::Malformed, self.feed.name(), oddity.label())
            .at(place)
            .remedy("without --strict, the damage is repaired or skipped, and counted")
    }

    /// Creates an error at the current position in the text.
    fn error(&self, kind: ErrorKind, message: String) -> Error {
        let event = self.document.has_trace_events().then(|| self.document.builder.total_events());
        Error::new(kind, self.feed.name(), message).at(Place { offset: self.block.base(), event })
    }
}

/// Number of JSON blanks at the beginning of a string. A form feed is not a JSON blank, although
/// `trim_ascii_start` strips form feeds.
fn leading_blanks(text: &[u8]) -> usize {
    let is_blank = |&&byte: &&u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    text.iter().take_while(is_blank).count()
}
