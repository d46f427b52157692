//! Finishes reading a file, and returns a trace or an error that says why the file is not a trace.

use super::super::document::State;
use super::super::oddity::Oddity;
use super::Reading;
use crate::error::{Error, ErrorKind, Place, Result};
use crate::trace::columns::Trace;
use crate::trace::notes::Notes;

impl Reading<'_, '_> {
    /// Completes the trace after all events are read.
    pub(super) fn finish(mut self) -> Result<Trace> {
        let mut notes = Notes::default();
        let may_end = self.document.may_end() && self.block.content().is_empty();
        let is_damaged = self.feed.source().damage().is_some();
        match self.document.state() {
            State::Done if is_damaged => self.document.note(Oddity::CutArchive, self.block.base()),
            State::Done => {}
            _ if self.gave_up || (may_end && !is_damaged) => {}
            State::Opening | State::Members | State::Skipping { .. } | State::Elements(_) => {
                self.note_truncation(&mut notes)?;
            }
        }
        self.document.end(self.block.base());
        self.check_is_trace()?;
        if self.document.builder.total_events() == 0 {
            let hint = "the profiler recorded nothing; profile again";
            notes.add("NO_EVENTS", 1, hint, || "traceEvents is empty".to_owned());
        }
        self.feed.source().take_oddities(self.document.builder.odd_mut());
        self.check()?;
        let (name, unpacked) = (self.feed.name(), self.feed.source().unpacked());
        let mut trace = self.document.builder.finish(name, unpacked, notes);
        trace.content_hash = self.feed.source().hash()?;
        Ok(trace)
    }

    /// Adds a note that the text ends before the document does; under `--strict`, returns an error
    /// instead.
    fn note_truncation(&mut self, notes: &mut Notes) -> Result<()> {
        let total = self.document.builder.total_events();
        let kept = self.block.base();
        let why = self.feed.source().damage().unwrap_or("the file is cut off").to_owned();
        if self.strict {
            return Err(self
                .error(ErrorKind::Malformed, why)
                .remedy("without --strict, all complete events before this point are kept"));
        }
        let share = self.feed.source().share_read()?;
        let hint = "the profiler was stopped while writing, or the copy is incomplete; profile or \
                    copy the file again";
        notes.add("TRUNCATED", 1, hint, || {
            let missing = if share < 99.95 {
                format!("{share:.1}% of the file could be read")
            } else {
                "how much is missing is unknown".to_owned()
            };
            format!(
                "{why}; events kept: {total}, up to byte {kept}; {missing}; all times and counts \
                 are lower bounds"
            )
        });
        Ok(())
    }

    /// Checks that the text is a trace.
    fn check_is_trace(&self) -> Result<()> {
        let name = self.feed.name();
        let refuse = |message: String| {
            Err(Error::new(ErrorKind::NotATrace, name, message)
                .at(Place { offset: 0, event: None })
                .remedy(
                    "pass a trace exported by torch.profiler (export_chrome_trace or \
                     tensorboard_trace_handler)",
                ))
        };
        if self.document.keys().first().is_some_and(|key| key == "tracetree") {
            let message = "this is a timeline written by tracetree (perfetto.json.gz), not a trace";
            return Err(Error::new(ErrorKind::NotATrace, name, message)
                .at(Place { offset: 0, event: None })
                .remedy("pass one of the two traces that the timeline was made from"));
        }
        if let (false, Some(value)) =
            (self.document.has_trace_events(), self.document.events_value())
        {
            return refuse(format!("traceEvents is {value}, not a list: nothing was recorded"));
        }
        if !self.document.has_trace_events() {
            return refuse(format!(
                "no traceEvents in this JSON; its keys are: {}",
                self.document.keys().join(", ")
            ));
        }
        if self.document.builder.total_events() > 0 && !self.document.builder.has_events() {
            return refuse("the list contains no events".to_owned());
        }
        Ok(())
    }
}
