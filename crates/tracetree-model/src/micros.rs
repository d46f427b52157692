//! Parses decimal microseconds as whole nanoseconds, without floating-point rounding.
//!
//! Start times in a profile have 16 digits before the decimal point. A double can represent such a number only to the
//! nearest 0.25 µs, and this rounding could make the two rows of a collective look like two launches.

use tracetree_trace::trace::{Nanos, nanos};

/// Parses a time in microseconds, rounded to a nanosecond.
///
/// Surrounding whitespace is ignored (the Ascend profiler ends start times with a tab). Returns `None` if the
/// string is not a decimal number or is out of range. Unlike the trace reader, which clamps out-of-range times,
/// this function rejects such times.
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
    fn an_invalid_number_is_refused() {
        for text in ["", ".", "-", "N/A", "nan", "inf", "1e400", "1,5", "0x1f", "1.2.3", "--1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(parse("9223372036854775807"), None);
    }
}
