//! The tables of a fleet → what to look at first, each in one sentence.
//!
//! One fault shows in many places: a rank that computes longer is an outlier in several ops, has causes of
//! its own, and lets all others wait in their collectives. It is told once, where it began.

use super::reduce::Fleet;
use super::rows::{CauseRow, Finding, GroupRow, PairRow, RankRow, Spread};
use crate::side::Side;
use std::collections::{BTreeMap, BTreeSet};

/// A straggler comes last in at least this share of the collectives of its group, …
const OFTEN: f64 = 0.5;

/// … and the others wait at least this share of their wall time for it.
const NOTABLE_WAIT: f64 = 0.01;

/// So many pairs that were not compared for one reason are told one by one.
const FEW: usize = 3;

/// Of what a rank takes longer for, so many are named.
const NAMED: usize = 3;

/// What to look at first: what was not compared, what concerns single ranks, then what many share.
pub(super) fn of(fleet: &Fleet) -> Vec<Finding> {
    let stragglers = stragglers(fleet);
    let single = |name: &str| stragglers.contains_key(name);
    let mut found = not_compared(fleet);
    found.extend(stragglers.values().cloned());
    found.extend(missing_collectives(fleet));
    found.extend(other_ops(fleet));
    found.extend(outliers(fleet, &single));
    found.extend(causes(fleet, &single));
    found
}

/// Pairs that failed and traces without partner: each by itself, or all of a code together where it has many.
fn not_compared(fleet: &Fleet) -> Vec<Finding> {
    let mut of_code: BTreeMap<&str, Vec<&PairRow>> = BTreeMap::new();
    for pair in fleet.pairs.iter().filter(|pair| pair.status != "ok") {
        of_code.entry(&pair.code).or_default().push(pair);
    }
    let (many, few): (Vec<_>, Vec<_>) = of_code.into_values().partition(|pairs| pairs.len() > FEW);
    let is_of_few = |pair: &&PairRow| few.iter().any(|pairs| pairs[0].code == pair.code);
    let mut found: Vec<Finding> = many.iter().map(|pairs| of_many(pairs)).collect();
    let finding = |pair: &PairRow| {
        let words = &pair.message;
        let file = if pair.status == "unmatched" { pair.name() } else { "" };
        Finding {
            code: pair.code.clone(),
            ranks: pair.rank.map_or_else(|| pair.name().to_owned(), |rank| rank.to_string()),
            count: 1,
            message: format!("{file} {words}").trim().to_owned(),
        }
    };
    found.extend(
        fleet.pairs.iter().filter(|pair| pair.status != "ok").filter(is_of_few).map(finding),
    );
    found
}

/// One finding for all pairs of a code.
fn of_many(pairs: &[&PairRow]) -> Finding {
    let ranks: BTreeSet<u64> =
        pairs.iter().filter_map(|pair| u64::try_from(pair.rank?).ok()).collect();
    let ranks: Vec<u64> = ranks.into_iter().collect();
    Finding {
        code: pairs[0].code.clone(),
        ranks: super::rank_table::ranges(&ranks).replace('#', ""),
        count: pairs.len() as u64,
        message: format!(
            "{} are {}; the first: {} {}",
            pairs.len(),
            pairs[0].status,
            pairs[0].name(),
            pairs[0].message
        ),
    }
}

/// By folder: the ranks that a group of the candidate waits for.
fn stragglers(fleet: &Fleet) -> BTreeMap<String, Finding> {
    let mut found: BTreeMap<String, Finding> = BTreeMap::new();
    let groups = fleet.groups.iter().filter(|group| group.side == Side::Candidate);
    for group in groups.filter(|group| is_notable(fleet, group)) {
        let Some(rank) = fleet.ranks.iter().find(|rank| rank.folder == group.straggler) else {
            continue;
        };
        let before = fleet.groups.iter().any(|other| {
            other.side == Side::Baseline
                && other.group == group.group
                && other.straggler == group.straggler
        });
        let message = format!(
            "{} others wait {:.3} ms each (median) for {}, which comes last in {} of {} collectives{}{}{}",
            group.ranks.saturating_sub(1),
            group.median_wait_us / 1e3,
            rank.folder,
            group.last_count,
            group.collectives,
            if group.group.is_empty() {
                String::new()
            } else {
                format!(" of group {}", group.group)
            },
            if before { ", as in the baseline" } else { "" },
            slower(fleet, rank),
        );
        let code = if before { "STRAGGLER_BEFORE" } else { "STRAGGLER" };
        let finding = Finding { code: code.to_owned(), ranks: name(rank), count: 1, message };
        found.entry(rank.folder.clone()).or_insert(finding);
    }
    found
}

fn is_notable(fleet: &Fleet, group: &GroupRow) -> bool {
    let walls: Vec<f64> = fleet.ranks.iter().map(|rank| rank.wall.candidate.as_micros()).collect();
    let wall = crate::analysis::robust::median(&walls);
    group.last_count as f64 >= OFTEN * group.collectives as f64
        && group.median_wait_us >= NOTABLE_WAIT * wall
}

fn name(rank: &RankRow) -> String {
    rank.rank.map_or_else(|| rank.folder.clone(), |rank| rank.to_string())
}

/// `; it takes longer for aten::mm (+1.200 ms a step)`: the ops in which a rank stands out.
fn slower(fleet: &Fleet, rank: &RankRow) -> String {
    let ops = fleet.outliers.iter().filter(|one| {
        one.side == Side::Candidate
            && one.kind == "op"
            && one.folder == rank.folder
            && one.time_us > one.median_us
    });
    let named: Vec<String> = ops
        .take(NAMED)
        .map(|one| format!("{} (+{:.3} ms a step)", one.name, one.distance_us() / 1e3))
        .collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("; it takes longer than its role for {}", named.join(", ")),
    }
}

/// Ranks that lack a collective in the middle.
fn missing_collectives(fleet: &Fleet) -> Vec<Finding> {
    let rows = fleet.collectives.iter().filter(|row| !row.absent.is_empty());
    let finding = |row: &super::rows::CollectiveRow| {
        let number = row.sequence.map_or(String::new(), |number| format!(" number {number}"));
        let group =
            if row.group.is_empty() { String::new() } else { format!(" of group {}", row.group) };
        Finding {
            code: "COLLECTIVE_MISSING".to_owned(),
            ranks: row.absent.clone(),
            count: 1,
            message: format!(
                "{}{number}{group} of the {} is on {} ranks, and not on {}",
                row.name,
                super::tables::side_word(row.side),
                row.ranks,
                row.absent
            ),
        }
    };
    rows.map(finding).collect()
}

/// Ranks that run other ops in the candidate than the others of their role.
fn other_ops(fleet: &Fleet) -> Vec<Finding> {
    let roles = fleet.roles.iter().filter(|role| !role.odd.is_empty() && role.ranks > 2);
    let finding = |role: &super::rows::RoleRow| Finding {
        code: "OTHER_OPS".to_owned(),
        ranks: role.odd.clone(),
        count: 1,
        message: format!(
            "in the candidate {} runs other ops than the other ranks of role {} ({})",
            role.odd, role.role, role.rank_list
        ),
    };
    roles.map(finding).collect()
}

/// Ranks that stand out in the candidate, and did not before. Stragglers are told already.
fn outliers(fleet: &Fleet, is_told: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let before: BTreeSet<(&str, &str)> = fleet
        .outliers
        .iter()
        .filter(|one| one.side == Side::Baseline && one.kind == "op")
        .map(|one| (one.folder.as_str(), &*one.name))
        .collect();
    let mut of_rank: BTreeMap<&str, Vec<&super::rows::OutlierRow>> = BTreeMap::new();
    for one in &fleet.outliers {
        let is_new = one.side == Side::Candidate
            && one.kind == "op"
            && !before.contains(&(one.folder.as_str(), &*one.name));
        if is_new && !is_told(&one.folder) {
            of_rank.entry(&one.folder).or_default().push(one);
        }
    }
    let finding = |(folder, ops): (&str, Vec<&super::rows::OutlierRow>)| {
        let named: Vec<String> = ops
            .iter()
            .take(NAMED)
            .map(|one| {
                format!(
                    "{} {:.3} ms a step (median {:.3})",
                    one.name,
                    one.time_us / 1e3,
                    one.median_us / 1e3
                )
            })
            .collect();
        Finding {
            code: "OUTLIER".to_owned(),
            ranks: ops[0].rank.map_or_else(|| folder.to_owned(), |rank| rank.to_string()),
            count: 1,
            message: format!(
                "{folder} stands out among the {} ranks of its role: {}",
                ops[0].ranks,
                named.join(", ")
            ),
        }
    };
    of_rank.into_iter().map(finding).collect()
}

/// Causes; those of single ranks that are told already, and longer collectives, are left out.
fn causes(fleet: &Fleet, is_told: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let waits_are_known = fleet.collectives.iter().any(|row| row.number.is_some());
    let of_told = |row: &CauseRow| row.ranks == 1 && is_told(&row.worst);
    let rows = fleet
        .causes
        .iter()
        .filter(|row| !(of_told(row) || row.is_communication && waits_are_known));
    let finding = |row: &CauseRow| {
        let whom = match row.spread {
            Spread::All => format!("on {} ranks, all of them", row.ranks),
            Spread::Role => format!("on {} ranks, those of role {}", row.ranks, row.roles),
            Spread::Some | Spread::Few => format!("on {} ranks ({})", row.ranks, row.rank_list),
        };
        let module =
            if row.module.is_empty() { String::new() } else { format!(" in {}", row.module) };
        Finding {
            code: "CAUSE".to_owned(),
            ranks: row.rank_list.clone(),
            count: row.ranks,
            message: format!(
                "{} at {}{module}: {:+.3} ms a step (median) {whom}; on {} {}",
                row.reason,
                row.place,
                row.median_us / 1e3,
                row.worst,
                row.evidence
            ),
        }
    };
    rows.map(finding).collect()
}
