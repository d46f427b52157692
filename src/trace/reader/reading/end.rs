//! The end of the text → a finished trace, or why it is none.

use super::super::document::State;
use super::super::oddity::Oddity;
use super::Reading;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use crate::trace::notes::Notes;

impl Reading<'_> {
    /// The trace, when all events are read.
    pub(super) fn finish(mut self) -> Result<Trace> {
        let mut notes = Notes::default();
        match self.document.state() {
            State::Done => self.read_rest()?,
            _ if self.gave_up => self.read_rest()?,
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
        let mut noted = self.gave_up;
        loop {
            let content = self.block.content();
            if let (false, Some(at)) = (noted, content.iter().position(|b| !is_blank(b))) {
                self.document.note(Oddity::TextAfterEnd, self.block.base() + at as u64);
                noted = true;
            }
            self.block.consume(self.block.content().len());
            if !self.block.read(&mut self.source)? {
                break;
            }
        }
        if self.source.damage().is_some() {
            self.document.note(Oddity::CutArchive, self.block.base());
        }
        Ok(())
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
                "{why}: {total} whole events are kept, {share:.1} % of what is there (up to byte {kept})"
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
