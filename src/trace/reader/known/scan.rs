//! Text without positions of its structure → where a string, number or list in it ends.

/// Bytes that are looked at at once: in short strings, and in long ones.
const WORD: usize = 8;
const CHUNK: usize = 32;

/// Position of the quote that closes the string whose content starts at `at`.
#[inline]
pub(super) fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += first_special(text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Position of the first quote or backslash.
#[inline]
fn first_special(text: &[u8]) -> Option<usize> {
    let head = text.len().min(CHUNK);
    if let Some(at) = first_special_in_words(&text[..head]) {
        return Some(at);
    }
    let (chunks, _) = text.as_chunks::<CHUNK>();
    let plain = chunks.iter().position(has_special).unwrap_or(chunks.len()) * CHUNK;
    let rest = text.get(plain..)?;
    Some(plain + first_special_in_words(&rest[..rest.len().min(CHUNK)])?)
}

fn has_special(chunk: &[u8; CHUNK]) -> bool {
    chunk.iter().fold(false, |found, &byte| found | is_special(byte))
}

#[inline]
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\')
}

#[inline]
fn first_special_in_words(text: &[u8]) -> Option<usize> {
    let (words, rest) = text.as_chunks::<WORD>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zero_bytes(word ^ each(b'"')) | zero_bytes(word ^ each(b'\\'));
        if found != 0 {
            return Some(number * WORD + (found.trailing_zeros() / 8) as usize);
        }
    }
    let at = rest.iter().position(|&byte| is_special(byte))?;
    Some(words.len() * WORD + at)
}

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; WORD])
}

/// The high bit of each byte that is 0; above the lowest of them others may be set as well.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(each(1)) & !word & each(0x80)
}

/// Position behind the number that starts at `start`: an optional sign, a digit, then digits and
/// points. `None` where there is none. Whether the number ends there, what follows must tell.
#[inline]
pub(super) fn number_end(text: &[u8], start: usize) -> Option<usize> {
    let digits = start + usize::from(*text.get(start)? == b'-');
    if !text.get(digits)?.is_ascii_digit() {
        return None;
    }
    let (words, rest) = text[digits..].as_chunks::<WORD>();
    for (number, word) in words.iter().enumerate() {
        let others = not_of_numbers(u64::from_le_bytes(*word));
        if others != 0 {
            return Some(digits + number * WORD + (others.trailing_zeros() / 8) as usize);
        }
    }
    let length = rest.iter().position(|&byte| !(byte.is_ascii_digit() || byte == b'.'))?;
    Some(digits + words.len() * WORD + length)
}

/// The high bit of each byte that is neither a digit nor a point; above the lowest of them others
/// may be missing.
#[inline]
fn not_of_numbers(word: u64) -> u64 {
    let digit = word ^ each(b'0');
    let not_digits = digit.wrapping_add(each(0x80 - 10)) | digit;
    let point = word ^ each(b'.');
    let not_points = ((point & each(0x7f)) + each(0x7f)) | point;
    not_digits & not_points & each(0x80)
}

/// Lists nest at most this deep here; the index is asked about others.
const MAX_DEPTH: usize = 64;

/// Position behind the list that starts at `start`, if it holds nothing but strings, plain numbers
/// and such lists.
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

/// Position of the first byte from `at` on that is no blank.
#[inline]
pub(in super::super) fn behind_blanks(text: &[u8], at: usize) -> Option<usize> {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
    Some(at + text.get(at..)?.iter().position(|byte| !is_blank(byte))?)
}

/// Whether two texts of the same length are the same. For the few bytes of a step that takes half
/// the time of a call of `memcmp`.
#[inline]
pub(super) fn is_same(a: &[u8], b: &[u8]) -> bool {
    match a.len() {
        32.. => is_same_in::<32>(a, b),
        16.. => is_same_in::<16>(a, b),
        8.. => is_same_in::<8>(a, b),
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

/// The same for texts of `PIECE` bytes and more. The last piece overlaps the one before it; what
/// differs mostly differs there.
#[inline]
fn is_same_in<const PIECE: usize>(a: &[u8], b: &[u8]) -> bool {
    let (pieces_a, _) = a.as_chunks::<PIECE>();
    let (pieces_b, _) = b.as_chunks::<PIECE>();
    a.last_chunk::<PIECE>() == b.last_chunk::<PIECE>()
        && pieces_a.iter().zip(pieces_b).all(|(a, b)| a == b)
}
