//! Aligns each additional run on a side with the median run, to find out how long each event of the median
//! run takes in the additional run.
//!
//! The rows of a report describe the median runs. The time of each measured event in an additional run is
//! assigned to the event's counterpart in the median run. If there is no counterpart, the time is assigned to
//! the row of the lowest common op. If this row has no events in the median run, the time is added up
//! separately.

mod per_step;
mod variation;

use super::causes::Cause;
use super::wall::Part;
use super::wall::{IdleKind, IdleRow, WallBasis};
use super::{Analysis, Attribution, robust};
use crate::diff::TraceDiff;
use crate::program::{Evidence, StepId};
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;
use per_step::SharedSteps;
pub(super) use per_step::StepScope;
use per_step::{per_step, scope_of};
use std::collections::BTreeMap;
use std::sync::Arc;
use variation::Variation;

/// An additional run on a side, with a time for each event of the median run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The file name of the run.
    pub name: String,
    shared: SharedSteps,
    /// Number of recorded events, and number of events that are missing from the recording.
    pub evidence: Evidence,
    /// Total time of this run's events that could not be assigned to an event of the median run.
    pub elsewhere: Nanos,
    /// Mean times per step; total times in the window if there are no steps.
    means: (WallBasis, StepMeans),
    variation: Variation,
    /// For each step of the median run, the times of the matching step in this run; `None` if this run lacks
    /// the step.
    steps_of: Vec<Option<StepTime>>,
    /// How long each measured event of the median run takes in this run, indexed by the event's slot.
    times: Vec<Nanos>,
    idle: IdleTimes,
}

/// Idle time by kind, part and owner. The owner is a call of the median run, or `None` if the owner is
/// unknown.
type IdleTimes = BTreeMap<(IdleKind, Part, Option<CallId>), Nanos>;

impl Run {
    /// Extracts the times of a run from an analysis whose baseline is the median run and whose candidate is
    /// this run.
    fn of(analysis: &Attribution) -> Run {
        let mut run = Run {
            name: analysis.tree(Side::Candidate).trace().source().to_owned(),
            shared: SharedSteps::of(analysis),
            evidence: analysis.diff().program(Side::Candidate).evidence().clone(),
            elsewhere: Nanos::ZERO,
            means: (analysis.wall().basis(), step_means(analysis, Side::Candidate)),
            variation: Variation::of(analysis),
            steps_of: step_times(analysis, Side::Baseline, Side::Candidate),
            times: vec![Nanos::ZERO; analysis.slots(Side::Baseline)],
            idle: idle_times(analysis),
        };
        for &call in analysis.accounted_calls(Side::Candidate) {
            let time = analysis.time_of(Side::Candidate, call);
            match place(analysis, call) {
                Some(slot) => run.times[slot] += time,
                None => run.elsewhere += time,
            }
        }
        run
    }

    /// Number of points at which this run's call tree differs from the median run's call tree.
    pub(crate) fn variable(&self) -> usize {
        self.variation.points
    }

    /// Idle time in the compared steps of this run: its kind, owner and duration. The owner is a call of the
    /// median run.
    pub(super) fn idle(&self) -> impl Iterator<Item = (IdleKind, Option<CallId>, Nanos)> + '_ {
        let compared = self.idle.iter().filter(|((_, part, _), _)| *part == Part::Window);
        compared.map(|(&(kind, _, call), &time)| (kind, call, time))
    }

    /// How long a measured event of the median run takes in this run, given the event's slot.
    fn time(&self, slot: usize) -> Nanos {
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

/// Assigns the idle time of the candidate to calls of the baseline. Idle time is assigned to its owner if the
/// baseline has this call, and otherwise to the lowest common node above the owner. Idle time is skipped if
/// the baseline has neither of these calls.
fn idle_times(analysis: &Attribution) -> IdleTimes {
    let merged = analysis.diff().merged();
    let mut times = IdleTimes::new();
    for row in analysis.wall().idle() {
        let time = row.time[Side::Candidate];
        let owners = [row.owner, row.lowest_common].into_iter().flatten();
        let call = owners.filter_map(|id| merged.node(id).call(Side::Baseline)).next();
        if time > Nanos::ZERO && row.owner.is_some() == call.is_some() {
            *times.entry((row.kind, row.part, call)).or_default() += time;
        }
    }
    times
}

/// For each step on side `by`, the time of the matching step on side `of`.
fn step_times(analysis: &Attribution, by: Side, of: Side) -> Vec<Option<StepTime>> {
    let mut times = vec![None; analysis.steps(by).len()];
    for row in analysis.step_rows() {
        if let (Some(step), Some(_)) = (&row.steps[by], &row.steps[of]) {
            times[step.id.index()] = Some(StepTime {
                time_us: row.figures[of].time.as_micros(),
                wall_us: row.figures[of].wall().as_micros(),
            });
        }
    }
    times
}

/// Means over the steps of one run, in µs; totals of the whole window if a side has no steps.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct StepMeans {
    /// Wall time per step: busy + idle.
    pub wall_us: f64,
    /// Time per step during which the device ran work of the step.
    pub busy_us: f64,
    /// Time per step during which the device was idle.
    pub idle_us: f64,
    /// Total measured time of the work that the step launched; each of several concurrent kernels counts in
    /// full.
    pub time_us: f64,
}

fn step_means(analysis: &Attribution, side: Side) -> StepMeans {
    let (basis, totals) = (analysis.wall().basis(), analysis.wall().totals(side));
    let mean = |time: Nanos| totals.per_step_ms(time) * 1e3;
    let steps = analysis.steps(side);
    let counts = |call: CallId| basis == WallBasis::Events || steps.step(call).is_some();
    let calls = analysis.accounted_calls(side).iter().filter(|&&call| counts(call));
    let time: Nanos = calls.map(|&call| analysis.time_of(side, call)).sum();
    let all_steps = if basis == WallBasis::Events { 1 } else { steps.len().max(1) };
    StepMeans {
        wall_us: mean(totals.own()),
        busy_us: mean(totals.busy),
        idle_us: mean(totals.idle),
        time_us: time.as_micros() / all_steps as f64,
    }
}

/// Assigns an event of an additional run to an event of the median run, and returns the slot of that event.
fn place(analysis: &Attribution, call: CallId) -> Option<usize> {
    let partner = analysis.diff().partner(Side::Candidate, call);
    let slot = partner.and_then(|partner| analysis.slot(Side::Baseline, partner));
    slot.or_else(|| {
        let row = analysis.row_of(Side::Candidate, call)?;
        let first = *row.events[Side::Baseline].first()?;
        analysis.slot(Side::Baseline, first)
    })
}

/// Median and spread of a time over the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct RunFigures {
    /// Number of runs.
    pub runs: usize,
    /// The median over the runs in µs; for an even number of runs, the lower of the two middle values.
    pub median_us: f64,
    /// The largest difference between two runs, in µs.
    pub spread_us: f64,
}

impl RunFigures {
    /// Computes median and spread from the values of all runs, in µs.
    pub fn of(times: &[f64]) -> RunFigures {
        RunFigures {
            runs: times.len(),
            median_us: robust::lower_median(times),
            spread_us: robust::range(times),
        }
    }

    /// The spread as a share of the median, in percent; `None` if the median is zero.
    pub(crate) fn spread_pct(&self) -> Option<f64> {
        (self.median_us > 0.0).then(|| 100.0 * self.spread_us / self.median_us)
    }
}

/// How much the runs of one side differ. The runs execute the same program, so a difference up to this spread
/// is noise.
#[derive(Debug, Clone, Copy, PartialEq)]
#[doc(hidden)]
pub struct RunNoise {
    /// The measured time per step, as median and spread over the runs.
    pub time: RunFigures,
    /// The wall time (busy + idle) per step, as median and spread over the runs; `None` if some runs have
    /// steps and others do not.
    pub wall: Option<RunFigures>,
    /// The largest number of points at which any run's call tree differs from the median run's call tree.
    pub variable: usize,
}

impl Attribution {
    /// Creates an additional run of a side. In the comparison `with_median`, the median run is the
    /// baseline and the new run is the candidate.
    pub(crate) fn further_run(&self, side: Side, with_median: impl Into<Arc<TraceDiff>>) -> Run {
        let mut analysis = Analysis::with_options(with_median, self.options().clone()).attribution;
        analysis.chosen_steps = self.wall().step_pairs().map(|pairs| pairs.compared(side).to_vec());
        Run::of(&analysis)
    }

    /// The additional runs on a side: all runs except the median run, which the tables describe.
    #[doc(hidden)]
    pub fn runs(&self, side: Side) -> &[Run] {
        &self.runs[side]
    }

    /// Counts of recorded and missing events in each run of a side, with the median run first.
    #[doc(hidden)]
    pub fn evidence(&self, side: Side) -> Vec<Evidence> {
        let median = self.diff().program(side).evidence();
        let others = self.runs[side].iter().map(|run| &run.evidence);
        std::iter::once(median).chain(others).cloned().collect()
    }

    /// Mean times per step of each run, in the order of the runs. Returns `None` if some runs have steps
    /// and others do not.
    #[doc(hidden)]
    pub fn means_of_runs(&self, side: Side) -> Option<Vec<StepMeans>> {
        let others = self.runs[side].iter().map(|run| run.means.1);
        let all = || in_order(self, side, step_means(self, side), others);
        has_one_basis(self, side).then(all)
    }

    /// Times of the median run's steps. Steps without a counterpart on the other side are omitted. Empty if a
    /// side has no steps.
    #[doc(hidden)]
    pub fn means_of_steps(&self, side: Side) -> Vec<StepMeans> {
        let rows = self.step_rows();
        let rows =
            rows.iter().filter(|row| Side::BOTH.iter().all(|&side| row.steps[side].is_some()));
        rows.map(|row| {
            let figures = &row.figures[side];
            StepMeans {
                wall_us: figures.wall().as_micros(),
                busy_us: figures.busy.as_micros(),
                idle_us: figures.idle.as_micros(),
                time_us: figures.time.as_micros(),
            }
        })
        .collect()
    }
}

/// Inserts the median run's value in the middle of the additional runs' values. The additional runs are
/// sorted by step time.
fn in_order<T>(
    analysis: &Attribution,
    side: Side,
    median: T,
    others: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let mut all: Vec<T> = others.into_iter().collect();
    let middle = (analysis.runs[side].len() / 2).min(all.len());
    all.insert(middle, median);
    all
}

/// The idle time per step of an idle row in each run, in µs, in the order of the runs. The value is 0 for
/// a run without this idle time. Returns `None` if some runs have steps and others do not.
pub(crate) fn idle_of_runs(analysis: &Attribution, side: Side, row: &IdleRow) -> Option<Vec<f64>> {
    let owner = row.owner.map(|id| analysis.diff().merged().node(id).call(side));
    let key = match owner {
        // If a side does not have the call, the call causes no idle time in any run on that side.
        Some(None) => None,
        Some(Some(call)) => Some((row.kind, row.part, Some(call))),
        None => Some((row.kind, row.part, None)),
    };
    let time = |run: &Run| key.and_then(|key| run.idle.get(&key).copied()).unwrap_or_default();
    let further: Vec<Nanos> = analysis.runs[side].iter().map(time).collect();
    idle_per_step(analysis, side, StepScope::of_part(row.part), row.time[side], &further)
}

/// Whether both sides have several runs, in which case verdicts are based on runs.
pub(crate) fn has_runs(analysis: &Attribution) -> bool {
    Side::BOTH.into_iter().all(|side| !analysis.runs[side].is_empty())
}

/// Spread between the runs on a side; `None` with a single run.
pub(crate) fn run_noise(analysis: &Attribution, side: Side) -> Option<RunNoise> {
    let runs = &analysis.runs[side];
    let variable = runs.iter().map(Run::variable).max()?;
    Some(RunNoise {
        time: run_figures(analysis, side, analysis.accounted_calls(side)),
        wall: walls_of_runs(analysis, side).map(|walls| RunFigures::of(&walls)),
        variable,
    })
}

/// The wall time (busy + idle) per step in each run, in µs, in the order of the runs. Returns `None` if
/// some runs have steps and others do not.
pub(crate) fn walls_of_runs(analysis: &Attribution, side: Side) -> Option<Vec<f64>> {
    let own = analysis.wall().totals(side).step_ms() * 1e3;
    let others = analysis.runs[side].iter().map(|run| run.means.1.wall_us);
    has_one_basis(analysis, side).then(|| in_order(analysis, side, own, others))
}

/// Whether the runs on a side are comparable: either all runs or none of the runs have steps.
fn has_one_basis(analysis: &Attribution, side: Side) -> bool {
    analysis.runs[side].iter().all(|run| run.means.0 == analysis.wall().basis())
}

/// Statistics over the runs of a side: how much time per step the given events of the median run take in each
/// run. If some steps are not compared, but all given events are in compared steps, the statistics cover only
/// compared steps.
pub(crate) fn run_figures(analysis: &Attribution, side: Side, events: &[CallId]) -> RunFigures {
    let scope = scope_of(analysis, side, events);
    RunFigures::of(&times_of_runs(analysis, side, events, scope))
}

/// Times of a step in each run that has a matching step, in the order of the runs.
pub(crate) fn runs_of_step(analysis: &Attribution, side: Side, step: StepId) -> Vec<StepTime> {
    let median = analysis.step_times[side].get_or_init(|| step_times(analysis, side, side));
    in_order(analysis, side, median, analysis.runs[side].iter().map(|run| &run.steps_of))
        .into_iter()
        .filter_map(|steps| steps.get(step.index()).copied().flatten())
        .collect()
}

/// The idle time per step of a cause in each run, in µs, in the order of the runs. Returns `None` if the
/// cause is GPU work, or if some runs have steps and others do not.
pub(crate) fn idle_cause_of_runs(
    analysis: &Attribution,
    side: Side,
    cause: &Cause,
) -> Option<Vec<f64>> {
    let further = &cause.idle_of_runs[side];
    let is_idle = further.len() == analysis.runs[side].len();
    let times = || idle_per_step(analysis, side, StepScope::Compared, cause.time[side], further);
    is_idle.then(times).flatten()
}

/// Like [`per_step()`], for idle time. Returns `None` if some runs have steps and others do not, or if no run
/// has steps in `scope`.
fn idle_per_step(
    analysis: &Attribution,
    side: Side,
    scope: StepScope,
    median: Nanos,
    others: &[Nanos],
) -> Option<Vec<f64>> {
    let times = || per_step(analysis, side, scope, median, others.iter().copied());
    has_one_basis(analysis, side).then(times).filter(|times| !times.is_empty())
}

/// Time per step that a cause's GPU work takes in each run, in µs, in the order of the runs.
pub(crate) fn busy_cause_of_runs(analysis: &Attribution, side: Side, cause: &Cause) -> Vec<f64> {
    let events = events_of_rows(analysis, &cause.rows, side);
    times_of_runs(analysis, side, &events, StepScope::Compared)
}

/// The measured events of the given rows on one side.
pub(crate) fn events_of_rows(analysis: &Attribution, rows: &[usize], side: Side) -> Vec<CallId> {
    rows.iter().flat_map(|&row| &analysis.rows()[row].events[side]).copied().collect()
}

/// Time per step that the given events of the median run take in each run, in µs, in the order of the
/// runs. A run without steps in `scope` is skipped.
pub(super) fn times_of_runs(
    analysis: &Attribution,
    side: Side,
    events: &[CallId],
    scope: StepScope,
) -> Vec<f64> {
    let steps = analysis.steps(side);
    let in_steps: Vec<CallId> = events
        .iter()
        .copied()
        .filter(|&event| steps.is_empty() || steps.step(event).is_some())
        .collect();
    let median = in_steps.iter().map(|&event| analysis.time_of(side, event)).sum();
    let others = analysis.runs[side].iter().map(|run| {
        let slots = in_steps.iter().filter_map(|&event| analysis.slot(side, event));
        slots.map(|slot| run.time(slot)).sum()
    });
    per_step(analysis, side, scope, median, others)
}
