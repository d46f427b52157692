//! Formats step times with about four significant digits and in a common unit.

use super::wall::{Wall, WallTotals};
use crate::side::PerSide;
use crate::signed::{rounds_to_zero, signed};

/// The format for all step times of one comparison: a common unit, and about four significant digits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) unit: &'static str,
    scale: f64,
    decimals: usize,
}

impl Figures {
    /// Chooses a unit and a number of decimals that suit the step times of both sides.
    pub(crate) fn of_wall(wall: &Wall) -> Figures {
        Figures::of(PerSide::from_fn(|side| wall.totals(side)))
    }

    fn of(totals: PerSide<WallTotals>) -> Figures {
        let largest = totals.baseline.step_ms().max(totals.candidate.step_ms());
        match largest {
            1e5.. => Figures { unit: "s", scale: 1e9, decimals: 1 },
            100.0.. => Figures { unit: "ms", scale: 1e6, decimals: 1 },
            10.0.. => Figures { unit: "ms", scale: 1e6, decimals: 2 },
            1.0.. => Figures { unit: "ms", scale: 1e6, decimals: 3 },
            _ => Figures { unit: "µs", scale: 1e3, decimals: 2 },
        }
    }

    pub(crate) fn show(self, nanos: f64) -> String {
        format!("{:.*}", self.decimals, nanos / self.scale)
    }

    /// Formats a time with a sign and its unit.
    pub(crate) fn signed(self, nanos: f64) -> String {
        format!("{} {}", self.signed_bare(nanos), self.unit)
    }

    /// Formats a time with a sign and without its unit.
    pub(crate) fn signed_bare(self, nanos: f64) -> String {
        signed(nanos / self.scale, self.decimals)
    }

    /// Whether a time is shown as zero.
    pub(crate) fn rounds_to_zero(self, nanos: f64) -> bool {
        rounds_to_zero(nanos / self.scale, self.decimals)
    }

    /// Formats two times, such as `177.6 → 141.1 ms`.
    pub(crate) fn change(self, time: PerSide<f64>) -> String {
        let [a, b] = [time.baseline, time.candidate].map(|time| self.show(time));
        if a == b {
            format!("{a} {} on both sides", self.unit)
        } else {
            format!("{a} → {b} {}", self.unit)
        }
    }

    /// Formats a time with its unit.
    pub(crate) fn with_unit(self, nanos: f64) -> String {
        format!("{} {}", self.show(nanos), self.unit)
    }
}
