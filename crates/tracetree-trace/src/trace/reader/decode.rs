//! Decodes the raw bytes between two quotes into text: resolves escapes and repairs damage. This
//! module marks only damage that affects the meaning of a string; JSON violations are counted in
//! `sound.rs`, in the same way for all strings.
//!
//! Profilers on Windows wrote paths without escaping their backslashes: `torch\cuda\__init__.py` is
//! not JSON, and `C:\new\temp.py` is JSON with a different meaning. All backslashes in a string are
//! therefore read literally in two cases: if the string contains an escape that JSON does not
//! define, and if the string is the name of a Python frame and appears to contain a Windows path.

use std::borrow::Cow;

/// The damage that was repaired in a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Marks {
    pub(super) backslash: bool,
    pub(super) lone_surrogate: bool,
}

impl Marks {
    /// Adds the damage found in a second string.
    pub(super) fn merge(&mut self, other: Marks) {
        self.backslash |= other.backslash;
        self.lone_surrogate |= other.lone_surrogate;
    }

    pub(super) fn is_empty(self) -> bool {
        self == Marks::default()
    }
}

/// Whether the bytes need no decoding, because they are printable ASCII without backslashes.
#[inline]
pub(super) fn is_plain(raw: &[u8]) -> bool {
    raw.iter().fold(true, |plain, &b| plain & matches!(b, 0x20..0x7f) & (b != b'\\'))
}

/// Decodes the string between two quotes in an event of any kind.
pub(super) fn text(raw: &[u8]) -> (String, Marks) {
    decoded(raw, has_unknown_escape(raw))
}

/// Decodes the name of a Python frame, which contains a file path.
pub(super) fn frame_name(raw: &[u8]) -> (String, Marks) {
    if has_unknown_escape(raw) || !is_windows_path(raw) {
        return text(raw);
    }
    let (text, marks) = decoded(raw, true);
    (text, Marks { backslash: true, ..marks })
}

fn decoded(raw: &[u8], literal_backslashes: bool) -> (String, Marks) {
    let mut marks = Marks::default();
    let mut out = Vec::with_capacity(raw.len());
    if literal_backslashes {
        copy_literally(raw, &mut out);
    } else {
        unescape(raw, &mut out, &mut marks);
    }
    (into_utf8(out), marks)
}

/// Decodes a key. Like other strings, a key may contain escapes (`"n\u0061me"`).
#[inline]
pub(super) fn key(raw: &[u8]) -> Cow<'_, [u8]> {
    if raw.contains(&b'\\') { Cow::Owned(text(raw).0.into_bytes()) } else { Cow::Borrowed(raw) }
}

/// Converts bytes to text; bytes that are not UTF-8 become U+FFFD.
pub(super) fn into_utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Copies text and keeps all backslashes except those in `\"`. These must be escapes, because the
/// string would otherwise end there.
fn copy_literally(raw: &[u8], out: &mut Vec<u8>) {
    for (at, &byte) in raw.iter().enumerate() {
        if byte == b'\\' && raw.get(at + 1) == Some(&b'"') {
            continue;
        }
        out.push(byte);
    }
}

fn unescape(raw: &[u8], out: &mut Vec<u8>, marks: &mut Marks) {
    let mut rest = raw;
    while let Some(at) = rest.iter().position(|&b| b == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let escape = &rest[at + 1..];
        let used = match escape.first() {
            Some(b'u') => unescape_unicode(escape, out, marks),
            Some(&byte) => {
                out.push(simple_escape(byte).unwrap_or(byte));
                1
            }
            None => 0,
        };
        rest = &escape[used..];
    }
    out.extend_from_slice(rest);
}

/// Decodes `u0041` or a surrogate pair `ud83d\ude00`; returns the number of bytes used.
fn unescape_unicode(escape: &[u8], out: &mut Vec<u8>, marks: &mut Marks) -> usize {
    let Some(first) = hex4(escape.get(1..5)) else {
        return 1;
    };
    let (code, used) = match (first, escape.get(5..7), hex4(escape.get(7..11))) {
        (0xd800..0xdc00, Some(b"\\u"), Some(second @ 0xdc00..0xe000)) => {
            (0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 11)
        }
        _ => (first, 5),
    };
    let character = char::from_u32(code).unwrap_or_else(|| {
        marks.lone_surrogate = true;
        char::REPLACEMENT_CHARACTER
    });
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    used
}

fn hex4(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |value, &b| Some(value * 16 + char::from(b).to_digit(16)?))
}

fn simple_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// Whether a backslash is followed by a character that is not a JSON escape, or by the end of the
/// text.
pub(super) fn has_unknown_escape(raw: &[u8]) -> bool {
    escapes(raw).any(|escape| match escape.first() {
        Some(b'u') => hex4(escape.get(1..5)).is_none(),
        Some(&byte) => simple_escape(byte).is_none(),
        None => true,
    })
}

/// Whether the backslashes in a frame name are probably path separators although they form valid
/// escapes, as in `C:\new\temp.py(7): f` and `torch\nn\modules.py(7): f`. A path with an escaped
/// quote or an escaped backslash is not a Windows path. A path with a blank must begin with a drive
/// letter.
fn is_windows_path(raw: &[u8]) -> bool {
    let Some(end) = find(raw, b".py(") else {
        return false;
    };
    let path = &raw[..end];
    let escaped_well = path.windows(2).any(|w| w == b"\\\\" || w == b"\\\"");
    let control =
        escapes(path).any(|e| matches!(e.first(), Some(b'b' | b'f' | b'n' | b'r' | b't')));
    let drive = matches!(path, [letter, b':', b'\\', ..] if letter.is_ascii_alphabetic());
    control && !escaped_well && (drive || !path.contains(&b' '))
}

/// The text after each backslash that is not itself escaped.
fn escapes(raw: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = raw;
    std::iter::from_fn(move || {
        let at = rest.iter().position(|&b| b == b'\\')?;
        let escape = &rest[at + 1..];
        rest = escape.get(1..).unwrap_or_default();
        Some(escape)
    })
}

/// Position of the quote that closes the string whose content starts at `start`, even if the string
/// is damaged. If no quote closes the string, returns the end of the text.
pub(super) fn string_end(text: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    text.len()
}

/// All positions of `needle` in a byte string.
pub(super) fn finds<'a>(text: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    text.windows(needle.len())
        .enumerate()
        .filter(move |(_, window)| *window == needle)
        .map(|(at, _)| at)
}

/// The first position of `needle` in a byte string.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_json_are_resolved() {
        let raw = br#"a\"b\\c\/\n\u0041\ud83d\ude00"#;
        assert_eq!(text(raw), ("a\"b\\c/\nA😀".to_owned(), Marks::default()));
    }

    #[test]
    fn an_unknown_escape_makes_all_backslashes_literal() {
        let raw = br"torch\nn\cuda\__init__.py(219): _lazy_init";
        assert_eq!(
            text(raw),
            (r"torch\nn\cuda\__init__.py(219): _lazy_init".to_owned(), Marks::default())
        );
        let users = br"C:\users\me";
        assert_eq!(text(users).0, r"C:\users\me");
    }

    #[test]
    fn a_path_in_a_frame_keeps_its_backslashes() {
        let raw = br"C:\new\temp\bench.py(7): train";
        assert_eq!(
            frame_name(raw),
            (
                r"C:\new\temp\bench.py(7): train".to_owned(),
                Marks { backslash: true, lone_surrogate: false }
            )
        );
        let escaped = br"C:\\new\\temp\\bench.py(7): train";
        assert_eq!(
            frame_name(escaped),
            (r"C:\new\temp\bench.py(7): train".to_owned(), Marks::default())
        );
        let source = br"def f():\n  return 1";
        assert_eq!(frame_name(source).0, "def f():\n  return 1");
    }

    #[test]
    fn control_characters_stay_and_bad_utf8_is_replaced() {
        assert_eq!(text(b"a\x01\nb"), ("a\x01\nb".to_owned(), Marks::default()));
        assert_eq!(text(b"vgg\xff"), ("vgg\u{fffd}".to_owned(), Marks::default()));
        let half = Marks { backslash: false, lone_surrogate: true };
        assert_eq!(text(br"\ud800x"), ("\u{fffd}x".to_owned(), half));
    }

    #[test]
    fn text_that_is_not_ascii_is_not_damage() {
        assert_eq!(text("grüße".as_bytes()), ("grüße".to_owned(), Marks::default()));
        assert!(!is_plain("grüße".as_bytes()) && is_plain(b"aten::add") && !is_plain(b"a\\b"));
    }
}
