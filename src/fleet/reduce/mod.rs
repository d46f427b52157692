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

mod causes;
mod parts;
mod roles;
mod waits;

use super::collectives::{CollectiveWait, Collectives, straggler};
use super::findings;
use super::map::{SHARDS, shard_path};
use super::plan::{Plan, PlannedPair};
use super::rank_table::ranges;
use super::rows::{
    CauseRow, CollectiveRow, Finding, GroupRow, OutlierRow, PairRow, PartRow, RankRow, RoleRow,
    StepRow,
};
use super::shard::{Facts, Shard};
use super::status::Status;
use crate::error::{Error, ErrorKind, Result};
use crate::side::{PerSide, Side};
use crate::storage;
use crate::trace::Nanos;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Shards that are read before their texts are shared with those of the others.
const AT_ONCE: usize = 256;

/// Pairs that an engine could not do, by their key: a code, and words.
pub type Lost = BTreeMap<String, (String, String)>;

/// Reads what an engine could not do: a JSON object of `key: [code, message]`.
///
/// # Errors
/// If the file cannot be read, or is none.
pub fn read_lost(path: &Path) -> Result<Lost> {
    let text =
        std::fs::read(path).map_err(|error| Error::io(path, "read the lost pairs", error))?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::new(ErrorKind::Malformed, path, format!("is no object of lost pairs: {error}"))
            .remedy("write {\"KEY\": [\"CODE\", \"MESSAGE\"]}")
    })
}

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
struct Compared<'p> {
    pair: &'p PlannedPair,
    facts: Facts,
    status: Status,
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
            let read = || chunk.par_iter().map(|pair| read(pair, folder, lost)).collect();
            let read: Vec<Result<Shard>> = storage::at_once(folder, read);
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
            failed: count("failed") + count("damaged"),
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
fn names(ranks: &[&PlannedPair]) -> String {
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
    let roles = roles::roles(&whole);
    let (parts, outliers) = parts::parts(&whole, &roles);
    let mut fleet = Fleet {
        baseline: plan.baseline.clone(),
        candidate: plan.candidate.clone(),
        pairs,
        ranks: Vec::new(),
        causes: causes::causes(&whole, &roles),
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
