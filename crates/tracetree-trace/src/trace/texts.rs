//! Interns the strings of a trace (names, argument lists, stacks): stores each distinct string once
//! and numbers the strings from 0.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Id of an interned string of one trace. Ids are consecutive numbers from 0; id 0 is the empty
/// string. Ids from different traces cannot be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TextId(pub(crate) u32);

impl TextId {
    /// The empty string.
    pub const EMPTY: TextId = TextId(0);

    /// The id as an index, for tables with one entry for each string of the trace.
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The strings of one trace, each stored once in one buffer.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Texts {
    buffer: String,
    ends: Vec<u32>,
    ids: HashTable<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Texts { buffer: String::new(), ends: vec![0], ids: HashTable::new() }
    }
}

impl Texts {
    /// Returns the id of `text` and stores the string if it is new.
    pub(crate) fn intern(&mut self, text: &str) -> TextId {
        if text.is_empty() {
            return TextId::EMPTY;
        }
        let hash = hash_bytes(text.as_bytes());
        match self.find(hash, text.as_bytes()) {
            Some(id) => id,
            None => self.insert(hash, text),
        }
    }

    /// The id of the string that consists of these bytes, if that string is stored. `hash` is
    /// [`hash_bytes`] of `text`.
    pub(crate) fn find(&self, hash: u64, text: &[u8]) -> Option<TextId> {
        let (buffer, ends) = (&self.buffer, &self.ends);
        self.ids.find(hash, |&id| slice(buffer, ends, id).as_bytes() == text).map(|&id| TextId(id))
    }

    /// Stores a string that [`Texts::find`] did not find.
    pub(crate) fn insert(&mut self, hash: u64, text: &str) -> TextId {
        let id = u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct strings");
        self.buffer.push_str(text);
        self.ends.push(u32::try_from(self.buffer.len()).expect("distinct strings below 4 GiB"));
        let (buffer, ends) = (&self.buffer, &self.ends);
        self.ids.insert_unique(hash, id, |&id| hash_bytes(slice(buffer, ends, id).as_bytes()));
        TextId(id)
    }

    /// Total size of all distinct strings, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// The string with this id.
    ///
    /// # Panics
    /// Panics if the id comes from a different trace and is out of range for this trace.
    #[inline]
    pub fn get(&self, id: TextId) -> &str {
        slice(&self.buffer, &self.ends, id.0)
    }

    /// Number of distinct strings, including the empty string.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the empty string is the only string.
    pub fn is_empty(&self) -> bool {
        self.ends.len() == 1
    }
}

/// The hash that [`Texts::find`] and [`Texts::insert`] expect for a string.
pub(crate) fn hash_bytes(text: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(text);
    hasher.finish()
}

#[inline]
fn slice<'a>(buffer: &'a str, ends: &[u32], id: u32) -> &'a str {
    let start = id.checked_sub(1).map_or(0, |before| ends[before as usize]);
    &buffer[start as usize..ends[id as usize] as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_stored_once() {
        let mut texts = Texts::default();
        let a = texts.intern("aten::add");
        let b = texts.intern("aten::mul");
        assert_eq!(texts.intern("aten::add"), a);
        assert_ne!(a, b);
        assert_eq!((texts.get(a), texts.get(b)), ("aten::add", "aten::mul"));
        assert_eq!(texts.intern(""), TextId::EMPTY);
        assert_eq!(texts.len(), 3);
    }
}
