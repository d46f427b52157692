//! Combines the shards of a plan into the [`Fleet`], which shows what all ranks have in common and what is specific to
//! a few ranks.
//!
//! ```text
//! shards ─read─▶ pairs ─┬─ work by role ─────────▶ parts, outliers
//!                       ├─ collectives matched ──▶ collectives, groups, ranks
//!                       ├─ bills ────────────────▶ bill
//!                       ├─ two platforms ────────▶ classes
//!                       └─ failures ─────────────▶ pairs
//!                                    all of it ──▶ findings
//! ```
//! Pairs are processed in the order of the plan, and the modification times of the shards are ignored. The same shards
//! therefore always produce the same output, regardless of the order in which they were written.

mod bill;
mod compared;
mod parts;
mod roles;
mod sentences;
mod waits;

use super::Fleet;
use super::collectives::{CollectiveWait, Collectives, straggler};
use super::findings;
use super::map::{SHARDS, shard_name, shard_path};
use super::plan::{Plan, PlannedPair};
use super::rows::{ClassRow, PairRow, RankRow, StepRow};
use super::shard::{Facts, Shard};
use super::status::{NO_SHARD, SHARD_NOT_VISIBLE, SHARD_UNREADABLE, Status};
use compared::{Compared, names, short_names};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use tracetree::error::{Error, ErrorKind, Result};
use tracetree::order::Order as _;
use tracetree::program::counted;
use tracetree::side::{PerSide, Side};
use tracetree::storage;

/// Number of shards to read at once. After each batch, strings that also occur in an earlier shard are stored
/// only once.
const AT_ONCE: usize = 256;

/// The pairs that an engine could not process. Each entry maps the key of a pair to a code and a message.
pub type Lost = BTreeMap<String, (String, String)>;

/// Reads the pairs that an engine could not process: a JSON object of `key: [code, message]`.
///
/// # Errors
/// Fails if the file cannot be read or is malformed.
pub fn read_lost(path: &Path) -> Result<Lost> {
    let text =
        std::fs::read(path).map_err(|error| Error::io(path, "read the lost pairs", error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::new(
            ErrorKind::Malformed,
            path,
            format!("the file does not list lost pairs as a JSON object: {error}"),
        )
        .remedy("write {\"KEY\": [\"CODE\", \"MESSAGE\"]}")
    })
}

impl Fleet {
    /// Combines the shards in `folder`. A pair without a shard counts as failed. Its code and message come from its
    /// entry in `lost`; without an entry, the code is `NO_SHARD`. A pair whose shard cannot be read counts as failed
    /// with the code `SHARD_UNREADABLE`. If the entry is `SHARD_NOT_VISIBLE`, the pair was compared, so its shard is
    /// read even if the folder's listing lacks the shard. The entry is used only if the shard does not exist. Temporary
    /// files of killed workers are removed.
    ///
    /// # Errors
    /// Fails if the shards cannot be listed, or if none of 256 consecutive shards can be read.
    pub fn reduce(plan: &Plan, folder: &Path, lost: &Lost) -> Result<Fleet> {
        storage::remove_stale(&folder.join(SHARDS));
        let listed = storage::list_or_nothing(&folder.join(SHARDS))?;
        let listed: BTreeSet<&OsStr> =
            listed.iter().filter_map(|file| file.path.file_name()).collect();
        let mut texts = Texts::default();
        let (mut pairs, mut compared) = (Vec::new(), Vec::new());
        for chunk in plan.pairs.chunks(AT_ONCE) {
            let read = |pair| read(pair, folder, &listed, lost);
            let read: Vec<Result<Shard>> =
                storage::at_once(folder, || chunk.par_iter().map(read).collect());
            let is_out_of_reach = chunk.len() == AT_ONCE && read.iter().all(Result::is_err);
            for (pair, shard) in chunk.iter().zip(read) {
                let shard = match shard {
                    Ok(shard) => shard,
                    Err(error) if is_out_of_reach => return Err(error),
                    Err(error) => {
                        let status = Status::failed(SHARD_UNREADABLE, error.to_string());
                        Shard::failed(pair.rank, status)
                    }
                };
                let Shard { status, facts, .. } = shard;
                pairs.push(PairRow::of_pair(pair, &status));
                if let Some(mut facts) = facts {
                    texts.share(&mut facts);
                    compared.push(Compared { pair, facts, status });
                }
            }
        }
        pairs.extend(plan.unmatched.iter().map(PairRow::of_unmatched));
        let mut notes = plan.notes.clone();
        notes.extend(other_shards(plan, folder, &listed));
        Ok(added_up(plan, pairs, &compared, notes))
    }

    /// How many pairs and traces were planned, and how many of them were compared, failed, or remained unmatched.
    pub fn counts(&self) -> Counts {
        let count = |status: &str| self.pairs.iter().filter(|pair| pair.status == status).count();
        Counts {
            planned: self.pairs.len(),
            ok: count("ok"),
            failed: count("failed") + count("damaged"),
            unmatched: count("unmatched"),
        }
    }
}

/// Numbers of planned pairs and traces, by outcome: `ok + failed + unmatched = planned`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Pairs plus unmatched traces.
    pub planned: usize,
    /// Compared pairs with undamaged traces.
    pub ok: usize,
    /// Pairs that failed or are damaged.
    pub failed: usize,
    /// Traces without a counterpart.
    pub unmatched: usize,
}

impl Counts {
    /// `ok` divided by `planned`, from 0 to 1.
    pub fn coverage(&self) -> f64 {
        self.ok as f64 / self.planned.max(1) as f64
    }
}

/// The shard of a pair. If the pair has no usable shard, returns a shard with the status *failed* and the reason.
fn read(
    pair: &PlannedPair,
    folder: &Path,
    listed: &BTreeSet<&OsStr>,
    lost: &Lost,
) -> Result<Shard> {
    let lost = lost.get(&pair.key);
    // The listing of a network folder may lack files that another machine has just written.
    let is_reported = lost.is_some_and(|(code, _)| code == SHARD_NOT_VISIBLE);
    let bytes = if is_reported || listed.contains(OsStr::new(&shard_name(pair))) {
        storage::read(&shard_path(folder, pair))?
    } else {
        None
    };
    let status = match (bytes, lost) {
        (Some(bytes), _) => match Shard::read(bytes, pair) {
            Ok(shard) => return Ok(shard),
            Err(status) => status,
        },
        (None, Some((code, message))) => Status::failed(code, message.clone()),
        (None, None) => Status::failed(
            NO_SHARD,
            format!(
                "no shard in {}: the pair was not compared yet, or was compared on a machine that \
                 does not share this folder; run `tracetree fleet map` here, or pass --shards",
                folder.display()
            ),
        ),
    };
    Ok(Shard::failed(pair.rank, status))
}

/// A note about shards that are ignored because they belong to a different plan, version or set of options.
fn other_shards(plan: &Plan, folder: &Path, listed: &BTreeSet<&OsStr>) -> Option<String> {
    let known: BTreeSet<String> = plan.pairs.iter().map(shard_name).collect();
    let names = listed.iter().map(|name| name.to_string_lossy());
    let others =
        names.filter(|name| name.ends_with(".parquet") && !known.contains(&**name)).count();
    (others > 0).then(|| {
        format!(
            "{} in {} ignored: written for different inputs, options or versions",
            counted(others as u64, "shard"),
            folder.join(SHARDS).display()
        )
    })
}

/// Deduplicates strings: a string that occurs in many shards is stored only once.
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
        facts.parts.iter_mut().for_each(|part| self.one(&mut part.name));
        facts.classes.iter_mut().for_each(|class| self.one(&mut class.name));
        for line in &mut facts.bill {
            let texts =
                [&mut line.kind, &mut line.change_kind, &mut line.place, &mut line.sentence];
            texts.into_iter().for_each(|text| self.one(text));
        }
        facts.parts.shrink_to_fit();
    }
}

fn added_up(plan: &Plan, pairs: Vec<PairRow>, all: &[Compared<'_>], notes: Vec<String>) -> Fleet {
    let whole: Vec<&Compared<'_>> = all.iter().filter(|one| one.is_whole()).collect();
    let roles = roles::roles(&whole);
    let (parts, outliers, slowed_ops) = parts::parts(&whole, &roles);
    let same = whole.iter().filter(|one| one.facts.is_identical);
    let identical: Vec<&PlannedPair> = same.map(|one| one.pair).collect();
    let compared: Vec<&PlannedPair> = whole.iter().map(|one| one.pair).collect();
    let mut fleet = Fleet {
        baseline: plan.baseline.clone(),
        candidate: plan.candidate.clone(),
        pairs,
        bill: bill::bill(&whole, &roles),
        classes: classes(&whole),
        identical: identical.len() as u64,
        identical_list: names(&identical),
        identical_pattern: short_names(&identical, &compared),
        roles: roles.iter().map(|role| role.row(&whole)).collect(),
        parts,
        outliers,
        steps: all.iter().flat_map(steps).collect(),
        notes,
        slowed_ops,
        ..Fleet::default()
    };
    let mut waits: PerSide<Vec<CollectiveWait>> = PerSide::default();
    for side in Side::BOTH {
        let ranks: Vec<&Collectives> =
            whole.iter().map(|one| &one.facts.collectives[side]).collect();
        let matched = Collectives::matched(&ranks);
        waits[side] = Collectives::waits_of(&ranks, &matched);
        fleet.collectives.extend(matched.iter().map(|one| waits::collective(side, one, &whole)));
        fleet.groups.extend(waits::groups(side, &matched, &whole));
        if side == Side::Candidate {
            fleet.waits = matched.iter().flat_map(|one| waits::waited(one, &whole, all)).collect();
        }
    }
    fleet.ranks = ranks(all, &whole, &waits);
    fleet.findings = findings::of(&fleet);
    fleet
}

fn ranks(
    all: &[Compared<'_>],
    whole: &[&Compared<'_>],
    waits: &PerSide<Vec<CollectiveWait>>,
) -> Vec<RankRow> {
    let stragglers = waits.as_ref().map(|waits| straggler(waits));
    let mut places = whole.iter().enumerate().peekable();
    let row = |one: &Compared<'_>| {
        // A damaged pair has no waiting times, because its collectives are not matched.
        let at = places.next_if(|(_, other)| std::ptr::eq(**other, one)).map(|(at, _)| at);
        let facts = &one.facts;
        RankRow {
            rank: one.pair.rank,
            folder: one.pair.folder.clone(),
            status: one.status.label(),
            code: one.status.code().to_owned(),
            role: facts.roles.baseline.as_str().into(),
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
            notes: facts.notes.clone(),
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

/// The classes of work, the one with the most time first. Empty unless the sides ran on different devices.
fn classes(whole: &[&Compared<'_>]) -> Vec<ClassRow> {
    let ported = || whole.iter().filter(|one| !one.facts.classes.is_empty());
    let ranks = ported().count() as u64;
    let mut of: BTreeMap<&Arc<str>, ClassRow> = BTreeMap::new();
    for class in ported().flat_map(|one| &one.facts.classes) {
        let row = of.entry(&class.name).or_insert_with(|| ClassRow {
            name: class.name.clone(),
            ranks,
            ..ClassRow::default()
        });
        let mean = |micros: f64| micros / ranks as f64;
        let time = |side| mean(class.time[side].as_micros() / class.steps[side] as f64);
        let time = PerSide::from_fn(time);
        row.time_us = PerSide::from_fn(|side| row.time_us[side] + time[side]);
        row.hardware_us += mean(class.hardware.as_micros());
        row.software_us += mean(class.software.as_micros());
    }
    let mut rows: Vec<ClassRow> = of.into_values().collect();
    let most = |row: &ClassRow| row.time_us.baseline.max(row.time_us.candidate);
    rows.order_by(|a, b| most(b).total_cmp(&most(a)).then_with(|| a.name.cmp(&b.name)));
    rows
}
