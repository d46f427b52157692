//! Rows of the account → which steps have a partner, where one trace has more of them.

use crate::analysis::Analysis;
use crate::diff::{StepVotes, mutual_pairs};
use crate::program::StepId;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// The steps of both traces that are compared call by call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::analysis) struct StepPairs {
    /// For each step whether it has a partner.
    is_paired: PerSide<Vec<bool>>,
}

impl StepPairs {
    /// Rows with work on both sides vote for the steps that they are in. `None` where both traces have
    /// as many steps, and where no step has a partner: then all are compared.
    pub(in crate::analysis) fn of(analysis: &Analysis) -> Option<StepPairs> {
        let counts = PerSide::from_fn(|side| analysis.steps(side).len());
        if counts.baseline == counts.candidate {
            return None;
        }
        let mut votes = StepVotes::new();
        for row in analysis.rows() {
            let step = |side: Side| analysis.steps(side).step(row.calls[side]?);
            if let (Some(a), Some(b)) = (step(Side::Baseline), step(Side::Candidate)) {
                *votes.entry([a, b]).or_default() +=
                    row.events.baseline.len().min(row.events.candidate.len());
            }
        }
        let pairs = mutual_pairs(&votes);
        let mut is_paired = counts.map(|count| vec![false; count]);
        for (a, b) in &pairs {
            is_paired.baseline[a.index()] = true;
            is_paired.candidate[b.index()] = true;
        }
        (!pairs.is_empty()).then_some(StepPairs { is_paired })
    }

    /// Whether a step has no partner.
    pub(in crate::analysis) fn is_alone(&self, side: Side, step: StepId) -> bool {
        !self.is_paired[side][step.index()]
    }

    /// Whether a call is in a step that has no partner.
    pub(in crate::analysis) fn leaves_out(
        &self,
        analysis: &Analysis,
        side: Side,
        call: CallId,
    ) -> bool {
        analysis.steps(side).step(call).is_some_and(|step| self.is_alone(side, step))
    }

    /// Number of pairs.
    pub(in crate::analysis) fn len(&self) -> u64 {
        self.is_paired.baseline.iter().filter(|&&is_paired| is_paired).count() as u64
    }
}
