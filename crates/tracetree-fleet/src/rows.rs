//! Defines the rows of a fleet's tables.

use super::collectives::CollectiveWait;
use super::plan::{PlannedPair, Unmatched};
use super::stats::Quantiles;
use super::status::{NO_SHARD, SHARD_NOT_VISIBLE, Status};
use serde::Serialize;
use std::sync::Arc;
use tracetree::analysis::bill::BillKind;
use tracetree::side::{PerSide, Side};
use tracetree::signed::signed;
use tracetree::trace::Nanos;

/// A planned pair or unmatched trace, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairRow {
    /// The rank, if known.
    pub rank: Option<i64>,
    /// The folder of the pair's report; empty for an unmatched trace.
    pub folder: String,
    /// `ok`, `damaged`, `failed` or `unmatched`.
    pub status: &'static str,
    /// The code of the failure, in capitals.
    pub code: String,
    /// The explanation of the code.
    pub message: String,
    /// The path of the trace file on each side; empty if that side has no file.
    pub files: PerSide<String>,
    /// The name of the pair's shard.
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
        files[unmatched.side] = unmatched.path.clone();
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

    /// Whether the pair has no shard, although its traces are intact. Either the pair was not compared yet,
    /// or it was compared on a machine that does not share the folder.
    pub fn is_unfinished(&self) -> bool {
        [NO_SHARD, SHARD_NOT_VISIBLE].contains(&self.code.as_str())
    }

    /// Display name of the row: the folder of the report or, for an unmatched trace, the file.
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
    /// The rank; `None` if the rank is unknown and the files were matched by name.
    pub rank: Option<i64>,
    /// The folder with the rank's own report.
    pub folder: String,
    /// `ok`, `damaged` if data is missing in a trace, or `failed` if a trace is truncated.
    pub status: &'static str,
    /// The code of the failure.
    pub code: String,
    /// The hash of the rank's baseline outline. Ranks with the same outline run the same ops.
    pub role: Arc<str>,
    /// The paths of the trace files.
    pub files: PerSide<String>,
    /// Total measured time on each side.
    pub time: PerSide<Nanos>,
    /// Busy time on each side: the union of the measured intervals.
    pub busy: PerSide<Nanos>,
    /// Number of measured events on each side.
    pub events: PerSide<u64>,
    /// Busy and idle time of the window on each side, without the time of work that was launched before the window or
    /// that is not selected.
    pub wall: PerSide<Nanos>,
    /// Number of steps on each side; 1 if the whole window is treated as one step.
    pub steps: PerSide<u64>,
    /// Whether the rows of the rank's report add up to the total time of its events.
    pub account_is_exact: bool,
    /// On each side, how long the rank waited for other ranks in collectives.
    pub waits: PerSide<CollectiveWait>,
    /// On each side, whether this rank is the straggler that the other ranks wait for.
    pub is_straggler: PerSide<bool>,
    /// Number of points of difference between the two traces.
    pub points_of_difference: usize,
    /// Whether the two traces recorded the same work.
    pub is_comparable: bool,
    /// The codes of the notes about each trace, each with its count, such as `TRUNCATED 1; LOST_EVENTS 3`.
    pub notes: PerSide<String>,
}

impl RankRow {
    /// GPU time of the rank per step in µs, minus the time during which the rank waits for other ranks.
    pub(super) fn own_step_us(&self, side: Side) -> f64 {
        (self.time[side] - self.waits[side].wait).as_micros() / self.steps[side].max(1) as f64
    }
}

/// Ranks that run the same ops. `fleet.json` contains all fields that are not skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleRow {
    /// The outline hash that all ranks of the role have in the baseline.
    pub role: Arc<str>,
    /// Number of ranks.
    pub ranks: u64,
    /// The ranks.
    pub rank_list: String,
    /// The most frequent outline hash of the role's ranks in the candidate.
    #[serde(skip)]
    pub candidate: Arc<str>,
    /// The ranks with a different outline in the candidate.
    #[serde(skip)]
    pub odd: String,
    /// Number of ranks with a different outline in the candidate.
    #[serde(skip)]
    pub odd_ranks: u64,
    /// A short string that names the ranks with a different outline in the candidate.
    #[serde(skip)]
    pub odd_pattern: String,
    /// How the ops of the ranks in `odd` differ from the ops of the other ranks: `runs aten::sin; lacks aten::mm`;
    /// empty if only call sites or modules differ.
    #[serde(skip)]
    pub odd_ops: String,
}

/// The times of one op, category or layer on the ranks in a role, in µs per step.
#[derive(Debug, Clone, PartialEq)]
pub struct PartRow {
    /// The role.
    pub role: Arc<str>,
    /// `op`, `category` or `layer`.
    pub kind: &'static str,
    /// Name of the op or category, or class of the layer stack.
    pub name: Arc<str>,
    /// Number of the layer; `None` for ops and categories.
    pub number: Option<i64>,
    /// Number of ranks in the role.
    pub ranks: u64,
    pub(super) quantiles: PerSide<Quantiles>,
    /// Median over the ranks of candidate − baseline.
    pub difference_us: f64,
    /// The rank on which candidate − baseline is largest.
    pub worst: String,
    /// Candidate − baseline on the rank that `worst` names.
    pub worst_difference_us: f64,
    /// Number of outliers on each side.
    pub outliers: PerSide<u64>,
}

/// A class of work on two platforms: means over the ranks, per step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClassRow {
    /// The class, such as `linear`.
    pub name: Arc<str>,
    /// Number of ranks.
    pub ranks: u64,
    /// GPU time in µs.
    pub time_us: PerSide<f64>,
    /// The part of the difference that the hardware explains, in µs.
    pub hardware_us: f64,
    /// The part of the difference that the hardware does not explain, in µs.
    pub software_us: f64,
}

impl ClassRow {
    /// The titles of [`ClassRow::cells`].
    pub const TITLES: [&str; 5] = ["baseline", "candidate", "ratio", "hardware", "software"];

    /// The times in ms, their ratio, and the parts of the difference.
    pub fn cells(&self) -> [String; 5] {
        let PerSide { baseline, candidate } = self.time_us;
        let millis = |micros: f64| format!("{:.3}", micros / 1e3);
        let ratio =
            if baseline > 0.0 { format!("{:.2}×", candidate / baseline) } else { String::new() };
        let parts = [self.hardware_us, self.software_us].map(|part| signed(part / 1e3, 3));
        let [hardware, software] = parts;
        [millis(baseline), millis(candidate), ratio, hardware, software]
    }
}

/// A rank whose time for one op, category or layer is an outlier in its role.
#[derive(Debug, Clone, PartialEq)]
pub struct OutlierRow {
    /// The side on which the rank is an outlier.
    pub side: Side,
    /// The role.
    pub role: Arc<str>,
    /// `op`, `category` or `layer`.
    pub kind: &'static str,
    /// Name of the op or category, or class of the layer stack.
    pub name: Arc<str>,
    /// Number of the layer; `None` for ops and categories.
    pub number: Option<i64>,
    /// The rank.
    pub rank: Option<i64>,
    /// The folder of the rank.
    pub folder: String,
    /// The rank's time, in µs per step.
    pub time_us: f64,
    /// The median time of the ranks in the role, in µs per step.
    pub median_us: f64,
    /// The rank's time minus the median, divided by a robust estimate of the standard deviation.
    pub robust_z: f64,
    /// Number of ranks in the role.
    pub ranks: u64,
}

impl OutlierRow {
    /// The absolute difference between the rank's time and the median, in µs per step.
    pub fn distance_us(&self) -> f64 {
        (self.time_us - self.median_us).abs()
    }
}

/// An op of a rank that takes longer than in the rank's baseline, by more than on the other ranks of the role.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SlowedOp {
    /// The folder of the rank.
    pub(super) folder: String,
    pub(super) name: Arc<str>,
    /// The rank's time on each side, in µs per step.
    pub(super) time_us: PerSide<f64>,
}

impl SlowedOp {
    /// The ratio and both times, such as `1.40× (0.200 → 0.280 ms)`.
    pub(super) fn text(&self) -> String {
        let PerSide { baseline, candidate } = self.time_us;
        let times = format!("{:.3} → {:.3} ms", baseline / 1e3, candidate / 1e3);
        if baseline > 0.0 { format!("{:.2}× ({times})", self.ratio()) } else { times }
    }

    pub(super) fn ratio(&self) -> f64 {
        self.time_us.candidate / self.time_us.baseline.max(f64::MIN_POSITIVE)
    }
}

/// One collective, on all ranks of its process group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectiveRow {
    /// The side.
    pub side: Side,
    /// Position of the collective, from 0, in the order in which the first rank runs the collectives; `None`
    /// if a rank did not record the collective.
    pub number: Option<u64>,
    /// The process group; empty if not recorded.
    pub group: String,
    /// Name of the collective, or of the kernel if the collective's name is not recorded.
    pub name: String,
    /// Sequence number in the process group, if recorded.
    pub sequence: Option<i64>,
    /// Number of ranks that recorded the collective.
    pub ranks: u64,
    /// Duration of the shortest kernel, which is the kernel of the rank that arrived last.
    pub shortest: Nanos,
    /// Duration of the longest kernel.
    pub longest: Nanos,
    /// Longest − shortest duration, which is the delay between the arrivals of the first and the last rank.
    pub skew: Nanos,
    /// The sum of the waits of all ranks in the collective.
    pub wait: Nanos,
    /// The rank that arrived last.
    pub last: Option<i64>,
    /// The folder of the rank that arrived last.
    pub last_folder: String,
    /// The time between the arrival of the second to last rank and the arrival of the last rank.
    pub margin: Nanos,
    /// Ranks that did not record this collective, although they recorded earlier and later collectives.
    pub absent: String,
}

/// The collectives of one process group.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupRow {
    /// The side.
    pub side: Side,
    /// The process group; empty if not recorded.
    pub group: String,
    /// Number of ranks in the process group.
    pub ranks: u64,
    /// Number of collectives that all ranks of the group recorded.
    pub collectives: u64,
    /// Number of collectives that some ranks of the group lack.
    pub incomplete: u64,
    /// Total duration of the communication kernels.
    pub time: Nanos,
    /// Part of `time` that the ranks spent waiting for each other.
    pub wait: Nanos,
    /// Median wait of a rank, in µs.
    pub median_wait_us: f64,
    /// The rank that was most often the last to arrive.
    pub last_most: String,
    /// Number of collectives in which the rank `last_most` arrived last.
    pub last_count: u64,
    /// The rank that the other ranks wait for; empty if there is no such rank.
    pub straggler: String,
}

/// A step of a rank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRow {
    /// The rank.
    pub rank: Option<i64>,
    /// The folder of the rank.
    pub folder: String,
    /// Position of the step, from 0.
    pub step: i64,
    /// Wall time of the step.
    pub wall: PerSide<Nanos>,
    /// Time during which the device was busy.
    pub busy: PerSide<Nanos>,
}

/// How widely a line is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// At least nine tenths of all ranks share the line.
    All,
    /// In one or more roles, at least nine tenths of the ranks share the line. At most a tenth of
    /// the ranks that share the line have other roles.
    Role,
    /// More than a tenth of the ranks, and more than three ranks, share the line.
    Some,
    /// At most a tenth of the ranks, or at most three ranks, share the line.
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

/// The ranks that share a line, and how large its difference is on these ranks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shared {
    /// Number of ranks.
    pub ranks: u64,
    /// The fraction of the compared ranks that have the line, from 0 to 1.
    pub share: f64,
    /// How widely the line is shared.
    pub spread: Spread,
    /// The roles that share the line; empty unless the spread is [`Spread::Role`].
    #[serde(skip)]
    pub roles: String,
    /// The ranks.
    pub rank_list: String,
    /// A short string that names the ranks: ranges, `≡ 0, 2 mod 8 (1000 ranks)`, or the first ranges and the number of
    /// ranks.
    #[serde(skip)]
    pub pattern: String,
    /// Median over the ranks of candidate − baseline per step, in µs.
    #[serde(rename = "median_difference_us")]
    pub median_us: f64,
    /// The rank on which the absolute difference is largest.
    #[serde(rename = "worst_rank")]
    pub worst: String,
    /// Candidate − baseline per step on the rank `worst`, in µs.
    #[serde(rename = "worst_difference_us")]
    pub worst_us: f64,
}

/// A line of the bill, and the ranks that share it. Ranks on which a line that is not a change is smaller than 0.5% of
/// the step time are omitted. `fleet.json` contains all fields that are not skipped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineRow {
    /// What the line is about, as in `bill.csv`.
    pub kind: Arc<str>,
    /// The kind of change; empty if the line is not a change.
    pub change_kind: Arc<str>,
    /// What happened, in one sentence without a full stop. For a line that is not a change, the sentence of the rank
    /// with the largest price.
    pub sentence: Arc<str>,
    /// The first call site of a change, or the range of a wait.
    #[serde(rename = "where")]
    pub place: Arc<str>,
    /// The ranks.
    #[serde(flatten)]
    pub shared: Shared,
}

impl LineRow {
    /// Whether the line is about something that was changed, not about the speed of the same program.
    pub fn is_changed(&self) -> bool {
        BillKind::from_label(&self.kind).is_some_and(BillKind::is_changed)
    }
}

/// A finding that a reader should look at first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// `ENVIRONMENT`, `CHANGE`, `RECORDING`, `SAME_PROGRAM`, `STRAGGLER`, `STRAGGLER_BEFORE`, `SPEED`, `OUTLIER`, `OTHER_OPS`,
    /// `COLLECTIVE_MISSING`, or the code of a failed or unmatched pair.
    pub code: String,
    /// The affected ranks, as a formatted list.
    pub ranks: String,
    /// Number of affected ranks or pairs.
    pub count: u64,
    /// A description of the finding in one sentence.
    pub message: String,
}
