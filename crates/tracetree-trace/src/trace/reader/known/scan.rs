//! Finds the end of a string, number or list by scanning the text, without using an index.

use super::super::words::{self, WORD, each};

/// Number of bytes of a long string that are examined at a time; short strings are examined word by
/// word.
const CHUNK: usize = 32;

/// Position of the closing quote of the string whose content starts at `at`. Returns `None` if the
/// string is not valid JSON. A valid string is UTF-8, has no byte below 0x20, and has only escapes
/// that JSON defines.
#[inline]
pub(in super::super) fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += first_special(text.get(at..)?)?;
        at = match text[at] {
            b'"' => return Some(at),
            b'\\' => behind_escape(text, at)?,
            0x80.. => behind_characters(text, at)?,
            _ => return None,
        };
    }
}

/// Position after the escape sequence that starts at `at`. Returns `None` if JSON does not define
/// the escape.
fn behind_escape(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => {
            let digits = text.get(at + 2..at + 6)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 6)
        }
        _ => None,
    }
}

/// Position after the non-ASCII characters that start at `at`. Returns `None` if these characters
/// are not valid UTF-8.
fn behind_characters(text: &[u8], at: usize) -> Option<usize> {
    let length = text[at..].iter().position(u8::is_ascii)?;
    std::str::from_utf8(&text[at..at + length]).ok().map(|_| at + length)
}

/// Position of the first special byte: a quote, a backslash, a byte below 0x20, or a non-ASCII
/// byte.
#[inline]
fn first_special(text: &[u8]) -> Option<usize> {
    let head = text.len().min(CHUNK);
    if let Some(at) = first_special_in_words(&text[..head]) {
        return Some(at);
    }
    let text = &text[head..];
    let (chunks, _) = text.as_chunks::<CHUNK>();
    let plain = chunks.iter().position(has_special).unwrap_or(chunks.len()) * CHUNK;
    let rest = &text[plain..];
    Some(head + plain + first_special_in_words(&rest[..rest.len().min(CHUNK)])?)
}

fn has_special(chunk: &[u8; CHUNK]) -> bool {
    // The fold uses bytes instead of `bool`s, so the compiler can vectorize it.
    chunk.iter().fold(0, |found, &byte| found | u8::from(is_special(byte))) != 0
}

#[inline]
fn is_special(byte: u8) -> bool {
    // As signed numbers, non-ASCII bytes are negative, so the last comparison also finds them.
    (byte == b'"') | (byte == b'\\') | (byte.cast_signed() < 0x20)
}

#[inline]
fn first_special_in_words(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<WORD>();
    for (number, word) in words.iter().enumerate() {
        let found = special_bytes(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(number * WORD + words::first(found));
        }
    }
    let at = rest.iter().position(|&byte| is_special(byte))?;
    Some(words.len() * WORD + at)
}

/// The high bit of each special byte in a word; bits above the lowest special byte may be set by
/// mistake.
#[inline]
fn special_bytes(word: u64) -> u64 {
    let quotes = (word ^ each(b'"')).wrapping_sub(each(1));
    let backslashes = (word ^ each(b'\\')).wrapping_sub(each(1));
    let controls = word.wrapping_sub(each(0x20));
    (quotes | backslashes | controls | word) & each(0x80)
}

/// Position after the number that starts at `start`: an optional sign, digits, and optionally a
/// decimal point with more digits. Returns `None` if the text has no number at that position, or a
/// number that JSON does not allow (`020`, `20.`). The caller must check the next byte to determine
/// whether the number ends at this position.
#[inline]
pub(super) fn number_end(text: &[u8], start: usize) -> Option<usize> {
    short_number_end(text, start).or_else(|| any_number_end(text, start))
}

/// The fast path, for whole numbers without a sign that are shorter than a word (eight bytes). Most
/// numbers have this form.
#[inline]
fn short_number_end(text: &[u8], start: usize) -> Option<usize> {
    let word = words::at(text, start)?;
    let count = words::first_digits(word);
    let [first, ..] = word.to_le_bytes();
    let behind = word.unbounded_shr(8 * count as u32) as u8;
    let is_whole = count > 0 && count < WORD && behind != b'.';
    (is_whole && (first != b'0' || count == 1)).then_some(start + count)
}

#[inline(never)]
fn any_number_end(text: &[u8], start: usize) -> Option<usize> {
    let mut whole = start;
    let mut end = digits_end(text, whole)?;
    if end == start {
        whole += usize::from(text[start] == b'-');
        end = digits_end(text, whole)?;
    }
    if end == whole || (text[whole] == b'0' && end > whole + 1) {
        return None;
    }
    if text[end] != b'.' {
        return Some(end);
    }
    let fraction = end + 1;
    digits_end(text, fraction).filter(|&end| end > fraction)
}

/// Position of the first byte at or after `at` that is not a digit.
#[inline]
fn digits_end(text: &[u8], mut at: usize) -> Option<usize> {
    while let Some(word) = words::at(text, at) {
        let others = words::not_digits(word);
        if others != 0 {
            return Some(at + words::first(others));
        }
        at += WORD;
    }
    last_digits_end(text, at)
}

/// The slow path, for the end of the text, where fewer than eight bytes remain.
#[cold]
fn last_digits_end(text: &[u8], at: usize) -> Option<usize> {
    Some(at + text.get(at..)?.iter().position(|byte| !byte.is_ascii_digit())?)
}

/// Maximum nesting depth of plain lists; deeper lists are read with the index.
const MAX_DEPTH: usize = 64;

/// Position after the list that starts at `start`. Returns `None` if the list is not plain. A plain
/// list contains only strings, plain numbers and plain lists.
pub(super) fn list_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut depth = 0;
    loop {
        at = behind_blanks(text, at)?;
        at = match text[at] {
            b'[' if depth < MAX_DEPTH => {
                depth += 1;
                let first = behind_blanks(text, at + 1)?;
                if text[first] != b']' {
                    at = first;
                    continue;
                }
                first
            }
            _ if depth == 0 => return None,
            b'"' => string_end(text, at + 1)? + 1,
            _ => number_end(text, at)?,
        };
        loop {
            at = behind_blanks(text, at)? + 1;
            match text[at - 1] {
                b',' => break,
                b']' if depth == 1 => return Some(at),
                b']' => depth -= 1,
                _ => return None,
            }
        }
    }
}

/// Position of the first non-blank byte at or after `at`.
#[inline]
pub(in super::super) fn behind_blanks(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at = match *text.get(at)? {
            b' ' => behind_spaces(text, at + 1),
            b'\n' | b'\r' | b'\t' => at + 1,
            _ => return Some(at),
        };
    }
}

/// Position after the spaces that start at `at`, counting at most seven spaces. Lines may be
/// indented by many spaces, so the spaces are tested one word (eight bytes) at a time.
#[inline]
fn behind_spaces(text: &[u8], at: usize) -> usize {
    let Some(word) = words::at(text, at) else { return at };
    // The highest bit is always set, so at most seven spaces are counted. If all bytes of the word
    // are spaces, the caller examines the last byte again.
    at + words::first((word ^ words::each(b' ')) | 1 << 63)
}
