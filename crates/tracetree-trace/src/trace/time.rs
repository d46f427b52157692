//! Represents times as whole nanoseconds, and converts them from and to the decimal microseconds in
//! trace files.

use crate::side::PerSide;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A point in time or a duration, in whole nanoseconds.
///
/// A double that stores microseconds since the epoch has a resolution of only 0.25 µs, which is too
/// coarse to nest calls correctly. Integers preserve every digit that Kineto writes. The text form
/// is microseconds with three decimal places.
///
/// ```
/// use tracetree::trace::Nanos;
/// assert_eq!((Nanos(1_500) + Nanos(20)).to_string(), "1.520");
/// assert_eq!(Nanos(-5).to_string(), "-0.005");
/// ```
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Nanos(pub i64);

impl Nanos {
    /// Zero.
    pub const ZERO: Nanos = Nanos(0);

    /// The time in microseconds, the unit of the tables.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The time in milliseconds, the unit of table columns that end in `_ms`.
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The absolute value.
    #[must_use]
    pub fn abs(self) -> Nanos {
        Nanos(self.0.abs())
    }
}

impl PerSide<Nanos> {
    /// The difference between two times, candidate − baseline.
    pub fn difference(self) -> Nanos {
        self.candidate - self.baseline
    }

    /// The ratio of two times, candidate / baseline; `None` unless both are positive.
    #[doc(hidden)]
    pub fn ratio(self) -> Option<f64> {
        (self.baseline > Nanos::ZERO && self.candidate > Nanos::ZERO)
            .then(|| self.candidate.0 as f64 / self.baseline.0 as f64)
    }
}

impl Nanos {
    /// Appends the text that [`Display`](fmt::Display) produces.
    #[doc(hidden)]
    pub fn push_micros(self, text: &mut String) {
        push_fixed(text, self.0 < 0, self.0.unsigned_abs(), 3);
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.push_micros(&mut text);
        f.pad(&text)
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

/// Appends a whole number.
#[inline]
pub fn push_whole(text: &mut String, number: i64) {
    text.push_str(itoa::Buffer::new().format(number));
}

/// Appends ±`whole` / 10^`decimals` with exactly `decimals` (at most eight) decimal places.
pub fn push_fixed(text: &mut String, is_negative: bool, whole: u64, decimals: usize) {
    const ZEROS: &str = "00000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(whole);
    if is_negative {
        text.push('-');
    }
    if digits.len() <= decimals {
        text.push_str(&ZEROS[..decimals + 1 - digits.len()]);
    }
    text.push_str(digits);
    if decimals > 0 {
        text.insert(text.len() - decimals, '.');
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
