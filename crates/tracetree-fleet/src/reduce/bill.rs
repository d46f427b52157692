//! Merges the bills of all ranks: each line is listed once, with the ranks that share it.

use super::compared::Compared;
use super::roles::{Role, list, short_list};
use super::sentences;
use crate::rows::{LineRow, Shared, Spread};
use crate::shard::Line;
use crate::stats::FEWEST;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tracetree::analysis::robust::median;
use tracetree::order::Order as _;
use tracetree::side::Side;
use tracetree::trace::Nanos;

/// Minimum price on a rank of a line that is not a change, as a share of a step's wall time. Smaller lines are ignored.
const NOTABLE: f64 = 0.005;

/// A line on at least this share of the ranks counts as occurring on nearly all ranks.
const NEARLY_ALL: f64 = 0.9;

/// What identifies a line on several ranks: the kind, the kind of change, and the place.
type Key<'s> = (&'s Arc<str>, &'s Arc<str>, &'s Arc<str>);

/// For each sentence, the ranks that have the line, and its price on each rank.
type BySentence<'s> = BTreeMap<&'s str, Vec<(usize, Nanos)>>;

/// The lines of all ranks. Changes come first, sorted by the number of ranks that share them, then by price. The other
/// lines are sorted by number of ranks × price.
pub(super) fn bill(whole: &[&Compared<'_>], roles: &[Role]) -> Vec<LineRow> {
    let mut found: BTreeMap<Key<'_>, BySentence<'_>> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        let least = NOTABLE * one.per_step(Side::Baseline, one.facts.wall.baseline);
        let is_kept =
            |line: &&Line| !line.change_kind.is_empty() || line.price.as_micros().abs() >= least;
        for line in one.facts.bill.iter().filter(is_kept) {
            let sentences = found.entry((&line.kind, &line.change_kind, &line.place)).or_default();
            sentences.entry(&*line.sentence).or_default().push((at, line.price));
        }
    }
    let mut rows = Vec::new();
    for (key, of_place) in found {
        if key.1.is_empty() {
            rows.push(same_program(key, &of_place, whole, roles));
        } else {
            rows.extend(changes(key, &of_place, whole, roles));
        }
    }
    rows.order_by(|a, b| {
        let (one, two) = (&a.shared, &b.shared);
        let ranks = |row: &LineRow| if row.change_kind.is_empty() { 0 } else { row.shared.ranks };
        let weight = |shared: &Shared| shared.ranks as f64 * shared.median_us.abs();
        (b.is_changed().cmp(&a.is_changed()))
            .then_with(|| ranks(b).cmp(&ranks(a)))
            .then_with(|| weight(two).total_cmp(&weight(one)))
            .then_with(|| (&a.kind, &a.sentence, &a.place).cmp(&(&b.kind, &b.sentence, &b.place)))
    });
    rows
}

/// The rows for changes of one kind at one place. Sentences that differ only a little in their numbers share a row.
fn changes(
    key: Key<'_>,
    of_place: &BySentence<'_>,
    whole: &[&Compared<'_>],
    roles: &[Role],
) -> Vec<LineRow> {
    let counts = of_place.iter().map(|(&sentence, list)| (sentence, list.len()));
    let merged = sentences::merged(counts.collect()).into_iter();
    let row = |(sentence, members): (String, Vec<&str>)| {
        let mut list: Vec<(usize, Nanos)> =
            members.iter().flat_map(|member| of_place[member].iter().copied()).collect();
        list.sort_unstable();
        row(key, sentence.into(), shared(&list, whole, roles).0)
    };
    merged.map(row).collect()
}

/// The row for everything that one line says about the speed of the same program. Each rank has figures of its own in
/// its sentence; the row contains the sentence of the rank with the largest price.
fn same_program(
    key: Key<'_>,
    of_place: &BySentence<'_>,
    whole: &[&Compared<'_>],
    roles: &[Role],
) -> LineRow {
    let mut all: Vec<(usize, Nanos, &str)> = Vec::new();
    for (sentence, list) in of_place {
        all.extend(list.iter().map(|&(at, price)| (at, price, *sentence)));
    }
    all.sort_unstable();
    let list: Vec<(usize, Nanos)> = all.iter().map(|&(at, price, _)| (at, price)).collect();
    let (shared, worst) = shared(&list, whole, roles);
    row(key, all[worst].2.into(), shared)
}

fn row((kind, change_kind, place): Key<'_>, sentence: Arc<str>, shared: Shared) -> LineRow {
    let (kind, change_kind, place) = (kind.clone(), change_kind.clone(), place.clone());
    LineRow { kind, change_kind, sentence, place, shared }
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

/// How widely a line is shared, and which roles share it.
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
