//! Windows of indexed text → the members and events of the document, given to the [`Builder`].
//!
//! ```text
//! {                            Members
//!   "schemaVersion": 1,          a wanted member goes into the header
//!   "metadata": { … },         Skipping: token by token, however long
//!   "traceEvents": [           Elements
//!      { … }, { … }              each one is read when all of it is in the window
//!   ]
//! }                            Done
//! ```
//!
//! A walk ends where the window does, or where the text is not JSON. It says how much it used up, so
//! that the next window starts at an element, never inside a string. Events that look like those
//! before need no walk and no window: [`Document::skim`] reads them as long as they last.

mod members;

use super::block::Window;
use super::builder::Builder;
use super::cursor::{Cursor, Stop, Value};
use super::event::{self, Fields};
use super::index;
use super::known::{self, Known};
use super::oddity::Oddity;
use super::options::ReadOptions;
use crate::error::Place;

/// No event of a trace is longer; what is, is taken for broken text.
const MAX_ELEMENT: usize = 4 * 1024 * 1024;

/// Where in the document the next token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Before the first `{` or `[`.
    Opening,
    /// In the top-level object.
    Members,
    /// In a member of it that nobody wants, this deep.
    Skipping { depth: u32 },
    /// In `traceEvents`.
    Elements(After),
    /// Behind the end.
    Done,
}

/// What was read last in `traceEvents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Start,
    Element,
    Comma,
}

/// The document that is being read.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) builder: Builder,
    known: Known,
    state: State,
    is_list: bool,
    has_trace_events: bool,
    keys: Vec<String>,
    events_value: Option<String>,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// Bytes of the window that are not needed any more.
    pub(super) used: usize,
    /// Why it ended.
    pub(super) end: End,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The document ends.
    Document,
    /// An element was read that was not known; the next ones may be.
    Miss,
    /// The text or the window ends, or the text is odd.
    Stop(Stop),
}

impl Document {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Document {
            builder: Builder::new(options),
            known: Known::new(),
            state: State::Opening,
            is_list: false,
            has_trace_events: false,
            keys: Vec::new(),
            events_value: None,
        }
    }

    /// Where the next token stands.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Whether the list of events was found.
    pub(super) fn has_trace_events(&self) -> bool {
        self.has_trace_events
    }

    /// Keys at the top of the document.
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// What stands at `traceEvents` instead of a list.
    pub(super) fn events_value(&self) -> Option<&str> {
        self.events_value.as_deref()
    }

    /// Reads the events at the beginning of `text` that look like those before, without an index.
    /// How many bytes that were; the text starts at `base` of the file.
    pub(super) fn skim(&mut self, text: &[u8], base: u64) -> usize {
        let mut used = 0;
        while let State::Elements(after) = self.state
            && self.known.is_useful()
            && let Some(start) = next_event(text, used, after)
        {
            let mut fields = Fields::default();
            match self.known.read(text, start, &mut fields) {
                Some(end) if end - start <= MAX_ELEMENT => used = end,
                Some(_) | None => break,
            }
            self.builder.add(&fields, base + start as u64);
            self.state = State::Elements(After::Element);
        }
        used
    }

    /// Reads all that is whole in the window, or no further than one event where others may be known.
    pub(super) fn walk(&mut self, window: Window<'_>) -> Walked {
        let mut cursor = Cursor::new(window.text, window.index, 1);
        let mut used = 0;
        loop {
            let result = match self.state {
                State::Elements(after) => self.element(&mut cursor, window, after),
                State::Members => self.member(&mut cursor, window),
                State::Skipping { depth } => self.skip_token(&mut cursor, window, depth),
                State::Opening => self.open(&mut cursor),
                State::Done => return Walked { used, end: End::Document },
            };
            match result {
                Ok(()) => used = cursor.consumed() - 1,
                Err(stop) => return Walked { used, end: End::Stop(stop) },
            }
            if self.state == State::Elements(After::Element) && self.known.is_useful() {
                self.known.miss();
                return Walked { used, end: End::Miss };
            }
        }
    }

    /// Reads an event that was mended; whether it is one now.
    pub(super) fn add_mended(&mut self, text: &[u8], offset: u64) -> bool {
        let mut positions = Vec::new();
        index::index_scalar(text, &mut positions);
        let mut cursor = Cursor::new(text, &positions, 0);
        let mut fields = Fields::default();
        if event::read(&mut cursor, &mut fields).is_err() {
            return false;
        }
        self.count(Oddity::UnescapedQuote, 1, offset);
        self.count(Oddity::BareWord, cursor.take_bare_words(), offset);
        self.builder.add(&fields, offset);
        self.state = State::Elements(After::Element);
        true
    }

    /// Counts an event that is lost; the next token starts another one, or ends the list.
    pub(super) fn add_lost(&mut self, offset: u64) {
        self.builder.add_other(Oddity::LostEvent, "(unreadable)", offset);
        self.state = State::Elements(After::Start);
    }

    /// Goes on inside `traceEvents`, after damage before it.
    pub(super) fn enter_events(&mut self, offset: u64) {
        self.note(Oddity::DamagedHeader, offset);
        self.has_trace_events = true;
        self.state = State::Elements(After::Start);
    }

    /// Counts odd text outside of events.
    pub(super) fn note(&mut self, oddity: Oddity, offset: u64) {
        self.builder.odd_mut().add(oddity, 1, Place { offset, event: None });
    }

    fn place(&self, offset: u64) -> Place {
        Place { offset, event: Some(self.builder.total_events()) }
    }

    fn open(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        self.state = match cursor.peek()? {
            b'{' => State::Members,
            b'[' => {
                self.is_list = true;
                self.has_trace_events = true;
                State::Elements(After::Start)
            }
            _ => return Err(Stop::Broken),
        };
        cursor.bump();
        Ok(())
    }

    /// Reads one element of `traceEvents`, a comma, or the end of the list.
    #[inline]
    fn element(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        after: After,
    ) -> Result<(), Stop> {
        let start = cursor.position()?;
        match window.text[start] {
            b',' => {
                cursor.bump();
                let is_extra = after != After::Element;
                self.count(Oddity::ExtraComma, is_extra.into(), window.offset(start));
                self.state = State::Elements(After::Comma);
                Ok(())
            }
            b']' => {
                cursor.bump();
                let is_extra = after == After::Comma;
                self.count(Oddity::ExtraComma, is_extra.into(), window.offset(start));
                self.state = if self.is_list { State::Done } else { State::Members };
                Ok(())
            }
            b'{' => self.event(cursor, window, after, start),
            _ => self.other_element(cursor, window, after, start),
        }
    }

    /// Counts what is odd about the next event.
    #[inline]
    fn count(&mut self, oddity: Oddity, count: u32, offset: u64) {
        if count > 0 {
            let place = self.place(offset);
            self.builder.odd_mut().add(oddity, count.into(), place);
        }
    }

    #[inline]
    fn event(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        after: After,
        start: usize,
    ) -> Result<(), Stop> {
        let mut fields = Fields::default();
        let before = cursor.clone();
        event::read(cursor, &mut fields)?;
        if cursor.passed() - start > MAX_ELEMENT {
            return Err(Stop::Broken);
        }
        let offset = window.offset(start);
        let bare_words = cursor.take_bare_words();
        self.count(Oddity::MissingComma, (after == After::Element).into(), offset);
        self.count(Oddity::BareWord, bare_words, offset);
        if self.known.is_useful() {
            self.known.learn(window.text, before);
        }
        self.builder.add(&fields, offset);
        self.state = State::Elements(After::Element);
        Ok(())
    }

    /// `null`, numbers, texts and lists among the events.
    fn other_element(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        after: After,
        start: usize,
    ) -> Result<(), Stop> {
        let value = cursor.value()?;
        if after == After::Element || !matches!(cursor.peek()?, b',' | b']') {
            return Err(Stop::Broken);
        }
        cursor.take_bare_words();
        let oddity = if value == Value::Null { Oddity::EmptyEvent } else { Oddity::NotAnEvent };
        self.builder.add_other(oddity, "(no event)", window.offset(start));
        self.state = State::Elements(After::Element);
        Ok(())
    }
}

/// Where the next event starts, if no more than a comma and blanks stand before it.
#[inline]
fn next_event(text: &[u8], from: usize, after: After) -> Option<usize> {
    let mut at = known::behind_blanks(text, from)?;
    if after == After::Element && text[at] == b',' {
        at = known::behind_blanks(text, at + 1)?;
    } else if after == After::Element {
        return None;
    }
    (text[at] == b'{').then_some(at)
}
