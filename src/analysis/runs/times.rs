//! The time per step that something takes in each run of a side: the median run and the additional runs, in order.

use super::figures::{RunFigures, RunNoise, StepMeans};
use super::per_step::{SharedSteps, StepScope};
use super::run::{Run, StepTime, StepTimes, step_means};
use crate::analysis::account::Ledger;
use crate::analysis::steps::{StepPairs, StepRow};
use crate::analysis::wall::{IdleRow, Wall};
use crate::diff::TraceDiff;
use crate::program::{Evidence, StepId};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

/// The values from which the time per step in each run is computed.
#[derive(Debug, Clone, Copy)]
pub struct RunTimes<'a> {
    pub(in crate::analysis) diff: &'a TraceDiff,
    pub(in crate::analysis) ledger: &'a Ledger,
    pub(in crate::analysis) compared: &'a StepPairs,
    pub(in crate::analysis) wall: &'a Wall,
    pub(in crate::analysis) runs: &'a PerSide<Vec<Run>>,
}

/// Inserts the median run's value in the middle of the additional runs' values. The additional runs are
/// sorted by step time.
fn in_order<T>(median: T, others: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = others.into_iter().collect();
    let middle = all.len() / 2;
    all.insert(middle, median);
    all
}

/// Whether both sides have several runs, in which case verdicts are based on runs.
pub(crate) fn has_runs(runs: &PerSide<Vec<Run>>) -> bool {
    Side::BOTH.into_iter().all(|side| !runs[side].is_empty())
}

/// Counts of recorded and missing events in each run of a side, with the median run first.
#[doc(hidden)]
pub fn evidence(diff: &TraceDiff, runs: &PerSide<Vec<Run>>, side: Side) -> Vec<Evidence> {
    let others = runs[side].iter().map(|run| &run.evidence);
    std::iter::once(diff.program(side).evidence()).chain(others).cloned().collect()
}

/// Times of the median run's steps. Steps without a counterpart on the other side are omitted. Empty if a
/// side has no steps.
#[doc(hidden)]
pub fn means_of_steps(step_rows: &[StepRow], side: Side) -> Vec<StepMeans> {
    let is_compared = |row: &&StepRow| Side::BOTH.iter().all(|&side| row.steps[side].is_some());
    let rows = step_rows.iter().filter(is_compared);
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

/// Times of a step in each run that has a matching step, in the order of the runs.
pub(crate) fn runs_of_step(
    step_times: &StepTimes,
    runs: &PerSide<Vec<Run>>,
    side: Side,
    step: StepId,
) -> Vec<StepTime> {
    in_order(&step_times[side], runs[side].iter().map(|run| &run.steps_of))
        .into_iter()
        .filter_map(|steps| steps.get(step.index()).copied().flatten())
        .collect()
}

/// The measured events of the given rows on one side.
pub(crate) fn events_of_rows(ledger: &Ledger, rows: &[usize], side: Side) -> Vec<CallId> {
    rows.iter().flat_map(|&row| &ledger.rows()[row].events[side]).copied().collect()
}

impl RunTimes<'_> {
    /// Mean times per step of each run, in the order of the runs. Returns `None` if some runs have steps
    /// and others do not.
    #[doc(hidden)]
    pub fn means(&self, side: Side) -> Option<Vec<StepMeans>> {
        let others = self.runs[side].iter().map(|run| run.means.1);
        let own = || step_means(self.diff, self.ledger, self.compared, self.wall, side);
        self.has_one_basis(side).then(|| in_order(own(), others))
    }

    /// The wall time (busy + idle) per step in each run, in µs, in the order of the runs. Returns `None` if
    /// some runs have steps and others do not.
    pub(crate) fn walls(&self, side: Side) -> Option<Vec<f64>> {
        let own = self.wall.totals(side).step_ms() * 1e3;
        let others = self.runs[side].iter().map(|run| run.means.1.wall_us);
        self.has_one_basis(side).then(|| in_order(own, others))
    }

    /// Whether the runs on a side are comparable: either all runs or none of the runs have steps.
    fn has_one_basis(&self, side: Side) -> bool {
        self.runs[side].iter().all(|run| run.means.0 == self.compared.basis())
    }

    /// Spread between the runs on a side; `None` with a single run.
    pub(crate) fn noise(&self, side: Side) -> Option<RunNoise> {
        let variable = self.runs[side].iter().map(Run::variable).max()?;
        Some(RunNoise {
            time: self.figures(side, self.ledger.calls(side)),
            wall: self.walls(side).map(|walls| RunFigures::of(&walls)),
            variable,
        })
    }

    /// Statistics over the runs of a side: how much time per step the given events of the median run take in each
    /// run. If some steps are not compared, but all given events are in compared steps, the statistics cover only
    /// compared steps.
    pub(crate) fn figures(&self, side: Side, events: &[CallId]) -> RunFigures {
        RunFigures::of(&self.each(side, events))
    }

    /// The time per step that the given events of the median run take in each run, in µs, in the order of the runs. If
    /// some steps are not compared, but all given events are in compared steps, only compared steps count.
    pub(crate) fn each(&self, side: Side, events: &[CallId]) -> Vec<f64> {
        self.of_events(side, events, self.scope_of(side, events))
    }

    /// The idle time per step of an idle row in each run, in µs, in the order of the runs. The value is 0 for
    /// a run without this idle time. Returns `None` if some runs have steps and others do not, or if no run has steps to
    /// which the idle time belongs.
    pub(crate) fn of_idle(&self, side: Side, row: &IdleRow) -> Option<Vec<f64>> {
        let owner = row.owner.and_then(|id| self.diff.merged().node(id).call(side));
        // If a side does not have the call, the call causes no idle time in any run on that side.
        let is_known = row.owner.is_some() == owner.is_some();
        let key = is_known.then_some((row.kind, row.part, owner));
        let time = |run: &Run| key.and_then(|key| run.idle.get(&key).copied()).unwrap_or_default();
        let (scope, further) = (StepScope::of_part(row.part), self.runs[side].iter().map(time));
        let times = || self.per_step(side, scope, row.time[side], further);
        self.has_one_basis(side).then(times).filter(|times| !times.is_empty())
    }

    /// Like [`RunTimes::figures`], for the given events in compared steps only, as the time in each run.
    pub(in crate::analysis) fn in_compared_steps(&self, side: Side, events: &[CallId]) -> Vec<f64> {
        let is_counted = |&event: &CallId| !self.compared.leaves_out(self.diff, side, event);
        let counted: Vec<CallId> = events.iter().copied().filter(is_counted).collect();
        self.of_events(side, &counted, StepScope::Compared)
    }

    /// Number of compared steps of the median run; 1 without steps.
    pub(in crate::analysis) fn step_count(&self, side: Side) -> usize {
        let shared = SharedSteps::of_median(self.diff.steps(side).len(), self.compared);
        shared.count(StepScope::Compared).max(1)
    }

    /// Time per step that the given events of the median run take in each run, in µs, in the order of the
    /// runs. A run without steps in `scope` is skipped.
    pub(in crate::analysis) fn of_events(
        &self,
        side: Side,
        events: &[CallId],
        scope: StepScope,
    ) -> Vec<f64> {
        let steps = self.diff.steps(side);
        let in_steps: Vec<CallId> = events
            .iter()
            .copied()
            .filter(|&event| steps.is_empty() || steps.step(event).is_some())
            .collect();
        let median =
            in_steps.iter().map(|&event| self.ledger.time_of(self.diff, side, event)).sum();
        let others = self.runs[side].iter().map(|run| {
            let slots =
                in_steps.iter().filter_map(|&event| self.ledger.slot(self.diff, side, event));
            slots.map(|slot| run.time(slot)).sum()
        });
        self.per_step(side, scope, median, others)
    }

    /// The time per step in each run, including the median run, in µs and in the order of the runs. A run without
    /// steps in `scope` is skipped.
    fn per_step(
        &self,
        side: Side,
        scope: StepScope,
        median: Nanos,
        others: impl IntoIterator<Item = Nanos>,
    ) -> Vec<f64> {
        let own = SharedSteps::of_median(self.diff.steps(side).len(), self.compared);
        let shared = in_order(own, self.runs[side].iter().map(|run| run.shared));
        in_order(median, others)
            .into_iter()
            .zip(shared.into_iter().map(|steps| steps.count(scope)))
            .filter(|&(_, count)| count > 0)
            .map(|(time, count)| time.as_micros() / count as f64)
            .collect()
    }

    /// The steps over which the times of the given events are summed: the compared steps if all events are in
    /// compared steps, otherwise all steps.
    fn scope_of(&self, side: Side, events: &[CallId]) -> StepScope {
        let is_compared = |&event: &CallId| self.compared.is_compared(self.diff, side, event);
        // No lookup is needed if all steps are compared.
        let is_restricted = self.compared.is_partial() && events.iter().all(is_compared);
        if is_restricted { StepScope::Compared } else { StepScope::All }
    }
}
