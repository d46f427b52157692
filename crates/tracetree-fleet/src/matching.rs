//! Finds the kernels on different ranks that belong to the same collective. The first method that applies is used:
//!
//! 1. Kernels are matched by sequence number if every kernel has a sequence number and no two kernels on a rank have
//!    the same number.
//! 2. Kernels are matched by position, in order of start time, if all ranks have the same number of kernels.
//! 3. Otherwise, kernels are matched by end time, because a collective ends on all ranks at the same time. The clocks
//!    of two ranks may differ by a constant offset, so the offset at which the most end times coincide is used. A
//!    collective that one rank did not record is skipped and does not shift the matches after it:
//!
//! ```text
//! rank 0   ──a┤   ──b┤   ──c┤   ──d┤
//! rank 1     ─a┤            ─c┤   ─d┤      offset + 1: three end times coincide, b is skipped
//! ```

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tracetree::trace::Nanos;

/// Number of kernels at the start of each rank that are used to guess the offset between two clocks.
const FIRST: usize = 8;

/// Two end times coincide if their difference is at most 1/`APART` of the time to the previous or next end time on the
/// same rank, whichever is nearer.
const APART: i64 = 3;

/// One communication kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Kernel {
    /// Position of the kernel among all communication kernels of the rank, in order of start time.
    pub(super) position: usize,
    /// Sequence number of the collective within its group, if recorded.
    pub(super) sequence: Option<i64>,
    pub(super) end: Nanos,
    pub(super) duration: Nanos,
}

/// One collective: its kernels on the ranks that recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    /// Sequence number of the collective in the process group, if recorded.
    pub(super) sequence: Option<i64>,
    /// Rank and kernel.
    pub(super) members: Vec<(usize, Kernel)>,
    /// Ranks that did not record the collective.
    pub(super) absent: Vec<usize>,
}

/// Groups the kernels of the given ranks into collectives, in order. A collective may consist of a kernel on a single
/// rank.
pub(super) fn matched(ranks: &[(usize, &[Kernel])]) -> Vec<Group> {
    if let Some(found) = by_sequence(ranks) {
        return found;
    }
    let lengths = || ranks.iter().map(|(_, kernels)| kernels.len());
    if lengths().min() == lengths().max() {
        return by_order(ranks);
    }
    by_end(ranks)
}

fn by_sequence(ranks: &[(usize, &[Kernel])]) -> Option<Vec<Group>> {
    let mut found: BTreeMap<i64, Vec<(usize, Kernel)>> = BTreeMap::new();
    for &(rank, kernels) in ranks {
        for &kernel in kernels {
            let of_number = found.entry(kernel.sequence?).or_default();
            // If two kernels of one rank have the same sequence number, the collectives cannot be matched by number.
            // The kernels of a rank are added consecutively, so it suffices to check the last kernel that was added.
            if of_number.last().is_some_and(|&(other, _)| other == rank) {
                return None;
            }
            of_number.push((rank, kernel));
        }
    }
    let group = |(sequence, members): (i64, Vec<(usize, Kernel)>)| {
        let mut has = members.iter().map(|&(rank, _)| rank).peekable();
        let is_absent = |&rank: &usize| has.next_if_eq(&rank).is_none();
        let absent = ranks.iter().map(|&(rank, _)| rank).filter(is_absent).collect();
        Group { sequence: Some(sequence), members, absent }
    };
    Some(found.into_iter().map(group).collect())
}

fn by_order(ranks: &[(usize, &[Kernel])]) -> Vec<Group> {
    let count = ranks.first().map_or(0, |(_, kernels)| kernels.len());
    let nth = |at: usize| ranks.iter().map(|&(rank, kernels)| (rank, kernels[at])).collect();
    let group = |at| Group { sequence: None, members: nth(at), absent: Vec::new() };
    (0..count).map(group).collect()
}

/// Matches kernels by end time: every rank is compared with the rank that has the most kernels.
fn by_end(ranks: &[(usize, &[Kernel])]) -> Vec<Group> {
    let Some(&(_, reference)) =
        ranks.iter().max_by_key(|(rank, kernels)| (kernels.len(), std::cmp::Reverse(*rank)))
    else {
        return Vec::new();
    };
    let together: Vec<Vec<Option<usize>>> =
        ranks.iter().map(|(_, kernels)| counterparts(reference, kernels)).collect();
    let group = |at: usize| {
        let mut group = Group { sequence: None, members: Vec::new(), absent: Vec::new() };
        for (&(rank, kernels), of) in ranks.iter().zip(&together) {
            match of[at] {
                Some(place) => group.members.push((rank, kernels[place])),
                None => group.absent.push(rank),
            }
        }
        group
    };
    (0..reference.len()).map(group).collect()
}

/// For each kernel in `reference`, the position in `kernels` of the kernel that ends at the same time; `None` if there
/// is none.
fn counterparts(reference: &[Kernel], kernels: &[Kernel]) -> Vec<Option<usize>> {
    let candidates = reference
        .iter()
        .take(FIRST)
        .flat_map(|one| kernels.iter().take(FIRST).map(|other| one.end - other.end));
    let found = candidates.map(|offset| at_offset(reference, kernels, offset));
    let rank = |(counterparts, distance): &(Vec<Option<usize>>, i64)| {
        (counterparts.iter().flatten().count(), std::cmp::Reverse(*distance))
    };
    let best = found.reduce(|best, next| if rank(&next) > rank(&best) { next } else { best });
    best.map_or_else(|| vec![None; reference.len()], |(counterparts, _)| counterparts)
}

/// Matches the kernels whose end times coincide at the clock offset `offset`. Also returns the sum of the differences
/// between the end times of matched kernels.
fn at_offset(reference: &[Kernel], kernels: &[Kernel], offset: Nanos) -> (Vec<Option<usize>>, i64) {
    let mut counterparts = vec![None; reference.len()];
    let (mut distance, mut from) = (0, 0);
    for (at, kernel) in kernels.iter().enumerate() {
        let end = kernel.end + offset;
        let apart = |one: &usize| (reference[*one].end - end).0.abs();
        // Kernels of one kind in one group end in the order in which they start.
        let behind = from + reference[from..].partition_point(|one| one.end < end);
        let around = behind.saturating_sub(1).max(from)..(behind + 1).min(reference.len());
        let Some(nearest) = around.min_by_key(apart) else { break };
        if apart(&nearest) <= reach(reference, nearest) {
            counterparts[nearest] = Some(at);
            distance += apart(&nearest);
            from = nearest + 1;
        }
    }
    (counterparts, distance)
}

/// The largest difference at which another rank's end time still coincides with the end time of the kernel at the
/// position `at`.
fn reach(reference: &[Kernel], at: usize) -> i64 {
    let before = at.checked_sub(1).map(|before| reference[at].end - reference[before].end);
    let behind = reference.get(at + 1).map(|next| next.end - reference[at].end);
    let nearest = before.into_iter().chain(behind).map(|gap| gap.0.abs()).min();
    nearest.unwrap_or(i64::MAX) / APART
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels(ends: &[i64]) -> Vec<Kernel> {
        let kernel = |(position, &end): (usize, &i64)| Kernel {
            position,
            sequence: None,
            end: Nanos(end),
            duration: Nanos(1),
        };
        ends.iter().enumerate().map(kernel).collect()
    }

    #[test]
    fn a_missing_collective_does_not_shift_later_ones_even_if_clocks_differ() {
        let (one, two) = (kernels(&[100, 230, 300, 470, 600]), kernels(&[5100, 5301, 5471, 5600]));
        let found = matched(&[(0, &one), (1, &two)]);
        let positions: Vec<Vec<usize>> = found
            .iter()
            .map(|c| c.members.iter().map(|(_, kernel)| kernel.position).collect())
            .collect();
        assert_eq!(positions, [vec![0, 0], vec![1], vec![2, 1], vec![3, 2], vec![4, 3]]);
        assert_eq!(found[1].absent, [1]);
    }

    #[test]
    fn as_many_on_each_rank_are_matched_in_order_whatever_their_ends() {
        let (one, two) = (kernels(&[100, 200]), kernels(&[100, 900]));
        assert_eq!(matched(&[(0, &one), (1, &two)]).len(), 2);
    }
}
