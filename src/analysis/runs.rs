//! A further run of one side, aligned with the first of it → what each event of the first took in it.
//!
//! Rows of a report are those of the first runs. Every accounted event of a further run is carried over
//! to its partner in the first, or, where it has none, to the row of its lowest common op. What has no
//! place in the first run at all varies among the runs of one side: it is added up apart.

use super::Analysis;
use crate::side::Side;
use crate::trace::Nanos;
use crate::tree::CallId;

/// What the events of the first run of a side took in a further one.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The file.
    pub name: String,
    /// Number of its steps; 1 where it has none.
    pub steps: usize,
    /// Time of what the first run does not have.
    pub elsewhere: Nanos,
    /// Points at which its structure parts from that of the first run.
    pub variable: usize,
    /// By slot of the first run.
    times: Vec<Nanos>,
}

impl Run {
    /// The candidate of an analysis whose baseline is the first run.
    pub fn of(analysis: &Analysis) -> Run {
        let mut run = Run {
            name: analysis.tree(Side::Candidate).trace().source().to_owned(),
            steps: analysis.steps(Side::Candidate).len().max(1),
            elsewhere: Nanos::ZERO,
            variable: analysis.diff().differences().len(),
            times: vec![Nanos::ZERO; analysis.slots(Side::Baseline)],
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

    /// What it took that an accounted event of the first run stands for.
    pub(super) fn time(&self, slot: usize) -> Nanos {
        self.times.get(slot).copied().unwrap_or_default()
    }
}

/// The slot of the first run that an event of the further one belongs to.
fn place(analysis: &Analysis, call: CallId) -> Option<usize> {
    let partner = analysis.diff().partner(Side::Candidate, call);
    let slot = partner.and_then(|partner| analysis.slot(Side::Baseline, partner));
    slot.or_else(|| {
        let row = analysis.row_of(Side::Candidate, call)?;
        let first = *row.events[Side::Baseline].first()?;
        analysis.slot(Side::Baseline, first)
    })
}

/// How far the runs of one side lie apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunNoise {
    /// Number of runs.
    pub runs: usize,
    /// The median of their accounted time in a step, in µs.
    pub median_us: f64,
    /// The largest difference between two of them, in µs.
    pub spread_us: f64,
    /// The most points at which the structure of a run parts from that of the first.
    pub variable: usize,
}

impl Analysis {
    /// The analysis with further runs of each side, each aligned with the first of its side. Verdicts
    /// rest on the runs where both sides have several.
    #[must_use]
    pub fn with_runs(mut self, runs: crate::side::PerSide<Vec<Run>>) -> Analysis {
        self.runs = runs;
        self.cached = super::Cached::default();
        self
    }

    /// The further runs of a side; the first is the trace that the tables are of.
    pub fn runs(&self, side: Side) -> &[Run] {
        &self.runs[side]
    }

    /// How far the runs of a side lie apart: runs of one program against each other. `None` with one run.
    pub fn run_noise(&self, side: Side) -> Option<RunNoise> {
        if self.runs[side].is_empty() {
            return None;
        }
        let times = self.times_of_runs(side, self.accounted_calls(side));
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        Some(RunNoise {
            runs: times.len(),
            median_us: super::robust::median(&times),
            spread_us: most - least,
            variable: self.runs[side].iter().map(|run| run.variable).max().unwrap_or(0),
        })
    }

    /// Time of events of the first run in a step of each run, in µs, the first run's first.
    pub(super) fn times_of_runs(&self, side: Side, events: &[CallId]) -> Vec<f64> {
        let steps = self.steps(side);
        let in_steps: Vec<CallId> = events
            .iter()
            .copied()
            .filter(|&event| steps.is_empty() || steps.step(event).is_some())
            .collect();
        let first: Nanos = in_steps.iter().map(|&event| self.time_of(side, event)).sum();
        let mut times = vec![first.as_micros() / steps.len().max(1) as f64];
        for run in &self.runs[side] {
            let slots = in_steps.iter().filter_map(|&event| self.slot(side, event));
            let time: Nanos = slots.map(|slot| run.time(slot)).sum();
            times.push(time.as_micros() / run.steps as f64);
        }
        times
    }
}
