//! `--fail-on LIMIT` and a comparison → passed, broken, or not to be told.
//!
//! The short form of a gate with one rule about time. The limit is for the accounted time of a step,
//! where both sides have steps, else for all of it. What the repeats cannot tell from noise breaks
//! nothing. What cannot be compared does not pass: a side without GPU events, a file that is cut off,
//! another model.

use super::limit::Limit;
use tracetree::analysis::{Analysis, Repeats, Verdict};
use tracetree::program::Obstacle;
use tracetree::report::Summary;
use tracetree::trace::Nanos;
use tracetree::{PerSide, Side};

/// What came of a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Checked {
    /// It holds.
    Passed,
    /// It is broken; how.
    Broken(String),
    /// Nothing can be said; each reason in a sentence.
    Inconclusive(Vec<String>),
}

/// Holds a comparison against a limit.
pub(super) fn check(limit: Limit, analysis: &Analysis, summary: &Summary) -> Checked {
    let reasons = cannot_be_compared(analysis);
    if !reasons.is_empty() {
        return Checked::Inconclusive(reasons);
    }
    let (time, what) = time_of_a_step(analysis);
    if !limit.is_passed(time) || is_noise(analysis) {
        return Checked::Passed;
    }
    let [a, b] = [time.baseline, time.candidate].map(|time| time.as_millis());
    let measure = summary.measure.replace('_', " ");
    Checked::Broken(format!("{measure} {what}: {a:.3} → {b:.3} ms is more than the limit"))
}

/// Whether the repeats cannot tell the difference from noise. Below the thresholds of a verdict the limit
/// may be narrower than they are: then the test alone decides.
fn is_noise(analysis: &Analysis) -> bool {
    let total = &analysis.judged().total;
    match total.verdict {
        Verdict::WithinNoise => true,
        Verdict::Similar => total.p.is_some_and(|p| p > analysis.thresholds().false_discovery_rate),
        Verdict::Slower | Verdict::Faster | Verdict::NotTested => false,
    }
}

/// Why the limit cannot be checked. Two devices are what a comparison is often of: who names both asks
/// for the difference between them.
fn cannot_be_compared(analysis: &Analysis) -> Vec<String> {
    let is_asked_for = |obstacle: &Obstacle| matches!(obstacle, Obstacle::OtherDevice(_));
    let obstacles = analysis.obstacles();
    obstacles.iter().filter(|&found| !is_asked_for(found)).map(Obstacle::to_string).collect()
}

/// The accounted time of a step, or all of it where a side has no steps.
fn time_of_a_step(analysis: &Analysis) -> (PerSide<Nanos>, &'static str) {
    let total = &analysis.judged().total;
    if total.of == Repeats::Runs {
        let nanos = |micros: f64| Nanos((micros * 1e3).round() as i64);
        return (total.mean_us.map(nanos), "per step, mean of the runs");
    }
    let totals = analysis.account().totals.map(|totals| totals.time);
    let steps = PerSide::from_fn(|side: Side| analysis.steps(side).len() as i64);
    match steps.baseline.min(steps.candidate) {
        0 => (totals, "in all"),
        _ => (PerSide::from_fn(|side| Nanos(totals[side].0 / steps[side])), "per step"),
    }
}
