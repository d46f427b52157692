//! Determines, for each collective and process group, which ranks waited and which rank they waited for.

use super::compared::Compared;
use super::roles::list;
use crate::collectives::{CollectiveWait, Matched, straggler};
use crate::rows::{CollectiveRow, GroupRow};
use std::collections::BTreeMap;
use tracetree::analysis::robust::median;
use tracetree::side::Side;
use tracetree::trace::Nanos;

/// The rank with the shortest wait counts as a straggler only if the second shortest wait is longer by at least this
/// share of the median wait.
const ALONE: f64 = 0.25;

/// For each rank in a collective: the collective's number, the rank's index among all ranks, and the rank's wait. Empty
/// if the collective has no number.
pub(super) fn waited(
    one: &Matched<'_>,
    whole: &[&Compared<'_>],
    all: &[Compared<'_>],
) -> Vec<(u64, usize, Nanos)> {
    let (Some(number), Some((_, shortest))) = (one.number, one.last()) else { return Vec::new() };
    let place =
        |rank: usize| all.iter().position(|other| std::ptr::eq(other, whole[rank])).unwrap_or(rank);
    let is_same = whole.len() == all.len();
    let place = |rank: usize| if is_same { rank } else { place(rank) };
    let members = one.members.iter();
    members
        .map(|&(rank, kernel)| (number, place(rank), kernel.duration - shortest.duration))
        .collect()
}

pub(super) fn collective(side: Side, one: &Matched<'_>, whole: &[&Compared<'_>]) -> CollectiveRow {
    let durations: Vec<Nanos> = one.members.iter().map(|(_, kernel)| kernel.duration).collect();
    let (last, shortest) = one.last().unwrap_or((0, one.members[0].1));
    let others = one.members.iter().filter(|&&(rank, _)| rank != last);
    let next = others.map(|(_, kernel)| kernel.duration).min().unwrap_or(shortest.duration);
    let longest = durations.iter().copied().max().unwrap_or(Nanos::ZERO);
    CollectiveRow {
        side,
        number: one.number,
        group: one.kind.group.clone(),
        name: one.kind.name.clone(),
        sequence: one.sequence,
        ranks: one.members.len() as u64,
        shortest: shortest.duration,
        longest,
        skew: longest - shortest.duration,
        wait: durations.iter().map(|&duration| duration - shortest.duration).sum(),
        last: whole[last].pair.rank,
        last_folder: whole[last].pair.folder.clone(),
        margin: next - shortest.duration,
        absent: list(whole, &one.absent),
    }
}

pub(super) fn groups(
    side: Side,
    matched: &[Matched<'_>],
    whole: &[&Compared<'_>],
) -> Vec<GroupRow> {
    let mut of_group: BTreeMap<&str, Vec<&Matched<'_>>> = BTreeMap::new();
    for one in matched {
        of_group.entry(&one.kind.group).or_default().push(one);
    }
    let row = |(group, list): (&str, Vec<&Matched<'_>>)| {
        let mut waits: BTreeMap<usize, CollectiveWait> = BTreeMap::new();
        let whole_ones = || list.iter().filter(|one| one.number.is_some());
        for one in whole_ones() {
            let Some((last, shortest)) = one.last() else { continue };
            for &(rank, kernel) in &one.members {
                let wait = waits.entry(rank).or_default();
                wait.wait += kernel.duration - shortest.duration;
                wait.time += kernel.duration;
            }
            waits.entry(last).or_default().count += 1;
        }
        let ranks: Vec<usize> = waits.keys().copied().collect();
        let waits: Vec<CollectiveWait> = waits.into_values().collect();
        let most =
            waits.iter().enumerate().max_by_key(|(at, wait)| (wait.count, std::cmp::Reverse(*at)));
        let folder = |at: usize| whole[ranks[at]].pair.folder.clone();
        let micros: Vec<f64> = waits.iter().map(|wait| wait.wait.as_micros()).collect();
        GroupRow {
            side,
            group: group.to_owned(),
            ranks: ranks.len() as u64,
            collectives: whole_ones().count() as u64,
            incomplete: list.iter().filter(|one| one.number.is_none()).count() as u64,
            time: waits.iter().map(|wait| wait.time).sum(),
            wait: waits.iter().map(|wait| wait.wait).sum(),
            median_wait_us: median(&micros),
            last_most: most.map_or_else(String::new, |(at, _)| folder(at)),
            last_count: most.map_or(0, |(_, wait)| wait.count),
            straggler: alone(&micros, straggler(&waits)).map_or_else(String::new, folder),
        }
    };
    of_group.into_iter().map(row).collect()
}

/// Rejects a straggler if the second shortest wait is almost as short. In that case, no single rank delays all other
/// ranks.
fn alone(waits: &[f64], straggler: Option<usize>) -> Option<usize> {
    let at = straggler?;
    let others = waits.iter().enumerate().filter(|&(other, _)| other != at);
    let next = others.map(|(_, &wait)| wait).min_by(f64::total_cmp)?;
    (next - waits[at] >= ALONE * median(waits)).then_some(at)
}
