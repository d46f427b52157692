//! Interns the raw bytes of names as strings.
//!
//! In most cases, the raw bytes are already the decoded string, so they are looked up directly. Raw
//! bytes with escapes, damage, or non-ASCII characters are decoded only the first time. For each
//! raw form, a table of aliases contains the decoded string and the damage that was found. A
//! repeated string therefore needs only one lookup, and its damage is still counted every time.

use super::decode::{self, Marks};
use crate::trace::texts::{TextId, Texts, hash_bytes};
use rustc_hash::FxHashMap;

/// How raw bytes are converted to a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The raw bytes are the content of any other JSON string.
    Text,
    /// The raw bytes are the content of a JSON string that names a Python frame.
    Frame,
}

/// The strings of the trace that is being read, and the raw forms of strings that had to be
/// decoded.
#[derive(Debug, Default)]
pub(super) struct Strings {
    texts: Texts,
    /// The aliases of each [`Form`].
    aliases: [Aliases; 2],
    /// Total size of all raw forms, in bytes.
    raw_bytes: usize,
}

/// For each raw form, the decoded string and the damage in it.
type Aliases = FxHashMap<Box<[u8]>, (TextId, Marks)>;

impl Strings {
    /// The id of the string that `raw` represents, and the damage in that string.
    pub(super) fn intern(&mut self, raw: &[u8], form: Form) -> (TextId, Marks) {
        if decode::is_plain(raw) {
            (self.intern_plain(raw), Marks::default())
        } else {
            self.intern_alias(raw, form)
        }
    }

    /// The id of a string that was already decoded.
    pub(super) fn add(&mut self, text: &str) -> TextId {
        self.texts.intern(text)
    }

    pub(super) fn get(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// Total size of all distinct strings and raw forms, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.texts.bytes() + self.raw_bytes
    }

    /// Returns the strings without their raw forms, once the whole trace is read.
    pub(super) fn into_texts(self) -> Texts {
        self.texts
    }

    fn intern_plain(&mut self, raw: &[u8]) -> TextId {
        if raw.is_empty() {
            return TextId::EMPTY;
        }
        let hash = hash_bytes(raw);
        match self.texts.find(hash, raw) {
            Some(id) => id,
            None => {
                self.texts.insert(hash, std::str::from_utf8(raw).expect("plain bytes are ASCII"))
            }
        }
    }

    fn intern_alias(&mut self, raw: &[u8], form: Form) -> (TextId, Marks) {
        let aliases = &mut self.aliases[form as usize];
        if let Some(&known) = aliases.get(raw) {
            return known;
        }
        let (text, marks) = match form {
            Form::Text => decode::text(raw),
            Form::Frame => decode::frame_name(raw),
        };
        let new = (self.texts.intern(&text), marks);
        aliases.insert(raw.into(), new);
        self.raw_bytes += raw.len();
        new
    }
}

/// Whether two byte slices are identical.
///
/// An empty slice may have a dangling pointer. Comparing zero bytes at a dangling pointer takes a
/// hundred nanoseconds if the system's `memcmp` uses masked loads (AVX-512), because microcode must
/// suppress the page fault.
#[inline]
pub(super) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_raw_forms_of_one_text_share_its_id() {
        let mut strings = Strings::default();
        let (plain, _) = strings.intern(b"a/b", Form::Text);
        assert_eq!(strings.intern(br"a\/b", Form::Text), (plain, Marks::default()));
        assert_eq!(strings.intern(br"\u0061/b", Form::Text).0, plain);
    }

    #[test]
    fn raw_bytes_are_not_confused_with_a_text_that_looks_like_them() {
        let mut strings = Strings::default();
        let (literal, _) = strings.intern(br"a\\nb", Form::Text);
        let (escape, _) = strings.intern(br"a\nb", Form::Text);
        assert_eq!((strings.get(literal), strings.get(escape)), ("a\\nb", "a\nb"));
    }

    #[test]
    fn damage_is_reported_every_time() {
        let mut strings = Strings::default();
        let first = strings.intern(br"a\ud800", Form::Text);
        assert!(!first.1.is_empty());
        assert_eq!(strings.intern(br"a\ud800", Form::Text), first);
    }
}
