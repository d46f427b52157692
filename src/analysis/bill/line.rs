//! A line of the bill.

use crate::diff::MergedId;
use crate::trace::Nanos;

/// What a line of the bill is about, and with that, who can do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BillKind {
    /// Another device, or other versions of libraries, and what they brought.
    Environment,
    /// A change of the program.
    Change,
    /// The recordings differ: the profiler recorded something on one side only, or its times are too coarse.
    Recording,
    /// What all changes do together, minus the sum of their prices.
    Together,
    /// What the hardware of the other device explains.
    Hardware,
    /// What the libraries and kernels of the other device do beyond that.
    Software,
    /// The step waits for something else than the GPU.
    Wait,
    /// The host times of the same calls.
    Host,
    /// Single long host times.
    Pauses,
    /// The durations of the same kernels.
    Clock,
    /// Idle time at the same calls that the host times do not explain. Only without prices.
    Overlap,
    /// The unexplained part.
    Rest,
}

impl BillKind {
    /// All kinds, in the order of the table.
    pub const ALL: [BillKind; 12] = [
        BillKind::Environment,
        BillKind::Change,
        BillKind::Recording,
        BillKind::Together,
        BillKind::Hardware,
        BillKind::Software,
        BillKind::Wait,
        BillKind::Host,
        BillKind::Pauses,
        BillKind::Clock,
        BillKind::Overlap,
        BillKind::Rest,
    ];

    /// The name of the kind in tables and rules.
    pub fn label(self) -> &'static str {
        match self {
            BillKind::Environment => "environment",
            BillKind::Change => "change",
            BillKind::Recording => "recording",
            BillKind::Together => "together",
            BillKind::Hardware => "hardware",
            BillKind::Software => "software",
            BillKind::Wait => "wait",
            BillKind::Host => "host",
            BillKind::Pauses => "pauses",
            BillKind::Clock => "clock",
            BillKind::Overlap => "overlap",
            BillKind::Rest => "rest",
        }
    }

    /// Finds the kind that has a given label.
    #[doc(hidden)]
    pub fn from_label(label: &str) -> Option<BillKind> {
        BillKind::ALL.into_iter().find(|kind| kind.label() == label)
    }

    /// Whether the line is about something that was changed, not about the speed of the same program.
    #[doc(hidden)]
    pub fn is_changed(self) -> bool {
        match self {
            BillKind::Environment
            | BillKind::Change
            | BillKind::Recording
            | BillKind::Together
            | BillKind::Hardware
            | BillKind::Software => true,
            BillKind::Wait
            | BillKind::Host
            | BillKind::Pauses
            | BillKind::Clock
            | BillKind::Overlap
            | BillKind::Rest => false,
        }
    }
}

/// [`BillLine::place`] of the time that communication kernels take, including the wait for other ranks.
pub const COMMUNICATION: &str = "communication";

/// A line of the bill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BillLine {
    /// What the line is about.
    pub kind: BillKind,
    /// What happened, in one sentence without a full stop.
    pub sentence: String,
    /// Candidate − baseline per step: the price by replay, or the attributed time if no prices are known.
    pub price: Nanos,
    /// The position in [`Changes::list`](crate::analysis::changes::Changes::list), if the line is a change.
    pub change: Option<usize>,
    /// Where the change first occurs, the range that a wait is about, or the op that has most of the difference in the
    /// durations of the same kernels; empty if the line is about no place.
    pub place: String,
    /// What to try; empty if unknown.
    pub advice: String,
    /// The first call; `None` if the line is about no single call.
    pub node: Option<MergedId>,
    /// The prices over all pairs of runs; `None` if each side has a single run.
    pub over_runs: Option<OverRuns>,
}

/// The prices of a line over all pairs of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverRuns {
    /// The lowest price.
    pub low: Nanos,
    /// The median price, the lower of two in the middle.
    pub median: Nanos,
    /// The highest price.
    pub high: Nanos,
    /// Whether the price has the same sign for all pairs; `None` if a side has a single run, so that nothing is tested.
    pub is_apart: Option<bool>,
}

pub(super) fn line(kind: BillKind, sentence: impl Into<String>, price: Nanos) -> BillLine {
    BillLine {
        kind,
        sentence: sentence.into(),
        price,
        change: None,
        place: String::new(),
        advice: String::new(),
        node: None,
        over_runs: None,
    }
}
