//! Selects the findings about a fleet that a reader should see first, and describes each finding in one sentence.
//!
//! One fault affects many tables: a rank that takes longer to compute is an outlier in several ops, has its own bill,
//! and makes all other ranks wait in their collectives. Each fault is reported only once, at its origin.

use super::Fleet;
use super::pattern::{numbers, pattern};
use super::rows::{Finding, GroupRow, LineRow, PairRow, RankRow, Shared, SlowedOp, Spread};
use super::slowed::Slowed;
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::bill::{BillKind, COMMUNICATION};
use tracetree::program::counted;
use tracetree::side::Side;

/// A rank is reported as a straggler only if it arrives last in at least this share of a group's collectives.
const OFTEN: f64 = 0.5;

/// A straggler is reported only if the median wait in its process group is at least this share of the median wall time
/// of all ranks.
const NOTABLE_WAIT: f64 = 0.01;

/// Maximum number of pairs with the same failure code that are reported individually. If more pairs have the code, they
/// are reported as one group.
const FEW: usize = 3;

/// Maximum number of ops listed for a rank.
const NAMED: usize = 3;

/// Lists the findings in this order: pairs that were not compared, changes on all ranks, findings about single ranks,
/// changes on some ranks, the speed of the same program, and what was the same in the baseline.
pub(super) fn of(fleet: &Fleet) -> Vec<Finding> {
    let slowed = fleet.slowed();
    let stragglers = stragglers(fleet, &slowed);
    let slowed = got_slower(&slowed);
    let single = |name: &str| stragglers.contains_key(name) || slowed.contains_key(name);
    let (standing, new): (Vec<&Finding>, Vec<&Finding>) =
        stragglers.values().partition(|one| one.code == "STRAGGLER_BEFORE");
    let mut found = not_compared(fleet);
    found.extend(identical(fleet));
    let is_together = |row: &LineRow| &*row.kind == BillKind::Together.label();
    let changed = fleet.bill.iter().filter(|row| row.is_changed() && !is_together(row));
    let (environment, program): (Vec<&LineRow>, Vec<&LineRow>) =
        changed.partition(|row| code(row) == ENVIRONMENT);
    let changes: Vec<&LineRow> = environment.into_iter().chain(program).collect();
    let of_all = |row: &LineRow| row.shared.spread == Spread::All;
    found.extend(changes.iter().filter(|row| of_all(row)).map(|row| change(row)));
    found.extend(new.into_iter().cloned());
    // A straggler's message already contains what got slower.
    let is_new = |folder: &str| stragglers.get(folder).is_none_or(|one| one.code != "STRAGGLER");
    found.extend(slowed.iter().filter(|(folder, _)| is_new(folder)).map(|(_, one)| one.clone()));
    found.extend(missing_collectives(fleet));
    found.extend(other_ops(fleet));
    found.extend(outliers(fleet, &single));
    // A missing collective is already reported by a separate finding, so it is not reported again as a change.
    let is_missing = |row: &LineRow| {
        let mut missing = fleet.collectives.iter().map(|row| row.absent.as_str());
        &*row.change_kind == "collectives" && missing.any(|ranks| ranks == row.shared.rank_list)
    };
    let of_some = changes.iter().filter(|row| !of_all(row) && !is_missing(row));
    found.extend(of_some.map(|row| change(row)));
    // A rank that has always been slow may have become slower.
    let is_standing =
        |name: &str| stragglers.get(name).is_some_and(|one| one.code == "STRAGGLER_BEFORE");
    found.extend(speeds(fleet, &|name| single(name) && !is_standing(name)));
    found.extend(standing.into_iter().cloned());
    found
}

/// The ranks that got slower against their own baseline. The key is the folder of the rank.
fn got_slower(slowed: &[Slowed<'_>]) -> BTreeMap<String, Finding> {
    let finding = |Slowed { change, ops }: &Slowed<'_>| {
        let message = format!(
            "{} takes {:.2}× the GPU time of its baseline, without waits (median of its role: {:.2}×){}",
            change.row.folder,
            change.ratio,
            change.middle,
            slowed_in(ops)
        );
        let finding =
            Finding { code: "GOT_SLOWER".to_owned(), ranks: name(change.row), count: 1, message };
        (change.row.folder.clone(), finding)
    };
    slowed.iter().map(finding).collect()
}

/// The ops that got slower: `; it got slower in aten::mm: 1.40× (0.200 → 0.280 ms)`.
fn slowed_in(ops: &[&SlowedOp]) -> String {
    let named: Vec<String> =
        ops.iter().take(NAMED).map(|op| format!("{}: {}", op.name, op.text())).collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("; it got slower in {}", named.join(", "))
    }
}

/// Lists the ranks whose baseline and candidate programs are identical.
fn identical(fleet: &Fleet) -> Option<Finding> {
    (fleet.identical > 0).then(|| Finding {
        code: "SAME_PROGRAM".to_owned(),
        ranks: fleet.identical_pattern.clone(),
        count: fleet.identical,
        message: "the programs are identical: only times differ".to_owned(),
    })
}

/// The code of findings about other devices and versions, and about what they brought.
pub(super) const ENVIRONMENT: &str = "ENVIRONMENT";

fn code(row: &LineRow) -> &'static str {
    let is_environment =
        |kind| [BillKind::Environment, BillKind::Hardware, BillKind::Software].contains(&kind);
    match BillKind::from_label(&row.kind) {
        Some(kind) if is_environment(kind) => ENVIRONMENT,
        Some(BillKind::Recording) => "RECORDING",
        Some(_) | None => "CHANGE",
    }
}

fn change(row: &LineRow) -> Finding {
    let place = if row.place.is_empty() || row.sentence.contains(&*row.place) {
        String::new()
    } else {
        format!(", first {}", row.place)
    };
    Finding {
        code: code(row).to_owned(),
        ranks: row.shared.pattern.clone(),
        count: row.shared.ranks,
        message: format!(
            "{}{place}: {:+.3} ms per step (median) {}",
            row.sentence,
            row.shared.median_us / 1e3,
            on(&row.shared)
        ),
    }
}

/// The text that says how many ranks share a line, for example `on 8 ranks (all or nearly all)`.
fn on(shared: &Shared) -> String {
    let ranks = counted(shared.ranks, "rank");
    match shared.spread {
        Spread::All => format!("on {ranks} (all or nearly all)"),
        Spread::Role => format!("on {ranks} (role {})", shared.roles),
        Spread::Some | Spread::Few => format!("on {ranks}"),
    }
}

/// Failed pairs and unmatched traces, listed individually, or grouped by code if many have the same code.
fn not_compared(fleet: &Fleet) -> Vec<Finding> {
    let mut of_code: BTreeMap<&str, Vec<&PairRow>> = BTreeMap::new();
    for pair in fleet.pairs.iter().filter(|pair| pair.status != "ok") {
        of_code.entry(&pair.code).or_default().push(pair);
    }
    let (many, few): (Vec<_>, Vec<_>) = of_code.into_values().partition(|pairs| pairs.len() > FEW);
    let is_of_few = |pair: &&PairRow| few.iter().any(|pairs| pairs[0].code == pair.code);
    let all = numbers(fleet.pairs.iter().map(|pair| pair.rank));
    let mut found: Vec<Finding> = many.iter().map(|pairs| of_many(pairs, &all)).collect();
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

/// A single finding for all pairs that have the same code. `all` lists the ranks of the fleet.
fn of_many(pairs: &[&PairRow], all: &[u64]) -> Finding {
    let ranks = numbers(pairs.iter().map(|pair| pair.rank));
    let (status, message) = (pairs[0].status, &pairs[0].message);
    let message = if pairs.iter().all(|pair| pair.message == *message) {
        message.clone()
    } else {
        format!("the first: {} {message}", pairs[0].name())
    };
    Finding {
        code: pairs[0].code.clone(),
        ranks: pattern(&ranks, all),
        count: pairs.len() as u64,
        message: format!("{} rows of fleet_pairs are {status}; {message}", pairs.len()),
    }
}

/// The findings about stragglers in the candidate's process groups. The key is the folder of the straggler.
fn stragglers(fleet: &Fleet, slowed: &[Slowed<'_>]) -> BTreeMap<String, Finding> {
    let mut found: BTreeMap<String, Finding> = BTreeMap::new();
    let walls: Vec<f64> = fleet.ranks.iter().map(|rank| rank.wall.candidate.as_micros()).collect();
    let wall = tracetree::analysis::robust::median(&walls);
    let groups = fleet.groups.iter().filter(|group| group.side == Side::Candidate);
    for group in groups.filter(|group| is_notable(group, wall)) {
        let Some(rank) = fleet.ranks.iter().find(|rank| rank.folder == group.straggler) else {
            continue;
        };
        let before = fleet.groups.iter().any(|other| {
            other.side == Side::Baseline
                && other.group == group.group
                && other.straggler == group.straggler
        });
        let others = group.ranks.saturating_sub(1);
        let message = format!(
            "{} arrives last in {} of {} collectives{}{}; {} {} for it, {:.3} ms each (median){}",
            rank.folder,
            group.last_count,
            group.collectives,
            if group.group.is_empty() {
                String::new()
            } else {
                format!(" of group {}", group.group)
            },
            if before { ", as in the baseline" } else { "" },
            counted(others, "other rank"),
            if others == 1 { "waits" } else { "wait" },
            group.median_wait_us / 1e3,
            slower(fleet, slowed, rank),
        );
        let code = if before { "STRAGGLER_BEFORE" } else { "STRAGGLER" };
        let finding = Finding { code: code.to_owned(), ranks: name(rank), count: 1, message };
        found.entry(rank.folder.clone()).or_insert(finding);
    }
    found
}

/// Whether a process group has a straggler that arrives last often enough, and for which the other ranks wait long
/// enough. `wall` is the median wall time of a rank, in µs.
fn is_notable(group: &GroupRow, wall: f64) -> bool {
    group.straggler == group.last_most
        && group.last_count as f64 >= OFTEN * group.collectives as f64
        && group.median_wait_us >= NOTABLE_WAIT * wall
}

/// Display name of a rank: its number, or its folder if the number is unknown.
pub(super) fn name(rank: &RankRow) -> String {
    rank.rank.map_or_else(|| rank.folder.clone(), |rank| rank.to_string())
}

/// The ops in which a rank got slower or, if it did not, takes longer than the median of its role: `; it takes longer
/// than the median rank of its role in aten::mm (+1.200 ms per step)`.
fn slower(fleet: &Fleet, slowed: &[Slowed<'_>], rank: &RankRow) -> String {
    let is_it = |slowed: &&Slowed<'_>| slowed.change.row.folder == rank.folder;
    if let Some(slowed) = slowed.iter().find(is_it) {
        return slowed_in(&slowed.ops);
    }
    let ops = fleet.outliers.iter().filter(|one| {
        one.side == Side::Candidate
            && one.kind == "op"
            && one.folder == rank.folder
            && one.time_us > one.median_us
    });
    let named: Vec<String> = ops
        .take(NAMED)
        .map(|one| format!("{} (+{:.3} ms per step)", one.name, one.distance_us() / 1e3))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("; it takes longer than the median rank of its role in {}", named.join(", "))
    }
}

/// Ranks that did not record a collective, although they recorded earlier and later collectives.
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
                "{}{number}{group} is missing on {} in the {}, but recorded on {}",
                row.name,
                row.absent,
                row.side.word(),
                counted(row.ranks, "rank")
            ),
        }
    };
    rows.map(finding).collect()
}

/// Ranks whose ops in the candidate differ from the ops of the other ranks in their role.
fn other_ops(fleet: &Fleet) -> Vec<Finding> {
    let roles = fleet.roles.iter().filter(|role| !role.odd.is_empty() && role.ranks > 2);
    let finding = |role: &super::rows::RoleRow| {
        let ops = if role.odd_ops.is_empty() {
            "runs the same ops at different call sites".to_owned()
        } else {
            role.odd_ops.clone()
        };
        Finding {
            code: "OTHER_OPS".to_owned(),
            ranks: role.odd_pattern.clone(),
            count: role.odd_ranks,
            message: format!(
                "unlike the other ranks of role {} in the candidate: {ops}",
                role.role
            ),
        }
    };
    roles.map(finding).collect()
}

/// Ranks that are outliers in the candidate but not in the baseline. Stragglers are omitted, because they are already
/// reported.
fn outliers(fleet: &Fleet, is_reported: &dyn Fn(&str) -> bool) -> Vec<Finding> {
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
        if is_new && !is_reported(&one.folder) {
            of_rank.entry(&one.folder).or_default().push(one);
        }
    }
    let finding = |(folder, ops): (&str, Vec<&super::rows::OutlierRow>)| {
        let named: Vec<String> = ops
            .iter()
            .take(NAMED)
            .map(|one| {
                format!(
                    "{} takes {:.3} ms per step (median {:.3} ms)",
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
                "{folder} is an outlier among the {} ranks of its role: {}",
                ops[0].ranks,
                named.join(", ")
            ),
        }
    };
    of_rank.into_iter().map(finding).collect()
}

/// The findings about the speed of the same program. A line on a single rank is omitted if that rank is already
/// reported. If the waits are known, communication is omitted as well.
fn speeds(fleet: &Fleet, is_reported: &dyn Fn(&str) -> bool) -> Vec<Finding> {
    let waits_are_known = fleet.collectives.iter().any(|row| row.number.is_some());
    let is_known = |row: &LineRow| {
        (row.shared.ranks == 1 && is_reported(&row.shared.worst))
            || (&*row.place == COMMUNICATION && waits_are_known)
    };
    let is_rest = |row: &LineRow| &*row.kind == BillKind::Rest.label();
    let rows = fleet.bill.iter().filter(|row| !row.is_changed() && !is_rest(row) && !is_known(row));
    let finding = |row: &LineRow| Finding {
        code: "SPEED".to_owned(),
        ranks: row.shared.pattern.clone(),
        count: row.shared.ranks,
        message: format!(
            "{:+.3} ms per step (median) {}; on {}: {}",
            row.shared.median_us / 1e3,
            on(&row.shared),
            row.shared.worst,
            row.sentence
        ),
    };
    rows.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracetree::trace::Nanos;

    #[test]
    fn a_straggler_arrives_last_itself() {
        let group = |last_most: &str, last_count: u64, median_wait_us: f64| GroupRow {
            side: Side::Candidate,
            group: "tp".to_owned(),
            ranks: 2,
            collectives: 10,
            incomplete: 0,
            time: Nanos(0),
            wait: Nanos(0),
            median_wait_us,
            last_most: last_most.to_owned(),
            last_count,
            straggler: "rank1".to_owned(),
        };
        assert!(is_notable(&group("rank1", 5, 10.0), 1_000.0));
        // Another rank arrives last most often; the straggler arrives last too rarely; the others wait too briefly.
        assert!(!is_notable(&group("rank0", 9, 10.0), 1_000.0));
        assert!(!is_notable(&group("rank1", 4, 10.0), 1_000.0));
        assert!(!is_notable(&group("rank1", 5, 9.0), 1_000.0));
    }
}
