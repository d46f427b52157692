//! Decimal microseconds as text → whole nanoseconds, without a detour through a double.
//!
//! Start times of a profile have 16 digits before the point. A double has a grid of 0.25 µs there,
//! which is enough to tear the two copies of a collective apart.

use crate::trace::Nanos;

/// The time that `text` states in microseconds, rounded to a nanosecond.
///
/// Blanks and tabs around it are ignored (the Ascend profiler ends start times with a tab).
/// `None` where it is no finite decimal number or does not fit.
pub(crate) fn parse(text: &str) -> Option<Nanos> {
    let text = text.trim();
    if text.contains(['e', 'E']) {
        return parse_exponent(text);
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let nanos = whole_micros(whole)?.checked_mul(1_000)?.checked_add(nanos_of(fraction)?)?;
    Some(Nanos(if negative { -nanos } else { nanos }))
}

fn whole_micros(digits: &str) -> Option<i64> {
    match digits {
        "" => Some(0),
        _ if all_digits(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// The nanoseconds of the digits after the point; the fourth digit rounds.
fn nanos_of(digits: &str) -> Option<i64> {
    if !all_digits(digits) {
        return None;
    }
    let digit = |at: usize| digits.as_bytes().get(at).map_or(0, |byte| i64::from(byte - b'0'));
    let rounding = i64::from(digit(3) >= 5);
    Some(digit(0) * 100 + digit(1) * 10 + digit(2) + rounding)
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `1.5e-05`, as Python writes very small and very large numbers.
fn parse_exponent(text: &str) -> Option<Nanos> {
    // Beyond this a double no longer holds whole nanoseconds.
    const LARGEST: f64 = 9.0e15;
    let nanos = text.parse::<f64>().ok()? * 1e3;
    (nanos.abs() < LARGEST).then_some(Nanos(nanos.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_digits_stay_exact() {
        assert_eq!(parse("1742880000600735.500\t"), Some(Nanos(1_742_880_000_600_735_500)));
        assert_eq!(parse("1742880000600735.501"), Some(Nanos(1_742_880_000_600_735_501)));
    }

    #[test]
    fn decimals_signs_and_exponents_are_read() {
        assert_eq!(parse("82"), Some(Nanos(82_000)));
        assert_eq!(parse("-0.5"), Some(Nanos(-500)));
        assert_eq!(parse("+.25"), Some(Nanos(250)));
        assert_eq!(parse("7."), Some(Nanos(7_000)));
        assert_eq!(parse("0.0015"), Some(Nanos(2)));
        assert_eq!(parse("0.9999"), Some(Nanos(1_000)));
        assert_eq!(parse("1.5e-02"), Some(Nanos(15)));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "-", "N/A", "nan", "inf", "1e400", "1,5", "0x1f", "1.2.3", "--1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("9223372036854775807"), None);
    }
}
