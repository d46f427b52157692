//! The two traces of a comparison: [`Side`] identifies one trace, and [`PerSide`] contains one
//! value per trace.

use serde::{Deserialize, Serialize};
use std::ops::{Index, IndexMut};

/// One of the two traces of a comparison. The baseline always comes first; tables call the sides `trace1` and `trace2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The trace to compare against: the state before a change, or the platform to migrate from.
    Baseline,
    /// The trace to examine: the state after a change, or the platform to migrate to.
    Candidate,
}

impl Side {
    /// Both sides, baseline first.
    pub const BOTH: [Side; 2] = [Side::Baseline, Side::Candidate];

    /// The opposite side.
    #[doc(hidden)]
    pub fn other(self) -> Side {
        match self {
            Side::Baseline => Side::Candidate,
            Side::Candidate => Side::Baseline,
        }
    }

    /// The name that tables and drawings use: `trace1` or `trace2`.
    pub fn label(self) -> &'static str {
        match self {
            Side::Baseline => "trace1",
            Side::Candidate => "trace2",
        }
    }

    /// The word for the side in sentences, in the keys of reports and in Python: `baseline` or `candidate`.
    #[doc(hidden)]
    pub fn word(self) -> &'static str {
        match self {
            Side::Baseline => "baseline",
            Side::Candidate => "candidate",
        }
    }
}

/// A value for each side, indexed by [`Side`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PerSide<T> {
    /// The baseline's value.
    pub baseline: T,
    /// The candidate's value.
    pub candidate: T,
}

impl<T> PerSide<T> {
    /// Creates a pair from the baseline's value and the candidate's value.
    pub fn new(baseline: T, candidate: T) -> Self {
        PerSide { baseline, candidate }
    }

    /// Creates a pair of values: `mine` for `side`, and `theirs` for the other side.
    #[doc(hidden)]
    pub fn seen_from(side: Side, mine: T, theirs: T) -> Self {
        match side {
            Side::Baseline => PerSide::new(mine, theirs),
            Side::Candidate => PerSide::new(theirs, mine),
        }
    }

    /// Creates one value for each side by calling `make`.
    #[inline]
    pub fn from_fn(mut make: impl FnMut(Side) -> T) -> Self {
        PerSide { baseline: make(Side::Baseline), candidate: make(Side::Candidate) }
    }

    /// Like [`PerSide::from_fn`], but runs in parallel if two threads are free.
    #[doc(hidden)]
    pub fn from_fn_at_once(make: impl Fn(Side) -> T + Sync) -> Self
    where
        T: Send,
    {
        let (baseline, candidate) = rayon::join(|| make(Side::Baseline), || make(Side::Candidate));
        PerSide { baseline, candidate }
    }

    /// Both values as references.
    pub fn as_ref(&self) -> PerSide<&T> {
        PerSide { baseline: &self.baseline, candidate: &self.candidate }
    }

    /// Applies a function to both values.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> PerSide<U> {
        PerSide { baseline: change(self.baseline), candidate: change(self.candidate) }
    }

    /// Exchanges the values of the two sides.
    #[must_use]
    #[doc(hidden)]
    pub fn swap(self) -> Self {
        PerSide { baseline: self.candidate, candidate: self.baseline }
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;

    fn index(&self, side: Side) -> &T {
        match side {
            Side::Baseline => &self.baseline,
            Side::Candidate => &self.candidate,
        }
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Baseline => &mut self.baseline,
            Side::Candidate => &mut self.candidate,
        }
    }
}

/// Whether an item is present on both sides or on only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Presence {
    /// Both sides have a nonzero count, or both have a count of 0.
    Both,
    /// Only one side has a nonzero count.
    Only(Side),
}

impl Presence {
    /// Determines the presence of an item from its count on each side.
    #[doc(hidden)]
    pub fn of(counts: PerSide<u64>) -> Presence {
        match (counts.baseline, counts.candidate) {
            (1.., 0) => Presence::Only(Side::Baseline),
            (0, 1..) => Presence::Only(Side::Candidate),
            (0, 0) | (1.., 1..) => Presence::Both,
        }
    }

    /// The name of the presence in tables: `both`, `trace1_only` or `trace2_only`.
    #[doc(hidden)]
    pub fn label(self) -> &'static str {
        match self {
            Presence::Both => "both",
            Presence::Only(Side::Baseline) => "trace1_only",
            Presence::Only(Side::Candidate) => "trace2_only",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_indexes_its_value() {
        let mut pair = PerSide::new(1, 2);
        pair[Side::Candidate] = 5;
        assert_eq!(pair[Side::Baseline.other()], 5);
        assert_eq!(pair.swap(), PerSide::new(5, 1));
        assert_eq!(Side::BOTH.map(Side::label), ["trace1", "trace2"]);
    }
}
