//! Parses the decimal numbers in a trace into exact integers: times in nanoseconds, ids, sizes.
//!
//! No value is converted to a double. If `ts` values were doubles, one in 200 values beyond 2^42 µs
//! would be off by a nanosecond, and a single nanosecond can break the strict nesting of calls.

use super::words::{self, WORD};
use crate::trace::time::Nanos;

/// One microsecond is 10^`NANO_DIGITS` nanoseconds.
const NANO_DIGITS: i64 = 3;

/// Powers of ten, indexed by exponent. The largest exponent is [`WORD`], the maximum number of
/// digits in a word.
const POWERS: [u64; WORD + 1] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Parses a decimal number of microseconds into whole nanoseconds.
///
/// The number is rounded to three decimal places (half away from zero) and may have an exponent. A
/// value that does not fit into 64 bits saturates. Returns `None` if the text is not a number
/// (`NaN`, `inf`, `N/A`).
pub fn nanos(text: &[u8]) -> Option<Nanos> {
    plain_nanos(text).or_else(|| scaled(text, NANO_DIGITS)).map(Nanos)
}

/// Parses the microseconds that start at `start` in the text; also returns the position after the
/// number. The returned time equals the result of [`nanos`]. Returns `None` if the number is not in
/// the common form (at most 18 digits, then at most three decimals), or if JSON does not allow the
/// number.
#[inline]
pub(super) fn nanos_at(text: &[u8], start: usize) -> Option<(Nanos, usize)> {
    let mut whole = 0;
    let mut end = start;
    let count = loop {
        let word = words::at(text, end)?;
        let count = words::first_digits(word);
        if end + count > start + 18 {
            return None;
        }
        whole = whole * POWERS[count] + words::leading_number(word, count);
        end += count;
        if count < WORD {
            break end - start;
        }
    };
    if count == 0 || (count > 1 && text[start] == b'0') {
        return None;
    }
    let mut fraction = 0;
    if text[end] == b'.' {
        let word = words::at(text, end + 1)?;
        let count = words::first_digits(word);
        if !(1..=3).contains(&count) {
            return None;
        }
        fraction = words::leading_number(word, count) * POWERS[3 - count];
        end += 1 + count;
    }
    let nanos = whole.cast_signed().checked_mul(1_000)?.checked_add(fraction.cast_signed())?;
    Some((Nanos(nanos), end))
}

/// Parses the common form, `digits[.d[d[d]]]` with at most 18 digits before the point.
#[inline]
fn plain_nanos(text: &[u8]) -> Option<i64> {
    let (whole, fraction) = match text {
        [whole @ .., b'.', a, b, c] => (whole, digit(a)? * 100 + digit(b)? * 10 + digit(c)?),
        [whole @ .., b'.', a, b] => (whole, digit(a)? * 100 + digit(b)? * 10),
        [whole @ .., b'.', a] => (whole, digit(a)? * 100),
        whole => (whole, 0),
    };
    digits(whole)?.checked_mul(1_000)?.checked_add(fraction)
}

/// Parses up to 18 digits.
#[inline]
fn digits(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 18 {
        return None;
    }
    let (words, rest) = text.as_chunks();
    let mut value = 0;
    for word in words {
        value = value * 100_000_000 + words::number(u64::from_le_bytes(*word))?.cast_signed();
    }
    for byte in rest {
        value = value * 10 + digit(byte)?;
    }
    Some(value)
}

#[inline]
fn digit(byte: &u8) -> Option<i64> {
    let value = byte.wrapping_sub(b'0');
    (value < 10).then_some(i64::from(value))
}

/// Parses any JSON number as an id; the number may be in quotes. A number that fits only into a
/// `u64` is reinterpreted as an `i64`: 18446744073709551615 becomes -1, the value that Kineto
/// meant. Returns `None` if the number is not whole.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    if let Some(value) = short_integer(text) {
        return Some(value);
    }
    let text = std::str::from_utf8(text).ok()?.trim();
    if let Ok(value) = text.parse::<i64>() {
        return Some(value);
    }
    if let Ok(value) = text.parse::<u64>() {
        return Some(value.cast_signed());
    }
    let whole = scaled(text.as_bytes(), 0)?;
    (scaled(text.as_bytes(), 1)? == whole.saturating_mul(10)).then_some(whole)
}

/// Parses up to 18 digits with an optional minus sign.
#[inline]
fn short_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let value = self::digits(digits)?;
    Some(if negative { -value } else { value })
}

/// Parses a size or count. Returns `None` if the number is negative or not whole.
pub(super) fn unsigned(text: &[u8]) -> Option<u64> {
    match short_integer(text) {
        Some(value) => u64::try_from(value).ok(),
        None => std::str::from_utf8(text).ok()?.trim().parse().ok(),
    }
}

/// Parses an id that may be hexadecimal (`0x1f`), such as a flow arrow's id, or a stream's id on
/// ROCm 6.
pub(super) fn id(text: &[u8]) -> Option<i64> {
    match text.strip_prefix(b"0x") {
        Some(hex) => {
            let hex = std::str::from_utf8(hex).ok()?;
            u64::from_str_radix(hex, 16).ok().map(u64::cast_signed)
        }
        None => integer(text),
    }
}

/// The number at the end of a string such as `stream 7`.
pub(super) fn trailing_integer(text: &str) -> Option<i64> {
    let text = text.trim_end();
    let start = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    text[start..].parse().ok()
}

/// Computes a decimal number times 10^`places`, rounded half away from zero. Values that do not fit
/// into the type saturate.
fn scaled(text: &[u8], places: i64) -> Option<i64> {
    let (negative, text) = match text.trim_ascii() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        text => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], exponent(&text[at + 1..])?),
        None => (text, 0),
    };
    let (whole, fraction) = match mantissa.iter().position(|&b| b == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &mantissa[..0]),
    };
    let digits = || whole.iter().chain(fraction);
    if digits().count() == 0 || !digits().all(u8::is_ascii_digit) {
        return None;
    }
    let kept = i64::try_from(whole.len()).ok()?.saturating_add(exponent).saturating_add(places);
    let magnitude = leading_digits(digits(), kept);
    Some(if negative { -magnitude } else { magnitude })
}

/// The first `kept` digits as a number (missing digits count as 0), rounded up if the next digit is
/// at least 5.
fn leading_digits<'a>(digits: impl Iterator<Item = &'a u8>, kept: i64) -> i64 {
    let mut value = 0i64;
    let mut taken = 0i64;
    for &byte in digits {
        if taken == kept {
            let up = i64::from(byte >= b'5');
            return value.saturating_add(up);
        }
        if taken > kept {
            return 0;
        }
        value = value.saturating_mul(10).saturating_add(i64::from(byte - b'0'));
        taken += 1;
    }
    while taken < kept && value != 0 && value != i64::MAX {
        value = value.saturating_mul(10);
        taken += 1;
    }
    value
}

/// Parses the exponent that follows `e`. The magnitude of the exponent is limited to a million,
/// because no meaningful number has a larger exponent.
fn exponent(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    let digits = text.trim_start_matches(['+', '-']);
    if digits.is_empty()
        || text.len() - digits.len() > 1
        || !digits.bytes().all(|b| b.is_ascii_digit())
    {
        return None;
    }
    let value = digits.parse::<i64>().unwrap_or(i64::MAX).min(1_000_000);
    Some(if text.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_digit() {
        let cases: [(&str, i64); 14] = [
            ("0", 0),
            ("1.5", 1_500),
            ("4350725992784.785", 4_350_725_992_784_785),
            ("1704161511420306.491", 1_704_161_511_420_306_491),
            ("12.77012757357446", 12_770),
            ("0.0005", 1),
            ("-0.0015", -2),
            ("1e3", 1_000_000),
            ("1.2345e1", 12_345),
            ("12345e-4", 1_235),
            ("1e400", i64::MAX),
            ("999999999999999999", i64::MAX),
            ("9999999999999999999.5", i64::MAX),
            ("-99999999999999999999", -i64::MAX),
        ];
        for (text, expected) in cases {
            assert_eq!(nanos(text.as_bytes()), Some(Nanos(expected)), "{text}");
        }
    }

    #[test]
    fn times_in_a_text_are_those_of_their_own() {
        for time in ["0", "7", "1.5", "0.04", "1661203462870551", "4350725992784.785", "12345678.9"]
        {
            let text = format!("{time},\n      ");
            let expected = nanos(time.as_bytes()).map(|nanos| (nanos, time.len()));
            assert_eq!(nanos_at(text.as_bytes(), 0), expected, "{time}");
        }
        for other in ["", "-1", "020", "20.", "1.2345", "9999999999999999999", "999999999999999999"]
        {
            assert_eq!(nanos_at(format!("{other},\n      ").as_bytes(), 0), None, "{other}");
        }
        assert_eq!(nanos_at(b"1.5", 0), None);
    }

    #[test]
    fn an_invalid_number_is_none() {
        for text in
            ["", "NaN", "inf", "-Infinity", "N/A", "1.", "1..2", "1e", "0x10", "--1", "1e--2"]
        {
            let value = nanos(text.as_bytes());
            assert!(value.is_none() || text == "1.", "{text} gave {value:?}");
        }
    }

    #[test]
    fn ids_beyond_i64_keep_their_bits() {
        assert_eq!(integer(b"18446744073709551615"), Some(-1));
        assert_eq!(
            integer(b"10159970886766084423"),
            Some(10_159_970_886_766_084_423u64.cast_signed())
        );
        assert_eq!(integer(b"-7"), Some(-7));
        assert_eq!(integer(b"7.0"), Some(7));
        assert_eq!(integer(b"7.5"), None);
        assert_eq!(integer(b"seven"), None);
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"-1"), None);
    }

    #[test]
    fn ids_of_arrows_may_be_hexadecimal() {
        assert_eq!(id(b"0x1f"), Some(31));
        assert_eq!(id(b"31"), Some(31));
    }

    #[test]
    fn a_stream_is_the_number_at_the_end() {
        assert_eq!(trailing_integer("stream 7"), Some(7));
        assert_eq!(trailing_integer("7"), Some(7));
        assert_eq!(trailing_integer("stream"), None);
        assert_eq!(trailing_integer("stream\u{fffd}3"), Some(3));
    }
}
