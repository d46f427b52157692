//! Finds the ranks that got slower than in their own baseline, unlike the other ranks of their role. The chart, the
//! headline, the table of ops and the findings all take their ranks, ratios and ops from here.

use super::Fleet;
use super::rows::{RankRow, SlowedOp};
use super::stats::{Quantiles, outliers};
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::robust::median;
use tracetree::order::Order as _;
use tracetree::side::PerSide;

/// Minimum distance of an outlier from the median of its role, as a fraction of the median.
const NOTABLE: f64 = 0.01;

/// How the GPU time of a rank, without waits, changed against its own baseline.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RankChange<'f> {
    pub(super) row: &'f RankRow,
    /// Candidate ÷ baseline.
    pub(super) ratio: f64,
    /// The quartiles and the median of the ratios of the role.
    pub(super) band: [f64; 2],
    pub(super) middle: f64,
    pub(super) is_outlier: bool,
}

/// A rank that got slower, and the ops that got slower on it, the one with the largest difference first.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slowed<'f> {
    pub(super) change: RankChange<'f>,
    pub(super) ops: Vec<&'f SlowedOp>,
}

impl Fleet {
    /// The changes of all ranks whose traces are complete: missing events would make a rank look fast.
    pub(super) fn rank_changes(&self) -> Vec<RankChange<'_>> {
        let ratio = |row: &RankRow| {
            let own = PerSide::from_fn(|side| row.own_step_us(side));
            (own.baseline > 0.0).then(|| own.candidate / own.baseline)
        };
        let whole = self.ranks.iter().filter(|row| row.status == "ok");
        let mut changes: Vec<RankChange<'_>> = whole
            .filter_map(|row| {
                let ratio = ratio(row)?;
                Some(RankChange { row, ratio, band: [1.0; 2], middle: 1.0, is_outlier: false })
            })
            .collect();
        let mut of_roles: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, change) in changes.iter().enumerate() {
            of_roles.entry(&change.row.role).or_default().push(at);
        }
        for members in of_roles.values() {
            let ratios: Vec<f64> = members.iter().map(|&at| changes[at].ratio).collect();
            let (quantiles, middle) = (Quantiles::of(&ratios), median(&ratios));
            let far: BTreeSet<usize> = outliers(&ratios).into_iter().map(|(at, _)| at).collect();
            for (place, &at) in members.iter().enumerate() {
                let change = &mut changes[at];
                (change.band, change.middle) = ([quantiles.lower, quantiles.upper], middle);
                change.is_outlier =
                    far.contains(&place) && (change.ratio - middle).abs() > NOTABLE * middle;
            }
        }
        changes
    }

    /// The ranks that got slower against their baseline, the one with the largest ratio first.
    pub(super) fn slowed(&self) -> Vec<Slowed<'_>> {
        let changes = self.rank_changes().into_iter();
        let slower = changes.filter(|change| change.is_outlier && change.ratio > change.middle);
        let mut slowed: Vec<Slowed<'_>> = slower
            .map(|change| {
                let is_own = |op: &&SlowedOp| op.folder == change.row.folder;
                let ops = self.slowed_ops.iter().filter(is_own).collect();
                Slowed { change, ops }
            })
            .collect();
        slowed.order_by(|a, b| {
            let size = |one: &Slowed<'_>| one.change.ratio / one.change.middle;
            size(b).total_cmp(&size(a)).then(a.change.row.folder.cmp(&b.change.row.folder))
        });
        slowed
    }
}

/// The ranks of a role on which an op got slower than on the others, as positions in `times`. A difference is notable
/// if it is at least `least` µs per step.
pub(super) fn slowed_members(times: &PerSide<Vec<f64>>, least: f64) -> Vec<usize> {
    let pairs = times.baseline.iter().zip(&times.candidate);
    let grown: Vec<f64> = pairs.map(|(before, after)| after - before).collect();
    let middle = median(&grown);
    let far = outliers(&grown).into_iter().filter(|&(_, distance)| distance > 0.0);
    far.map(|(at, _)| at).filter(|&at| grown[at] - middle >= least).collect()
}

/// Sorts ops by their difference, the largest first.
pub(super) fn sort(ops: &mut [SlowedOp]) {
    ops.order_by(|a, b| {
        let grown = |op: &SlowedOp| op.time_us.candidate - op.time_us.baseline;
        grown(b).total_cmp(&grown(a)).then_with(|| (&a.folder, &a.name).cmp(&(&b.folder, &b.name)))
    });
}

#[cfg(test)]
mod tests {
    use super::slowed_members;
    use tracetree::side::PerSide;

    #[test]
    fn only_the_rank_whose_own_time_grew_got_slower() {
        // The last rank has always been slow; the second one got slower.
        let baseline = vec![10.0, 10.0, 10.0, 10.0, 30.0];
        let candidate = vec![10.0, 14.0, 10.1, 9.9, 30.0];
        let times = PerSide { baseline, candidate };
        assert_eq!(slowed_members(&times, 1.0), [1]);
        assert!(slowed_members(&times, 5.0).is_empty());
    }
}
