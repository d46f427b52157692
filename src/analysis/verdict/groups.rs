//! Groups of accounted events → a judgement of each, on the scale of the places.

use super::judgement::Judgement;
use super::places::Verdicts;
use super::sampler::Sampler;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

impl Analysis {
    /// Judges groups of accounted events: `group` tells the group, below `count`, of each accounted
    /// call. The scale is that of the places, so that a group which is a place has its judgement.
    pub fn judge_groups(
        &self,
        count: usize,
        group: impl Fn(Side, CallId) -> usize,
    ) -> Vec<Judgement> {
        let sampler = Sampler::new(self);
        let mut groups: Vec<PerSide<Vec<CallId>>> = vec![PerSide::default(); count];
        for side in Side::BOTH {
            for &call in self.accounted_calls(side) {
                groups[group(side, call)][side].push(call);
            }
        }
        let Verdicts { family, works, .. } = self.judged();
        groups
            .iter()
            .map(|events| family.judge(&sampler.question(events, works), self.thresholds()))
            .collect()
    }
}
