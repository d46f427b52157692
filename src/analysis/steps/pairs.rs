//! Determines which steps on each side are compared, and which are left out.

use crate::analysis::Attribution;
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::tree::CallId;
use std::collections::BTreeMap;

/// The steps of both traces that are compared call by call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis) struct StepPairs {
    /// For each step on each side, whether the step is compared.
    is_paired: PerSide<Vec<bool>>,
    /// The counterpart of each baseline step that has one, even if the two steps are not compared.
    pairs: BTreeMap<StepId, StepId>,
}

impl StepPairs {
    /// Returns `None` if all steps are compared, because the alignment did not match individual steps and the analysis
    /// is not restricted to some of the baseline's steps.
    pub(in crate::analysis) fn of(analysis: &Attribution) -> Option<StepPairs> {
        let counts = PerSide::from_fn(|side| analysis.steps(side).len());
        let chosen = analysis.chosen_steps.as_deref();
        let pairs: BTreeMap<StepId, StepId> = match (analysis.diff().step_pairs(), chosen) {
            (Some(pairs), _) => pairs.iter().copied().collect(),
            (None, None) => return None,
            (None, Some(_)) => {
                let ids = 0..counts.baseline.min(counts.candidate) as u32;
                ids.map(|id| (StepId(id), StepId(id))).collect()
            }
        };
        let mut is_paired = counts.map(|count| vec![false; count]);
        for (a, b) in &pairs {
            let is_chosen = chosen.is_none_or(|chosen| chosen[a.index()]);
            is_paired.baseline[a.index()] = is_chosen;
            is_paired.candidate[b.index()] = is_chosen;
        }
        Some(StepPairs { is_paired, pairs })
    }

    /// For each step on a side, whether the step is compared.
    pub(in crate::analysis) fn compared(&self, side: Side) -> &[bool] {
        &self.is_paired[side]
    }

    /// Number of matched step pairs, whether or not the pairs are compared.
    pub(in crate::analysis) fn all(&self) -> usize {
        self.pairs.len()
    }

    /// The steps of both sides in order; matched steps share an entry.
    pub(super) fn places(&self) -> Vec<PerSide<Option<StepId>>> {
        let mut places = Vec::new();
        let alone = |side: Side, at: usize| {
            let mut place = PerSide::default();
            place[side] = Some(StepId(at as u32));
            place
        };
        let mut has_partner = vec![false; self.is_paired.candidate.len()];
        self.pairs.values().for_each(|step| has_partner[step.index()] = true);
        let mut free = (0..has_partner.len()).filter(|&at| !has_partner[at]).peekable();
        for at in 0..self.is_paired.baseline.len() {
            let step = StepId(at as u32);
            match self.pairs.get(&step) {
                Some(&partner) => {
                    while let Some(at) = free.next_if(|&at| at < partner.index()) {
                        places.push(alone(Side::Candidate, at));
                    }
                    places.push(PerSide::new(Some(step), Some(partner)));
                }
                None => places.push(alone(Side::Baseline, at)),
            }
        }
        places.extend(free.map(|at| alone(Side::Candidate, at)));
        places
    }

    pub(in crate::analysis) fn is_alone(&self, side: Side, step: StepId) -> bool {
        !self.is_paired[side][step.index()]
    }

    pub(in crate::analysis) fn leaves_out(
        &self,
        analysis: &Attribution,
        side: Side,
        call: CallId,
    ) -> bool {
        analysis.steps(side).step(call).is_some_and(|step| self.is_alone(side, step))
    }

    /// Number of compared step pairs.
    pub(in crate::analysis) fn len(&self) -> u64 {
        self.is_paired.baseline.iter().filter(|&&is_paired| is_paired).count() as u64
    }
}
