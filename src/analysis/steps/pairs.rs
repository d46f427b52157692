//! Determines which steps on each side are compared, and which are left out.

use crate::diff::TraceDiff;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::BTreeMap;

/// Which steps are compared with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPairs {
    basis: WallBasis,
    /// Number of steps on each side.
    counts: PerSide<usize>,
    /// The steps that are compared call by call; `None` if all steps are compared.
    paired: Option<Paired>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Paired {
    /// For each step on each side, whether the step is compared.
    is_paired: PerSide<Vec<bool>>,
    /// The counterpart of each baseline step that has one, even if the two steps are not compared.
    pairs: BTreeMap<StepId, StepId>,
}

/// The steps that are compared.
pub(in crate::analysis) fn step_pairs(diff: &TraceDiff) -> StepPairs {
    chosen_step_pairs(diff, None)
}

/// The steps that are compared, restricted to the baseline's steps that are `chosen`. All steps are compared if the
/// alignment did not match individual steps and no steps are chosen.
pub(in crate::analysis) fn chosen_step_pairs(
    diff: &TraceDiff,
    chosen: Option<&[bool]>,
) -> StepPairs {
    let basis = WallBasis::of(diff);
    let counts = PerSide::from_fn(|side| diff.steps(side).len());
    let pairs = match (basis, diff.step_pairs(), chosen) {
        (WallBasis::Events, ..) | (WallBasis::Steps, None, None) => None,
        (WallBasis::Steps, Some(pairs), _) => Some(pairs.iter().copied().collect()),
        (WallBasis::Steps, None, Some(_)) => {
            let ids = 0..counts.baseline.min(counts.candidate) as u32;
            Some(ids.map(|id| (StepId(id), StepId(id))).collect())
        }
    };
    StepPairs { basis, counts, paired: pairs.map(|pairs| Paired::of(pairs, counts, chosen)) }
}

impl Paired {
    fn of(
        pairs: BTreeMap<StepId, StepId>,
        counts: PerSide<usize>,
        chosen: Option<&[bool]>,
    ) -> Paired {
        let mut is_paired = counts.map(|count| vec![false; count]);
        for (a, b) in &pairs {
            let is_chosen = chosen.is_none_or(|chosen| chosen[a.index()]);
            is_paired.baseline[a.index()] = is_chosen;
            is_paired.candidate[b.index()] = is_chosen;
        }
        Paired { is_paired, pairs }
    }

    /// The steps of both sides in order; matched steps share an entry.
    fn places(&self) -> Vec<PerSide<Option<StepId>>> {
        let mut places = Vec::new();
        let alone = |side: Side, at: usize| PerSide::seen_from(side, Some(StepId(at as u32)), None);
        let mut has_counterpart = vec![false; self.is_paired.candidate.len()];
        self.pairs.values().for_each(|step| has_counterpart[step.index()] = true);
        let mut free = (0..has_counterpart.len()).filter(|&at| !has_counterpart[at]).peekable();
        for at in 0..self.is_paired.baseline.len() {
            let step = StepId(at as u32);
            match self.pairs.get(&step) {
                Some(&counterpart) => {
                    while let Some(at) = free.next_if(|&at| at < counterpart.index()) {
                        places.push(alone(Side::Candidate, at));
                    }
                    places.push(PerSide::new(Some(step), Some(counterpart)));
                }
                None => places.push(alone(Side::Baseline, at)),
            }
        }
        places.extend(free.map(|at| alone(Side::Candidate, at)));
        places
    }
}

impl StepPairs {
    /// Whether the windows span steps or all measured events.
    #[doc(hidden)]
    pub fn basis(&self) -> WallBasis {
        self.basis
    }

    /// Number of compared step pairs, if some steps are not compared. Returns `None` if all steps are compared.
    #[doc(hidden)]
    pub fn count(&self) -> Option<u64> {
        let of_side = self.steps(Side::Baseline)?.iter();
        Some(of_side.filter(|&&is_paired| is_paired).count() as u64)
    }

    /// Whether some steps are not compared.
    pub(in crate::analysis) fn is_partial(&self) -> bool {
        self.paired.is_some()
    }

    /// For each step on a side, whether the step is compared; `None` if all steps are compared.
    pub(crate) fn steps(&self, side: Side) -> Option<&[bool]> {
        self.paired.as_ref().map(|paired| &paired.is_paired[side][..])
    }

    /// Number of matched step pairs, whether or not the pairs are compared; `None` if all steps are compared.
    pub(in crate::analysis) fn all(&self) -> Option<usize> {
        self.paired.as_ref().map(|paired| paired.pairs.len())
    }

    /// The steps of both sides in order; compared steps share an entry.
    #[doc(hidden)]
    pub fn places(&self) -> Vec<PerSide<Option<StepId>>> {
        if let Some(paired) = &self.paired {
            return paired.places();
        }
        let at = |at: usize, side: Side| (at < self.counts[side]).then_some(StepId(at as u32));
        let places = 0..self.counts.baseline.max(self.counts.candidate);
        places.map(|place| PerSide::from_fn(|side| at(place, side))).collect()
    }

    /// Whether a step is not compared, usually because it has no counterpart.
    pub(in crate::analysis) fn is_alone(&self, side: Side, step: StepId) -> bool {
        self.steps(side).is_some_and(|is_compared| !is_compared[step.index()])
    }

    /// Whether a call is in a step that is not compared.
    pub(in crate::analysis) fn leaves_out(
        &self,
        diff: &TraceDiff,
        side: Side,
        call: CallId,
    ) -> bool {
        self.is_partial()
            && diff.steps(side).step(call).is_some_and(|step| self.is_alone(side, step))
    }

    /// Whether a call is in a compared step. If the windows are compared as a whole, this is true for all calls.
    #[inline]
    #[doc(hidden)]
    pub fn is_compared(&self, diff: &TraceDiff, side: Side, call: CallId) -> bool {
        match self.basis {
            WallBasis::Events => true,
            WallBasis::Steps => {
                diff.steps(side).step(call).is_some_and(|step| !self.is_alone(side, step))
            }
        }
    }
}

/// What a window spans: steps or events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum WallBasis {
    /// The windows span the steps of both sides; times are given per step.
    Steps,
    /// The windows span all measured events, because a side has no steps; times are given for the whole
    /// window.
    Events,
}

impl WallBasis {
    /// Returns `Steps` if both sides have steps, otherwise `Events`.
    pub(in crate::analysis) fn of(diff: &TraceDiff) -> WallBasis {
        if Side::BOTH.iter().all(|&side| !diff.steps(side).is_empty()) {
            WallBasis::Steps
        } else {
            WallBasis::Events
        }
    }
}
