//! The causes of all ranks → each once, with how many ranks share it.

use super::Compared;
use super::roles::{Role, list};
use crate::analysis::robust::median;
use crate::fleet::rows::{CauseRow, Spread};
use crate::fleet::shard::Cause;
use crate::fleet::stats::FEWEST;
use crate::side::Side;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A cause counts on a rank where it is at least this share of the wall time of its step.
const NOTABLE_CAUSE: f64 = 0.005;

/// So many of some ranks are nearly all of them.
const NEARLY_ALL: f64 = 0.9;

/// What makes causes of several ranks one.
type CauseKey<'s> = (&'s Arc<str>, &'s Arc<str>, &'s Arc<str>);

pub(super) fn causes(whole: &[&Compared<'_>], roles: &[Role]) -> Vec<CauseRow> {
    let mut found: BTreeMap<CauseKey<'_>, Vec<(usize, &Cause)>> = BTreeMap::new();
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
    rows.sort_by(|a, b| {
        let weight = |row: &CauseRow| row.ranks as f64 * row.median_us.abs();
        weight(b)
            .total_cmp(&weight(a))
            .then_with(|| (&a.reason, &a.place, &a.module).cmp(&(&b.reason, &b.place, &b.module)))
    });
    rows
}

fn cause_row(
    (reason, place, module): CauseKey<'_>,
    found: &[(usize, &Cause)],
    whole: &[&Compared<'_>],
    roles: &[Role],
) -> CauseRow {
    let members: BTreeSet<usize> = found.iter().map(|&(at, _)| at).collect();
    let differences: Vec<f64> =
        found.iter().map(|(_, cause)| cause.difference.as_micros()).collect();
    let size = |cause: &Cause| cause.difference.abs();
    let largest = found.iter().max_by_key(|(at, cause)| (size(cause), std::cmp::Reverse(*at)));
    let (worst, cause) = largest.copied().unwrap_or(found[0]);
    let (spread, of_roles) = spread(&members, whole.len(), roles);
    CauseRow {
        reason: reason.clone(),
        place: place.clone(),
        module: module.clone(),
        ranks: members.len() as u64,
        share: members.len() as f64 / whole.len() as f64,
        spread,
        roles: of_roles,
        rank_list: list(whole, &members.iter().copied().collect::<Vec<_>>()),
        median_us: median(&differences),
        worst: whole[worst].pair.folder.clone(),
        worst_us: cause.difference.as_micros(),
        is_communication: found.iter().all(|(_, cause)| cause.is_communication),
        evidence: cause.evidence.clone(),
    }
}

/// Whom a cause is common to, and the roles that share it.
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
    match members.len() * 10 <= all || members.len() <= 3 {
        true => (Spread::Few, String::new()),
        false => (Spread::Some, String::new()),
    }
}
