//! The traces of several ranks → how long each rank waited for the others in its collectives.
//!
//! A collective ends everywhere at about the same time, and begins on each rank when that rank gets
//! there. So the rank with the *shortest* kernel came last, and the others' kernels were waiting:
//!
//! ```text
//! rank 0   ├─ compute ─┤├──── all_reduce ────┤     waited: own duration − shortest
//! rank 1   ├─ compute ─┤├──── all_reduce ────┤
//! rank 2   ├─ compute ──────────────┤├ all_r ┤     the straggler: waited for nobody
//! ```
//! The n-th collective of one kind on one rank is the n-th of that kind on every other.

use crate::analysis::robust::median;
use crate::program::is_communication;
use crate::trace::{Category, Nanos, Trace};
use std::collections::BTreeMap;

/// The collectives of one rank: for each kind the durations, in order of start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collectives {
    durations: BTreeMap<String, Vec<Nanos>>,
}

/// What one rank spent in collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CollectiveWait {
    /// Communication kernels.
    pub count: u64,
    /// Sum of their durations.
    pub time: Nanos,
    /// Communication kernels that every rank has.
    pub matched: u64,
    /// Of the matched ones, own duration − shortest on any rank, summed.
    pub wait: Nanos,
}

impl Collectives {
    /// The communication kernels of a trace.
    pub fn of(trace: &Trace) -> Collectives {
        let mut kernels: Vec<_> = trace
            .events()
            .filter(|&event| trace.category(event) == Category::Kernel)
            .filter(|&event| is_communication(trace, event))
            .collect();
        kernels.sort_by_key(|&event| (trace.start(event), event));
        let mut durations: BTreeMap<String, Vec<Nanos>> = BTreeMap::new();
        for event in kernels {
            let kind = match trace.collectives().get(event) {
                Some(&name) => trace.text(name),
                None => trace.name(event),
            };
            durations.entry(kind.to_owned()).or_default().push(trace.duration(event));
        }
        Collectives { durations }
    }

    /// What each of these ranks waited for the others, in their order.
    pub fn waits(ranks: &[Collectives]) -> Vec<CollectiveWait> {
        let mut shortest: BTreeMap<(&str, usize), Nanos> = BTreeMap::new();
        let kinds = ranks.first().map(|rank| rank.durations.keys()).into_iter().flatten();
        for kind in kinds {
            let lists: Option<Vec<&Vec<Nanos>>> =
                ranks.iter().map(|rank| rank.durations.get(kind)).collect();
            let Some(lists) = lists else { continue };
            let common = lists.iter().map(|list| list.len()).min().unwrap_or(0);
            for nth in 0..common {
                let least = lists.iter().map(|list| list[nth]).min();
                shortest.extend(least.map(|least| ((kind.as_str(), nth), least)));
            }
        }
        ranks.iter().map(|rank| rank.wait(&shortest)).collect()
    }

    fn wait(&self, shortest: &BTreeMap<(&str, usize), Nanos>) -> CollectiveWait {
        let mut total = CollectiveWait::default();
        for (kind, durations) in &self.durations {
            for (nth, &duration) in durations.iter().enumerate() {
                total.count += 1;
                total.time += duration;
                if let Some(&least) = shortest.get(&(kind.as_str(), nth)) {
                    total.matched += 1;
                    total.wait += duration - least;
                }
            }
        }
        total
    }
}

/// The position of the rank that the others wait for: the one that waits clearly least itself.
/// `None` with a single rank, or where no rank stands out: where the least wait is more than half
/// of the median one.
pub fn straggler(waits: &[CollectiveWait]) -> Option<usize> {
    let times: Vec<f64> = waits.iter().map(|wait| wait.wait.as_micros()).collect();
    let (at, least) = times.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
    (times.len() > 1 && *least * 2.0 < median(&times)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(times: &[(&str, &[i64])]) -> Collectives {
        let list = |list: &[i64]| list.iter().copied().map(Nanos).collect();
        Collectives {
            durations: times
                .iter()
                .map(|(kind, times)| ((*kind).to_owned(), list(times)))
                .collect(),
        }
    }

    #[test]
    fn the_straggler_has_the_shortest_kernels() {
        let ranks = [
            rank(&[("all_reduce", &[100, 90]), ("broadcast", &[5])]),
            rank(&[("all_reduce", &[10, 12])]),
            rank(&[("all_reduce", &[95, 80, 70]), ("broadcast", &[5])]),
        ];
        let waits = Collectives::waits(&ranks);
        assert_eq!(waits.iter().map(|wait| wait.wait.0).collect::<Vec<_>>(), [168, 0, 153]);
        assert_eq!(waits.iter().map(|wait| wait.matched).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(waits.iter().map(|wait| wait.count).collect::<Vec<_>>(), [3, 2, 4]);
        assert_eq!(straggler(&waits), Some(1));
    }

    #[test]
    fn equal_ranks_have_no_straggler() {
        let ranks = [rank(&[("all_reduce", &[10, 14])]), rank(&[("all_reduce", &[14, 10])])];
        assert_eq!(straggler(&Collectives::waits(&ranks)), None);
        assert_eq!(straggler(&Collectives::waits(&ranks[..1])), None);
    }
}
