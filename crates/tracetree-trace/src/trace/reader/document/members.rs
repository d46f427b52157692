//! Reads the members of the top-level object into the header, and finds the list of events.

use super::super::block::Window;
use super::super::cursor::{Cursor, Stop, Value};
use super::super::decode;
use super::super::grammar::{Grammar, Token, is_scalar};
use super::super::header;
use super::super::oddity::Oddity;
use super::super::repair;
use super::super::sound::{self, Faults};
use super::{After, Document, State};

/// Maximum nesting depth of skipped values.
const MAX_DEPTH: u32 = 512;

/// Number of top-level keys to remember for the error message that is shown if the document is not
/// a trace.
const KEPT_KEYS: usize = 8;

impl Document {
    /// Reads a member of the top-level object, a comma, or the end of the object.
    pub(super) fn member(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
    ) -> Result<(), Stop> {
        match cursor.peek()? {
            b',' => {
                self.extra_comma(self.member != After::Element, cursor, window);
                self.member = After::Comma;
                cursor.bump();
            }
            b'}' => {
                self.extra_comma(self.member == After::Comma, cursor, window);
                cursor.bump();
                self.state = State::Done;
            }
            _ => self.key_and_value(cursor, window)?,
        }
        Ok(())
    }

    fn extra_comma(&mut self, is_extra: bool, cursor: &Cursor<'_>, window: Window<'_>) {
        if let (true, Ok(at)) = (is_extra, cursor.position()) {
            self.note(Oddity::ExtraComma, window.offset(at));
        }
    }

    fn key_and_value(&mut self, cursor: &mut Cursor<'_>, window: Window<'_>) -> Result<(), Stop> {
        let start = cursor.position()?;
        let offset = window.offset(start);
        let raw = cursor.key()?;
        cursor.peek()?;
        let key = decode::key(raw);
        match &*key {
            b"traceEvents" => self.trace_events(cursor, window)?,
            key if header::is_wanted(key) && !starts_event(cursor, window)? => {
                self.wanted(cursor, window, key, offset)?;
            }
            _ => self.skip(),
        }
        if self.member == After::Element {
            self.note(Oddity::MissingComma, offset);
        }
        self.member = After::Element;
        self.check_string(raw, offset);
        self.remember(&key);
        Ok(())
    }

    /// Starts skipping the next value, token by token.
    fn skip(&mut self) {
        self.skipped = Grammar::new();
        self.skipped_is_sound = true;
        self.state = State::Skipping { depth: 0 };
    }

    /// Counts the faults in a string that is not part of an event.
    fn check_string(&mut self, content: &[u8], offset: u64) {
        let mut faults = Faults::default();
        faults.add_string(content);
        self.note_faults(&faults, offset);
    }

    fn note_faults(&mut self, faults: &Faults, offset: u64) {
        for (oddity, count) in [
            (Oddity::NotJson, faults.is_broken.into()),
            (Oddity::Backslash, faults.escapes),
            (Oddity::ControlCharacter, faults.controls),
            (Oddity::InvalidUtf8, faults.not_utf8),
        ] {
            (0..count).for_each(|_| self.note(oddity, offset));
        }
    }

    fn trace_events(&mut self, cursor: &mut Cursor<'_>, window: Window<'_>) -> Result<(), Stop> {
        if cursor.eat(b'[')? {
            self.has_trace_events = true;
            self.state = State::Elements(After::Start);
            return Ok(());
        }
        if starts_event(cursor, window)? {
            self.count(Oddity::MissingBracket, 1, window.offset(cursor.position()?));
            self.has_trace_events = true;
            self.state = State::Elements(After::Start);
            return Ok(());
        }
        self.events_value = Some(match cursor.peek()? {
            b'{' => "an object".to_owned(),
            b'"' => "a text".to_owned(),
            b'n' => "null".to_owned(),
            _ => "a number".to_owned(),
        });
        self.skip();
        Ok(())
    }

    fn wanted(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        key: &[u8],
        offset: u64,
    ) -> Result<(), Stop> {
        let start = cursor.position()?;
        let value = cursor.value()?;
        if !matches!(cursor.peek()?, b',' | b'}') {
            return Err(Stop::Broken);
        }
        let bare_words = cursor.take_bare_words();
        let text = &window.text[start..cursor.position()?];
        let mut faults = sound::faults(text);
        if faults.is_broken && repair::contains_event(text) {
            // This member seems to contain events, so a string or list in it was not closed.
            return Err(Stop::Broken);
        }
        let events = repair::phases(text, text.len());
        faults.is_broken &= bare_words == 0;
        self.note_faults(&faults, offset);
        self.pass(events, offset);
        if !header::set(self.builder.header_mut(), key, value) {
            self.note(Oddity::WrongType, offset);
        }
        if bare_words > 0 {
            self.note(Oddity::BareWord, offset);
        }
        Ok(())
    }

    fn remember(&mut self, key: &[u8]) {
        if self.keys.len() < KEPT_KEYS && key.len() <= 40 {
            self.keys.push(String::from_utf8_lossy(key).into_owned());
        }
    }

    /// Skips one token of a member that is not needed.
    pub(super) fn skip_token(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        depth: u32,
    ) -> Result<(), Stop> {
        let start = cursor.position()?;
        let token = sound::token(window.text[start]);
        if token == Token::OpenObject
            && !self.skipped_is_sound
            && repair::starts_event(window.text, start).ok_or(Stop::Incomplete)?
        {
            // This member seems to contain events, so a string or list in it was not closed.
            return Err(Stop::Broken);
        }
        let depth = match token {
            Token::OpenObject | Token::OpenList => depth + 1,
            Token::CloseObject | Token::CloseList if depth > 0 => depth - 1,
            Token::Comma | Token::Colon if depth > 0 => depth,
            Token::CloseObject | Token::CloseList | Token::Comma | Token::Colon => {
                return Err(Stop::Broken);
            }
            Token::Text | Token::Scalar => {
                self.skip_value(cursor, window.offset(start))?;
                depth
            }
        };
        if depth > MAX_DEPTH {
            return Err(Stop::TooDeep);
        }
        if !matches!(token, Token::Text | Token::Scalar) {
            cursor.bump();
        }
        if self.skipped_is_sound && !self.skipped.allows(token) {
            self.skipped_is_sound = false;
            self.note(Oddity::NotJson, window.offset(start));
        }
        self.state = if depth == 0 { State::Members } else { State::Skipping { depth } };
        Ok(())
    }

    /// Skips a string, number or word. Fails at the key `traceEvents`, because this key inside a
    /// skipped value means that the value was not closed.
    fn skip_value(&mut self, cursor: &mut Cursor<'_>, offset: u64) -> Result<(), Stop> {
        let value = cursor.value()?;
        let next = cursor.peek()?;
        let is_events = value == Value::Text(b"traceEvents") && next == b':';
        if !matches!(next, b',' | b':' | b'}' | b']') || (is_events && !self.has_trace_events) {
            return Err(Stop::Broken);
        }
        let bare_words = cursor.take_bare_words();
        if value == Value::Text(b"ph") && next == b':' {
            self.pass(1, offset);
        }
        match value {
            Value::Text(content) => self.check_string(content, offset),
            Value::Scalar(word) if bare_words == 0 && !is_scalar(word) => {
                self.note(Oddity::NotJson, offset);
            }
            Value::Scalar(_) | Value::Null | Value::Absent | Value::Composite(_) => {}
        }
        if bare_words > 0 {
            self.note(Oddity::BareWord, offset);
        }
        Ok(())
    }
}

/// Whether the next value is an event, which means that the opening bracket of the event list is
/// missing.
fn starts_event(cursor: &Cursor<'_>, window: Window<'_>) -> Result<bool, Stop> {
    let value = window.text.get(cursor.position()?..).unwrap_or_default();
    match value {
        [b'{', ..] => repair::starts_event(value, 0).ok_or(Stop::Incomplete),
        _ => Ok(false),
    }
}
