//! `--fail-on LIMIT` and a comparison → passed, broken, or not to be told.
//!
//! The short form of a gate with one rule about time. The limit is for the accounted time of a step,
//! where both sides have steps, else for all of it. What the repeats cannot tell from noise breaks
//! nothing. What cannot be compared does not pass: a side without GPU events, a file that is cut off,
//! another model.

use super::limit::Limit;
use tracetree::analysis::{Analysis, Repeats, Verdict};
use tracetree::report::{SideNote, Summary};
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
    let reasons = cannot_be_compared(summary);
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

fn cannot_be_compared(summary: &Summary) -> Vec<String> {
    let mut broken = Vec::new();
    let sides = [&summary.trace1, &summary.trace2];
    let has_none = |side: usize| sides[side].accounted_events == 0;
    for (at, side) in sides.iter().enumerate().filter(|(at, _)| has_none(*at)) {
        let other = sides[1 - at].accounted_events;
        broken.push(format!(
            "{} has no {} event, {other} on the other side",
            side.name, summary.measure
        ));
    }
    let refused = ["TRUNCATED", "DIFFERENT_MODEL", "DIFFERENT_ARCHITECTURE"];
    let is_refused = |note: &&SideNote| refused.contains(&note.note.code);
    broken.extend(summary.notes.iter().filter(is_refused).map(|note| {
        let side = summary.side_of(note).map_or_else(String::new, |side| format!("{side}: "));
        format!("{side}{}", note.note.message)
    }));
    broken
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
