//! Tests groups of measured events with the spread and the false discovery rates of all call sites.

use super::judgement::{Judgement, Thresholds};
use super::places::Verdicts;
use super::sampler::Sampler;
use crate::analysis::comparability::Comparability;
use crate::analysis::runs::RunTimes;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// Tests groups of measured events. The spread and the false discovery rates come from the call sites, so a group with
/// the same events as a call site gets the same verdict as that call site.
pub struct GroupJudge<'a> {
    sampler: Sampler<'a>,
    verdicts: &'a Verdicts,
    thresholds: &'a Thresholds,
}

impl<'a> GroupJudge<'a> {
    pub(in crate::analysis) fn new(
        times: RunTimes<'a>,
        comparability: &'a Comparability,
        verdicts: &'a Verdicts,
        thresholds: &'a Thresholds,
    ) -> GroupJudge<'a> {
        GroupJudge { sampler: Sampler::new(times, comparability), verdicts, thresholds }
    }

    /// Tests each group. The function `group` maps each measured call to a group number below `count`.
    pub(in crate::analysis) fn judge(
        &self,
        count: usize,
        group: impl Fn(Side, CallId) -> usize,
    ) -> Vec<Judgement> {
        let mut groups: Vec<PerSide<Vec<CallId>>> = vec![PerSide::default(); count];
        for side in Side::BOTH {
            for &call in self.sampler.times.ledger.calls(side) {
                groups[group(side, call)][side].push(call);
            }
        }
        let Verdicts { family, works, .. } = self.verdicts;
        groups
            .iter()
            .map(|events| family.judge(&self.sampler.question(events, works), self.thresholds))
            .collect()
    }
}
