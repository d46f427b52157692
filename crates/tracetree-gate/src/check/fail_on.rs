//! Checks a comparison against the limit of `diff --fail-on`. There are three possible results: the limit is met, the
//! limit is exceeded, or no decision is possible.
//!
//! The limit is checked in the same way as a hard time rule of a gate. If a side has a single run, but both sides have
//! several steps, the limit counts as exceeded only if the steps also show a significant slowdown; otherwise the result
//! is inconclusive.

use super::outcome::{Outcome, measured_by};
use super::shift::{Decision, Scale, Shift, chance};
use crate::rules::{FailOn, StepMeasure};
use tracetree::analysis::Analysis;
use tracetree::analysis::comparability::obstacles;
use tracetree::analysis::runs::{self, StepMeans, means_of_steps};
use tracetree::analysis::verdict::{Family, Thresholds, Verdict};
use tracetree::program::{Measure, Obstacle};
use tracetree::side::{PerSide, Side};

/// The result of checking the limit of `--fail-on`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whether the limit is exceeded (`Fail`), not exceeded (`Pass`), or undecided (`Inconclusive`).
    pub outcome: Outcome,
    /// If the result is inconclusive, one line per reason. Otherwise, one line with the measure, both values, the limit
    /// and the evidence.
    pub messages: Vec<String>,
}

impl Checked {
    fn inconclusive(messages: Vec<String>) -> Checked {
        Checked { outcome: Outcome::Inconclusive, messages }
    }
}

impl FailOn {
    /// Checks a comparison against the limit.
    ///
    /// The result is inconclusive if a trace is incomplete or the two traces do not record the same work.
    /// Different devices are accepted, because the difference between devices may be what the user wants to measure.
    pub fn check(&self, analysis: &Analysis) -> Checked {
        let obstacles = obstacles(analysis.diff(), analysis.runs(), analysis.comparability());
        let refused: Vec<String> = obstacles
            .iter()
            .filter(|found| !matches!(found, Obstacle::OtherDevice(_)))
            .map(Obstacle::to_string)
            .collect();
        if !refused.is_empty() {
            return Checked::inconclusive(refused);
        }
        let runs = PerSide::from_fn(|side| self.of_runs(analysis, side));
        let PerSide { baseline: Some(before), candidate: Some(after) } = runs else {
            let what = self.measure.words();
            return Checked::inconclusive(vec![format!(
                "the {what} was not measured on at least one side. Record GPU events, and record steps in \
                 all runs or in none"
            )]);
        };
        let shift = Shift { before: &before, after: &after };
        let (median, _) = shift.medians();
        let scale = scale(analysis, &analysis.judged().family);
        let decision = match shift.decide(self.limit.above(median), true, scale) {
            Decision::Exceeds(evidence) if shift.is_of_one_run() => {
                self.within_one_run(analysis, evidence)
            }
            decision @ (Decision::Within(_) | Decision::Exceeds(_) | Decision::Unknown(_)) => {
                decision
            }
        };
        self.checked(shift, decision, &evidence(analysis))
    }

    /// Checks the mean step times if each side has a single run and the traces are complete.
    pub fn check_means(&self, means: PerSide<StepMeans>) -> Checked {
        let [before, after] = Side::BOTH.map(|side| self.value(means[side]));
        let shift = Shift { before: &[before], after: &[after] };
        let family = &Family::of(&[]);
        let scale = Scale { family, resolution_us: 0.0, thresholds: Thresholds::default() };
        self.checked(shift, shift.decide(self.limit.above(before), true, scale), "")
    }

    fn checked(&self, shift: Shift<'_>, decision: Decision, measured: &str) -> Checked {
        let (limit, words) = (self.limit, format!("{} {}", self.measure.words(), shift.words()));
        let (outcome, message) = match decision {
            Decision::Within(None) => {
                (Outcome::Pass, format!("{words} is within the limit of {limit}"))
            }
            Decision::Within(Some(why)) => {
                (Outcome::Pass, format!("{words} exceeds the limit of {limit}, but passes: {why}"))
            }
            Decision::Exceeds(evidence) => {
                let evidence = evidence.join("; ");
                (Outcome::Fail, format!("{words} exceeds the limit of {limit}; {evidence}"))
            }
            Decision::Unknown(why) => {
                (Outcome::Inconclusive, format!("{words} exceeds the limit of {limit}, but {why}"))
            }
        };
        let separator = if measured.is_empty() { "" } else { "; " };
        Checked { outcome, messages: vec![format!("{message}{separator}{measured}")] }
    }

    /// The value of the measure for each run on a side, in µs; `None` if the measure was not recorded.
    fn of_runs(&self, analysis: &Analysis, side: Side) -> Option<Vec<f64>> {
        let runs = analysis.run_times().means(side)?;
        runs.into_iter().map(|means| self.of(analysis, means)).collect()
    }

    /// Decides whether the difference exceeds the noise between steps. This test is used if a side has a single run,
    /// because the noise between runs is then unknown.
    fn within_one_run(&self, analysis: &Analysis, mut evidence: Vec<String>) -> Decision {
        let [before, after] = Side::BOTH.map(|side| self.of_steps(analysis, side));
        let count = before.len();
        if count < 2 || after.len() < 2 {
            return Decision::Exceeds(evidence);
        }
        // The spread of kernel times is not used as a prior, because kernel times vary far less than step times.
        let judgement = scale(analysis, &Family::of(&[])).judge(&before, &after);
        let tested = format!("within one run ({count} steps{})", chance(judgement.p));
        match judgement.verdict {
            Verdict::Slower => {
                evidence.push(format!("significant {tested}"));
                Decision::Exceeds(evidence)
            }
            Verdict::Faster | Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested => {
                Decision::Unknown(format!(
                    "the difference is not significant {tested}; record 3 runs per side to decide"
                ))
            }
        }
    }

    /// The value of the measure for each step in a side's median run, in µs.
    fn of_steps(&self, analysis: &Analysis, side: Side) -> Vec<f64> {
        let steps = means_of_steps(analysis.step_rows(), side).into_iter();
        steps.filter_map(|means| self.of(analysis, means)).collect()
    }

    /// The value of the measure in µs; `None` if it was not measured. Without GPU events, only the wall time is
    /// measured.
    fn of(&self, analysis: &Analysis, means: StepMeans) -> Option<f64> {
        let is_measured =
            self.measure == StepMeasure::Wall || analysis.ledger().measure() == Measure::GpuTime;
        is_measured.then(|| self.value(means))
    }

    fn value(&self, means: StepMeans) -> f64 {
        match self.measure {
            StepMeasure::Wall => means.wall_us,
            StepMeasure::GpuTime => means.time_us,
            StepMeasure::Busy => means.busy_us,
            StepMeasure::Idle => means.idle_us,
        }
    }
}

fn scale<'a>(analysis: &Analysis, family: &'a Family) -> Scale<'a> {
    let resolution_us = analysis.diff().coarse_tick().unwrap_or_default().as_micros();
    Scale { family, resolution_us, thresholds: analysis.options().thresholds }
}

/// Describes what all runs of each side recorded in total, such as `measured on each side: 785 GPU events in 5 steps,
/// nothing lost`.
fn evidence(analysis: &Analysis) -> String {
    let [one, two] = Side::BOTH.map(|side| {
        let runs = runs::evidence(analysis.diff(), analysis.runs(), side);
        let steps = runs.len() as u64 * analysis.diff().steps(side).len().max(1) as u64;
        measured_by(&runs, steps)
    });
    if one == two {
        format!("measured on each side: {one}")
    } else {
        format!("measured: {one} | {two}")
    }
}
