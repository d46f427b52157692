//! Accounted events → the samples of a group of them: its time in each step, or its whole time where
//! there are no steps to compare.

use super::family::Question;
use super::judgement::{Repeats, Work};
use crate::analysis::Analysis;
use crate::program::Steps;
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

/// Forms the samples of groups of events.
pub(super) struct Sampler<'a> {
    pub(super) analysis: &'a Analysis,
    pub(super) steps: PerSide<&'a Steps>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(analysis: &'a Analysis) -> Sampler<'a> {
        Sampler { analysis, steps: PerSide::from_fn(|side| analysis.steps(side)) }
    }

    pub(super) fn repeats(&self) -> Repeats {
        if self.analysis.has_runs() {
            return Repeats::Runs;
        }
        match self.steps.baseline.len().min(self.steps.candidate.len()) {
            0 | 1 => Repeats::None,
            2.. => Repeats::Steps,
        }
    }

    /// The samples of events. Each step of a side is one, 0 µs where it has none of them; what runs
    /// outside of steps is in none. `works` tells of each row of the account whether its work changed;
    /// rows that it does not reach did the same.
    pub(super) fn question(&self, events: &PerSide<Vec<CallId>>, works: &[Work]) -> Question {
        let samples = self.samples(events);
        let has_changed = |side: Side, event: &CallId| {
            let row = self.analysis.row_index(side, *event);
            row.and_then(|row| works.get(row)).is_some_and(|&work| work != Work::Same)
        };
        let changed = PerSide::from_fn(|side| {
            events[side].iter().copied().filter(|event| has_changed(side, event)).collect()
        });
        let share = difference_of_means(&self.samples(&changed));
        Question {
            work: match explains(share, difference_of_means(&samples)) {
                true => Work::Changed,
                false => Work::Same,
            },
            samples,
            of: self.repeats(),
            time: self.normalised(PerSide::from_fn(|side| {
                events[side].iter().map(|&event| self.analysis.time_of(side, event)).sum()
            })),
        }
    }

    fn samples(&self, events: &PerSide<Vec<CallId>>) -> PerSide<Vec<f64>> {
        PerSide::from_fn(|side| match self.repeats() {
            Repeats::Runs => self.analysis.times_of_runs(side, &events[side]),
            Repeats::Steps | Repeats::None => self.in_steps(side, &events[side]),
        })
    }

    /// Time in each step of a side, in µs.
    fn in_steps(&self, side: Side, events: &[CallId]) -> Vec<f64> {
        let mut times = vec![Nanos::ZERO; self.steps[side].len()];
        for &event in events {
            if let Some(step) = self.steps[side].step(event) {
                times[step.index()] += self.analysis.time_of(side, event);
            }
        }
        times.into_iter().map(Nanos::as_micros).collect()
    }

    /// The whole time; per step where both sides have steps.
    fn normalised(&self, time: PerSide<Nanos>) -> PerSide<Nanos> {
        let counts = self.steps.map(|steps| steps.len() as i64);
        match counts.baseline.min(counts.candidate) > 0 {
            true => PerSide::from_fn(|side| Nanos(time[side].0 / counts[side])),
            false => time,
        }
    }
}

/// Mean of the candidate − mean of the baseline; 0 where a side has no samples.
fn difference_of_means(samples: &PerSide<Vec<f64>>) -> f64 {
    let mean = |side: Side| samples[side].iter().sum::<f64>() / samples[side].len().max(1) as f64;
    mean(Side::Candidate) - mean(Side::Baseline)
}

/// Whether the part that changed explains a difference: at least half of it, in its direction. A small
/// change of the work must not make a verdict of noise in the rest.
fn explains(part: f64, whole: f64) -> bool {
    part * whole > 0.0 && 2.0 * part.abs() >= whole.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_change_of_the_work_explains_no_difference_of_the_rest() {
        assert!(explains(5.0, 10.0));
        assert!(explains(-12.0, -10.0));
        assert!(!explains(4.9, 10.0));
        assert!(!explains(-8.0, 10.0));
        assert!(!explains(0.0, 10.0));
    }
}
