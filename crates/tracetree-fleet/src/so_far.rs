//! Summarizes the interim outcomes of a run while pairs are still being compared: failures, and the slowest rank.
//!
//! Collectives cannot be matched until all ranks are compared, so this module ignores communication. It compares each
//! rank's remaining GPU time per step with the median of the rank's role.

use super::map::Mapped;
use super::plan::PlannedPair;
use super::stats::outliers;
use super::status::Status;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracetree::analysis::robust::median;
use tracetree::program::counted;
use tracetree::side::Side;

/// A rank is reported as slow only if its time is at least this many times the median of its role.
const NOTABLE: f64 = 1.05;

/// The outcomes of a run so far.
#[derive(Debug, Clone, Default)]
pub struct SoFar {
    /// For each role: the folder of each rank, and the rank's GPU time per candidate step without communication, in µs.
    roles: BTreeMap<Arc<str>, Vec<(String, f64)>>,
    failed: u64,
}

impl SoFar {
    /// Adds the outcome of a pair.
    pub fn add(&mut self, pair: &PlannedPair, mapped: &Mapped) {
        match (&mapped.status, &mapped.work) {
            (Status::Compared, Some(work)) => {
                let micros = work.step_us(Side::Candidate);
                self.roles
                    .entry(work.role.clone())
                    .or_default()
                    .push((pair.folder.clone(), micros));
            }
            (Status::Compared, None) => {}
            (Status::Failed { .. }, _) => self.failed += 1,
        }
    }

    /// A summary such as `2 ranks failed; slowest so far: rank_137, 1.31× the median of its role`; empty if no rank
    /// failed and no rank is notably slow.
    pub fn text(&self) -> String {
        let failed = (self.failed > 0).then(|| format!("{} failed", counted(self.failed, "rank")));
        let slowest = self.slowest().map(|(folder, ratio)| {
            format!("slowest so far: {folder}, {ratio:.2}× the median of its role")
        });
        failed.into_iter().chain(slowest).collect::<Vec<_>>().join("; ")
    }

    /// The rank with the largest ratio between its time and the median of its role, and this ratio.
    fn slowest(&self) -> Option<(&str, f64)> {
        let of_role = |ranks: &'_ Vec<(String, f64)>| {
            let times: Vec<f64> = ranks.iter().map(|(_, time)| *time).collect();
            let middle = median(&times);
            let far = outliers(&times).into_iter().filter(|&(_, distance)| distance > 0.0);
            let at = far.map(|(at, _)| at).max_by(|&a, &b| times[a].total_cmp(&times[b]))?;
            Some((at, times[at] / middle.max(f64::MIN_POSITIVE)))
        };
        let found = self.roles.values().filter_map(|ranks| {
            let (at, ratio) = of_role(ranks)?;
            (ratio >= NOTABLE).then(|| (ranks[at].0.as_str(), ratio))
        });
        found.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(a.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn so_far(times: &[f64]) -> SoFar {
        let ranks = times.iter().enumerate().map(|(rank, &time)| (format!("rank_{rank}"), time));
        SoFar { roles: BTreeMap::from([("a".into(), ranks.collect())]), failed: 0 }
    }

    #[test]
    fn a_slow_rank_is_named_if_its_role_is_known() {
        assert_eq!(so_far(&[10.0, 10.1, 13.1]).text(), "");
        let found = so_far(&[10.0, 10.1, 13.1, 9.9, 10.0]);
        assert_eq!(found.text(), "slowest so far: rank_2, 1.31× the median of its role");
        let failed = SoFar { failed: 2, ..found };
        assert!(failed.text().starts_with("2 ranks failed; slowest so far: rank_2"));
    }

    #[test]
    fn a_fast_rank_and_scatter_are_not_slow() {
        assert_eq!(so_far(&[10.0, 10.1, 3.0, 9.9, 10.0]).text(), "");
        assert_eq!(so_far(&[10.0, 10.01, 10.2, 9.99, 10.0]).text(), "");
    }
}
