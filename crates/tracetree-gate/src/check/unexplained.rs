//! Finds counts per step (such as launches) that increase by more than the reported changes explain.

use super::Finding;
use super::find::launches;
use super::structure::{Judge, rounded};
use super::work::Work;
use crate::recording::{Range, Recording};
use crate::rules::{Limit, Rule, Scope, StructureRule};
use tracetree::side::PerSide;

/// An increase of at most this many calls per step counts as explained. The tolerance is needed because a change
/// that occurs only in some steps accounts for less than one call per step on average.
const HALF: f64 = 0.5;

/// The name of a count, and the function that reads the count.
type Count = (&'static str, fn(&Work) -> u64);

impl Judge<'_> {
    /// Returns a finding if a count increases by more than a rule allows. For rules about lost work, a decrease is
    /// checked instead of an increase. If the rule allows no particular amount, the limit is the amount that the
    /// changes explain. If the user configured `launches_per_step` without an amount, any increase is a finding.
    pub(super) fn unexplained(&self, rule: &Rule, explained: &PerSide<Work>) -> Option<Finding> {
        let counts: &[Count] = match rule.rule {
            StructureRule::LaunchesPerStep => &[("launches", |work| work.launches)],
            StructureRule::NewSync => &[("waits", |work| work.waits)],
            StructureRule::NewCopy => {
                &[("copies", |work| work.copies), ("copy_bytes", |work| work.bytes)]
            }
            StructureRule::Collectives => &[("collectives", |work| work.collectives)],
            StructureRule::KernelsPerCall | StructureRule::GoneKernel => {
                &[("kernels", |work| work.kernels)]
            }
            StructureRule::GraphReplayLost => &[
                ("graph_launches", |work| work.graph_launches),
                ("graph_kernels", |work| work.graph_kernels),
            ],
            StructureRule::GraphBreaks
            | StructureRule::LostFusion
            | StructureRule::NewKernel
            | StructureRule::NewOp
            | StructureRule::GoneOp
            | StructureRule::DtypeChange
            | StructureRule::ShapeChange
            | StructureRule::LayoutChange
            | StructureRule::Kind(_) => return None,
        };
        let is_of_launches = rule.rule == StructureRule::LaunchesPerStep;
        if !rule.scope.is_all() && !is_of_launches {
            return None;
        }
        let is_less =
            matches!(rule.rule, StructureRule::GoneKernel | StructureRule::GraphReplayLost);
        counts.iter().find_map(|&(name, count)| {
            let [before, after] = [self.context.baseline, self.context.candidate]
                .map(|side| per_step(side, name, &rule.scope));
            let (low, high) = if is_less { (after, before) } else { (before, after) };
            let explained = self.scale.difference(explained.as_ref().map(count));
            let explained = if is_less { -explained } else { explained };
            if !high.is_above(low) {
                return None;
            }
            let more = high.usual as f64 - low.usual as f64;
            let is_asked = is_of_launches && self.context.rules.structure.contains(rule);
            let is_broken = match (rule.allowed, is_asked) {
                // An allowed number of copies says nothing about their size.
                (Some(Limit::Count(_)), _) if name == "copy_bytes" => false,
                (Some(limit), _) if is_of_launches => more > limit.above(before.usual as f64),
                (Some(limit), _) => more - explained.max(0.0) > limit.above(before.usual as f64),
                (None, true) => true,
                (None, false) => more > explained.max(0.0) + HALF,
            };
            is_broken.then(|| self.count(rule, name, [before, after], explained))
        })
    }

    fn count(
        &self,
        rule: &Rule,
        name: &str,
        [before, after]: [Range; 2],
        explained: f64,
    ) -> Finding {
        let (state, remark) = self.context.state_at(rule.rule.label(), rule.severity, None);
        Finding {
            kind: String::new(),
            rules: vec![rule.rule.label().to_owned()],
            what: format!("{}: {}", rule.rule.words(), name.replace('_', " ")),
            before: before.to_string(),
            after: after.to_string(),
            limit: rule.allowed.map_or_else(|| "none".to_owned(), more),
            evidence: vec![format!(
                "{} explained by changes in the program",
                rounded(explained.max(0.0))
            )],
            sites: Vec::new(),
            state,
            remark,
        }
    }
}

fn more(limit: Limit) -> String {
    format!("{limit} more")
}

/// The count per step if the rule applies to whole steps; otherwise the number of launches per step within the scope.
fn per_step(side: &Recording, name: &str, scope: &Scope) -> Range {
    if scope.is_all() {
        return side.counts.get(name).copied().unwrap_or_default();
    }
    launches(side, scope)
}
