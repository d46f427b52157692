//! The rows of a fleet's tables.

use super::collectives::CollectiveWait;
use super::plan::{PlannedPair, Unmatched};
use super::stats::Quantiles;
use super::status::Status;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use serde::Serialize;
use std::sync::Arc;

/// One thing that was planned, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRow {
    /// The rank, where it is known.
    pub rank: Option<i64>,
    /// The folder of its report; empty without partner.
    pub folder: String,
    /// `ok`, `damaged`, `failed` or `unmatched`.
    pub status: &'static str,
    /// Why not, in capitals.
    pub code: String,
    /// The same in words.
    pub message: String,
    /// The files; empty where there is none.
    pub files: PerSide<String>,
    /// The name of its shard.
    pub key: String,
}

impl PairRow {
    pub(super) fn of_pair(pair: &PlannedPair, status: &Status) -> PairRow {
        PairRow {
            rank: pair.rank,
            folder: pair.folder.clone(),
            status: status.label(),
            code: status.code().to_owned(),
            message: status.message().to_owned(),
            files: PerSide::from_fn(|side| pair.file(side).path.clone()),
            key: pair.key.clone(),
        }
    }

    pub(super) fn of_unmatched(unmatched: &Unmatched) -> PairRow {
        let mut files = PerSide::<String>::default();
        let side = if unmatched.side == "baseline" { Side::Baseline } else { Side::Candidate };
        files[side] = unmatched.path.clone();
        PairRow {
            rank: unmatched.rank,
            folder: String::new(),
            status: "unmatched",
            code: unmatched.code.clone(),
            message: unmatched.message.clone(),
            files,
            key: String::new(),
        }
    }

    /// What people call it: its folder, else its file.
    pub fn name(&self) -> &str {
        let file = if self.files.baseline.is_empty() {
            &self.files.candidate
        } else {
            &self.files.baseline
        };
        if self.folder.is_empty() { file } else { &self.folder }
    }
}

/// One rank of a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct RankRow {
    /// The rank; `None` where the files do not tell it and were paired by name.
    pub rank: Option<i64>,
    /// The folder with the rank's own report.
    pub folder: String,
    /// `ok`; `damaged` where data is missing in a trace, `failed` where it could not be compared.
    pub status: &'static str,
    /// Why not.
    pub code: String,
    /// The outline of its baseline: ranks with the same run the same.
    pub role: Arc<str>,
    /// The files.
    pub files: PerSide<String>,
    /// The account of each side.
    pub time: PerSide<Nanos>,
    /// Union of the intervals.
    pub busy: PerSide<Nanos>,
    /// Accounted events.
    pub events: PerSide<u64>,
    /// Wall time of the window's own work.
    pub wall: PerSide<Nanos>,
    /// Number of steps; 1 where the window is looked at as a whole.
    pub steps: PerSide<u64>,
    /// Whether the rows of the rank's report add up to its events.
    pub account_is_exact: bool,
    /// What it waited for the other ranks of its side.
    pub waits: PerSide<CollectiveWait>,
    /// Whether the other ranks of its side wait for this one.
    pub is_straggler: PerSide<bool>,
    /// Points of difference between the two traces.
    pub points_of_difference: usize,
    /// Whether the two traces are of the same work.
    pub is_comparable: bool,
    /// What was odd about the files: codes with their counts.
    pub notes: PerSide<String>,
}

/// Ranks that run the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRow {
    /// Its outline in the baseline.
    pub role: Arc<str>,
    /// How many.
    pub ranks: u64,
    /// Which.
    pub rank_list: String,
    /// The outline that most of them have in the candidate.
    pub candidate: Arc<str>,
    /// Those that have another one.
    pub odd: String,
}

/// Work of one name, over the ranks of a role. Times are µs per step of a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct PartRow {
    /// The role.
    pub role: Arc<str>,
    /// `op`, `category` or `layer`.
    pub kind: &'static str,
    /// Name of the op or category, class of the layers.
    pub name: Arc<str>,
    /// Of a layer its number.
    pub number: Option<i64>,
    /// Ranks of the role.
    pub ranks: u64,
    pub(super) baseline: Quantiles,
    pub(super) candidate: Quantiles,
    /// Median of candidate − baseline.
    pub difference_us: f64,
    /// The rank on which candidate − baseline is largest.
    pub worst: String,
    /// The same there.
    pub worst_difference_us: f64,
    /// Ranks that stand out.
    pub outliers: PerSide<u64>,
}

impl PartRow {
    pub(super) fn quantiles(&self, side: Side) -> &Quantiles {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }
}

/// A rank whose work of one name stands out in its role.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlierRow {
    /// Before or after.
    pub side: Side,
    /// The role.
    pub role: Arc<str>,
    /// `op`, `category` or `layer`.
    pub kind: &'static str,
    /// What.
    pub name: Arc<str>,
    /// Of a layer its number.
    pub number: Option<i64>,
    /// The rank.
    pub rank: Option<i64>,
    /// Its folder.
    pub folder: String,
    /// Its time per step in µs.
    pub time_us: f64,
    /// The median of the role.
    pub median_us: f64,
    /// How many robust standard deviations it is away.
    pub robust_z: f64,
    /// Ranks of the role.
    pub ranks: u64,
}

impl OutlierRow {
    /// How far from the median, in µs per step.
    pub fn distance_us(&self) -> f64 {
        (self.time_us - self.median_us).abs()
    }
}

/// One collective, on all ranks of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveRow {
    /// Before or after.
    pub side: Side,
    /// From 0, in the order of the first rank; `None` where a rank lacks it.
    pub number: Option<u64>,
    /// The process group; empty where it is not recorded.
    pub group: String,
    /// What it is.
    pub name: String,
    /// Number in its group, where it is recorded.
    pub sequence: Option<i64>,
    /// Ranks that have it.
    pub ranks: u64,
    /// The shortest kernel: that of the rank that came last.
    pub shortest: Nanos,
    /// The longest.
    pub longest: Nanos,
    /// Longest − shortest: how long after the first the last rank came.
    pub skew: Nanos,
    /// What all ranks waited.
    pub wait: Nanos,
    /// The rank that came last.
    pub last: Option<i64>,
    /// Its folder.
    pub last_folder: String,
    /// How much later than the last but one.
    pub margin: Nanos,
    /// Ranks that have one before and one behind it, and not this one.
    pub absent: String,
}

/// The collectives of one process group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    /// Before or after.
    pub side: Side,
    /// The process group; empty where it is not recorded.
    pub group: String,
    /// Its ranks.
    pub ranks: u64,
    /// Collectives that all of them have.
    pub collectives: u64,
    /// Collectives that some lack.
    pub incomplete: u64,
    /// Time of their kernels.
    pub time: Nanos,
    /// Part of it in which they waited for each other.
    pub wait: Nanos,
    /// Median over the ranks, in µs.
    pub median_wait_us: f64,
    /// The rank that came last most often.
    pub last_most: String,
    /// How often.
    pub last_count: u64,
    /// The rank that the others wait for; empty where none stands out.
    pub straggler: String,
}

/// A step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// The rank.
    pub rank: Option<i64>,
    /// Its folder.
    pub folder: String,
    /// Position of the step, from 0.
    pub step: i64,
    /// Its wall time.
    pub wall: PerSide<Nanos>,
    /// Time in which the device was busy.
    pub busy: PerSide<Nanos>,
}

/// To whom a cause is common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// Nine tenths of all ranks.
    All,
    /// Nine tenths of some roles, and hardly anybody else.
    Role,
    /// More than a tenth of the ranks.
    Some,
    /// A tenth, or three.
    Few,
}

impl Spread {
    /// `all`, `role`, `some` or `few`.
    pub fn label(self) -> &'static str {
        match self {
            Spread::All => "all",
            Spread::Role => "role",
            Spread::Some => "some",
            Spread::Few => "few",
        }
    }
}

/// A cause, and the ranks that share it.
#[derive(Debug, Clone, PartialEq)]
pub struct CauseRow {
    /// Why.
    pub reason: Arc<str>,
    /// Where.
    pub place: Arc<str>,
    /// Class of the module around it.
    pub module: Arc<str>,
    /// Ranks on which it matters.
    pub ranks: u64,
    /// Their share of all compared ones, 0 to 1.
    pub share: f64,
    /// To whom it is common.
    pub spread: Spread,
    /// The roles that share it, where it is common to roles.
    pub roles: String,
    /// The ranks.
    pub rank_list: String,
    /// Median of candidate − baseline per step, in µs.
    pub median_us: f64,
    /// The rank where it is largest.
    pub worst: String,
    /// Candidate − baseline per step there, in µs.
    pub worst_us: f64,
    /// Whether all its kernels are communication, so that it may be other ranks' fault.
    pub is_communication: bool,
    /// What shows it on the worst rank.
    pub evidence: Arc<str>,
}

/// What to look at first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// `STRAGGLER`, `CAUSE`, `OUTLIER`, `OTHER_OPS`, `COLLECTIVE_MISSING`, or the code of a failed or
    /// unmatched pair.
    pub code: String,
    /// The ranks that it is about, as text.
    pub ranks: String,
    /// How many.
    pub count: u64,
    /// In one sentence.
    pub message: String,
}
