//! Computes how long each rank waited in collectives, and which rank arrived last.
//!
//! A collective ends on all ranks at about the same time, but its kernel on each rank begins when that rank reaches the
//! collective. So the rank with the *shortest* kernel arrived last, and the kernels on the other ranks were waiting:
//!
//! ```text
//! rank 0   ├─ compute ─┤├──── all_reduce ────┤     waited: own duration − shortest
//! rank 1   ├─ compute ─┤├──── all_reduce ────┤
//! rank 2   ├─ compute ──────────────┤├ all_r ┤     the straggler: did not wait
//! ```
//! Only kernels with the same process group and the same collective name are matched. If the profiler recorded sequence
//! numbers, kernels with the same number belong to one collective. Without sequence numbers, the n-th kernel on one
//! rank is matched with the n-th kernel on each other rank. If some ranks have fewer kernels than others, kernels that
//! end at the same time are matched instead (see `matching`).

use super::matching::{self, Group, Kernel};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tracetree::analysis::robust::median;
use tracetree::order::Order as _;
use tracetree::program::Communication;
use tracetree::trace::{EventId, Nanos, TextId};
use tracetree::tree::{CallId, CallKind, CallTree};

/// The properties that must be equal for two kernels on different ranks to be matched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Kind {
    /// The process group; empty if not recorded.
    pub(super) group: String,
    /// The name of the collective, or the kernel name if the collective's name is not recorded.
    pub(super) name: String,
}

/// The communication kernels of one rank, grouped by process group and name. Each group is in order of start time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Kind, Vec<Kernel>)>", into = "Vec<(Kind, Vec<Kernel>)>")]
pub struct Collectives {
    kernels: BTreeMap<Kind, Vec<Kernel>>,
}

impl From<Vec<(Kind, Vec<Kernel>)>> for Collectives {
    fn from(kernels: Vec<(Kind, Vec<Kernel>)>) -> Collectives {
        Collectives { kernels: kernels.into_iter().collect() }
    }
}

impl From<Collectives> for Vec<(Kind, Vec<Kernel>)> {
    fn from(collectives: Collectives) -> Self {
        collectives.kernels.into_iter().collect()
    }
}

/// The time that one rank spent in collectives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CollectiveWait {
    /// Number of communication kernels.
    pub count: u64,
    /// Total duration of the communication kernels.
    pub time: Nanos,
    /// Number of communication kernels that have a matching kernel on every other rank of the process group.
    pub matched: u64,
    /// Total wait in the matched kernels. The wait in a kernel is the kernel's duration minus the shortest
    /// duration of the same collective on any rank.
    pub wait: Nanos,
    /// Numbers of the matched collectives in which this rank arrived last. Collectives are numbered from 0, in the
    /// order in which they start on the first rank.
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
        found.order_by_key(|&(event, _)| (trace.start(event), event));
        let mut kernels: BTreeMap<Kind, Vec<Kernel>> = BTreeMap::new();
        for (position, (event, call)) in found.into_iter().enumerate() {
            let name = trace.collectives().get(event).map_or(trace.name(event), |&n| trace.text(n));
            let group = recorded(tree, call, |event| trace.process_groups().get(event).copied());
            let group = trace.text(group.unwrap_or(TextId::EMPTY)).to_owned();
            let sequence = recorded(tree, call, |e| trace.collective_sequences().get(e).copied());
            // Each trace counts time from its own base time. Adding the base time makes times on different ranks
            // comparable.
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

    /// The time that each rank spent in collectives, in the order of `ranks`.
    pub fn waits(ranks: &[Collectives]) -> Vec<CollectiveWait> {
        let ranks: Vec<&Collectives> = ranks.iter().collect();
        Collectives::waits_of(&ranks, &Collectives::matched(&ranks))
    }

    /// Like [`Collectives::waits`], but for kernels that are already matched.
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

    /// The collectives that at least two ranks recorded. Collectives that every rank of the process group recorded come
    /// first and are numbered, in the order in which they start on the first rank.
    pub(super) fn matched<'r>(ranks: &[&'r Collectives]) -> Vec<Matched<'r>> {
        let mut kinds: BTreeMap<&Kind, Vec<(usize, &[Kernel])>> = BTreeMap::new();
        for (at, rank) in ranks.iter().enumerate() {
            for (kind, kernels) in &rank.kernels {
                kinds.entry(kind).or_default().push((at, kernels));
            }
        }
        let mut found: Vec<Matched<'r>> = Vec::new();
        for (kind, members) in kinds {
            // If the trace does not record the process group, the group is assumed to contain all ranks.
            let is_whole = !kind.group.is_empty() || members.len() == ranks.len();
            if is_whole && members.len() > 1 {
                let groups = matching::matched(&members);
                found.extend(shown(groups).into_iter().map(|group| Matched::new(kind, group)));
            }
        }
        found.order_by_key(|one| {
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

/// One collective, with the kernel that each rank recorded for it.
#[derive(Debug, Clone)]
pub(super) struct Matched<'r> {
    pub(super) kind: &'r Kind,
    /// The number of the collective; `None` if a rank of the process group did not record the collective.
    pub(super) number: Option<u64>,
    pub(super) sequence: Option<i64>,
    /// Rank and kernel.
    pub(super) members: Vec<(usize, Kernel)>,
    /// Ranks that did not record this collective, although they recorded earlier and later collectives.
    pub(super) absent: Vec<usize>,
}

impl<'r> Matched<'r> {
    fn new(kind: &'r Kind, group: Group) -> Matched<'r> {
        let Group { sequence, members, absent } = group;
        Matched { kind, number: None, sequence, members, absent }
    }

    /// The rank that arrived last, and its kernel, which is the shortest kernel.
    pub(super) fn last(&self) -> Option<(usize, Kernel)> {
        self.members.iter().copied().min_by_key(|&(rank, kernel)| (kernel.duration, rank))
    }
}

/// Drops a collective if the ranks that lack it simply started recording later or stopped recording earlier. A rank
/// counts as absent only if it recorded collectives both before and after the missing collective. Also drops
/// collectives that only one rank recorded.
fn shown(groups: Vec<Group>) -> Vec<Group> {
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
        let is_reported = group.absent.len() == all || !group.absent.is_empty();
        (group.members.len() > 1 && is_reported).then_some(group)
    });
    groups.collect()
}

/// The value that `look` finds for the kernel or, if it finds none, for the nearest enclosing call with a value.
fn recorded<T>(tree: &CallTree, call: CallId, look: impl Fn(EventId) -> Option<T>) -> Option<T> {
    std::iter::once(call)
        .chain(tree.ancestors(call))
        .filter_map(|above| tree.event(above))
        .find_map(look)
}

/// The index of the rank that the other ranks wait for: the rank whose own wait is shortest. `None` for a single rank,
/// or if the shortest wait is at least half of the median wait.
pub fn straggler(waits: &[CollectiveWait]) -> Option<usize> {
    let times: Vec<f64> = waits.iter().map(|wait| wait.wait.as_micros()).collect();
    let (at, least) = times.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
    (times.len() > 1 && *least * 2.0 < median(&times)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels of one [`Kind`]: the process group, the collective's name, and each kernel's sequence number and
    /// duration.
    type Times<'a> = (&'a str, &'a str, &'a [(Option<i64>, i64)]);

    /// A rank with kernels of the given durations. The n-th kernel of the rank ends at n × 1000 ns.
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
    fn sequence_numbers_match_collectives_even_if_a_rank_lacks_one() {
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
