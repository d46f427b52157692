//! Formats times and names for display, identically on the page, in Markdown and in
//! the terminal.

use crate::side::PerSide;
use crate::signed::signed;
use crate::trace::Nanos;
use std::borrow::Cow;
use std::fmt;

/// The unit of all times in one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Microseconds.
    Micros,
    /// Milliseconds.
    Millis,
}

impl Unit {
    /// Chooses milliseconds if the larger total is at least one millisecond, otherwise
    /// microseconds.
    pub fn fitting(totals: PerSide<Nanos>) -> Unit {
        if totals.baseline.max(totals.candidate) < Nanos(1_000_000) {
            Unit::Micros
        } else {
            Unit::Millis
        }
    }

    /// `µs` or `ms`.
    pub fn label(self) -> &'static str {
        match self {
            Unit::Micros => "µs",
            Unit::Millis => "ms",
        }
    }

    /// A time in this unit.
    pub(in crate::report) fn of(self, time: Nanos) -> f64 {
        match self {
            Unit::Micros => time.as_micros(),
            Unit::Millis => time.as_millis(),
        }
    }

    /// Formats a time as a number in this unit, with three decimals and without the unit symbol.
    pub fn show(self, time: Nanos) -> String {
        format!("{:.3}", self.of(time))
    }

    /// Formats a time as a number in this unit, without the unit symbol. The number is exact to the nanosecond, so that
    /// figures add up exactly.
    pub fn show_exact(self, time: Nanos) -> String {
        let (scale, digits) = match self {
            Unit::Micros => (1_000, 3),
            Unit::Millis => (1_000_000, 6),
        };
        let sign = if time.0 < 0 { "-" } else { "" };
        let nanos = time.0.unsigned_abs();
        format!("{sign}{}.{:0digits$}", nanos / scale, nanos % scale)
    }

    /// Same as [`Unit::show`], but with an explicit sign: `+1.000`, `−1.000`, or `±0.000` for a time that rounds to
    /// zero.
    pub fn show_signed(self, time: Nanos) -> String {
        signed(self.of(time), 3)
    }

    /// The times on both sides, their difference and their ratio, as the tables of a report show them.
    pub(in crate::report) fn figures(self, time: PerSide<Nanos>) -> [String; 4] {
        let [one, two] = [time.baseline, time.candidate].map(|time| self.show(time));
        [one, two, self.show_signed(time.difference()), times(time)]
    }
}

/// The ratio of two times, such as `1.32x`; empty if either time is zero or the ratio rounds to zero.
pub fn times(time: PerSide<Nanos>) -> String {
    let ratio = time.candidate.0 as f64 / time.baseline.0 as f64;
    if time.baseline > Nanos::ZERO && ratio >= 0.005 {
        format!("{ratio:.2}x")
    } else {
        String::new()
    }
}

/// The values of both sides, such as `450 → 405`, or a single value if they are equal.
pub fn both<T: fmt::Display + PartialEq>(values: PerSide<T>) -> String {
    let PerSide { baseline, candidate } = values;
    if baseline == candidate { baseline.to_string() } else { format!("{baseline} → {candidate}") }
}

/// Removes empty shapes from an `Input Dims` text: `[[8, 64], [], [64], []]` becomes `[[8, 64], [64]]`.
pub(crate) fn tensors(dims: &str) -> String {
    let kept = dims.replace(", []", "").replace("[], ", "");
    if kept == "[[]]" { String::new() } else { kept }
}

/// Shortens a string to `room` characters by removing characters from the middle. More characters are kept at the end
/// than at the start, because the end of a name is usually more informative (`…conv.py(458): forward`).
pub fn shorten(text: &str, room: usize) -> Cow<'_, str> {
    let count = text.chars().count();
    if count <= room {
        return Cow::Borrowed(text);
    }
    let front = room.saturating_sub(1) * 2 / 5;
    let back = room.saturating_sub(1 + front);
    let start: String = text.chars().take(front).collect();
    let end: String = text.chars().skip(count - back).collect();
    Cow::Owned(format!("{start}…{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_times_of_a_report_have_one_unit() {
        let unit = Unit::fitting(PerSide::new(Nanos(5), Nanos(2_500_000)));
        assert_eq!((unit, unit.show(Nanos(5_000))), (Unit::Millis, "0.005".to_owned()));
        assert_eq!(unit.show_signed(Nanos(1_000_000)), "+1.000");
        assert_eq!(unit.show_signed(Nanos(-1_000_000)), "−1.000");
        assert_eq!(unit.show_signed(Nanos(-400)), "±0.000");
        assert_eq!(Unit::fitting(PerSide::default()).label(), "µs");
    }

    #[test]
    fn exact_figures_have_every_nanosecond() {
        assert_eq!(Unit::Millis.show_exact(Nanos(12_498_000_037)), "12498.000037");
        assert_eq!(Unit::Micros.show_exact(Nanos(-5)), "-0.005");
        assert_eq!(Unit::Millis.show_exact(Nanos::ZERO), "0.000000");
    }

    #[test]
    fn undefined_ratios_are_empty() {
        assert_eq!(times(PerSide::new(Nanos(0), Nanos(5))), "");
        assert_eq!(times(PerSide::new(Nanos(1_000), Nanos(4))), "");
        assert_eq!(times(PerSide::new(Nanos(2), Nanos(5))), "2.50x");
    }

    #[test]
    fn equal_values_are_shown_once() {
        assert_eq!(both(PerSide::new(45, 45)), "45");
        assert_eq!(both(PerSide::new(45, 0)), "45 → 0");
    }

    #[test]
    fn arguments_without_a_shape_are_omitted() {
        assert_eq!(tensors("[[8, 64], [], [64], []]"), "[[8, 64], [64]]");
        assert_eq!(tensors("[[], [], [3, 4]]"), "[[3, 4]]");
        assert_eq!(tensors("[[[8, 1], [8, 2]], []]"), "[[[8, 1], [8, 2]]]");
        assert_eq!(tensors("[[], []]"), "");
        assert_eq!(tensors(""), "");
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(shorten("torch/nn/modules/conv.py(458): forward", 21), "torch/nn…58): forward");
        assert_eq!(shorten("short", 5), "short");
        assert_eq!(shorten("日本語の名前", 4), "日…名前");
    }
}
