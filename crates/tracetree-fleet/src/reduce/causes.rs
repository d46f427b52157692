//! Merges the changes and causes of all ranks: each is listed once, with the ranks that share it.

use super::compared::Compared;
use super::roles::{Role, list, short_list};
use super::sentences;
use crate::rows::{CauseRow, ChangeRow, Shared, Spread};
use crate::shard::Cause;
use crate::stats::FEWEST;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tracetree::analysis::robust::median;
use tracetree::order::Order as _;
use tracetree::side::Side;
use tracetree::trace::Nanos;

/// Minimum size of a cause on a rank, as a share of a step's wall time. Smaller causes are ignored.
const NOTABLE_CAUSE: f64 = 0.005;

/// A change or cause on at least this share of the ranks counts as occurring on nearly all ranks.
const NEARLY_ALL: f64 = 0.9;

/// The properties that identify the same change or cause on several ranks. For changes: kind, sentence and
/// call site. For causes: reason, call site and module.
type Key<'s> = (&'s Arc<str>, &'s Arc<str>, &'s Arc<str>);

/// For each sentence that describes a change, the ranks that have the change, and its cost on each rank.
type BySentence<'s> = BTreeMap<&'s str, Vec<(usize, Nanos)>>;

/// The changes of all ranks, sorted by the number of ranks that share them, then by cost.
pub(super) fn changes(whole: &[&Compared<'_>], roles: &[Role]) -> Vec<ChangeRow> {
    // Changes are grouped by kind and call site, then by the sentence that
    // describes them.
    let mut found: BTreeMap<(&Arc<str>, &Arc<str>), BySentence<'_>> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        for change in &one.facts.changes {
            let sentences = found.entry((&change.kind, &change.place)).or_default();
            sentences.entry(&*change.sentence).or_default().push((at, change.cost));
        }
    }
    let mut rows = Vec::new();
    for ((kind, place), of_place) in found {
        let counts = of_place.iter().map(|(&sentence, list)| (sentence, list.len()));
        for (sentence, members) in sentences::merged(counts.collect()) {
            let mut list: Vec<(usize, Nanos)> =
                members.iter().flat_map(|member| of_place[member].iter().copied()).collect();
            list.sort_unstable();
            let shared = shared(&list, whole, roles).0;
            let (kind, place) = (kind.clone(), place.clone());
            rows.push(ChangeRow { kind, sentence: sentence.into(), place, shared });
        }
    }
    rows.order_by(|a, b| {
        let (one, two) = (&a.shared, &b.shared);
        (two.ranks.cmp(&one.ranks))
            .then_with(|| two.median_us.abs().total_cmp(&one.median_us.abs()))
            .then_with(|| (&a.kind, &a.sentence, &a.place).cmp(&(&b.kind, &b.sentence, &b.place)))
    });
    rows
}

pub(super) fn causes(whole: &[&Compared<'_>], roles: &[Role]) -> Vec<CauseRow> {
    let mut found: BTreeMap<Key<'_>, Vec<(usize, &Cause)>> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        let least = NOTABLE_CAUSE * one.per_step(Side::Baseline, one.facts.wall.baseline);
        for cause in &one.facts.causes {
            if cause.difference.as_micros().abs() >= least {
                let key = (&cause.reason, &cause.place, &cause.module);
                found.entry(key).or_default().push((at, cause));
            }
        }
    }
    let mut rows: Vec<CauseRow> =
        found.into_iter().map(|(key, list)| cause_row(key, &list, whole, roles)).collect();
    rows.order_by(|a, b| {
        let weight = |row: &CauseRow| row.shared.ranks as f64 * row.shared.median_us.abs();
        weight(b)
            .total_cmp(&weight(a))
            .then_with(|| (&a.reason, &a.place, &a.module).cmp(&(&b.reason, &b.place, &b.module)))
    });
    rows
}

fn cause_row(
    (reason, place, module): Key<'_>,
    found: &[(usize, &Cause)],
    whole: &[&Compared<'_>],
    roles: &[Role],
) -> CauseRow {
    let list: Vec<(usize, Nanos)> =
        found.iter().map(|&(at, cause)| (at, cause.difference)).collect();
    let (shared, worst) = shared(&list, whole, roles);
    CauseRow {
        reason: reason.clone(),
        place: place.clone(),
        module: module.clone(),
        shared,
        is_communication: found.iter().all(|(_, cause)| cause.is_communication),
        evidence: found[worst].1.evidence.clone(),
    }
}

/// Summarizes the differences in `found`, which are pairs of a rank and a time. Returns the ranks that share them, and
/// the index in `found` of the largest difference. A rank may occur several times.
fn shared(found: &[(usize, Nanos)], whole: &[&Compared<'_>], roles: &[Role]) -> (Shared, usize) {
    let members: BTreeSet<usize> = found.iter().map(|&(at, _)| at).collect();
    let differences: Vec<f64> = found.iter().map(|(_, time)| time.as_micros()).collect();
    let size = |position: &usize| (found[*position].1.abs(), Reverse(found[*position].0));
    let worst = (0..found.len()).max_by_key(size).unwrap_or_default();
    let (rank, time) = found[worst];
    let (spread, of_roles) = spread(&members, whole.len(), roles);
    let list_of: Vec<usize> = members.iter().copied().collect();
    let shared = Shared {
        ranks: members.len() as u64,
        share: members.len() as f64 / whole.len() as f64,
        spread,
        roles: of_roles,
        rank_list: list(whole, &list_of),
        pattern: short_list(whole, &list_of),
        median_us: median(&differences),
        worst: whole[rank].pair.folder.clone(),
        worst_us: time.as_micros(),
    };
    (shared, worst)
}

/// How widely a change or cause is shared, and which roles share it.
fn spread(members: &BTreeSet<usize>, all: usize, roles: &[Role]) -> (Spread, String) {
    let is_nearly = |some: usize, of: usize| some as f64 >= NEARLY_ALL * of as f64;
    if is_nearly(members.len(), all) && all > 1 {
        return (Spread::All, String::new());
    }
    let share = |role: &&Role| {
        let some = role.members.iter().filter(|at| members.contains(at)).count();
        is_nearly(some, role.members.len())
    };
    let sharing: Vec<&Role> = roles.iter().filter(share).collect();
    let covered: usize = sharing.iter().map(|role| role.members.len()).sum();
    if sharing.iter().any(|role| role.members.len() >= FEWEST)
        && is_nearly(covered.min(members.len()), members.len())
    {
        let names: Vec<&str> = sharing.iter().map(|role| &*role.hash).collect();
        return (Spread::Role, names.join(" "));
    }
    if members.len() * 10 <= all || members.len() <= 3 {
        (Spread::Few, String::new())
    } else {
        (Spread::Some, String::new())
    }
}
