//! Computes the count and the total, mean, minimum, maximum and median time of a group of events on each side.

use crate::analysis::robust::median;
use crate::side::{PerSide, Presence, Side};
use crate::trace::Nanos;
use crate::tree::CallId;

/// The measured events of one table row, with their times, for each side.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// The events, in the order in which they were added.
    pub events: PerSide<Vec<CallId>>,
    /// The time of each event.
    pub times: PerSide<Vec<Nanos>>,
}

impl Tally {
    pub(in crate::analysis) fn add(&mut self, side: Side, event: CallId, time: Nanos) {
        self.events[side].push(event);
        self.times[side].push(time);
    }

    /// Whether there are no events on either side.
    pub fn is_empty(&self) -> bool {
        Side::BOTH.iter().all(|&side| self.events[side].is_empty())
    }

    /// Number of events.
    pub fn count(&self, side: Side) -> usize {
        self.events[side].len()
    }

    /// Total time of the events on one side.
    pub fn total(&self, side: Side) -> Nanos {
        self.times[side].iter().copied().sum()
    }

    /// Total time of the events, for each side.
    pub fn totals(&self) -> PerSide<Nanos> {
        PerSide::from_fn(|side| self.total(side))
    }

    /// Candidate − baseline.
    pub fn difference(&self) -> Nanos {
        self.total(Side::Candidate) - self.total(Side::Baseline)
    }

    /// Ratio of the events' total times, candidate / baseline; `None` if either time is zero.
    #[doc(hidden)]
    pub fn ratio(&self) -> Option<f64> {
        self.totals().ratio()
    }

    /// Mean time of the events in µs; `None` if there are no events.
    #[doc(hidden)]
    pub fn mean_us(&self, side: Side) -> Option<f64> {
        let count = self.count(side);
        (count > 0).then(|| self.total(side).as_micros() / count as f64)
    }

    /// Ratio of the mean times, candidate / baseline; `None` if either mean is undefined or zero.
    #[doc(hidden)]
    pub fn mean_ratio(&self) -> Option<f64> {
        let mean = |side| self.mean_us(side).filter(|&mean| mean > 0.0);
        Some(mean(Side::Candidate)? / mean(Side::Baseline)?)
    }

    /// Time of the shortest event.
    pub fn min(&self, side: Side) -> Option<Nanos> {
        self.times[side].iter().copied().min()
    }

    /// Time of the longest event.
    pub fn max(&self, side: Side) -> Option<Nanos> {
        self.times[side].iter().copied().max()
    }

    /// Median time of the events in µs. If the number of events is even, the median is the mean of the two
    /// middle times.
    #[doc(hidden)]
    pub fn median_us(&self, side: Side) -> Option<f64> {
        let times: Vec<f64> = self.times[side].iter().map(|time| time.as_micros()).collect();
        (!times.is_empty()).then(|| median(&times))
    }

    /// The sides that have events.
    pub fn presence(&self) -> Presence {
        Presence::of(PerSide::from_fn(|side| self.count(side) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_each_side_for_itself() {
        let mut tally = Tally::default();
        for time in [4_000, 1_000, 2_000, 3_000] {
            tally.add(Side::Baseline, CallId(1), Nanos(time));
        }
        assert_eq!(tally.presence().label(), "trace1_only");
        assert_eq!(
            (tally.mean_us(Side::Baseline), tally.median_us(Side::Baseline)),
            (Some(2.5), Some(2.5))
        );
        assert_eq!(
            (tally.min(Side::Baseline), tally.max(Side::Baseline)),
            (Some(Nanos(1_000)), Some(Nanos(4_000)))
        );
        assert_eq!((tally.ratio(), tally.median_us(Side::Candidate)), (None, None));
        tally.add(Side::Candidate, CallId(1), Nanos(5_000));
        assert_eq!((tally.difference(), tally.ratio()), (Nanos(-5_000), Some(0.5)));
        assert_eq!((tally.mean_ratio(), tally.median_us(Side::Candidate)), (Some(2.0), Some(5.0)));
    }
}
