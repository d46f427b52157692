//! Tests groups of measured events with the spread and the false discovery rates of all call sites.

use super::judgement::Judgement;
use super::places::Verdicts;
use super::sampler::Sampler;
use crate::analysis::Analysis;
use crate::side::{PerSide, Side};
use crate::tree::CallId;

/// Tests groups of measured events. The function `group` maps each measured call to a group number below
/// `count`. The spread and the false discovery rates come from the call sites, so a group with the same
/// events as a call site gets the same verdict as that call site.
pub(crate) fn judge_groups(
    analysis: &Analysis,
    count: usize,
    group: impl Fn(Side, CallId) -> usize,
) -> Vec<Judgement> {
    let sampler = Sampler::new(analysis, analysis.comparability());
    let mut groups: Vec<PerSide<Vec<CallId>>> = vec![PerSide::default(); count];
    for side in Side::BOTH {
        for &call in analysis.accounted_calls(side) {
            groups[group(side, call)][side].push(call);
        }
    }
    let Verdicts { family, works, .. } = analysis.judged();
    groups
        .iter()
        .map(|events| family.judge(&sampler.question(events, works), analysis.thresholds()))
        .collect()
}
