//! Computes the samples of a group of measured events. A sample is the time of the events in one repeat or,
//! if there are no steps to compare, their total time.

use super::family::Question;
use super::judgement::{Repeats, Work};
use crate::analysis::comparability::Comparability;
use crate::analysis::runs::{RunTimes, StepScope, has_runs};
use crate::program::{Measure, StepId, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

pub(super) struct Sampler<'a> {
    pub(super) times: RunTimes<'a>,
    comparability: &'a Comparability,
    pub(super) steps: PerSide<&'a Steps>,
    /// Number of steps on each side that count as repeats.
    pub(super) step_counts: PerSide<usize>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(times: RunTimes<'a>, comparability: &'a Comparability) -> Sampler<'a> {
        let steps = PerSide::from_fn(|side| times.diff.steps(side));
        let compared = times.compared.count();
        let step_counts = steps.map(|steps| compared.map_or(steps.len(), |steps| steps as usize));
        Sampler { times, comparability, steps, step_counts }
    }

    /// Whether a step counts as a repeat; steps without a counterpart do not count.
    fn counts(&self, side: Side, step: StepId) -> bool {
        !self.times.compared.is_alone(side, step)
    }

    /// Whether an event is in a step that counts as a repeat, or outside of all steps.
    pub(super) fn takes_part(&self, side: Side, event: CallId) -> bool {
        self.steps[side].step(event).is_none_or(|step| self.counts(side, step))
    }

    pub(super) fn repeats(&self) -> Repeats {
        if self.times.ledger.measure() == Measure::HostSelfTime
            && has_other_options(self.comparability)
        {
            return Repeats::OtherOptions;
        }
        if has_runs(self.times.runs) {
            return Repeats::Runs;
        }
        match self.step_counts.baseline.min(self.step_counts.candidate) {
            0 | 1 => Repeats::None,
            2.. => Repeats::Steps,
        }
    }

    /// The samples of a group of events, one per repeat. If a repeat contains none of the events, the sample
    /// is 0 µs. Samples exclude work outside of steps and work in steps without a counterpart. `works`
    /// contains, for each row, whether its work changed. If `works` is shorter than the list of rows, the
    /// remaining rows count as unchanged.
    pub(super) fn question(&self, events: &PerSide<Vec<CallId>>, works: &[Work]) -> Question {
        let counted = PerSide::from_fn(|side| {
            let events = events[side].iter().copied();
            events.filter(|&event| self.takes_part(side, event)).collect::<Vec<CallId>>()
        });
        let sums = PerSide::from_fn(|side| self.sums(side, &counted[side], works));
        let share = difference_of_means(&sums.as_ref().map(|sums| &*sums.changed));
        let whole = difference_of_means(&sums.as_ref().map(|sums| &*sums.samples));
        Question {
            work: if explains(share, whole) { Work::Changed } else { Work::Same },
            of: self.repeats(),
            time: self.normalised(sums.as_ref().map(|sums| sums.time)),
            samples: sums.map(|sums| sums.samples),
            resolution_us: self.resolution(&counted),
        }
    }

    /// The maximum rounding error of a sample, in µs: one clock tick for each event in a repeat. The error is
    /// 0 if the clock is finer than a microsecond.
    fn resolution(&self, events: &PerSide<Vec<CallId>>) -> f64 {
        let Some(tick) = self.times.diff.coarse_tick() else { return 0.0 };
        let of_side = |side: Side| {
            let (tree, measure) = (self.times.diff.tree(side), self.times.ledger.measure());
            let durations = events[side].iter().map(|&event| measure.durations(tree, event));
            durations.sum::<u64>() as f64 / self.step_counts[side].max(1) as f64
        };
        tick.as_micros() * of_side(Side::Baseline).max(of_side(Side::Candidate))
    }

    fn sums(&self, side: Side, events: &[CallId], works: &[Work]) -> Sums {
        let has_changed = |event: CallId| {
            let row = works
                .first()
                .and_then(|_| self.times.ledger.row_index(self.times.diff, side, event));
            row.and_then(|row| works.get(row)).is_some_and(|&work| work != Work::Same)
        };
        match self.repeats() {
            Repeats::Runs => {
                let changed: Vec<CallId> =
                    events.iter().copied().filter(|&event| has_changed(event)).collect();
                Sums {
                    samples: self.times.of_events(side, events, StepScope::Compared),
                    changed: self.times.of_events(side, &changed, StepScope::Compared),
                    time: events
                        .iter()
                        .map(|&event| self.times.ledger.time_of(self.times.diff, side, event))
                        .sum(),
                }
            }
            Repeats::Steps | Repeats::None | Repeats::OtherOptions => {
                self.in_steps(side, events, has_changed)
            }
        }
    }

    /// Adds up the times of the events on a side, for each step that counts as a repeat.
    fn in_steps(
        &self,
        side: Side,
        events: &[CallId],
        has_changed: impl Fn(CallId) -> bool,
    ) -> Sums {
        let mut time = Nanos::ZERO;
        // For each step, the time of all its work and the time of its changed work.
        let mut times = vec![(Nanos::ZERO, Nanos::ZERO); self.steps[side].len()];
        for &event in events {
            let of_event = self.times.ledger.time_of(self.times.diff, side, event);
            time += of_event;
            if let Some(step) = self.steps[side].step(event) {
                let of_step = &mut times[step.index()];
                of_step.0 += of_event;
                if has_changed(event) {
                    of_step.1 += of_event;
                }
            }
        }
        let steps = (0..).map(StepId).zip(times);
        let counted = steps.filter(|&(step, _)| self.counts(side, step));
        let (samples, changed) =
            counted.map(|(_, (all, part))| (all.as_micros(), part.as_micros())).unzip();
        Sums { samples, changed, time }
    }

    /// The total time, or the time per step if both sides have steps.
    fn normalised(&self, time: PerSide<Nanos>) -> PerSide<Nanos> {
        let counts = self.step_counts.map(|count| count as i64);
        if counts.baseline.min(counts.candidate) > 0 {
            PerSide::from_fn(|side| Nanos(time[side].0 / counts[side]))
        } else {
            time
        }
    }
}

/// Times of a group of events on one side.
struct Sums {
    samples: Vec<f64>,
    /// The time of events with changed work in each repeat, in µs.
    changed: Vec<f64>,
    time: Nanos,
}

/// Mean of the candidate minus mean of the baseline. The mean of a side without samples counts as 0.
fn difference_of_means(samples: &PerSide<&[f64]>) -> f64 {
    let mean = |side: Side| samples[side].iter().sum::<f64>() / samples[side].len().max(1) as f64;
    mean(Side::Candidate) - mean(Side::Baseline)
}

/// Whether changed work explains a difference: the time of the changed work must account for at least half of
/// the difference, in the same direction. Without this condition, a small change in the work could turn
/// unrelated noise into a verdict.
fn explains(part: f64, whole: f64) -> bool {
    part * whole > 0.0 && 2.0 * part.abs() >= whole.abs()
}

/// Whether the sides were recorded with different options. Profiler options cost host time: if only one
/// side is recorded with `profile_memory`, that side takes longer to run the same program.
pub(super) fn has_other_options(comparability: &Comparability) -> bool {
    comparability.both.get("DIFFERENT_OPTIONS").is_some()
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
