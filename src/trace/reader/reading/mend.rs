//! Text that is no JSON → where reading goes on.

use super::super::decode;
use super::super::document::{After, State};
use super::super::oddity::Oddity;
use super::super::repair;
use super::Reading;
use crate::error::{ErrorKind, Result};

/// The beginning of `traceEvents`, which is looked for after damage before it.
const EVENTS_KEY: &[u8] = b"\"traceEvents\"";

/// How much text is kept while it is looked for.
const KEPT: usize = 1024;

impl Reading<'_> {
    /// Goes on after text that is no JSON. `false` where nothing can be read any more.
    pub(super) fn mend(&mut self) -> Result<bool> {
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
            self.gave_up = true;
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
            let keep = self.block.content().len().min(KEPT);
            self.block.consume(self.block.content().len() - keep);
            if !self.block.read(&mut self.source)? {
                return Err(broken
                    .remedy("no traceEvents follow: give a trace that torch.profiler exported"));
            }
        }
    }
}

/// Position behind the `[` of `traceEvents`.
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
