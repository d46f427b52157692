//! A pair of the plan → its shard, and on request the rank's own report.
//!
//! ```text
//! is there a shard of this key? ─yes─▶ kept
//!            │ no, or a broken one
//!            ▼
//! compare ─▶ report ─▶ shard, written atomically
//! ```
//! The shard is written last, so if it exists, the pair is done. A run that was killed can
//! therefore resume, and two concurrent runs do no harm. A broken trace gives a shard with the
//! failure. If a trace could not be read for another reason, there is no shard, and the next run
//! tries again.

use super::collectives::Collectives;
use super::plan::{Plan, PlannedPair};
use super::role;
use super::shard::{Cause, Change, Facts, Part, PartKind, Shard, Step, Sum};
use super::status::{DAMAGED, Status, code_of, is_lasting};
use crate::analysis::{Analysis, PlacePair, StepPlace};
use crate::comparison::{Comparison, ComparisonOptions};
use crate::error::{Error, Result};
use crate::program::{Communication, Damage};
use crate::report::ReportOptions;
use crate::side::{PerSide, Side};
use crate::storage::{self, Created};
use crate::trace::{Nanos, Note, Notes, is_communication_kernel};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder of the shards, in the folder of a fleet.
pub const SHARDS: &str = "shards";

/// How to compare the pairs of a plan, and where to write the results.
#[derive(Debug, Clone)]
pub struct Mapping {
    options: ComparisonOptions,
    folder: PathBuf,
    reports: Option<ReportOptions>,
    keeps_shards: bool,
}

/// The result of mapping a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The outcome of the pair.
    pub status: Status,
    /// Whether its shard already existed, so that nothing was done.
    pub was_there: bool,
}

impl Mapped {
    /// One line of JSON for the engine that runs the mapping: `key`, `folder`, `status`, `code`,
    /// `message`, `was_there`.
    pub fn to_json(&self, pair: &PlannedPair) -> String {
        let fields = [
            ("key", pair.key.as_str()),
            ("folder", pair.folder.as_str()),
            ("status", self.status.label()),
            ("code", self.status.code()),
            ("message", self.status.message()),
        ];
        let mut object: serde_json::Map<String, serde_json::Value> =
            fields.iter().map(|&(key, text)| (key.to_owned(), text.into())).collect();
        object.insert("was_there".to_owned(), self.was_there.into());
        serde_json::Value::Object(object).to_string()
    }
}

impl Mapping {
    /// Compares with the options of the plan and writes below `folder`, without reports.
    ///
    /// # Errors
    /// If the options of the plan are invalid.
    pub fn new(plan: &Plan, folder: impl Into<PathBuf>) -> Result<Mapping> {
        let options = plan.options.comparison()?;
        Ok(Mapping { options, folder: folder.into(), reports: None, keeps_shards: true })
    }

    /// Compares with these options instead. The plan's keys must reflect them (see [`PlanOptions::also`]).
    ///
    /// [`PlanOptions::also`]: super::PlanOptions::also
    #[must_use]
    pub fn options(mut self, options: ComparisonOptions) -> Mapping {
        self.options = options;
        self
    }

    /// Also writes a report of each pair into its folder.
    #[must_use]
    pub fn reports(mut self, options: ReportOptions) -> Mapping {
        self.reports = Some(options);
        self
    }

    /// Compares every pair again, even if its shard exists.
    #[must_use]
    pub fn anew(mut self) -> Mapping {
        self.keeps_shards = false;
        self
    }

    /// The path of a pair's shard.
    pub fn shard(&self, pair: &PlannedPair) -> PathBuf {
        shard_path(&self.folder, pair)
    }

    /// Compares a pair, unless its shard exists.
    ///
    /// # Errors
    /// If a result cannot be written. Faults of a trace are returned as a [`Status`] instead.
    pub fn map(&self, pair: &PlannedPair) -> Result<Mapped> {
        let path = self.shard(pair);
        let is_broken = match self.kept(pair, &path)? {
            Some(Ok(status)) if self.keeps_shards => return Ok(Mapped { status, was_there: true }),
            Some(Ok(_)) | None => false,
            Some(Err(_)) => true,
        };
        let shard = match self.compared(pair)? {
            Ok(shard) => shard,
            Err(status) => return Ok(Mapped { status, was_there: false }),
        };
        let bytes =
            shard.to_parquet(pair).map_err(|error| Error::io(&path, "write the shard", error))?;
        if is_broken {
            storage::replace(&path, &bytes)?;
        } else {
            // A concurrent run may already have written the same bytes.
            let (Created::New | Created::Kept) = storage::create(&path, &bytes)?;
        }
        Ok(Mapped { status: shard.status, was_there: false })
    }

    /// The status in the existing shard, or a status that says why the shard is broken.
    fn kept(
        &self,
        pair: &PlannedPair,
        path: &Path,
    ) -> Result<Option<std::result::Result<Status, Status>>> {
        let bytes = storage::read(path)?;
        Ok(bytes.map(|bytes| Shard::read(bytes, pair).map(|shard| shard.status)))
    }

    /// The shard of a pair, or a status if it could not be made now but may be later.
    fn compared(&self, pair: &PlannedPair) -> Result<std::result::Result<Shard, Status>> {
        let PerSide { baseline, candidate } =
            PerSide::from_fn(|side| PathBuf::from(&pair.file(side).path));
        // A panic in one pair must not affect the others.
        let opened = catch_unwind(AssertUnwindSafe(|| {
            let comparison = Comparison::open(baseline, candidate, &self.options)?;
            let facts = facts(&comparison);
            Ok((comparison, facts))
        }));
        let opened: Result<(Comparison, Facts)> = match opened {
            Ok(opened) => opened,
            Err(_) => {
                let message = "a bug in tracetree: the comparison of this pair crashed; please \
                               report it, if possible with the traces";
                return Ok(Err(Status::failed("FAULT", message)));
            }
        };
        let (comparison, facts) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let status = Status::failed(code_of(&error), error.to_string());
                return Ok(match is_lasting(&error) && is_as_planned(pair).is_none() {
                    true => Ok(Shard::failed(pair.rank, status)),
                    false => Err(is_as_planned(pair).unwrap_or(status)),
                });
            }
        };
        if let Some(changed) = is_as_planned(pair) {
            return Ok(Err(changed));
        }
        if let Some(options) = &self.reports {
            comparison.report(options.clone()).write(self.folder.join(&pair.folder))?;
        }
        let status = status_of(&comparison);
        Ok(Ok(Shard { rank: pair.rank, status, facts: Some(facts) }))
    }
}

/// The path of a pair's shard in the folder of a fleet.
pub(super) fn shard_path(folder: &Path, pair: &PlannedPair) -> PathBuf {
    folder.join(SHARDS).join(format!("{}.parquet", pair.key))
}

/// Why the inputs differ from those in the plan; `None` if they are unchanged.
fn is_as_planned(pair: &PlannedPair) -> Option<Status> {
    let changed = |side: Side| match pair.file(side).is_unchanged() {
        Ok(true) => None,
        Ok(false) => {
            let message = format!(
                "{}: the file has changed since the plan was made (make the plan again)",
                pair.file(side).path
            );
            Some(Status::failed("CHANGED", message))
        }
        Err(error) => Some(Status::failed(code_of(&error), error.to_string())),
    };
    Side::BOTH.into_iter().find_map(changed)
}

/// The figures of a trace with missing data are too low, so the pair is excluded from the statistics.
fn status_of(comparison: &Comparison) -> Status {
    let damaged = |side: Side| {
        let trace = comparison.trace(side);
        if let Some(note) = trace.notes().get("TRUNCATED") {
            return Some(Status::failed(
                "TRUNCATED",
                format!("{}: {}", trace.source(), note.message),
            ));
        }
        let damage = Damage::of(comparison.diff().program(side).evidence());
        let lost = damage.into_iter().find(|what| what.is_loss())?;
        Some(Status::failed(DAMAGED, format!("{}: {lost}", trace.source())))
    };
    Side::BOTH.into_iter().find_map(damaged).unwrap_or(Status::Compared)
}

fn facts(comparison: &Comparison) -> Facts {
    let analysis = comparison.analysis();
    let account = analysis.account();
    let walls = PerSide::from_fn(|side| analysis.wall().totals(side));
    Facts {
        account: account.totals.map(|totals| Sum {
            time: totals.time,
            busy: totals.busy,
            events: totals.events,
        }),
        // Times of parts cover all steps, so the wall time must as well.
        wall: walls.map(|wall| wall.own() + wall.alone),
        steps: analysis.wall().windows().map(|window| window.steps.max(1)),
        is_exact: account.is_exact(),
        is_comparable: analysis.comparability().is_comparable(),
        is_identical: analysis.changes().is_identical(),
        points: comparison.diff().differences().len() as u64,
        notes: PerSide::from_fn(|side| codes(comparison.trace(side).notes()).into()),
        roles: PerSide::from_fn(|side| {
            role::of(comparison.tree(side), comparison.diff().program(side).steps()).into()
        }),
        parts: parts(analysis),
        step_list: steps(analysis),
        changes: changes(analysis),
        causes: causes(analysis),
        collectives: PerSide::from_fn(|side| Collectives::of(comparison.tree(side))),
    }
}

/// `TRUNCATED 1; LOST_EVENTS 3`.
fn codes(notes: &Notes) -> String {
    let code = |note: &Note| format!("{} {}", note.code, note.count);
    notes.iter().map(code).collect::<Vec<_>>().join("; ")
}

/// Work by op, category and layer. Communication is excluded, because the duration of a collective
/// depends on the last rank and is not the rank's own work.
fn parts(analysis: &Analysis) -> Vec<Part> {
    let (mut ops, mut categories, mut places) = (Sums::default(), Sums::default(), Sums::default());
    let layers = analysis.layer_pairs();
    for side in Side::BOTH {
        let tree = analysis.tree(side);
        let communication: &Communication = analysis.diff().program(side).communication();
        for row in analysis.rows() {
            let mut sum = (Nanos::ZERO, 0);
            for &call in row.events[side].iter().filter(|&&call| !communication.is(tree, call)) {
                let time = analysis.time_of(side, call);
                sum = (sum.0 + time, sum.1 + 1);
                add(&mut categories, analysis.category(side, call).id, side, (time, 1));
                add(&mut places, layers.place_of(side, call), side, (time, 1));
            }
            if sum.1 > 0 {
                add(&mut ops, analysis.row_name(row), side, sum);
            }
        }
    }
    let part = |kind, name: &str, number, (time, count)| Part {
        kind,
        name: name.into(),
        number,
        time,
        count,
    };
    let ops = ops.iter().map(|(name, &sum)| part(PartKind::Op, name, None, sum));
    let categories = categories.iter().map(|(&id, &sum)| {
        part(PartKind::Category, analysis.options().categories.name(id), None, sum)
    });
    let places = places.iter().map(|(&at, &sum)| match layers.places()[at] {
        place @ PlacePair::Layer { .. } => {
            part(PartKind::Layer, &layers.stack_name(place), layer_number(place), sum)
        }
        other @ (PlacePair::Pre
        | PlacePair::Between
        | PlacePair::Post
        | PlacePair::NoLayers
        | PlacePair::NotCaptured) => part(PartKind::Layer, other.label(), None, sum),
    });
    ops.chain(categories).chain(places).collect()
}

/// Times and numbers of events by key.
type Sums<K> = BTreeMap<K, (PerSide<Nanos>, PerSide<u64>)>;

fn add<K: Ord>(sums: &mut Sums<K>, key: K, side: Side, (time, events): (Nanos, u64)) {
    let (times, counts) = sums.entry(key).or_default();
    times[side] += time;
    counts[side] += events;
}

fn layer_number(place: PlacePair) -> Option<i64> {
    let layer = place.layer(Side::Baseline).or(place.layer(Side::Candidate));
    layer.map(|layer| i64::from(layer.layer))
}

fn steps(analysis: &Analysis) -> Vec<Step> {
    let rows = analysis.step_rows().into_iter();
    let step = |row: crate::analysis::StepRow| match row.place {
        StepPlace::Step(step) => Some(Step {
            number: i64::from(step.0),
            wall: row.figures.map(|figures| figures.wall()),
            busy: row.figures.map(|figures| figures.busy),
        }),
        StepPlace::Outside | StepPlace::NotCaptured => None,
    };
    rows.filter_map(step).collect()
}

fn changes(analysis: &Analysis) -> Vec<Change> {
    let list = analysis.changes().list().iter();
    list.map(|change| Change {
        kind: change.kind.label().into(),
        place: change.place.as_str().into(),
        sentence: change.sentence.as_str().into(),
        cost: change.cost,
    })
    .collect()
}

fn causes(analysis: &Analysis) -> Vec<Cause> {
    let is_communication = |kernels: &PerSide<Vec<String>>| {
        let mut all = Side::BOTH.iter().flat_map(|&side| kernels[side].iter()).peekable();
        all.peek().is_some() && all.all(|kernel| is_communication_kernel(kernel))
    };
    let list = analysis.causes().list().iter();
    list.map(|cause| Cause {
        reason: cause.reason.label().into(),
        place: cause.place.as_str().into(),
        module: cause.module.as_str().into(),
        difference: cause.difference,
        is_communication: is_communication(&cause.kernels),
        evidence: Arc::from(cause.evidence.as_str()),
    })
    .collect()
}
