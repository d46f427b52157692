//! Sums over windows of other step counts → differences per step that compare and add up exactly.

use crate::side::PerSide;
use crate::trace::Nanos;

/// How many steps each side has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    pub(super) steps: PerSide<u64>,
}

impl Scale {
    /// Candidate − baseline per step, times the steps of both sides: a whole number.
    pub(super) fn difference(self, time: PerSide<Nanos>) -> i128 {
        i128::from(time.candidate.0) * i128::from(self.steps.baseline)
            - i128::from(time.baseline.0) * i128::from(self.steps.candidate)
    }

    /// Whether so many things on each side are equally many per step.
    pub(super) fn compare(self, count: PerSide<u64>) -> std::cmp::Ordering {
        let [a, b] =
            [(count.baseline, self.steps.candidate), (count.candidate, self.steps.baseline)]
                .map(|(count, steps)| u128::from(count) * u128::from(steps));
        b.cmp(&a)
    }

    /// A difference in ns per step, rounded half away from zero.
    pub(super) fn round(self, difference: i128) -> Nanos {
        let by = i128::from(self.steps.baseline) * i128::from(self.steps.candidate);
        let by = by.max(1);
        let rounded = (2 * difference.abs() + by) / (2 * by) * difference.signum();
        Nanos(rounded.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Rounds parts so that they add up to the rounded sum.
    pub(super) fn round_all(self, differences: &[i128]) -> Vec<Nanos> {
        let (mut sum, mut told) = (0, Nanos::ZERO);
        let mut part = |difference: &i128| {
            sum += difference;
            let reached = self.round(sum);
            let part = reached - told;
            told = reached;
            part
        };
        differences.iter().map(&mut part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_parts_add_up_to_the_rounded_sum() {
        let scale = Scale { steps: PerSide::new(3, 1) };
        let parts = [10, -1, 4, 7, -2];
        let rounded = scale.round_all(&parts);
        assert_eq!(rounded.iter().copied().sum::<Nanos>(), scale.round(parts.iter().sum()));
        let turned = scale.round_all(&parts.map(|part: i128| -part));
        assert_eq!(turned, rounded.iter().map(|&part| -part).collect::<Vec<_>>());
    }

    #[test]
    fn sums_of_other_step_counts_compare_by_the_step() {
        let scale = Scale { steps: PerSide::new(2, 3) };
        assert_eq!(scale.difference(PerSide::new(Nanos(20), Nanos(30))), 0);
        assert_eq!(scale.round(scale.difference(PerSide::new(Nanos(20), Nanos(36)))), Nanos(2));
        assert!(scale.compare(PerSide::new(2, 3)).is_eq());
        assert!(scale.compare(PerSide::new(2, 4)).is_gt());
    }
}
