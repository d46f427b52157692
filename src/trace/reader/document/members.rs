//! Tokens of the top-level object → members of the header, and the place where the events begin.

use super::super::block::Window;
use super::super::cursor::{Cursor, Stop};
use super::super::header;
use super::super::oddity::Oddity;
use super::{After, Document, State};

/// Containers that are stepped over nest at most this deep.
const MAX_DEPTH: u32 = 512;

/// How many keys of the document are remembered, to say what it is if it is no trace.
const KEPT_KEYS: usize = 8;

impl Document {
    /// Reads one member of the top-level object, a comma, or its end.
    pub(super) fn member(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
    ) -> Result<(), Stop> {
        match cursor.peek()? {
            b',' => cursor.bump(),
            b'}' => {
                cursor.bump();
                self.state = State::Done;
            }
            _ => {
                let start = cursor.position()?;
                let key = cursor.key()?;
                cursor.peek()?;
                match key {
                    b"traceEvents" => self.trace_events(cursor)?,
                    _ if header::is_wanted(key) => {
                        self.wanted(cursor, key, window.offset(start))?
                    }
                    _ => self.state = State::Skipping { depth: 0 },
                }
                self.remember(key);
            }
        }
        Ok(())
    }

    fn trace_events(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Stop> {
        if cursor.eat(b'[')? {
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
        self.state = State::Skipping { depth: 0 };
        Ok(())
    }

    fn wanted(&mut self, cursor: &mut Cursor<'_>, key: &[u8], offset: u64) -> Result<(), Stop> {
        let value = cursor.value()?;
        if !matches!(cursor.peek()?, b',' | b'}') {
            return Err(Stop::Broken);
        }
        let bare_words = cursor.take_bare_words();
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

    /// Steps over one token of a member that nobody wants.
    pub(super) fn skip_token(
        &mut self,
        cursor: &mut Cursor<'_>,
        window: Window<'_>,
        depth: u32,
    ) -> Result<(), Stop> {
        let depth = match cursor.peek()? {
            b'{' | b'[' => {
                cursor.bump();
                depth + 1
            }
            b'}' | b']' if depth == 0 => return Err(Stop::Broken),
            b'}' | b']' => {
                cursor.bump();
                depth - 1
            }
            b',' | b':' if depth > 0 => {
                cursor.bump();
                depth
            }
            _ => {
                let start = cursor.position()?;
                cursor.value()?;
                if !matches!(cursor.peek()?, b',' | b':' | b'}' | b']') {
                    return Err(Stop::Broken);
                }
                if cursor.take_bare_words() > 0 {
                    self.note(Oddity::BareWord, window.offset(start));
                }
                depth
            }
        };
        if depth > MAX_DEPTH {
            return Err(Stop::TooDeep);
        }
        self.state = if depth == 0 { State::Members } else { State::Skipping { depth } };
        Ok(())
    }
}
