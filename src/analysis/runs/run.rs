//! The times of one additional run, assigned to the events of the median run.

use super::figures::StepMeans;
use super::per_step::SharedSteps;
use super::variation::Variation;
use crate::analysis::account::{Ledger, ledger};
use crate::analysis::steps::{StepPairs, StepRow, WallBasis, chosen_step_pairs, step_rows};
use crate::analysis::wall::{IdleKind, Part, Wall};
use crate::diff::TraceDiff;
use crate::program::Evidence;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use std::collections::BTreeMap;

/// An additional run on a side, with a time for each event of the median run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The file name of the run.
    pub name: String,
    pub(super) shared: SharedSteps,
    /// Number of recorded events, and number of events that are missing from the recording.
    pub evidence: Evidence,
    /// Mean times per step; total times in the window if there are no steps.
    pub(super) means: (WallBasis, StepMeans),
    pub(super) variation: Variation,
    /// For each step of the median run, the times of the matching step in this run; `None` if this run lacks
    /// the step.
    pub(super) steps_of: Vec<Option<StepTime>>,
    /// How long each measured event of the median run takes in this run, indexed by the event's slot.
    times: Vec<Nanos>,
    pub(super) idle: IdleTimes,
    /// The prices of this run against the median run of the other side; `None` if they are not compared.
    pub(in crate::analysis) prices: Option<RunPrices>,
}

/// The prices in the bill that compares an additional run with the median run of the other side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RunPrices {
    /// Whether these are prices, and not attributed times.
    pub(in crate::analysis) is_priced: bool,
    /// What identifies each line, and its price.
    pub(in crate::analysis) of_lines: Vec<(String, Nanos)>,
}

/// Idle time by kind, part and owner. The owner is a call of the median run, or `None` if the owner is
/// unknown.
type IdleTimes = BTreeMap<(IdleKind, Part, Option<CallId>), Nanos>;

impl Run {
    /// Extracts the times of a run from the comparison `diff`, whose baseline is the median run and whose candidate is
    /// this run. `chosen` lists the steps of the median run that are compared with the other side.
    pub(crate) fn of(diff: &TraceDiff, chosen: Option<&[bool]>, prices: Option<RunPrices>) -> Run {
        let ledger = ledger(diff);
        let compared = chosen_step_pairs(diff, chosen);
        let wall = Wall::of(diff, &ledger, &compared);
        let step_rows = step_rows(diff, &ledger, &compared);
        let means = step_means(diff, &ledger, &compared, &wall, Side::Candidate);
        let mut run = Run {
            name: diff.tree(Side::Candidate).trace().source().to_owned(),
            shared: SharedSteps::of(diff, &compared, chosen),
            evidence: diff.program(Side::Candidate).evidence().clone(),
            means: (compared.basis(), means),
            variation: Variation::of(diff),
            steps_of: step_times(diff, &step_rows, Side::Baseline, Side::Candidate),
            times: vec![Nanos::ZERO; ledger.slots(Side::Baseline)],
            idle: idle_times(diff, &wall),
            prices,
        };
        for &call in ledger.calls(Side::Candidate) {
            let time = ledger.time_of(diff, Side::Candidate, call);
            if let Some(slot) = place(diff, &ledger, call) {
                run.times[slot] += time;
            }
        }
        run
    }

    /// Number of points at which this run's call tree differs from the median run's call tree.
    pub(crate) fn variable(&self) -> usize {
        self.variation.points
    }

    /// How long a measured event of the median run takes in this run, given the event's slot.
    pub(super) fn time(&self, slot: usize) -> Nanos {
        self.times.get(slot).copied().unwrap_or_default()
    }
}

/// Times of a step in one run, in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct StepTime {
    /// Measured time of the step.
    pub time_us: f64,
    /// Wall time of the step: busy and idle time of the device.
    pub wall_us: f64,
}

/// For each side and each step of its median run, the times of the step; `None` for a step without a counterpart.
pub type StepTimes = PerSide<Vec<Option<StepTime>>>;

/// Assigns the idle time of the candidate to calls of the baseline. Idle time is assigned to its owner if the
/// baseline has this call, and otherwise to the lowest common node above the owner. Idle time is skipped if
/// the baseline has neither of these calls.
fn idle_times(diff: &TraceDiff, wall: &Wall) -> IdleTimes {
    let merged = diff.merged();
    let mut times = IdleTimes::new();
    for row in wall.idle() {
        let time = row.time[Side::Candidate];
        let owners = [row.owner, row.lowest_common].into_iter().flatten();
        let call = owners.filter_map(|id| merged.node(id).call(Side::Baseline)).next();
        if time > Nanos::ZERO && row.owner.is_some() == call.is_some() {
            *times.entry((row.kind, row.part, call)).or_default() += time;
        }
    }
    times
}

/// The times of the median run's steps on each side; `None` for a step without a counterpart.
pub(in crate::analysis) fn step_times_of_sides(
    diff: &TraceDiff,
    step_rows: &[StepRow],
) -> StepTimes {
    PerSide::from_fn(|side| step_times(diff, step_rows, side, side))
}

/// For each step on side `by`, the time of the matching step on side `of`.
fn step_times(
    diff: &TraceDiff,
    step_rows: &[StepRow],
    by: Side,
    of: Side,
) -> Vec<Option<StepTime>> {
    let mut times = vec![None; diff.steps(by).len()];
    for row in step_rows {
        if let (Some(step), Some(_)) = (&row.steps[by], &row.steps[of]) {
            times[step.id.index()] = Some(StepTime {
                time_us: row.figures[of].time.as_micros(),
                wall_us: row.figures[of].wall().as_micros(),
            });
        }
    }
    times
}

pub(super) fn step_means(
    diff: &TraceDiff,
    ledger: &Ledger,
    compared: &StepPairs,
    wall: &Wall,
    side: Side,
) -> StepMeans {
    let (basis, totals) = (compared.basis(), wall.totals(side));
    let mean = |time: Nanos| totals.per_step_ms(time) * 1e3;
    let steps = diff.steps(side);
    let counts = |call: CallId| basis == WallBasis::Events || steps.step(call).is_some();
    let calls = ledger.calls(side).iter().filter(|&&call| counts(call));
    let time: Nanos = calls.map(|&call| ledger.time_of(diff, side, call)).sum();
    let all_steps = if basis == WallBasis::Events { 1 } else { steps.len().max(1) };
    StepMeans {
        wall_us: mean(totals.own()),
        busy_us: mean(totals.busy),
        idle_us: mean(totals.idle),
        time_us: time.as_micros() / all_steps as f64,
    }
}

/// Assigns an event of an additional run to an event of the median run, and returns the slot of that event.
fn place(diff: &TraceDiff, ledger: &Ledger, call: CallId) -> Option<usize> {
    let counterpart = diff.counterpart(Side::Candidate, call);
    let slot = counterpart.and_then(|counterpart| ledger.slot(diff, Side::Baseline, counterpart));
    slot.or_else(|| {
        let row = ledger.row_of(diff, Side::Candidate, call)?;
        let first = *row.events[Side::Baseline].first()?;
        ledger.slot(diff, Side::Baseline, first)
    })
}
