//! Reads the members and events of a document from windows of indexed text, and passes them to the
//! [`Builder`].
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
//! A walk ends at the end of the window, or at text that is not JSON. A walk reports how much text
//! was used, so the next window always starts at an element and never inside a string. Events that
//! resemble earlier events need neither an index nor a walk: [`Document::skim`] reads such events
//! as long as they directly follow each other.

mod members;

use super::block::Window;
use super::builder::Builder;
use super::cursor::{Cursor, Stop, Value};
use super::event::{self, Fields};
use super::grammar::Grammar;
use super::index;
use super::known::{self, Known};
use super::oddity::Oddity;
use super::options::ReadOptions;
use super::repair;
use super::sound::{self, Faults};
use crate::error::Place;

/// Maximum length of an event; a longer event is treated as broken text.
pub(super) const MAX_ELEMENT: usize = 16 * 1024 * 1024;

/// If an event is longer than this and seems to contain another event, it is treated as unclosed.
/// The limit bounds how much text is read twice, no matter how many long events the file contains.
pub(super) const LONG_ELEMENT: usize = 256 * 1024;

/// Where in the document the next token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The next token is before the first `{` or `[`.
    Opening,
    /// The next token is in the top-level object.
    Members,
    /// The next token is in a top-level member that is not needed; the value is the nesting depth.
    Skipping { depth: u32 },
    /// The next token is in `traceEvents`.
    Elements(After),
    /// The next token is after the end of the document.
    Done,
}

/// The token that was read last in `traceEvents`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Start,
    Element,
    Comma,
}

#[derive(Debug)]
pub(super) struct Document {
    pub(super) builder: Builder,
    known: Known,
    state: State,
    frame: Frame,
    /// Whether more events followed after the list of events was closed. If so, the file may end
    /// without a second closing bracket.
    was_closed: bool,
    has_trace_events: bool,
    /// The token that was read last in the top-level object.
    member: After,
    /// Checks the grammar of the member that is being skipped. `skipped_is_sound` is true if the
    /// member has been valid JSON so far.
    skipped: Grammar,
    skipped_is_sound: bool,
    /// Number of events found in members other than `traceEvents`, and the offset of the first such
    /// event. Events in other members count as lost if the text is damaged.
    passed: Option<(u32, u64)>,
    keys: Vec<String>,
    events_value: Option<String>,
}

/// The structure that contains the events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Frame {
    /// The events are in the member `traceEvents` of an object.
    Object,
    /// The events are in a top-level list.
    List,
    /// The events are not in a list: the file has one event per line.
    Lines,
}

/// The result of a walk over a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Walked {
    /// Number of bytes of the window that are no longer needed.
    pub(super) used: usize,
    /// Why the walk ended.
    pub(super) end: End,
}

/// Why a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The document ends.
    Document,
    /// The walk read an element that does not resemble earlier events. The next elements may
    /// resemble them.
    Miss,
    /// The text or the window ends, or the text is irregular.
    Stop(Stop),
}

impl Document {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Document {
            builder: Builder::new(options),
            known: Known::new(),
            state: State::Opening,
            frame: Frame::Object,
            was_closed: false,
            has_trace_events: false,
            member: After::Start,
            skipped: Grammar::new(),
            skipped_is_sound: true,
            passed: None,
            keys: Vec::new(),
            events_value: None,
        }
    }

    /// Where in the document the next token is.
    pub(super) fn state(&self) -> State {
        self.state
    }

    /// Whether the list of events was found.
    pub(super) fn has_trace_events(&self) -> bool {
        self.has_trace_events
    }

    /// Keys of the top-level object.
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// A description of the value of `traceEvents`, if it is not a list.
    pub(super) fn events_value(&self) -> Option<&str> {
        self.events_value.as_deref()
    }

    /// Reads the events at the beginning of `text` that resemble earlier events, without using an
    /// index. Returns the number of bytes read. `base` is the offset of `text` in the decompressed
    /// file.
    pub(super) fn skim(&mut self, text: &[u8], base: u64) -> usize {
        let mut used = 0;
        // The text between the last two events, including the opening brace of the second event.
        // Usually, the same text occurs between the next events.
        let mut gap = &text[..0];
        while let State::Elements(after) = self.state
            && self.known.is_useful()
            && let Some(start) =
                behind_gap(text, used, gap).or_else(|| next_event(text, used, after))
        {
            let mut fields = self.no_fields();
            match self.known.read(text, start, &mut fields) {
                Some(end) if end - start <= LONG_ELEMENT => {
                    if after == After::Element {
                        gap = &text[used..=start];
                    }
                    used = end;
                }
                Some(_) | None => break,
            }
            self.builder.add(&fields, base + start as u64);
            self.state = State::Elements(After::Element);
        }
        used
    }

    /// Reads the complete elements in the window. If the next events may resemble earlier events,
    /// stops after one event, so that they can be skimmed.
    pub(super) fn walk(&mut self, window: Window<'_>) -> Walked {
        let mut cursor = Cursor::new(window.text, window.index);
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
                Ok(()) => used = cursor.consumed(),
                Err(stop) => return Walked { used, end: End::Stop(stop) },
            }
            if self.state == State::Elements(After::Element) && self.known.is_useful() {
                self.known.miss();
                return Walked { used, end: End::Miss };
            }
        }
    }

    /// Reads the repaired text of an event. Returns `false` if the repaired text is still not an
    /// event.
    pub(super) fn add_mended(&mut self, text: &[u8], offset: u64) -> bool {
        let mut positions = Vec::new();
        index::find_tokens(text, &mut positions);
        let mut cursor = Cursor::new(text, &positions);
        let mut fields = self.no_fields();
        if event::read(&mut cursor, &mut fields).is_err() {
            return false;
        }
        self.count(Oddity::UnescapedQuote, 1, offset);
        let bare_words = cursor.take_bare_words();
        self.count_faults(&sound::faults(text), &fields, bare_words, offset);
        self.builder.add(&fields, offset);
        self.state = State::Elements(After::Element);
        true
    }

    /// Counts `count` lost events and the bytes of their text. After the lost events, the next
    /// token must start another event or end the list.
    pub(super) fn add_lost(&mut self, oddity: Oddity, count: u32, bytes: usize, offset: u64) {
        self.builder.add_lost(oddity, count, bytes as u64, offset);
        self.state = State::Elements(After::Start);
    }

    /// Counts the events that were found in members other than `traceEvents` as lost. The text is
    /// damaged at `offset`, so events found before that point may have belonged to the list.
    fn lose_passed(&mut self, offset: u64) {
        if let Some((count, start)) = self.passed.take() {
            self.builder.add_lost(Oddity::LostEvent, count, offset - start, start);
        }
    }

    /// Remembers that a top-level member contains `events` events, the first of them at `offset` or
    /// later.
    fn pass(&mut self, events: u32, offset: u64) {
        if events > 0 {
            self.passed.get_or_insert((0, offset)).0 += events;
        }
    }

    pub(super) fn end(&mut self, offset: u64) {
        if self.builder.odd().first_damage().is_some() {
            self.lose_passed(offset);
        }
    }

    /// Continues inside `traceEvents` after damage before the list.
    pub(super) fn enter_events(&mut self, offset: u64) {
        self.note(Oddity::DamagedHeader, offset);
        self.lose_passed(offset);
        self.has_trace_events = true;
        self.state = State::Elements(After::Start);
    }

    /// Starts reading events that are written one per line and are not enclosed in a list.
    pub(super) fn enter_lines(&mut self) {
        self.note(Oddity::BareEvents, 0);
        self.has_trace_events = true;
        self.frame = Frame::Lines;
        self.state = State::Elements(After::Start);
    }

    /// Continues inside the list of events. The list was closed at `offset`, but more events follow
    /// after the next `bytes` bytes of text.
    pub(super) fn enter_again(&mut self, offset: u64, bytes: u64) {
        self.count(Oddity::StrayBracket, 1, offset);
        self.lose_passed(offset);
        self.builder.odd_mut().add_skipped(Oddity::StrayBracket, bytes);
        self.was_closed = true;
        self.state = State::Elements(After::Start);
    }

    /// Continues in the top-level object after an event list that was not closed.
    pub(super) fn leave_events(&mut self, offset: u64) {
        self.count(Oddity::MissingBracket, 1, offset);
        self.member = After::Comma;
        self.state = State::Members;
    }

    /// Whether the file may end here: the next token is in the list of events, and no enclosing
    /// bracket is open.
    pub(super) fn may_end(&self) -> bool {
        let is_open = self.was_closed || self.frame == Frame::Lines;
        is_open && matches!(self.state, State::Elements(_))
    }

    /// Counts an irregularity that is not in an event.
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
                self.frame = Frame::List;
                self.has_trace_events = true;
                State::Elements(After::Start)
            }
            _ => return Err(Stop::Broken),
        };
        cursor.bump();
        Ok(())
    }

    /// Reads an element of `traceEvents`, a comma, or the end of the list.
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
                self.member = After::Element;
                self.state = match self.frame {
                    Frame::Object => State::Members,
                    Frame::List | Frame::Lines => State::Done,
                };
                Ok(())
            }
            b'{' => self.event(cursor, window, after, start),
            _ => self.other_element(cursor, window, after, start),
        }
    }

    /// The fields of the next event, without values.
    #[inline]
    fn no_fields<'t>(&self) -> Fields<'t> {
        Fields { keeps_frame_args: self.builder.is_coarse(), ..Fields::default() }
    }

    /// Counts irregularities of the next event.
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
        let mut fields = self.no_fields();
        let before = cursor.clone();
        event::read(cursor, &mut fields)?;
        let text = &window.text[start..cursor.passed()];
        let faults = sound::faults(text);
        let is_doubtful = faults.is_broken || self.builder.odd().first_damage().is_some();
        if faults.has_hole || is_not_closed(text, is_doubtful) {
            return Err(Stop::Broken);
        }
        let offset = window.offset(start);
        let bare_words = cursor.take_bare_words();
        let lacks_comma = after == After::Element && self.frame != Frame::Lines;
        self.count(Oddity::MissingComma, lacks_comma.into(), offset);
        self.count_faults(&faults, &fields, bare_words, offset);
        if self.known.is_useful() && faults.is_none() {
            self.known.learn(window.text, before);
        }
        self.builder.add(&fields, offset);
        self.state = State::Elements(After::Element);
        Ok(())
    }

    /// Counts JSON violations in an event, except extra commas, which are counted when the fields
    /// are read.
    fn count_faults(&mut self, faults: &Faults, fields: &Fields<'_>, bare_words: u32, offset: u64) {
        let is_reported = bare_words + fields.extra_commas > 0;
        self.count(Oddity::BareWord, bare_words, offset);
        self.count(Oddity::NotJson, (faults.is_broken && !is_reported).into(), offset);
        self.count(Oddity::Backslash, faults.escapes, offset);
        self.count(Oddity::ControlCharacter, faults.controls, offset);
        self.count(Oddity::InvalidUtf8, faults.not_utf8, offset);
    }

    /// Reads a `null`, number, string or list that appears among the events.
    fn other_element(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        after: After,
        start: usize,
    ) -> Result<(), Stop> {
        if window.text[start] == b'[' && is_around_events(cursor.clone(), window)? {
            cursor.bump();
            self.count(Oddity::StrayBracket, 1, window.offset(start));
            self.state = State::Elements(After::Start);
            return Ok(());
        }
        let value = cursor.value()?;
        let is_broken = after == After::Element || !matches!(cursor.peek()?, b',' | b']');
        if is_broken || repair::contains_event(&window.text[start..cursor.position()?]) {
            return Err(Stop::Broken);
        }
        cursor.take_bare_words();
        let oddity = if value == Value::Null { Oddity::EmptyEvent } else { Oddity::NotAnEvent };
        self.builder.add_other(oddity, "(no event)", window.offset(start));
        self.state = State::Elements(After::Element);
        Ok(())
    }
}

/// Whether an event was not closed and therefore contains the next events. Every event that is
/// longer than [`MAX_ELEMENT`] counts as unclosed. So does an event that contains another event, if
/// the text may be damaged or the event is longer than [`LONG_ELEMENT`].
fn is_not_closed(text: &[u8], is_doubtful: bool) -> bool {
    text.len() > MAX_ELEMENT
        || ((is_doubtful || text.len() > LONG_ELEMENT) && repair::contains_event(text))
}

/// Whether an event follows the next bracket.
fn is_around_events(mut cursor: Cursor<'_>, window: Window<'_>) -> Result<bool, Stop> {
    cursor.bump();
    let next = cursor.position()?;
    if window.text[next] != b'{' {
        return Ok(false);
    }
    repair::starts_event(window.text, next).ok_or(Stop::Incomplete)
}

/// Position of the next event, if the text before and including its opening brace is `gap`.
#[inline]
fn behind_gap(text: &[u8], from: usize, gap: &[u8]) -> Option<usize> {
    let start = from + gap.len().checked_sub(1)?;
    (text.get(from..=start)? == gap).then_some(start)
}

/// Position of the next event if only a comma and blanks precede it.
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
