//! Finds where reading can continue after text that is not JSON.

use super::super::decode;
use super::super::document::{After, State};
use super::super::oddity::Oddity;
use super::super::repair;
use super::super::sound;
use super::{Reading, leading_blanks};
use crate::error::{ErrorKind, Place, Result};

/// The key of the event list. If damage precedes the list, the reader searches for this key.
const EVENTS_KEY: &[u8] = b"\"traceEvents\"";

/// Number of text bytes that are kept during a search for a key, because the key may continue in
/// the next block.
const KEPT: usize = 1024;

impl Reading<'_, '_> {
    /// Continues reading after text that is not JSON. Returns `false` if nothing more can be read.
    pub(super) fn mend(&mut self) -> Result<bool> {
        match self.document.state() {
            State::Elements(after) => self.mend_element(after),
            State::Opening | State::Members | State::Skipping { .. } | State::Done => {
                self.mend_header()
            }
        }
    }

    /// Handles a file that ends before the last value does. Either the file is truncated, or an
    /// event was not closed and therefore extends to the end of the file. Returns `false` if
    /// nothing more follows.
    pub(super) fn mend_last(&mut self) -> Result<bool> {
        match self.document.state() {
            State::Elements(after) if !self.block.content().is_empty() => self.mend_element(after),
            State::Elements(_)
            | State::Opening
            | State::Members
            | State::Skipping { .. }
            | State::Done => Ok(false),
        }
    }

    /// Skips an event that is nested too deeply. Returns `false` if the next element is not an
    /// event.
    pub(super) fn leave_deep_event(&mut self) -> Result<bool> {
        let is_event = matches!(self.document.state(), State::Elements(_))
            && self.block.content().first() == Some(&b'{');
        if is_event {
            let extent = self.extent()?;
            self.lose(Oddity::DeepEvent, extent);
        }
        Ok(is_event)
    }

    fn mend_element(&mut self, after: After) -> Result<bool> {
        if self.is_header()? {
            self.document.leave_events(self.block.base());
            return Ok(true);
        }
        let extent = self.extent()?;
        let (content, offset) = (&self.block.content()[..extent], self.block.base());
        let has_hole = sound::has_hole(content);
        let escaped = match after {
            After::Element => None,
            After::Start | After::Comma if has_hole => None,
            After::Start | After::Comma => repair::escaped(content),
        };
        match escaped {
            Some((text, used)) if self.document.add_mended(&text, offset) => {
                self.block.consume(used);
                self.block.distrust();
            }
            _ if extent == self.block.content().len() => return Ok(false),
            _ if has_hole => self.lose(Oddity::Hole, extent),
            _ => self.lose(Oddity::LostEvent, extent),
        }
        Ok(true)
    }

    /// Length in bytes of the broken element at the current position.
    fn extent(&mut self) -> Result<usize> {
        loop {
            match repair::extent(self.block.content(), self.block.at_end()) {
                Some(extent) => return Ok(extent),
                None => self.block.read(&mut self.feed)?,
            };
        }
    }

    /// Whether the next text is a key of the trace's top-level object instead of an event, which
    /// shows that the list of events was not closed.
    fn is_header(&mut self) -> Result<bool> {
        loop {
            match repair::starts_header(self.block.content()) {
                Some(is_header) => return Ok(is_header),
                None if !self.block.read(&mut self.feed)? => return Ok(false),
                None => {}
            }
        }
    }

    /// Skips the next `extent` bytes and counts the events in them as lost.
    fn lose(&mut self, oddity: Oddity, extent: usize) {
        let count = repair::events_in(&self.block.content()[..extent]);
        self.document.add_lost(oddity, count, extent, self.block.base());
        self.block.consume(extent);
        self.block.distrust();
    }

    /// If the damage precedes the event list, searches for the list. If the damage follows the
    /// first events, searches for more events.
    fn mend_header(&mut self) -> Result<bool> {
        let offset = self.block.base();
        if self.document.has_trace_events() {
            return self.find_more(Oddity::DamagedHeader);
        }
        let broken = self.error(ErrorKind::Malformed, "the text is not JSON here".to_owned());
        let mut lost = 0;
        loop {
            let (content, at_end) = (self.block.content(), self.block.at_end());
            let event = repair::next_event(content, at_end);
            let list = events_start(content);
            // The text before the event list may contain an event. If the text in memory ends too
            // early to decide, more text is read, so that the result does not depend on where the
            // block ends.
            let is_decided = |start: &usize| match event {
                Ok(_) => true,
                Err(kept) => *start <= kept || at_end,
            };
            if let Some(start) = list.filter(is_decided).into_iter().chain(event.ok()).min() {
                lost += repair::phases(content, start);
                self.document.enter_events(offset);
                self.block.consume(start);
                if lost > 0 {
                    let bytes = (self.block.base() - offset) as usize;
                    self.document.add_lost(Oddity::LostEvent, lost, bytes, offset);
                }
                self.block.distrust();
                return Ok(true);
            }
            let used = match list {
                // The key of the list stays in memory until it is clear whether an event precedes
                // the key.
                Some(_) => 0,
                None => content.len().saturating_sub(KEPT).min(event.unwrap_or_else(|kept| kept)),
            };
            lost += repair::phases(content, used);
            self.block.consume(used);
            if at_end {
                return Err(
                    broken.remedy("no traceEvents follow; pass a trace exported by torch.profiler")
                );
            }
            self.block.read(&mut self.feed)?;
        }
    }

    /// Examines the text after the end of the document. Returns `false` if no more events follow
    /// the document.
    pub(super) fn look_behind(&mut self) -> Result<bool> {
        loop {
            self.block.consume(leading_blanks(self.block.content()));
            let text = self.block.content();
            let first = text.iter().position(|byte| !may_close(*byte));
            let is_event = match first {
                Some(at) if text[at] == b'{' => repair::starts_event(text, at),
                Some(_) => Some(false),
                None => None,
            };
            if is_event.is_none() && self.block.read(&mut self.feed)? {
                continue;
            }
            let text = self.block.content();
            return match first.map(|at| text[at]) {
                None if text.is_empty() => Ok(false),
                Some(b'{') if is_event != Some(true) => self.leave_document(),
                Some(b'[') => self.leave_document(),
                None | Some(_) => self.find_more(Oddity::TextAfterEnd),
            };
        }
    }

    /// Continues reading at the next event. If no event follows, the rest of the file is counted as
    /// `oddity`. Events in the skipped text are counted as lost.
    fn find_more(&mut self, oddity: Oddity) -> Result<bool> {
        let offset = self.block.base();
        let mut lost = 0;
        loop {
            let (content, at_end) = (self.block.content(), self.block.at_end());
            let found = repair::next_event(content, at_end);
            let used = match found {
                Ok(at) => at,
                Err(_) if at_end => content.len(),
                Err(kept) => kept.min(content.len().saturating_sub(KEPT)),
            };
            lost += repair::phases(content, used);
            self.block.consume(used);
            let bytes = self.block.base() - offset;
            if found.is_ok() {
                self.document.enter_again(offset, bytes);
                self.block.distrust();
            } else if !at_end {
                self.block.read(&mut self.feed)?;
                continue;
            }
            if lost > 0 {
                self.document.add_lost(Oddity::LostEvent, lost, bytes as usize, offset);
            }
            return if found.is_ok() { Ok(true) } else { self.give_up(oddity, 1, offset) };
        }
    }

    /// Skips a second document after the end of the trace, and counts the events in it.
    fn leave_document(&mut self) -> Result<bool> {
        let offset = self.block.base();
        let mut events = 0;
        loop {
            let used = self.block.content().len().saturating_sub(KEPT);
            events += repair::phases(self.block.content(), used);
            self.block.consume(used);
            if !self.block.read(&mut self.feed)? {
                break;
            }
        }
        events += repair::phases(self.block.content(), usize::MAX);
        match events {
            0 => self.give_up(Oddity::OtherDocument, 1, offset),
            count => self.give_up(Oddity::OtherTrace, count, offset),
        }
    }

    /// Counts the text from `offset` to the end of the file as not read.
    fn give_up(&mut self, oddity: Oddity, count: u32, offset: u64) -> Result<bool> {
        self.block.consume(self.block.content().len());
        let bytes = self.block.base() - offset;
        let odd = self.document.builder.odd_mut();
        odd.add(oddity, count.into(), Place { offset, event: None });
        odd.add_skipped(oddity, bytes);
        self.gave_up = true;
        Ok(false)
    }
}

/// Whether a byte may belong to the end of a document: a closing bracket, a comma or a blank.
fn may_close(byte: u8) -> bool {
    matches!(byte, b']' | b'}' | b',' | b' ' | b'\n' | b'\r' | b'\t')
}

/// Position after the `[` that starts the list `traceEvents`.
fn events_start(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = decode::find(&text[from..], EVENTS_KEY) {
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
