//! Tests whether the step time and the measured time of an [`Analysis`](super::Analysis) changed by more than the noise
//! between runs.

mod distributions;
mod judgement;
mod shift;
mod words;

pub use distributions::two_tails;
pub use judgement::{Judgement, Repeats, Thresholds, Verdict};
pub use shift::{Ruling, Shift, drift};

use crate::analysis::comparability::Comparability;
use crate::analysis::runs::{RunTimes, has_runs};
use crate::program::Measure;
use crate::side::{PerSide, Side};
use shift::Question;

/// The verdicts on a comparison. Both are based on whole runs. For parts of a step, tables show how the times vary over
/// the runs, and the bill says whether the prices of all runs agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// What the verdicts are based on.
    pub repeats: Repeats,
    /// The verdict on the measured time per step; `None` if nothing was compared.
    pub total: Option<Judgement>,
    /// How much the speed of the machine varies from run to run; 0 if a side has a single run.
    pub drift: f64,
    /// The verdict on the wall time per step; `None` if a side has only one run, or if some runs have steps and others
    /// do not.
    pub step: Option<Judgement>,
}

impl Verdicts {
    /// Compares the step time and the measured time.
    pub(in crate::analysis) fn of(
        times: RunTimes<'_>,
        comparability: &Comparability,
        thresholds: &Thresholds,
    ) -> Verdicts {
        let has_other_options = comparability.both.get("DIFFERENT_OPTIONS").is_some();
        let repeats = match (times.ledger.measure(), has_other_options) {
            // Profiler options cost host time: if only one side is recorded with `profile_memory`, that side takes
            // longer to run the same program.
            (Measure::HostSelfTime, true) => Repeats::OtherOptions,
            (Measure::HostSelfTime | Measure::GpuTime, _) if has_runs(times.runs) => Repeats::Runs,
            (Measure::HostSelfTime | Measure::GpuTime, _) => Repeats::None,
        };
        let drift = if repeats == Repeats::Runs { drift_of_rows(times) } else { 0.0 };
        let total = total_question(times, repeats).judged(drift, thresholds);
        let of = if has_other_options { Repeats::OtherOptions } else { Repeats::Runs };
        let step = step_question(times, of).and_then(|asked| asked.judged(drift, thresholds));
        Verdicts { repeats, total, drift, step }
    }
}

/// The drift of the machine, with each attribution row as a call site.
fn drift_of_rows(times: RunTimes<'_>) -> f64 {
    let sites = PerSide::from_fn(|side| {
        let rows = times.ledger.rows().iter();
        rows.map(|row| times.in_compared_steps(side, &row.events[side])).collect::<Vec<Vec<f64>>>()
    });
    drift(&sites.as_ref().map(|sites| sites.iter().map(Vec::as_slice).collect()))
}

/// The measured time of all runs.
fn total_question(times: RunTimes<'_>, of: Repeats) -> Question {
    let tick = times.diff.coarse_tick().unwrap_or_default().as_micros();
    let durations = PerSide::from_fn(|side| {
        let (tree, measure) = (times.diff.tree(side), times.ledger.measure());
        let calls = times.ledger.calls(side).iter();
        let all: u64 = calls.map(|&call| measure.durations(tree, call)).sum();
        all as f64 / times.step_count(side) as f64
    });
    Question {
        samples: PerSide::from_fn(|side| times.in_compared_steps(side, times.ledger.calls(side))),
        of,
        // Each event is rounded to a tick.
        resolution_us: tick * durations.baseline.max(durations.candidate),
    }
}

/// The step times of all runs; `None` if a side has a single run.
fn step_question(times: RunTimes<'_>, of: Repeats) -> Option<Question> {
    let samples = Side::BOTH.map(|side| times.walls(side).filter(|runs| runs.len() > 1));
    let [Some(baseline), Some(candidate)] = samples else { return None };
    let resolution_us = times.diff.coarse_tick().unwrap_or_default().as_micros();
    Some(Question { samples: PerSide::new(baseline, candidate), of, resolution_us })
}
