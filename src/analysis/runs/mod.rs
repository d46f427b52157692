//! Another run of one side, aligned with the median run → what each event of the median run took in it.
//!
//! Rows of a report are those of the median runs. Every accounted event of another run is carried over
//! to its match in the median run, or, where it has none, to the row of its lowest common op. What has no
//! row in the median run at all varies among the runs of one side and is added up separately.

mod per_step;
mod variation;

use super::wall::Part;
use super::{Analysis, Cause, IdleKind, IdleRow, WallBasis, robust};
use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;
use per_step::SharedSteps;
pub(super) use per_step::StepScope;
use std::collections::BTreeMap;
use std::sync::Arc;
use variation::Variation;

/// What the events of the median run of a side took in another run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The file.
    pub name: String,
    shared: SharedSteps,
    /// Time of what the median run does not have.
    pub elsewhere: Nanos,
    /// Own wall time of a step, and what it is a mean of.
    wall: (WallBasis, f64),
    variation: Variation,
    /// Its matches of the steps of the median run.
    steps_of: Vec<Option<StepTime>>,
    /// By slot of the median run.
    times: Vec<Nanos>,
    idle: IdleTimes,
}

/// Idle time by its kind, the steps that it is of, and the call of the median run that has it; by no call where
/// nobody is known.
type IdleTimes = BTreeMap<(IdleKind, Part, Option<CallId>), Nanos>;

impl Run {
    /// The candidate of an analysis whose baseline is the median run.
    fn of(analysis: &Analysis) -> Run {
        let mut run = Run {
            name: analysis.tree(Side::Candidate).trace().source().to_owned(),
            shared: SharedSteps::of(analysis),
            elsewhere: Nanos::ZERO,
            wall: step_wall(analysis, Side::Candidate),
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

    /// Points at which its structure differs from that of the median run.
    pub fn variable(&self) -> usize {
        self.variation.points
    }

    /// Its idle time in steps that are compared: kind, the call of the median run that has it, and how long.
    pub(super) fn idle(&self) -> impl Iterator<Item = (IdleKind, Option<CallId>, Nanos)> + '_ {
        let compared = self.idle.iter().filter(|((_, part, _), _)| *part == Part::Window);
        compared.map(|(&(kind, _, call), &time)| (kind, call, time))
    }

    /// What it took that an accounted event of the median run stands for.
    fn time(&self, slot: usize) -> Nanos {
        self.times.get(slot).copied().unwrap_or_default()
    }
}

/// What one step took, in µs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepTime {
    /// Its accounted time.
    pub time_us: f64,
    /// Busy and idle time of the device.
    pub wall_us: f64,
}

/// The idle time of the candidate, carried over to the calls of the baseline: what no call there stands
/// for is left out.
fn idle_times(analysis: &Analysis) -> IdleTimes {
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

/// What the partners on the side `of` took of the steps on the side `by`, by their position.
fn step_times(analysis: &Analysis, by: Side, of: Side) -> Vec<Option<StepTime>> {
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

/// Own wall time of a step in µs, and what it is a mean of.
fn step_wall(analysis: &Analysis, side: Side) -> (WallBasis, f64) {
    (analysis.wall().basis(), analysis.wall().totals(side).step_ms() * 1e3)
}

/// The slot of the median run that an event of another run belongs to.
fn place(analysis: &Analysis, call: CallId) -> Option<usize> {
    let partner = analysis.diff().partner(Side::Candidate, call);
    let slot = partner.and_then(|partner| analysis.slot(Side::Baseline, partner));
    slot.or_else(|| {
        let row = analysis.row_of(Side::Candidate, call)?;
        let first = *row.events[Side::Baseline].first()?;
        analysis.slot(Side::Baseline, first)
    })
}

/// One measure over the runs of a side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunFigures {
    /// Number of runs.
    pub runs: usize,
    /// The median over the runs in µs: with an even number the lower of the two in the middle.
    pub median_us: f64,
    /// The largest difference between two of them, in µs.
    pub spread_us: f64,
}

impl RunFigures {
    /// Of the values of all runs, in µs.
    pub fn of(times: &[f64]) -> RunFigures {
        RunFigures {
            runs: times.len(),
            median_us: robust::lower_median(times),
            spread_us: robust::range(times),
        }
    }

    /// The spread as a share of the median, in percent; `None` where that is zero.
    pub fn spread_pct(&self) -> Option<f64> {
        (self.median_us > 0.0).then(|| 100.0 * self.spread_us / self.median_us)
    }
}

/// How far the runs of one side lie apart: they are of one program, so what is less is noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunNoise {
    /// Their accounted time in a step.
    pub time: RunFigures,
    /// Their own wall time of a step; `None` where some have steps and others not.
    pub wall: Option<RunFigures>,
    /// The most points at which the structure of a run differs from that of the median run.
    pub variable: usize,
}

impl Analysis {
    /// Another run of a side: the candidate of a comparison with the median run.
    pub fn further_run(&self, side: Side, with_median: impl Into<Arc<TraceDiff>>) -> Run {
        let mut analysis = Analysis::with_options(with_median, self.options.clone());
        analysis.chosen_steps = self.wall().step_pairs().map(|pairs| pairs.compared(side).to_vec());
        Run::of(&analysis)
    }

    /// The analysis with the other runs of each side by their step time, each aligned with the median
    /// run, which is in the middle of them (the lower of two). Verdicts rest on the runs where both sides have
    /// several.
    #[must_use]
    pub fn with_runs(mut self, runs: PerSide<Vec<Run>>) -> Analysis {
        self.runs = runs;
        self.cached = super::Cached::default();
        self
    }

    /// The other runs of a side; the tables are of the median run.
    pub fn runs(&self, side: Side) -> &[Run] {
        &self.runs[side]
    }

    /// Whether both sides have several runs, so that verdicts rest on them.
    pub fn has_runs(&self) -> bool {
        Side::BOTH.into_iter().all(|side| !self.runs[side].is_empty())
    }

    /// What all runs of a side have, by their step time: of the median run, and of the others.
    fn in_order<T>(&self, side: Side, median: T, others: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut all: Vec<T> = others.into_iter().collect();
        let middle = (self.runs[side].len() / 2).min(all.len());
        all.insert(middle, median);
        all
    }

    /// How far the runs of a side lie apart. `None` with one run.
    pub fn run_noise(&self, side: Side) -> Option<RunNoise> {
        let runs = &self.runs[side];
        let variable = runs.iter().map(Run::variable).max()?;
        Some(RunNoise {
            time: self.run_figures(side, self.accounted_calls(side)),
            wall: self.walls_of_runs(side).map(|walls| RunFigures::of(&walls)),
            variable,
        })
    }

    /// Own wall time of a step of each run, in µs, in the order of the runs. `None` where some have steps
    /// and others not.
    pub fn walls_of_runs(&self, side: Side) -> Option<Vec<f64>> {
        let own = step_wall(self, side);
        let walls = self.in_order(side, own, self.runs[side].iter().map(|run| run.wall));
        let is_alike = walls.iter().all(|(basis, _)| *basis == own.0);
        is_alike.then(|| walls.into_iter().map(|(_, wall)| wall).collect())
    }

    /// The time that events of the median run took in a step of each run of their side; in one of those that
    /// are compared, where one side has more steps and all of these events are in such.
    pub fn run_figures(&self, side: Side, events: &[CallId]) -> RunFigures {
        let scope = self.scope_of(side, events);
        RunFigures::of(&self.times_of_runs(side, events, scope))
    }

    /// What a step took in each run that has a match of it, in the order of the runs.
    pub fn runs_of_step(&self, side: Side, step: StepId) -> Vec<StepTime> {
        let median = self.cached.step_times[side].get_or_init(|| step_times(self, side, side));
        self.in_order(side, median, self.runs[side].iter().map(|run| &run.steps_of))
            .into_iter()
            .filter_map(|steps| steps.get(step.index()).copied().flatten())
            .collect()
    }

    /// Idle time of a row in a step of each run, in µs, in the order of the runs: a run that does not wait
    /// there has 0. `None` where some runs have steps and others not.
    pub fn idle_of_runs(&self, side: Side, row: &IdleRow) -> Option<Vec<f64>> {
        let owner = row.owner.map(|id| self.diff().merged().node(id).call(side));
        let key = match owner {
            // A call that this side does not have waits in none of its runs.
            Some(None) => None,
            Some(Some(call)) => Some((row.kind, row.part, Some(call))),
            None => Some((row.kind, row.part, None)),
        };
        let time = |run: &Run| key.and_then(|key| run.idle.get(&key).copied()).unwrap_or_default();
        let further: Vec<Nanos> = self.runs[side].iter().map(time).collect();
        self.idle_per_step(side, StepScope::of_part(row.part), row.time[side], &further)
    }

    /// What a cause of idle time was in a step of each run, in µs, in the order of the runs. `None` for a cause
    /// that is work, and where some runs have steps and others not.
    pub fn idle_cause_of_runs(&self, side: Side, cause: &Cause) -> Option<Vec<f64>> {
        let further = &cause.idle_of_runs[side];
        let is_idle = further.len() == self.runs[side].len();
        let times = || self.idle_per_step(side, StepScope::Compared, cause.time[side], further);
        is_idle.then(times).flatten()
    }

    /// Like [`Analysis::per_step`], of idle time. `None` where some runs have steps and others not, and
    /// where none has such steps.
    fn idle_per_step(
        &self,
        side: Side,
        scope: StepScope,
        median: Nanos,
        others: &[Nanos],
    ) -> Option<Vec<f64>> {
        let is_alike = self.runs[side].iter().all(|run| run.wall.0 == self.wall().basis());
        let times = || self.per_step(side, scope, median, others.iter().copied());
        is_alike.then(times).filter(|times| !times.is_empty())
    }

    /// What the work of a cause took in a step of each run, in µs, in the order of the runs.
    pub fn busy_cause_of_runs(&self, side: Side, cause: &Cause) -> Vec<f64> {
        let events = self.events_of_rows(&cause.rows, side);
        self.times_of_runs(side, &events, StepScope::Compared)
    }

    /// The accounted events of rows on one side; rows by their positions.
    pub fn events_of_rows(&self, rows: &[usize], side: Side) -> Vec<CallId> {
        rows.iter().flat_map(|&row| &self.rows()[row].events[side]).copied().collect()
    }

    /// Time of events of the median run in a step of each run, in µs, in the order of the runs. A run
    /// that has none of the steps is left out.
    pub(super) fn times_of_runs(
        &self,
        side: Side,
        events: &[CallId],
        scope: StepScope,
    ) -> Vec<f64> {
        let steps = self.steps(side);
        let in_steps: Vec<CallId> = events
            .iter()
            .copied()
            .filter(|&event| steps.is_empty() || steps.step(event).is_some())
            .collect();
        let median = in_steps.iter().map(|&event| self.time_of(side, event)).sum();
        let others = self.runs[side].iter().map(|run| {
            let slots = in_steps.iter().filter_map(|&event| self.slot(side, event));
            slots.map(|slot| run.time(slot)).sum()
        });
        self.per_step(side, scope, median, others)
    }
}
