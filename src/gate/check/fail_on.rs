//! A comparison and one limit → passed, exceeded, or inconclusive: `diff --fail-on`.
//!
//! The limit is checked like a hard time rule of a gate. With one run per side that has several steps, the
//! steps must also show a significant slowdown for the limit to count as exceeded.

use super::outcome::{Outcome, measured_by};
use super::shift::{Decision, Scale, Shift, chance};
use crate::analysis::{Analysis, Family, StepMeans, Thresholds, Verdict};
use crate::gate::rules::{FailOn, StepMeasure};
use crate::program::{Measure, Obstacle};
use crate::side::{PerSide, Side};

/// The result of checking a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whether the limit is exceeded.
    pub outcome: Outcome,
    /// What was measured, both values, the limit and the evidence; or each reason why there is no decision.
    pub messages: Vec<String>,
}

impl Checked {
    fn inconclusive(messages: Vec<String>) -> Checked {
        Checked { outcome: Outcome::Inconclusive, messages }
    }
}

impl FailOn {
    /// Checks a comparison.
    ///
    /// It is inconclusive if a trace is incomplete or the two do not record the same work. Different devices
    /// are accepted, because a comparison of two devices asks for exactly that difference.
    pub fn check(&self, analysis: &Analysis) -> Checked {
        let obstacles = analysis.obstacles();
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
                "the {what} was not measured on at least one side. Record GPU events, and steps in \
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

    /// Checks the mean step of both sides, with one run per side and traces known to be complete.
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

    /// The measure for each run of a side, in µs; `None` if it was not measured.
    fn of_runs(&self, analysis: &Analysis, side: Side) -> Option<Vec<f64>> {
        let runs = analysis.means_of_runs(side)?;
        runs.into_iter().map(|means| self.of(analysis, means)).collect()
    }

    /// With one run per side, the steps of the run decide whether the shift exceeds their noise.
    fn within_one_run(&self, analysis: &Analysis, mut evidence: Vec<String>) -> Decision {
        let [before, after] = Side::BOTH.map(|side| self.of_steps(analysis, side));
        let count = before.len();
        if count < 2 || after.len() < 2 {
            return Decision::Exceeds(evidence);
        }
        // Kernel times vary far less than step times, so their spread cannot replace that of steps.
        let judgement = scale(analysis, &Family::of(&[])).judge(&before, &after);
        let tested = format!("within one run ({count} steps{})", chance(judgement.p));
        match judgement.verdict {
            Verdict::Slower => {
                evidence.push(format!("significant {tested}"));
                Decision::Exceeds(evidence)
            }
            Verdict::Faster | Verdict::Similar | Verdict::WithinNoise | Verdict::NotTested => {
                Decision::Unknown(format!(
                    "it is not significant {tested}; record 3 runs per side to decide"
                ))
            }
        }
    }

    /// The measure for each step of the median run of a side, in µs.
    fn of_steps(&self, analysis: &Analysis, side: Side) -> Vec<f64> {
        let steps = analysis.means_of_steps(side).into_iter();
        steps.filter_map(|means| self.of(analysis, means)).collect()
    }

    /// The measure's value in µs. Traces without GPU events only have a step time.
    fn of(&self, analysis: &Analysis, means: StepMeans) -> Option<f64> {
        let is_measured =
            self.measure == StepMeasure::Wall || analysis.measure() == Measure::GpuTime;
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
    let resolution_us = analysis.coarse_tick().unwrap_or_default().as_micros();
    Scale { family, resolution_us, thresholds: *analysis.thresholds() }
}

/// What was measured on each side, over all runs: `785 GPU events in 5 steps, nothing lost`.
fn evidence(analysis: &Analysis) -> String {
    let [one, two] = Side::BOTH.map(|side| {
        let runs = analysis.evidence(side);
        let steps = runs.len() as u64 * analysis.steps(side).len().max(1) as u64;
        measured_by(&runs, steps)
    });
    match one == two {
        true => format!("measured on each side: {one}"),
        false => format!("measured: {one} | {two}"),
    }
}
