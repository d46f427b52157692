//! Processes eight bytes of text at a time, as a number whose lowest byte is the first byte.

/// Number of bytes in a word.
pub(super) const WORD: usize = 8;

/// The word that starts at `at`, if the text has at least eight bytes from `at` on.
#[inline]
pub(super) fn at(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// A word in which all eight bytes are `byte`.
#[inline]
pub(super) const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; WORD])
}

/// Index of the first byte that contains a set bit.
#[inline]
pub(super) fn first(bits: u64) -> usize {
    (bits.trailing_zeros() / 8) as usize
}

/// The high bit of each byte that is not a digit. The lowest set bit is always correct, but higher
/// bits may be set by mistake.
#[inline]
pub(super) fn not_digits(word: u64) -> u64 {
    let digits = word ^ each(b'0');
    (digits.wrapping_add(each(0x80 - 10)) | digits) & each(0x80)
}

/// Number of digits at the beginning of a word.
#[inline]
pub(super) fn first_digits(word: u64) -> usize {
    first(not_digits(word))
}

/// The number that eight digits represent; `None` if any of the bytes is not a digit.
#[inline]
pub(super) fn number(word: u64) -> Option<u64> {
    (not_digits(word) == 0).then(|| value(word ^ each(b'0')))
}

/// The number that the first `count` bytes of a word represent; these bytes must be digits.
#[inline(always)]
pub(super) fn leading_number(word: u64, count: usize) -> u64 {
    let digits = word ^ each(b'0');
    value(digits.unbounded_shl(8 * (WORD - count) as u32))
}

/// The number that eight digits form. Each byte contains one digit from 0 to 9, and the lowest byte
/// contains the most significant digit.
#[inline]
fn value(digits: u64) -> u64 {
    // Combines adjacent digits into numbers of two, then four, then eight digits.
    let pairs = (digits * 10 + (digits >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_one_number() {
        for text in [b"00000000", b"12345678", b"99999999", b"00000001", b"90000000"] {
            let word = u64::from_le_bytes(*text);
            let expected = std::str::from_utf8(text).expect("digits").parse().ok();
            assert_eq!(number(word), expected);
            for count in 1..=WORD {
                let first = std::str::from_utf8(&text[..count]).expect("digits").parse().ok();
                assert_eq!(Some(leading_number(word, count)), first);
            }
            assert_eq!(leading_number(word, 0), 0);
        }
    }

    #[test]
    fn the_first_byte_that_is_not_a_digit_is_found() {
        for byte in 0..=u8::MAX {
            for place in 0..WORD {
                let mut text = *b"90817263";
                text[place] = byte;
                let word = u64::from_le_bytes(text);
                assert_eq!(number(word).is_some(), byte.is_ascii_digit());
                assert_eq!(not_digits(word) == 0, byte.is_ascii_digit());
                if !byte.is_ascii_digit() {
                    assert_eq!(first_digits(word), place);
                }
            }
        }
    }
}
