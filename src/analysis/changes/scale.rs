//! Converts sums over the compared steps into differences per step. The differences can be compared and added without
//! rounding errors, even if the sides have different numbers of steps.

use crate::analysis::wall::Wall;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;

/// The number of compared steps on each side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) struct Scale {
    /// Number of compared steps on each side. The numbers are equal if steps without a counterpart are excluded.
    pub(in crate::analysis) steps: PerSide<u64>,
}

impl Scale {
    pub(in crate::analysis) fn of(wall: &Wall) -> Scale {
        Scale { steps: PerSide::from_fn(|side| wall.totals(side).steps.max(1)) }
    }

    /// The difference per step, candidate − baseline, of two sums over the compared steps. The unit is 1 ns /
    /// [`Scale::parts`], so that the result is a whole number.
    pub(in crate::analysis) fn difference(self, time: PerSide<Nanos>) -> i128 {
        i128::from(time.candidate.0) * i128::from(self.steps.baseline)
            - i128::from(time.baseline.0) * i128::from(self.steps.candidate)
    }

    /// Number of units in a nanosecond, chosen so that every per-step difference is a whole number of units.
    fn parts(self) -> i128 {
        (i128::from(self.steps.baseline) * i128::from(self.steps.candidate)).max(1)
    }

    /// Returns a divisor for counts over the compared steps, and a suffix for the formatted counts. If all counts are
    /// divisible by the number of steps, the divisor is that number, and the suffix is ` per step`, or empty if there
    /// is only one step. Otherwise, the divisor is 1 and the suffix reads ` in 6 steps`.
    pub(in crate::analysis) fn unit(self, counts: &[PerSide<u64>]) -> (PerSide<u64>, String) {
        let steps = self.steps.map(|steps| steps.max(1));
        let is_whole = |side: &Side| counts.iter().all(|c| c[*side].is_multiple_of(steps[*side]));
        if Side::BOTH.iter().all(is_whole) {
            let suffix = if steps == PerSide::new(1, 1) { "" } else { " per step" };
            return (steps, suffix.to_owned());
        }
        let shown = if steps.baseline == steps.candidate {
            steps.baseline.to_string()
        } else {
            format!("{} → {}", steps.baseline, steps.candidate)
        };
        (PerSide::new(1, 1), format!(" in {shown} steps"))
    }

    /// Rounds a difference per step to whole ns; halves are rounded away from zero.
    pub(in crate::analysis) fn round(self, difference: i128) -> Nanos {
        let by = self.parts();
        let rounded = (2 * difference.abs() + by) / (2 * by) * difference.signum();
        Nanos(rounded.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Rounds the differences so that the results add up to the rounded sum.
    pub(in crate::analysis) fn round_all(self, differences: &[i128]) -> Vec<Nanos> {
        let (mut sum, mut shown) = (0, Nanos::ZERO);
        let mut part = |difference: &i128| {
            sum += difference;
            let reached = self.round(sum);
            let part = reached - shown;
            shown = reached;
            part
        };
        differences.iter().map(&mut part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(baseline: u64, candidate: u64) -> Scale {
        Scale { steps: PerSide::new(baseline, candidate) }
    }

    #[test]
    fn rounded_parts_add_up_to_the_rounded_sum() {
        let scale = scale(3, 1);
        let parts = [10, -1, 4, 7, -2];
        let rounded = scale.round_all(&parts);
        assert_eq!(rounded.iter().copied().sum::<Nanos>(), scale.round(parts.iter().sum()));
        let turned = scale.round_all(&parts.map(|part: i128| -part));
        assert_eq!(turned, rounded.iter().map(|&part| -part).collect::<Vec<_>>());
    }

    #[test]
    fn counts_are_per_step_if_all_steps_have_equally_many() {
        let steps = PerSide::new(6, 6);
        let shown = |scale: Scale| scale.unit(&[PerSide::new(12, 0), steps]);
        assert_eq!(shown(scale(6, 6)), (steps, " per step".to_owned()));
        assert_eq!(shown(scale(1, 1)), (PerSide::new(1, 1), String::new()));
        let all = |shown: &str| (PerSide::new(1, 1), shown.to_owned());
        assert_eq!(scale(6, 6).unit(&[steps, PerSide::new(12, 1)]), all(" in 6 steps"));
        assert_eq!(scale(2, 5).unit(&[PerSide::new(3, 5)]), all(" in 2 → 5 steps"));
    }

    #[test]
    fn sums_over_different_numbers_of_steps_are_compared_per_step() {
        let scale = scale(2, 3);
        assert_eq!(scale.difference(PerSide::new(Nanos(20), Nanos(30))), 0);
        assert_eq!(scale.round(scale.difference(PerSide::new(Nanos(20), Nanos(36)))), Nanos(2));
    }
}
