//! Checks a comparison against the limit of `diff --fail-on`. There are three possible results: the limit is met, the
//! limit is exceeded, or no decision is possible.
//!
//! The limit is checked in the same way as a time rule of a gate.

use super::health::other_program;
use super::outcome::{Outcome, measured_by};
use super::shift::{Decision, Hardness, Times, words};
use super::structure::signed;
use crate::rules::{FailOn, Limit, Limited, StepMeasure};
use tracetree::analysis::Analysis;
use tracetree::analysis::bill::{BillKind, BillLine};
use tracetree::analysis::obstacles::obstacles;
use tracetree::analysis::robust::lower_median;
use tracetree::analysis::runs::{self, StepMeans};
use tracetree::program::{Measure, Obstacle, counted};
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
        let obstacles = obstacles(
            analysis.diff(),
            analysis.ledger(),
            analysis.runs(),
            analysis.comparability(),
        );
        let refused: Vec<String> = obstacles
            .iter()
            .filter(|found| !matches!(found, Obstacle::OtherDevice(_)))
            .map(Obstacle::to_string)
            .collect();
        let is_named = obstacles.iter().any(|found| matches!(found, Obstacle::OtherProgram(_)));
        let unlike = other_program(analysis).filter(|_| !is_named).map(|other| other.to_string());
        let refused: Vec<String> = refused.into_iter().chain(unlike).collect();
        if !refused.is_empty() {
            return Checked::inconclusive(refused);
        }
        let measure = match self.measure {
            Limited::Step(measure) => measure,
            Limited::Lines(kind) => return self.check_lines(analysis, kind),
        };
        let runs = PerSide::from_fn(|side| of_runs(measure, analysis, side));
        let PerSide { baseline: Some(before), candidate: Some(after) } = runs else {
            let what = measure.words();
            return Checked::inconclusive(vec![format!(
                "the {what} was not measured on at least one side. Record GPU events, and record steps in \
                 all runs or in none"
            )]);
        };
        let times = Times {
            runs: PerSide::new(&before, &after),
            drift: analysis.judged().drift,
            resolution_us: analysis.diff().coarse_tick().unwrap_or_default().as_micros(),
        };
        self.checked(measure, times, Hardness::Tested, &evidence(analysis))
    }

    /// Checks the mean step times of one rank of a fleet. Each rank is a single run whose trace is complete, so any time
    /// above the limit exceeds it.
    pub fn check_means(&self, means: PerSide<StepMeans>) -> Checked {
        let Limited::Step(measure) = self.measure else {
            return Checked::inconclusive(vec![
                "a line of the bill is checked for one pair: use `tracetree diff` with this rank's traces".to_owned(),
            ]);
        };
        let [before, after] = Side::BOTH.map(|side| [value(measure, means[side])]);
        let times = Times { runs: PerSide::new(&before, &after), drift: 0.0, resolution_us: 0.0 };
        self.checked(measure, times, Hardness::Hard, "")
    }

    /// Checks the sum of all lines of a kind in the bill. A change of the program is a fact. The time of the same program
    /// may be noise, so it fails only if several runs show that the step time differs.
    fn check_lines(&self, analysis: &Analysis, kind: BillKind) -> Checked {
        let bill = analysis.bill();
        let lines: Vec<&BillLine> = bill.lines().iter().filter(|line| line.kind == kind).collect();
        let label = kind.label();
        let first = lines.first().map_or_else(String::new, |line| format!(": {}", line.sentence));
        let Some(limit) = self.limit else {
            return match lines.len() {
                0 => Checked { outcome: Outcome::Pass, messages: vec![format!("no {label}")] },
                count => Checked {
                    outcome: Outcome::Fail,
                    messages: vec![format!("{}{first}", counted(count as u64, label))],
                },
            };
        };
        if let Some((side, reason)) = bill.unknown() {
            let of = side.map_or_else(String::new, |side| format!("{}: ", analysis.names()[side]));
            return Checked::inconclusive(vec![format!("no prices are known: {of}{reason}")]);
        }
        let price = bill.sum(kind).as_micros();
        let step = analysis.wall().totals(Side::Baseline).step_ms() * 1e3;
        let allowed = match limit {
            Limit::Percent(percent) => percent / 100.0 * step,
            Limit::Micros(micros) => micros,
            Limit::Bytes(_) | Limit::Count(_) => 0.0,
        };
        let words = format!("{label} {} per step", signed(price));
        if price <= allowed {
            let message = format!("{words} is within the limit of {limit}");
            return Checked { outcome: Outcome::Pass, messages: vec![message] };
        }
        let is_significant = analysis.judged().step.is_some_and(|step| step.verdict.is_change());
        let is_apart =
            |line: &&BillLine| line.over_runs.is_some_and(|runs| runs.is_apart == Some(true));
        let apart = lines.iter().copied().filter(is_apart).map(|line| line.price.as_micros());
        if kind.is_changed() || (is_significant && apart.sum::<f64>() > allowed) {
            let message = format!("{words} exceeds the limit of {limit}{first}");
            return Checked { outcome: Outcome::Fail, messages: vec![message] };
        }
        Checked::inconclusive(vec![format!(
            "{words} exceeds the limit of {limit}, but the difference in step time may be noise: record 3 runs per \
             side{first}"
        )])
    }

    fn checked(
        &self,
        measure: StepMeasure,
        times: Times<'_>,
        hardness: Hardness,
        measured: &str,
    ) -> Checked {
        let Some(limit) = self.limit else {
            return Checked::inconclusive(vec!["there is no limit".to_owned()]);
        };
        let what = measure.words();
        let before = lower_median(times.runs.baseline);
        let Some((shift, decision)) = times.decide(limit.above(before), hardness) else {
            return Checked::inconclusive(vec![format!("the {what} was not measured")]);
        };
        let words = format!("{what} {}", words(&shift));
        let (outcome, message) = match decision {
            Decision::Within => (Outcome::Pass, format!("{words} is within the limit of {limit}")),
            Decision::Exceeds(evidence) => {
                let evidence = evidence.join("; ");
                (Outcome::Fail, format!("{words} exceeds the limit of {limit}; {evidence}"))
            }
            Decision::Unknown(why) => {
                (Outcome::Inconclusive, format!("{words} exceeds the limit of {limit} {why}"))
            }
        };
        let separator = if measured.is_empty() { "" } else { "; " };
        Checked { outcome, messages: vec![format!("{message}{separator}{measured}")] }
    }
}

/// The value of a measure for each run on a side, in µs; `None` if the measure was not recorded.
fn of_runs(measure: StepMeasure, analysis: &Analysis, side: Side) -> Option<Vec<f64>> {
    // Without GPU events, only the wall time is measured.
    let is_measured =
        measure == StepMeasure::Wall || analysis.ledger().measure() == Measure::GpuTime;
    let runs = analysis.run_times().means(side).filter(|_| is_measured)?;
    Some(runs.into_iter().map(|means| value(measure, means)).collect())
}

fn value(measure: StepMeasure, means: StepMeans) -> f64 {
    match measure {
        StepMeasure::Wall => means.wall_us,
        StepMeasure::GpuTime => means.time_us,
        StepMeasure::Busy => means.busy_us,
        StepMeasure::Idle => means.idle_us,
    }
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
