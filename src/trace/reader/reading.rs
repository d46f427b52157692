//! A [`Source`] → a [`Trace`]: the loop over blocks, and what happens where text is broken or ends.

use super::block::{BLOCK, Block};
use super::cursor::Stop;
use super::document::{After, Document, State};
use super::oddity::Oddity;
use super::options::ReadOptions;
use super::repair;
use super::sniff;
use super::source::Source;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use crate::trace::header::Header;
use crate::trace::notes::Notes;

/// An element that is not complete after that much text is looked at as broken.
const SUSPICIOUS: usize = 4 * 1024 * 1024;

/// The most distinct text of a trace, in bytes.
const MAX_TEXT: usize = 3 << 30;

/// The beginning of `traceEvents`, which is looked for after damage before it.
const EVENTS_KEY: &[u8] = b"\"traceEvents\"";

/// A trace that is being read.
struct Reading<'a> {
    source: Source<'a>,
    block: Block,
    document: Document,
    strict: bool,
}

/// Reads all of `source`, `block_size` bytes at once.
///
/// # Errors
/// If reading fails, the text is no trace or passes a bound, or is damaged under `--strict`.
pub(super) fn read(source: Source<'_>, options: &ReadOptions, block_size: usize) -> Result<Trace> {
    let mut reading = Reading::start(source, options, block_size)?;
    while reading.step()? {}
    reading.finish()
}

/// Reads what stands before the events.
///
/// # Errors
/// Like [`read`].
pub(super) fn read_header(source: Source<'_>, options: &ReadOptions) -> Result<Header> {
    let mut reading = Reading::start(source, options, BLOCK)?;
    while !reading.document.has_trace_events() && reading.step()? {}
    Ok(std::mem::take(reading.document.builder.header_mut()))
}

impl<'a> Reading<'a> {
    /// Reads the first block and checks that it looks like JSON.
    fn start(source: Source<'a>, options: &ReadOptions, block_size: usize) -> Result<Self> {
        let (block, document) = (Block::new(block_size), Document::new());
        let mut reading = Reading { source, block, document, strict: options.strict };
        while reading.block.content().trim_ascii().is_empty()
            && reading.block.read(&mut reading.source)?
        {}
        let skip = sniff::check(reading.source.name(), reading.block.content())?;
        if skip > 0 {
            reading.document.note(Oddity::ByteOrderMark, 0);
            reading.block.consume(skip);
        }
        Ok(reading)
    }

    /// Walks one window. `false` at the end of the text, or of the document.
    fn step(&mut self) -> Result<bool> {
        let walked = self.document.walk(self.block.index());
        self.block.consume(walked.used);
        let blanks = self.block.content().len() - self.block.content().trim_ascii_start().len();
        self.block.consume(blanks);
        self.check()?;
        match walked.stop {
            None => Ok(false),
            Some(Stop::Incomplete) if self.block.content().len() < SUSPICIOUS => {
                self.block.extend(&mut self.source)
            }
            Some(Stop::Incomplete | Stop::Broken) => self.mend(),
            Some(Stop::TooDeep) => Err(self
                .error(ErrorKind::LimitExceeded, "values are nested too deep".to_owned())
                .remedy("this is no trace of a profiler")),
        }
    }

    /// Stops at damage under `--strict`, and at the bounds of the columns.
    fn check(&self) -> Result<()> {
        if let (true, Some((oddity, place))) =
            (self.strict, self.document.builder.odd().first_damage())
        {
            return Err(self.refusal(oddity, place));
        }
        if self.document.builder.total_events() >= u64::from(u32::MAX) {
            return Err(
                self.error(ErrorKind::LimitExceeded, "more than 4 billion events".to_owned())
            );
        }
        if self.document.builder.text_bytes() > MAX_TEXT {
            return Err(self
                .error(ErrorKind::LimitExceeded, "more than 3 GiB of distinct texts".to_owned()));
        }
        Ok(())
    }

    fn refusal(&self, oddity: Oddity, place: Place) -> Error {
        Error::new(ErrorKind::Malformed, self.source.name(), oddity.label())
            .at(place)
            .remedy("without --strict it is repaired and counted")
    }

    /// An error at the text that comes next.
    fn error(&self, kind: ErrorKind, message: String) -> Error {
        let event = self.document.has_trace_events().then(|| self.document.builder.total_events());
        Error::new(kind, self.source.name(), message).at(Place { offset: self.block.base(), event })
    }

    /// Goes on after text that is no JSON. `false` where nothing can be read any more.
    fn mend(&mut self) -> Result<bool> {
        match self.document.state() {
            State::Elements(after) => self.mend_element(after),
            State::Opening | State::Members | State::Skipping { .. } | State::Done => {
                self.mend_header()
            }
        }
    }

    fn mend_element(&mut self, after: After) -> Result<bool> {
        let extent = loop {
            match repair::extent(self.block.content(), self.block.at_end()) {
                Some(extent) => break extent,
                None => self.block.read(&mut self.source)?,
            };
        };
        let (content, offset) = (&self.block.content()[..extent], self.block.base());
        let escaped = match after {
            After::Element => None,
            After::Start | After::Comma => repair::escaped(content),
        };
        let used = match escaped {
            Some((text, used)) if self.document.add_mended(&text, offset) => used,
            _ if extent == self.block.content().len() => return Ok(false),
            _ => {
                self.document.add_lost(offset);
                extent
            }
        };
        self.block.consume(used);
        self.block.distrust();
        Ok(true)
    }

    /// Looks for the events behind damage that stands before them; gives up on what stands behind.
    fn mend_header(&mut self) -> Result<bool> {
        let offset = self.block.base();
        if self.document.has_trace_events() {
            self.document.note(Oddity::DamagedHeader, offset);
            return Ok(false);
        }
        let broken = self.error(ErrorKind::Malformed, "the text is no JSON here".to_owned());
        loop {
            if let Some(after) = events_start(self.block.content()) {
                self.document.enter_events(offset);
                self.block.consume(after);
                self.block.distrust();
                return Ok(true);
            }
            let keep = self.block.content().len().min(1024);
            self.block.consume(self.block.content().len() - keep);
            if !self.block.read(&mut self.source)? {
                return Err(broken
                    .remedy("no traceEvents follow: give a trace that torch.profiler exported"));
            }
        }
    }

    /// The trace, when all events are read.
    fn finish(mut self) -> Result<Trace> {
        let mut notes = Notes::default();
        match self.document.state() {
            State::Done => self.read_rest()?,
            _ if self.document.builder.odd().has_damaged_header() => self.read_rest()?,
            State::Opening | State::Members | State::Skipping { .. } | State::Elements(_) => {
                self.note_truncation(&mut notes)?;
            }
        }
        self.check_is_trace()?;
        if self.document.builder.total_events() == 0 {
            let hint = "the profiler recorded nothing: profile again";
            notes.add("NO_EVENTS", 1, hint, || "traceEvents is empty".to_owned());
        }
        self.source.take_oddities(self.document.builder.odd_mut());
        self.check()?;
        let (name, unpacked) = (self.source.name(), self.source.unpacked());
        Ok(self.document.builder.finish(name, unpacked, notes))
    }

    /// Reads on behind the document, for the checks of the packing.
    fn read_rest(&mut self) -> Result<()> {
        let is_blank = |&b: &u8| b == 0 || b.is_ascii_whitespace();
        let mut noted = !matches!(self.document.state(), State::Done);
        loop {
            let content = self.block.content();
            if let (false, Some(at)) = (noted, content.iter().position(|b| !is_blank(b))) {
                self.document.note(Oddity::TextAfterEnd, self.block.base() + at as u64);
                noted = true;
            }
            self.block.consume(self.block.content().len());
            if !self.block.read(&mut self.source)? {
                return Ok(());
            }
        }
    }

    /// The text ends before the document does.
    fn note_truncation(&mut self, notes: &mut Notes) -> Result<()> {
        let total = self.document.builder.total_events();
        let kept = self.block.base();
        let why = self.source.damage().unwrap_or("the file ends in the middle").to_owned();
        if self.strict {
            return Err(self
                .error(ErrorKind::Malformed, why)
                .remedy("without --strict all whole events before it are kept"));
        }
        let share = match self.source.damage() {
            Some(_) => self.source.share_read()?,
            None => 100.0 * kept as f64 / (self.source.unpacked().max(1)) as f64,
        };
        let hint = "the profiler was stopped while it wrote, or the copy is not complete: profile or copy again";
        notes.add("TRUNCATED", 1, hint, || {
            format!(
                "{why}: {total} whole events are kept, {share:.1} % of the file (up to byte {kept})"
            )
        });
        Ok(())
    }

    /// Whether what was read is a trace at all.
    fn check_is_trace(&self) -> Result<()> {
        let name = self.source.name();
        let refuse = |message: String| {
            Err(Error::new(ErrorKind::NotATrace, name, message)
                .at(Place { offset: 0, event: None })
                .remedy("give a trace that torch.profiler exported (export_chrome_trace or tensorboard_trace_handler)"))
        };
        if let (false, Some(value)) =
            (self.document.has_trace_events(), self.document.events_value())
        {
            return refuse(format!("traceEvents is {value}, not a list: nothing was recorded"));
        }
        if !self.document.has_trace_events() {
            return refuse(format!(
                "no traceEvents in this JSON, its keys are: {}",
                self.document.keys().join(", ")
            ));
        }
        if self.document.builder.total_events() > 0 && !self.document.builder.has_events() {
            return refuse("a list of other things than events".to_owned());
        }
        Ok(())
    }
}

/// Position behind the `[` of `traceEvents`.
fn events_start(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = super::decode::find(&text[from..], EVENTS_KEY) {
        let after = from + at + EVENTS_KEY.len();
        let rest =
            text[after..].trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
        if let Some(events) = rest.and_then(|rest| rest.strip_prefix(b"[")) {
            return Some(text.len() - events.len());
        }
        from = after;
    }
    None
}
