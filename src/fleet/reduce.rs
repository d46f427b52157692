//! A plan and the shards of its pairs → the [`Fleet`]: what all ranks have in common, and what few have.
//!
//! ```text
//! shards ─read─▶ pairs ─┬─ work by role ─────────▶ parts, outliers
//!                       ├─ collectives matched ──▶ collectives, groups, ranks
//!                       ├─ causes by place ──────▶ causes
//!                       └─ what did not work ────▶ pairs
//!                                    all of it ──▶ findings
//! ```
//! Pairs stand in the order of the plan and nothing looks at times of files, so that the same shards give
//! the same bytes, whoever wrote them in which order.

use super::collectives::{CollectiveWait, Collectives, Matched, straggler};
use super::findings;
use super::map::{SHARDS, shard_path};
use super::plan::{Plan, PlannedPair};
use super::rank_table::ranges;
use super::rows::{
    CauseRow, CollectiveRow, Finding, GroupRow, OutlierRow, PairRow, PartRow, RankRow, RoleRow,
    Spread, StepRow,
};
use super::shard::{Cause, Facts, Part, PartKind, Shard};
use super::stats::{FEWEST, Quantiles, outliers};
use super::status::Status;
use crate::analysis::robust::median;
use crate::error::Result;
use crate::side::{PerSide, Side};
use crate::storage;
use crate::trace::Nanos;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Shards that are read before their texts are shared with those of the others.
const AT_ONCE: usize = 256;

/// An outlier is at least this share of its median away from it, …
const NOTABLE: f64 = 0.05;

/// … and this share of all work of a rank of its role.
const NOTABLE_OF_ALL: f64 = 0.005;

/// A cause counts on a rank where it is at least this share of the wall time of its step.
const NOTABLE_CAUSE: f64 = 0.005;

/// A straggler waits less than the next one by this share of the median wait.
const ALONE: f64 = 0.25;

/// So many of some ranks are nearly all of them.
const NEARLY_ALL: f64 = 0.9;

/// Pairs that an engine could not do, by their key: a code, and words.
pub type Lost = BTreeMap<String, (String, String)>;

/// Thousands of ranks, compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Fleet {
    /// The folder with the traces before.
    pub baseline: String,
    /// The folder with the traces after.
    pub candidate: String,
    /// All that was planned, and what became of it.
    pub pairs: Vec<PairRow>,
    /// The pairs with figures.
    pub ranks: Vec<RankRow>,
    /// Ranks that run the same.
    pub roles: Vec<RoleRow>,
    /// Work of one name, over the ranks of a role.
    pub parts: Vec<PartRow>,
    /// Ranks whose work stands out in their role.
    pub outliers: Vec<OutlierRow>,
    /// Collectives, matched across ranks.
    pub collectives: Vec<CollectiveRow>,
    /// The same by process group.
    pub groups: Vec<GroupRow>,
    /// Steps of all ranks.
    pub steps: Vec<StepRow>,
    /// Causes, and how many ranks share them.
    pub causes: Vec<CauseRow>,
    /// What to look at first.
    pub findings: Vec<Finding>,
    /// What was odd about folders and shards.
    pub notes: Vec<String>,
    /// What each rank waited in each collective of the candidate, for the page.
    pub(super) waits: Vec<(u64, usize, Nanos)>,
}

/// A pair with figures.
pub(super) struct Compared<'p> {
    pub(super) pair: &'p PlannedPair,
    pub(super) facts: Facts,
    pub(super) status: Status,
}

impl Compared<'_> {
    fn is_whole(&self) -> bool {
        self.status == Status::Compared
    }

    fn per_step(&self, side: Side, time: Nanos) -> f64 {
        time.as_micros() / self.facts.steps[side].max(1) as f64
    }
}

impl Fleet {
    /// Adds up the shards below `folder`. Pairs without shard have failed: with what `lost` says of them,
    /// else with `NO_SHARD`.
    ///
    /// # Errors
    /// If the shards cannot be read for another reason than that they are not there.
    pub fn reduce(plan: &Plan, folder: &Path, lost: &Lost) -> Result<Fleet> {
        let mut texts = Texts::default();
        let (mut pairs, mut compared) = (Vec::new(), Vec::new());
        for chunk in plan.pairs.chunks(AT_ONCE) {
            let read: Vec<Result<Shard>> =
                chunk.par_iter().map(|pair| read(pair, folder, lost)).collect();
            for (pair, shard) in chunk.iter().zip(read) {
                let Shard { status, facts, .. } = shard?;
                pairs.push(PairRow::of_pair(pair, &status));
                if let Some(mut facts) = facts {
                    texts.share(&mut facts);
                    compared.push(Compared { pair, facts, status });
                }
            }
        }
        pairs.extend(plan.unmatched.iter().map(PairRow::of_unmatched));
        let mut notes = plan.notes.clone();
        notes.extend(other_shards(plan, folder));
        Ok(added_up(plan, pairs, &compared, notes))
    }

    /// How many were planned, compared, failed and have no partner.
    pub fn counts(&self) -> Counts {
        let count = |status: &str| self.pairs.iter().filter(|pair| pair.status == status).count();
        Counts {
            planned: self.pairs.len(),
            ok: count("ok"),
            failed: count("failed"),
            unmatched: count("unmatched"),
        }
    }
}

/// What became of what was planned: `ok + failed + unmatched = planned`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Pairs, and traces without partner.
    pub planned: usize,
    /// Compared, with figures that say something.
    pub ok: usize,
    /// Not.
    pub failed: usize,
    /// Without partner.
    pub unmatched: usize,
}

impl Counts {
    /// The share of what was planned that was compared, 0 to 1.
    pub fn coverage(&self) -> f64 {
        self.ok as f64 / self.planned.max(1) as f64
    }
}

/// The shard of a pair, or why there is none.
fn read(pair: &PlannedPair, folder: &Path, lost: &Lost) -> Result<Shard> {
    let bytes = storage::read(&shard_path(folder, pair))?;
    let status = match (bytes, lost.get(&pair.key)) {
        (Some(bytes), _) => match Shard::read(bytes, pair) {
            Ok(shard) => return Ok(shard),
            Err(status) => status,
        },
        (None, Some((code, message))) => Status::failed(code, message.clone()),
        (None, None) => Status::failed("NO_SHARD", "it was not compared yet, or its shard is gone"),
    };
    Ok(Shard::failed(pair.rank, status))
}

/// Shards of other plans, versions or options are not looked at; that they are there is told.
fn other_shards(plan: &Plan, folder: &Path) -> Option<String> {
    let shards = folder.join(SHARDS);
    let known: BTreeSet<String> =
        plan.pairs.iter().map(|pair| format!("{}.parquet", pair.key)).collect();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let listed = storage::list(&shards).ok()?;
    let names = listed.iter().map(|file| name(&file.path));
    let others = names.filter(|name| name.ends_with(".parquet") && !known.contains(name)).count();
    (others > 0).then(|| {
        format!(
            "{others} shards in {} are of other inputs, options or versions and left out",
            shards.display()
        )
    })
}

/// Texts that many shards have are kept once.
#[derive(Default)]
struct Texts(BTreeSet<Arc<str>>);

impl Texts {
    fn one(&mut self, text: &mut Arc<str>) {
        match self.0.get(&**text) {
            Some(known) => *text = known.clone(),
            None => drop(self.0.insert(text.clone())),
        }
    }

    fn share(&mut self, facts: &mut Facts) {
        for side in Side::BOTH {
            self.one(&mut facts.notes[side]);
            self.one(&mut facts.roles[side]);
        }
        facts.parts.iter_mut().for_each(|part| self.one(&mut part.name));
        for cause in &mut facts.causes {
            for text in [&mut cause.reason, &mut cause.place, &mut cause.module] {
                self.one(text);
            }
        }
        facts.parts.shrink_to_fit();
    }
}

/// Names of ranks: their numbers where they have different ones, else their folders.
pub(super) fn names(ranks: &[&PlannedPair]) -> String {
    let numbers: BTreeSet<u64> =
        ranks.iter().filter_map(|pair| u64::try_from(pair.rank?).ok()).collect();
    if numbers.len() == ranks.len() {
        let numbers: Vec<u64> = numbers.into_iter().collect();
        return ranges(&numbers).replace('#', "");
    }
    ranks.iter().map(|pair| pair.folder.as_str()).collect::<Vec<_>>().join(" ")
}

fn added_up(plan: &Plan, pairs: Vec<PairRow>, all: &[Compared<'_>], notes: Vec<String>) -> Fleet {
    let whole: Vec<&Compared<'_>> = all.iter().filter(|one| one.is_whole()).collect();
    let roles = roles(&whole);
    let (parts, outliers) = parts(&whole, &roles);
    let mut fleet = Fleet {
        baseline: plan.baseline.clone(),
        candidate: plan.candidate.clone(),
        pairs,
        ranks: Vec::new(),
        causes: causes(&whole, &roles),
        roles: roles.iter().map(|role| role.row(&whole)).collect(),
        parts,
        outliers,
        collectives: Vec::new(),
        groups: Vec::new(),
        steps: all.iter().flat_map(steps).collect(),
        findings: Vec::new(),
        notes,
        waits: Vec::new(),
    };
    let mut waits: PerSide<Vec<CollectiveWait>> = PerSide::default();
    for side in Side::BOTH {
        let ranks: Vec<&Collectives> =
            whole.iter().map(|one| &one.facts.collectives[side]).collect();
        let matched = Collectives::matched(&ranks);
        waits[side] = Collectives::waits_of(&ranks, &matched);
        fleet.collectives.extend(matched.iter().map(|one| collective(side, one, &whole)));
        fleet.groups.extend(groups(side, &matched, &whole));
        if side == Side::Candidate {
            fleet.waits = matched.iter().flat_map(|one| waited(one, &whole, all)).collect();
        }
    }
    fleet.ranks = ranks(all, &whole, &waits);
    fleet.findings = findings::of(&fleet);
    fleet
}

/// For each member of a numbered collective its place among all ranks, and what it waited.
fn waited(
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

fn ranks(
    all: &[Compared<'_>],
    whole: &[&Compared<'_>],
    waits: &PerSide<Vec<CollectiveWait>>,
) -> Vec<RankRow> {
    let stragglers = waits.as_ref().map(|waits| straggler(waits));
    let mut places = whole.iter().enumerate().peekable();
    let row = |one: &Compared<'_>| {
        // Those that are not whole take no part in the matching.
        let at = places.next_if(|(_, other)| std::ptr::eq(**other, one)).map(|(at, _)| at);
        let facts = &one.facts;
        RankRow {
            rank: one.pair.rank,
            folder: one.pair.folder.clone(),
            status: one.status.label(),
            code: one.status.code().to_owned(),
            role: facts.roles.baseline.clone(),
            files: PerSide::from_fn(|side| one.pair.file(side).path.clone()),
            time: facts.account.map(|sum| sum.time),
            busy: facts.account.map(|sum| sum.busy),
            events: facts.account.map(|sum| sum.events),
            wall: facts.wall,
            steps: facts.steps,
            account_is_exact: facts.is_exact,
            waits: PerSide::from_fn(|side| {
                at.map_or_else(CollectiveWait::default, |at| waits[side][at].clone())
            }),
            is_straggler: stragglers.map(|straggler| straggler.is_some() && straggler == at),
            points_of_difference: facts.points as usize,
            is_comparable: facts.is_comparable,
            notes: facts.notes.as_ref().map(|notes| notes.to_string()),
        }
    };
    all.iter().map(row).collect()
}

fn steps(one: &Compared<'_>) -> Vec<StepRow> {
    let step = |step: &super::shard::Step| StepRow {
        rank: one.pair.rank,
        folder: one.pair.folder.clone(),
        step: step.number,
        wall: step.wall,
        busy: step.busy,
    };
    one.facts.step_list.iter().map(step).collect()
}

/// The ranks of one outline.
pub(super) struct Role {
    hash: Arc<str>,
    /// Positions among the whole ones.
    members: Vec<usize>,
}

impl Role {
    fn row(&self, whole: &[&Compared<'_>]) -> RoleRow {
        let of = |at: &usize| &whole[*at].facts.roles.candidate;
        let mut after: BTreeMap<&Arc<str>, Vec<usize>> = BTreeMap::new();
        self.members.iter().for_each(|at| after.entry(of(at)).or_default().push(*at));
        let most =
            after.iter().max_by_key(|(hash, members)| (members.len(), std::cmp::Reverse(**hash)));
        let usual = most.map_or("".into(), |(hash, _)| (*hash).clone());
        let odd: Vec<usize> = self.members.iter().copied().filter(|at| *of(at) != usual).collect();
        RoleRow {
            role: self.hash.clone(),
            ranks: self.members.len() as u64,
            rank_list: list(whole, &self.members),
            candidate: usual,
            odd: list(whole, &odd),
        }
    }
}

fn list(whole: &[&Compared<'_>], members: &[usize]) -> String {
    names(&members.iter().map(|&at| whole[at].pair).collect::<Vec<_>>())
}

/// The roles of the baseline, which nothing that changed has changed; by their first rank.
fn roles(whole: &[&Compared<'_>]) -> Vec<Role> {
    let mut roles: Vec<Role> = Vec::new();
    let mut known: BTreeMap<&Arc<str>, usize> = BTreeMap::new();
    for (at, one) in whole.iter().enumerate() {
        let hash = &one.facts.roles.baseline;
        let place = *known.entry(hash).or_insert(roles.len());
        if place == roles.len() {
            roles.push(Role { hash: hash.clone(), members: Vec::new() });
        }
        roles[place].members.push(at);
    }
    roles
}

/// What names a part.
type PartKey<'s> = (PartKind, &'s Arc<str>, Option<i64>);

fn parts(whole: &[&Compared<'_>], roles: &[Role]) -> (Vec<PartRow>, Vec<OutlierRow>) {
    let (mut rows, mut odd) = (Vec::new(), Vec::new());
    for role in roles {
        let mut of_name: BTreeMap<PartKey<'_>, Vec<(usize, &Part)>> = BTreeMap::new();
        for (place, &at) in role.members.iter().enumerate() {
            for part in &whole[at].facts.parts {
                of_name
                    .entry((part.kind, &part.name, part.number))
                    .or_default()
                    .push((place, part));
            }
        }
        let totals = PerSide::from_fn(|side| {
            let total = |&at: &usize| whole[at].per_step(side, whole[at].facts.account[side].time);
            median(&role.members.iter().map(total).collect::<Vec<_>>())
        });
        for (key, found) in of_name {
            // A rank that does not do it takes no time for it.
            let mut times = PerSide::from_fn(|_| vec![0.0; role.members.len()]);
            for (place, part) in found {
                for side in Side::BOTH {
                    let one = whole[role.members[place]];
                    times[side][place] = one.per_step(side, part.time[side]);
                }
            }
            let found = outlying(role, key, &times, totals, whole);
            rows.push(part_row(role, key, &times, &found, whole));
            odd.extend(found);
        }
    }
    odd.sort_by(|a, b| {
        b.distance_us()
            .total_cmp(&a.distance_us())
            .then_with(|| (&a.folder, a.kind, &a.name).cmp(&(&b.folder, b.kind, &b.name)))
    });
    (rows, odd)
}

fn part_row(
    role: &Role,
    (kind, name, number): PartKey<'_>,
    times: &PerSide<Vec<f64>>,
    odd: &[OutlierRow],
    whole: &[&Compared<'_>],
) -> PartRow {
    let differences: Vec<f64> =
        times.baseline.iter().zip(&times.candidate).map(|(before, after)| after - before).collect();
    let worst =
        differences.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
    let worst = worst.map_or(0, |(at, _)| at);
    PartRow {
        role: role.hash.clone(),
        kind: kind.label(),
        name: name.clone(),
        number,
        ranks: role.members.len() as u64,
        baseline: Quantiles::of(&times.baseline),
        candidate: Quantiles::of(&times.candidate),
        difference_us: median(&differences),
        worst: whole[role.members[worst]].pair.folder.clone(),
        worst_difference_us: differences.get(worst).copied().unwrap_or(0.0),
        outliers: PerSide::from_fn(|side| odd.iter().filter(|one| one.side == side).count() as u64),
    }
}

fn outlying(
    role: &Role,
    (kind, name, number): PartKey<'_>,
    times: &PerSide<Vec<f64>>,
    totals: PerSide<f64>,
    whole: &[&Compared<'_>],
) -> Vec<OutlierRow> {
    let of_side = |side: Side| {
        let middle = median(&times[side]);
        let row = move |(place, z): (usize, f64)| OutlierRow {
            side,
            role: role.hash.clone(),
            kind: kind.label(),
            name: name.clone(),
            number,
            rank: whole[role.members[place]].pair.rank,
            folder: whole[role.members[place]].pair.folder.clone(),
            time_us: times[side][place],
            median_us: middle,
            robust_z: z,
            ranks: role.members.len() as u64,
        };
        let is_notable = move |row: &OutlierRow| {
            row.distance_us() >= NOTABLE * middle
                && row.distance_us() >= NOTABLE_OF_ALL * totals[side]
        };
        outliers(&times[side]).into_iter().map(row).filter(is_notable).collect::<Vec<_>>()
    };
    Side::BOTH.into_iter().flat_map(of_side).collect()
}

fn collective(side: Side, one: &Matched<'_>, whole: &[&Compared<'_>]) -> CollectiveRow {
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

fn groups(side: Side, matched: &[Matched<'_>], whole: &[&Compared<'_>]) -> Vec<GroupRow> {
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

/// A straggler that shares its place with another rank is none: both waited somewhere else.
fn alone(waits: &[f64], straggler: Option<usize>) -> Option<usize> {
    let at = straggler?;
    let others = waits.iter().enumerate().filter(|&(other, _)| other != at);
    let next = others.map(|(_, &wait)| wait).min_by(f64::total_cmp)?;
    (next - waits[at] >= ALONE * median(waits)).then_some(at)
}

/// What makes causes of several ranks one.
type CauseKey<'s> = (&'s Arc<str>, &'s Arc<str>, &'s Arc<str>);

fn causes(whole: &[&Compared<'_>], roles: &[Role]) -> Vec<CauseRow> {
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
