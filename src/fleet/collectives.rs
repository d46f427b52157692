//! The traces of several ranks → how long each rank waited for the others in its collectives, and who
//! came last in which.
//!
//! A collective ends everywhere at about the same time, and begins on each rank when that rank gets
//! there. So the rank with the *shortest* kernel came last, and the others' kernels were waiting:
//!
//! ```text
//! rank 0   ├─ compute ─┤├──── all_reduce ────┤     waited: own duration − shortest
//! rank 1   ├─ compute ─┤├──── all_reduce ────┤
//! rank 2   ├─ compute ──────────────┤├ all_r ┤     the straggler: waited for nobody
//! ```
//! Which kernels are one collective is told by the process group and its sequence number where the
//! profiler recorded them. Elsewhere the n-th kernel of one kind in one group on one rank is the n-th on
//! every other; where a rank lacks one, the kernels that end together are one (see `matching`).

use super::matching::{self, Group};
use crate::analysis::robust::median;
use crate::program::Communication;
use crate::trace::{EventId, Nanos, TextId};
use crate::tree::{CallId, CallKind, CallTree};
use std::collections::BTreeMap;

/// What makes kernels on two ranks comparable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    /// The process group; empty where it is not recorded.
    pub(super) group: String,
    /// The collective's name, else the kernel's.
    pub(super) name: String,
}

/// One communication kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kernel {
    /// Position among all communication kernels of its rank, by start.
    pub(super) position: usize,
    /// Number of the collective in its group, where it is recorded.
    pub(super) sequence: Option<i64>,
    pub(super) end: Nanos,
    pub(super) duration: Nanos,
}

/// The collectives of one rank: for each kind its kernels, in order of start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collectives {
    kernels: BTreeMap<Kind, Vec<Kernel>>,
}

/// What one rank spent in collectives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectiveWait {
    /// Communication kernels.
    pub count: u64,
    /// Sum of their durations.
    pub time: Nanos,
    /// Communication kernels that every rank of their group has.
    pub matched: u64,
    /// Of the matched ones, own duration − shortest on any rank, summed.
    pub wait: Nanos,
    /// The matched collectives in which this rank came last, by their number from 0, in the order of
    /// the first rank's starts.
    pub last_in: Vec<u64>,
}

impl Collectives {
    /// The communication kernels of a trace.
    pub fn of(tree: &CallTree) -> Collectives {
        let trace = tree.trace();
        let communication = Communication::of(trace);
        let is_gpu = |call: CallId| tree.kind(call) == CallKind::Gpu;
        let mut found: Vec<(EventId, CallId)> = tree
            .calls()
            .filter(|&call| is_gpu(call) && communication.is(tree, call))
            .filter_map(|call| Some((tree.event(call)?, call)))
            .collect();
        found.sort_by_key(|&(event, _)| (trace.start(event), event));
        let mut kernels: BTreeMap<Kind, Vec<Kernel>> = BTreeMap::new();
        for (position, (event, call)) in found.into_iter().enumerate() {
            let name = trace.collectives().get(event).map_or(trace.name(event), |&n| trace.text(n));
            let group = recorded(tree, call, |event| trace.process_groups().get(event).copied());
            let group = trace.text(group.unwrap_or(TextId::EMPTY)).to_owned();
            let sequence = recorded(tree, call, |e| trace.collective_sequences().get(e).copied());
            // Ranks are on one clock where their traces tell when it began.
            let base = trace.header().base_time.unwrap_or(Nanos::ZERO);
            let (end, duration) = (base + trace.end(event), trace.duration(event));
            kernels.entry(Kind { group, name: name.to_owned() }).or_default().push(Kernel {
                position,
                sequence,
                end,
                duration,
            });
        }
        Collectives { kernels }
    }

    /// One more kernel, behind those that are there.
    pub(super) fn add(&mut self, kind: Kind, kernel: Kernel) {
        self.kernels.entry(kind).or_default().push(kernel);
    }

    /// All kernels, by kind and start.
    pub(super) fn list(&self) -> Vec<(&Kind, Kernel)> {
        let of_kind = |(kind, kernels): (_, &Vec<Kernel>)| {
            kernels.iter().map(move |&kernel| (kind, kernel)).collect::<Vec<_>>()
        };
        self.kernels.iter().flat_map(of_kind).collect()
    }

    /// What each of these ranks waited for the others, in their order.
    pub fn waits(ranks: &[Collectives]) -> Vec<CollectiveWait> {
        let ranks: Vec<&Collectives> = ranks.iter().collect();
        Collectives::waits_of(&ranks, &Collectives::matched(&ranks))
    }

    /// The same, where it is known which kernels are one collective.
    pub(super) fn waits_of(ranks: &[&Collectives], matched: &[Matched<'_>]) -> Vec<CollectiveWait> {
        let mut waits: Vec<CollectiveWait> = ranks.iter().map(|rank| rank.spent()).collect();
        for collective in matched {
            let (Some(number), Some((last, shortest))) = (collective.number, collective.last())
            else {
                continue;
            };
            waits[last].last_in.push(number);
            for &(rank, kernel) in &collective.members {
                waits[rank].matched += 1;
                waits[rank].wait += kernel.duration - shortest.duration;
            }
        }
        waits
    }

    /// The collectives that at least two ranks have. Those that every rank of their group has are
    /// numbered, in the order in which the first rank has them, and come first.
    pub(super) fn matched<'r>(ranks: &[&'r Collectives]) -> Vec<Matched<'r>> {
        let mut kinds: BTreeMap<&Kind, Vec<(usize, &[Kernel])>> = BTreeMap::new();
        for (at, rank) in ranks.iter().enumerate() {
            for (kind, kernels) in &rank.kernels {
                kinds.entry(kind).or_default().push((at, kernels));
            }
        }
        let mut found: Vec<Matched<'r>> = Vec::new();
        for (kind, members) in kinds {
            // A group that is not recorded is that of all ranks.
            let is_whole = !kind.group.is_empty() || members.len() == ranks.len();
            if is_whole && members.len() > 1 {
                let groups = matching::matched(&members);
                found.extend(told(groups).into_iter().map(|group| Matched::new(kind, group)));
            }
        }
        found.sort_by_key(|one| {
            let first = one.members.iter().map(|&(rank, kernel)| (rank, kernel.position)).min();
            (!one.absent.is_empty(), first)
        });
        let complete = found.iter_mut().filter(|one| one.absent.is_empty());
        complete.enumerate().for_each(|(number, one)| one.number = Some(number as u64));
        found
    }

    fn spent(&self) -> CollectiveWait {
        let kernels = || self.kernels.values().flatten();
        CollectiveWait {
            count: kernels().count() as u64,
            time: kernels().map(|kernel| kernel.duration).sum(),
            ..CollectiveWait::default()
        }
    }
}

/// Kernels of several ranks that are one collective.
#[derive(Debug, Clone)]
pub(super) struct Matched<'r> {
    pub(super) kind: &'r Kind,
    /// Where every rank of the group has it.
    pub(super) number: Option<u64>,
    pub(super) sequence: Option<i64>,
    /// Rank and kernel.
    pub(super) members: Vec<(usize, Kernel)>,
    /// Ranks that have collectives before and behind it, and not this one.
    pub(super) absent: Vec<usize>,
}

impl<'r> Matched<'r> {
    fn new(kind: &'r Kind, group: Group) -> Matched<'r> {
        let Group { sequence, members, absent } = group;
        Matched { kind, number: None, sequence, members, absent }
    }

    /// The rank that came last, and its kernel: the shortest.
    pub(super) fn last(&self) -> Option<(usize, Kernel)> {
        self.members.iter().copied().min_by_key(|&(rank, kernel)| (kernel.duration, rank))
    }
}

/// Leaves out what some ranks lack because their recording began later or ended sooner: a rank lacks a
/// collective where it has one before and one behind it. What only one rank has is none.
fn told(groups: Vec<Group>) -> Vec<Group> {
    let mut span: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (at, group) in groups.iter().enumerate() {
        for &(rank, _) in &group.members {
            span.entry(rank).or_insert((at, at)).1 = at;
        }
    }
    let is_inside = |at: usize, rank: &usize| {
        span.get(rank).is_some_and(|&(first, last)| first < at && at < last)
    };
    let groups = groups.into_iter().enumerate().filter_map(|(at, mut group)| {
        let all = group.absent.len();
        group.absent.retain(|rank| is_inside(at, rank));
        let is_told = group.absent.len() == all || !group.absent.is_empty();
        (group.members.len() > 1 && is_told).then_some(group)
    });
    groups.collect()
}

/// What is recorded beside the kernel, else beside the nearest call above that has it.
fn recorded<T>(tree: &CallTree, call: CallId, look: impl Fn(EventId) -> Option<T>) -> Option<T> {
    std::iter::once(call)
        .chain(tree.ancestors(call))
        .filter_map(|above| tree.event(above))
        .find_map(look)
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

    /// Group, name, and for each kernel its sequence number and duration.
    type Times<'a> = (&'a str, &'a str, &'a [(Option<i64>, i64)]);

    /// Kernels of these durations; those of all kinds end at 1000, 2000, …
    fn rank(times: &[Times<'_>]) -> Collectives {
        let mut kernels: BTreeMap<Kind, Vec<Kernel>> = BTreeMap::new();
        let mut position = 0;
        for (group, name, list) in times {
            let kind = Kind { group: (*group).to_owned(), name: (*name).to_owned() };
            for &(sequence, duration) in *list {
                let end = Nanos(1000 * (position as i64 + 1));
                let kernel = Kernel { position, sequence, end, duration: Nanos(duration) };
                kernels.entry(kind.clone()).or_default().push(kernel);
                position += 1;
            }
        }
        Collectives { kernels }
    }

    fn plain(list: &[i64]) -> Vec<(Option<i64>, i64)> {
        list.iter().map(|&duration| (None, duration)).collect()
    }

    fn waited(waits: &[CollectiveWait]) -> Vec<i64> {
        waits.iter().map(|wait| wait.wait.0).collect()
    }

    #[test]
    fn the_straggler_has_the_shortest_kernels_and_is_last_in_them() {
        let ranks = [
            rank(&[("", "all_reduce", &plain(&[100, 90]))]),
            rank(&[("", "all_reduce", &plain(&[10, 12]))]),
            rank(&[("", "all_reduce", &plain(&[95, 80]))]),
        ];
        let waits = Collectives::waits(&ranks);
        assert_eq!(waited(&waits), [168, 0, 153]);
        assert_eq!(waits.iter().map(|wait| wait.matched).collect::<Vec<_>>(), [2, 2, 2]);
        assert_eq!(waits[1].last_in, [0, 1]);
        assert_eq!(straggler(&waits), Some(1));
    }

    #[test]
    fn a_sequence_number_tells_which_collectives_are_one_when_a_rank_lacks_one() {
        let ranks = [
            rank(&[("g", "all_reduce", &[(Some(1), 100), (Some(2), 50), (Some(3), 30)])]),
            rank(&[("g", "all_reduce", &[(Some(1), 10), (Some(3), 90)])]),
        ];
        let waits = Collectives::waits(&ranks);
        assert_eq!(waited(&waits), [90, 60]);
        assert_eq!(waits.iter().map(|wait| wait.matched).collect::<Vec<_>>(), [2, 2]);
    }

    #[test]
    fn groups_are_matched_apart_and_by_the_ranks_that_are_in_them() {
        let ranks = [
            rank(&[("tp0", "all_reduce", &plain(&[100]))]),
            rank(&[("tp0", "all_reduce", &plain(&[40]))]),
            rank(&[("tp1", "all_reduce", &plain(&[7]))]),
            rank(&[("tp1", "all_reduce", &plain(&[9]))]),
        ];
        assert_eq!(waited(&Collectives::waits(&ranks)), [60, 0, 0, 2]);
    }

    #[test]
    fn equal_ranks_have_no_straggler() {
        let ranks = [
            rank(&[("", "all_reduce", &plain(&[10, 14]))]),
            rank(&[("", "all_reduce", &plain(&[14, 10]))]),
        ];
        assert_eq!(straggler(&Collectives::waits(&ranks)), None);
        assert_eq!(straggler(&Collectives::waits(&ranks[..1])), None);
    }
}
