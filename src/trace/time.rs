//! Time as the traces have it: decimal microseconds in the text, whole nanoseconds here.

use crate::side::PerSide;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A point in time or a span of time, in whole nanoseconds.
///
/// Microseconds since the epoch in a double have a grid of 0.25 µs, which breaks the nesting of
/// calls; integers keep every digit that Kineto writes. Displays as microseconds with three
/// decimals.
///
/// ```
/// use tracetree::trace::Nanos;
/// assert_eq!((Nanos(1_500) + Nanos(20)).to_string(), "1.520");
/// assert_eq!(Nanos(-5).to_string(), "-0.005");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub i64);

impl Nanos {
    /// No time.
    pub const ZERO: Nanos = Nanos(0);

    /// In microseconds, the unit of the tables.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In milliseconds, the unit of table columns that end in `_ms`.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The distance from zero.
    #[must_use]
    pub fn abs(self) -> Nanos {
        Nanos(self.0.abs())
    }
}

impl PerSide<Nanos> {
    /// Candidate − baseline.
    pub fn difference(self) -> Nanos {
        self.candidate - self.baseline
    }

    /// Candidate / baseline; `None` where either is not above zero.
    pub fn ratio(self) -> Option<f64> {
        (self.baseline > Nanos::ZERO && self.candidate > Nanos::ZERO)
            .then(|| self.candidate.0 as f64 / self.baseline.0 as f64)
    }
}

/// The digits of a number with so many decimals.
pub(crate) struct Digits {
    text: [u8; 32],
    start: usize,
}

impl Digits {
    /// Of `whole` / 10^`decimals`, of which there are at most eight. A report has a million of them: the digits are
    /// written from the last one on, in place.
    pub(crate) fn of(is_negative: bool, whole: u64, decimals: usize) -> Digits {
        let mut text = [0; 32];
        let (mut at, mut rest) = (text.len(), whole);
        for digit in 0.. {
            if digit > decimals && rest == 0 {
                break;
            }
            if digit == decimals && decimals > 0 {
                at -= 1;
                text[at] = b'.';
            }
            at -= 1;
            text[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        if is_negative {
            at -= 1;
            text[at] = b'-';
        }
        Digits { text, start: at }
    }

    fn of_micros(time: Nanos) -> Digits {
        Digits::of(time.0 < 0, time.0.unsigned_abs(), 3)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[self.start..]).expect("digits")
    }
}

impl Nanos {
    /// Appends what [`Display`](fmt::Display) shows.
    pub(crate) fn push_micros(self, text: &mut String) {
        text.push_str(Digits::of_micros(self).as_str());
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Digits::of_micros(*self).as_str())
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Neg for Nanos {
    type Output = Nanos;
    fn neg(self) -> Nanos {
        Nanos(self.0.saturating_neg())
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

impl SubAssign for Nanos {
    fn sub_assign(&mut self, other: Nanos) {
        *self = *self - other;
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Nanos>>(values: I) -> Nanos {
        values.fold(Nanos::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_written() {
        let text = |nanos| Nanos(nanos).to_string();
        assert_eq!([0, 7, 1_000, -999].map(text), ["0.000", "0.007", "1.000", "-0.999"]);
        assert_eq!(text(i64::MIN), "-9223372036854775.808");
        assert_eq!(format!("{:>8}|{:<7}|", Nanos(1_500), Nanos(-20)), "   1.500|-0.020 |");
    }
}
