//! Decimal microseconds as text → whole nanoseconds, without a detour through a double.
//!
//! Start times of a profile have 16 digits before the point. A double has a grid of 0.25 µs there,
//! which is enough to tear the two copies of a collective apart.

use crate::trace::{Nanos, nanos};

/// The time that `text` states in microseconds, rounded to a nanosecond.
///
/// Blanks and tabs around it are ignored (the Ascend profiler ends start times with a tab).
/// `None` where it is no decimal number or does not fit: the reader of traces takes the nearest time
/// that does, and a profile that holds such a number is refused.
pub(crate) fn parse(text: &str) -> Option<Nanos> {
    nanos(text.trim().as_bytes()).filter(|time| time.0.unsigned_abs() < i64::MAX.unsigned_abs())
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
