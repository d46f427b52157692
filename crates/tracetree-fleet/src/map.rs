//! Compares one pair of a plan and writes the shard and, on request, the rank's own report.
//!
//! ```text
//! does the pair have a shard? ─yes─▶ kept
//!            │ no, or an unusable one
//!            ▼
//! compare ─▶ report ─▶ shard, written atomically
//! ```
//! The shard is written last, so a pair is done once its shard exists. A killed run can therefore be resumed, and
//! concurrent runs do not interfere with each other. If a trace is broken, the shard records the failure. If a trace
//! cannot be read for any other reason, no shard is written, and the next run tries again.

use super::facts::facts;
use super::plan::{Plan, PlannedPair};
use super::shard::{Facts, PartKind, Shard};
use super::status::{
    DAMAGED, REPORT_NOT_WRITTEN, SHARD_NOT_WRITTEN, SHARD_UNREADABLE, Status, code_of, is_lasting,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracetree::error::{Error, Result};
use tracetree::program::Damage;
use tracetree::report::ReportOptions;
use tracetree::side::{PerSide, Side};
use tracetree::storage::{self, Creating, Opening};
use tracetree::trace::Nanos;
use tracetree::{Comparison, ComparisonOptions, Input};

/// Name of the subfolder for shards in the folder of a fleet.
pub const SHARDS: &str = "shards";

/// How to compare the pairs of a plan, and where to write the results.
#[derive(Debug, Clone)]
pub struct Mapping {
    options: ComparisonOptions,
    folder: PathBuf,
    reports: Option<ReportOptions>,
    keeps_shards: bool,
}

/// The result of comparing one pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The outcome of the pair.
    pub status: Status,
    /// Whether the pair was not compared again because its shard already existed.
    pub was_there: bool,
    /// The role and the GPU times of the pair's rank; `None` if there are no figures for the pair.
    pub work: Option<Work>,
}

/// The role of a rank, its GPU time, and its number of steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// The outline hash of the rank's baseline. Ranks with the same outline run the same ops.
    pub role: Arc<str>,
    /// GPU time without communication.
    pub time: PerSide<Nanos>,
    /// Number of steps, at least 1.
    pub steps: PerSide<u64>,
}

impl Work {
    fn of(facts: &Facts) -> Work {
        let categories = || facts.parts.iter().filter(|part| part.kind == PartKind::Category);
        Work {
            role: facts.roles.baseline.as_str().into(),
            time: PerSide::from_fn(|side| categories().map(|part| part.time[side]).sum()),
            steps: facts.steps,
        }
    }

    /// GPU time per step without communication, in µs.
    pub fn step_us(&self, side: Side) -> f64 {
        self.time[side].as_micros() / self.steps[side].max(1) as f64
    }
}

impl Mapped {
    /// One line of JSON for the engine that runs the mapping: `key`, `folder`, `status`, `code`, `message`,
    /// `was_there`, `role`, and `step_us`: the GPU time per step without communication on each side, or `null`.
    pub fn to_json(&self, pair: &PlannedPair) -> String {
        let work = self.work.as_ref();
        let json = serde_json::json!({
            "key": pair.key,
            "folder": pair.folder,
            "status": self.status.label(),
            "code": self.status.code(),
            "message": self.status.message(),
            "was_there": self.was_there,
            "role": work.map(|work| &*work.role),
            "step_us": work.map(|work| Side::BOTH.map(|side| work.step_us(side))),
        });
        json.to_string()
    }
}

impl Mapping {
    /// Creates a mapping with the plan's options. The mapping writes shards below `folder`, but no reports.
    ///
    /// # Errors
    /// Fails if the options of the plan are invalid.
    pub fn new(plan: &Plan, folder: impl Into<PathBuf>) -> Result<Mapping> {
        let options = plan.options.comparison()?;
        Ok(Mapping { options, folder: folder.into(), reports: None, keeps_shards: true })
    }

    /// Sets the comparison options, which replace the plan's options. Describe the given options in
    /// [`PlanOptions::also`], so that the plan's keys depend on them; otherwise shards that were written with other
    /// options would be reused.
    ///
    /// [`PlanOptions::also`]: super::PlanOptions::also
    #[must_use]
    pub fn options(mut self, options: ComparisonOptions) -> Mapping {
        self.options = options;
        self
    }

    /// Also writes a report for each pair into the pair's folder.
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

    /// The folder of the fleet.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a pair's shard.
    pub fn shard(&self, pair: &PlannedPair) -> PathBuf {
        shard_path(&self.folder, pair)
    }

    /// Compares a pair unless its shard exists. Every failure is returned as a [`Status`], including a failure to write
    /// the shard.
    pub fn map(&self, pair: &PlannedPair) -> Mapped {
        match self.existing(pair) {
            Existing::Done(mapped) => mapped,
            Existing::None => self.compare(pair, self.begin(pair), false).wait(),
            Existing::Broken => self.compare(pair, self.begin(pair), true).wait(),
        }
    }

    /// Looks for the shard of a pair.
    pub(super) fn existing(&self, pair: &PlannedPair) -> Existing {
        match storage::read(&self.shard(pair)) {
            Ok(None) => Existing::None,
            Ok(Some(bytes)) => match Shard::read(bytes, pair) {
                Ok(shard) if self.keeps_shards => {
                    let work = shard.facts.as_ref().map(Work::of);
                    Existing::Done(Mapped { status: shard.status, was_there: true, work })
                }
                Ok(_) => Existing::None,
                Err(_) => Existing::Broken,
            },
            Err(error) => Existing::Done(failed(SHARD_UNREADABLE, &error)),
        }
    }

    /// Starts opening the traces of a pair. For remote objects, the first bytes are requested immediately.
    pub(super) fn begin(&self, pair: &PlannedPair) -> PerSide<Opening> {
        PerSide::from_fn(|side| storage::begin(&pair.file(side).stored()))
    }

    /// Compares a pair and starts to write its shard, which replaces an existing broken shard.
    pub(super) fn compare(
        &self,
        pair: &PlannedPair,
        traces: PerSide<Opening>,
        is_broken: bool,
    ) -> Writing {
        // A panic in one pair must not affect the others.
        let compared = catch_unwind(AssertUnwindSafe(|| self.compared(pair, traces)));
        let compared = compared.unwrap_or_else(|_| {
            let message = "a bug in tracetree: the comparison of this pair crashed; please report \
                           it, if possible with the traces";
            Err(Status::failed("FAULT", message))
        });
        let shard = match compared {
            Ok(shard) => shard,
            Err(status) => return Writing::Done(Mapped { status, was_there: false, work: None }),
        };
        let path = self.shard(pair);
        let written = shard.to_parquet(&pair.shown(&self.options.read));
        let written = written.map_err(|error| Error::io(&path, "write the shard", error));
        let creating = match written {
            Ok(bytes) if is_broken => Creating::Done(storage::replace(&path, &bytes)),
            Ok(bytes) => storage::begin_create(&path, &bytes),
            Err(error) => Creating::Done(Err(error)),
        };
        Writing::Begun(shard.facts.as_ref().map(Work::of), shard.status, creating)
    }

    /// Compares a pair and returns its shard. If the comparison fails, but a later attempt may succeed, returns the
    /// failure status instead.
    fn compared(
        &self,
        pair: &PlannedPair,
        traces: PerSide<Opening>,
    ) -> std::result::Result<Shard, Status> {
        let opened = inputs(pair, traces).and_then(|PerSide { baseline, candidate }| {
            let comparison = Comparison::open(baseline, candidate, &self.options)?;
            let facts = facts(&comparison);
            Ok((comparison, facts))
        });
        let (comparison, facts) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let status = Status::failed(code_of(&error), error.to_string());
                let changed = change_of(pair);
                return if is_lasting(&error) && changed.is_none() {
                    Ok(Shard::failed(pair.rank, status))
                } else {
                    Err(changed.unwrap_or(status))
                };
            }
        };
        if let Some(changed) = change_of(pair) {
            return Err(changed);
        }
        if let Some(options) = &self.reports {
            let report = comparison.report(options.clone());
            let written = report.write(self.folder.join(&pair.folder));
            written.map_err(|error| Status::failed(REPORT_NOT_WRITTEN, error.to_string()))?;
        }
        let status = status_of(&comparison);
        Ok(Shard { rank: pair.rank, status, facts: Some(facts) })
    }
}

/// The result of looking for a pair's shard.
pub(super) enum Existing {
    /// The pair has no shard, or its shard must be replaced.
    None,
    /// The pair has a shard that is damaged or that was written for other inputs.
    Broken,
    /// The outcome of the pair.
    Done(Mapped),
}

/// The state of writing the shard of a pair.
pub(super) enum Writing {
    /// The pair is finished, and there is no shard to write.
    Done(Mapped),
    /// The shard is being written. If the write succeeds, the pair gets this status.
    Begun(Option<Work>, Status, Creating),
}

impl Writing {
    /// Waits until the shard is written.
    pub(super) fn wait(self) -> Mapped {
        match self {
            Writing::Done(mapped) => mapped,
            Writing::Begun(work, status, creating) => match creating.wait() {
                // A concurrent run may already have written an identical shard.
                Ok(()) => Mapped { status, was_there: false, work },
                Err(error) => failed(SHARD_NOT_WRITTEN, &error),
            },
        }
    }
}

fn failed(code: &str, error: &Error) -> Mapped {
    Mapped { status: Status::failed(code, error.to_string()), was_there: false, work: None }
}

/// Opens the traces of a pair. For a remote object, this is the version that the plan lists, even if there is a newer
/// one.
fn inputs(pair: &PlannedPair, traces: PerSide<Opening>) -> Result<PerSide<Input>> {
    let input = |side: Side, opening: Opening| {
        let path = pair.file(side).path.clone();
        Ok(match opening {
            Opening::Local(path) => Input::File(path),
            Opening::Remote(_) => Input::Reader(path, opening.open()?),
        })
    };
    let PerSide { baseline, candidate } = traces;
    Ok(PerSide::new(input(Side::Baseline, baseline)?, input(Side::Candidate, candidate)?))
}

/// The path of a pair's shard in the folder of a fleet.
pub(super) fn shard_path(folder: &Path, pair: &PlannedPair) -> PathBuf {
    folder.join(SHARDS).join(shard_name(pair))
}

/// The file name of a pair's shard. The name begins with a hash because object stores distribute keys over servers by
/// their first characters.
pub(super) fn shard_name(pair: &PlannedPair) -> String {
    format!("{}.parquet", pair.key)
}

/// The status of a pair if a trace has changed since the plan was made; `None` if neither trace has changed. A trace is
/// not checked if the storage can open exactly the planned version.
fn change_of(pair: &PlannedPair) -> Option<Status> {
    let change = |side: Side| {
        let planned = pair.file(side);
        if storage::is_pinned(&planned.stored()) {
            return None;
        }
        match planned.is_unchanged() {
            Ok(true) => None,
            Ok(false) => {
                let message = format!(
                    "{}: the file has changed since the plan was made (make the plan again)",
                    planned.path
                );
                Some(Status::failed("CHANGED", message))
            }
            Err(error) => Some(Status::failed(code_of(&error), error.to_string())),
        }
    };
    Side::BOTH.into_iter().find_map(change)
}

/// The status of a compared pair. If data is missing in a trace, the pair counts as failed, because the trace's times
/// are too low to be used in statistics.
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
