//! Finds work that several steps of the candidate do, but no step of the baseline, and that no change names.
//!
//! Only the median runs are aligned, so a change in the other runs shows only in the numbers of calls. The same applies to
//! the sizes of copies, which are not changes of calls.

use super::context::{Context, MANY_STEPS};
use super::health::listed;
use super::structure::Judge;
use super::work::Work;
use super::{Finding, State, worst};
use crate::recording::{InSteps, Range, Recording};
use crate::rules::{Limit, Severity, StructureRule};
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::steps::WallBasis;
use tracetree::side::PerSide;

/// The rules about counts, and the counts.
const RULES: [(StructureRule, &str); 6] = [
    (StructureRule::NewSync, "waits"),
    (StructureRule::NewCopy, "copies"),
    (StructureRule::NewCopy, BYTES),
    (StructureRule::KernelsPerCall, "kernels"),
    (StructureRule::LaunchesPerStep, "launches"),
    (StructureRule::Collectives, "collectives"),
];

const BYTES: &str = "copy_bytes";

/// Work that occurs more often in some steps of the candidate than in any step of the baseline.
struct More {
    rule: StructureRule,
    name: String,
    before: u64,
    most: u64,
    /// Positions of the steps among the steps of all runs.
    steps: Vec<usize>,
}

impl Context<'_> {
    /// The steps of all runs of the candidate that call an op more often than every step of the baseline. Empty if the
    /// number of calls varies in the baseline.
    pub(super) fn steps_with_more(&self, op: &str) -> Vec<usize> {
        let before = self.baseline.ops.get(op).copied().unwrap_or_default();
        let steps = self.candidate.in_steps.ops.get(op);
        steps.map_or_else(Vec::new, |steps| above(before, 0, steps))
    }
}

/// The steps whose count is more than `margin` above the count of all steps of the baseline.
fn above(before: Range, margin: u64, steps: &[u64]) -> Vec<usize> {
    let is_above = |&at: &usize| steps[at] > before.most.saturating_add(margin);
    if before.is_variable() { Vec::new() } else { (0..steps.len()).filter(is_above).collect() }
}

/// The positions of the steps of each run among the steps of all runs.
fn spans(side: &Recording) -> Vec<std::ops::Range<usize>> {
    let mut end = 0;
    let span = |steps: u64| {
        let start = end;
        end += steps as usize;
        start..end
    };
    side.runs.iter().map(|run| run.steps).map(span).collect()
}

impl Judge<'_> {
    /// A finding about work that several steps of the candidate do, but no step of the baseline, and for each violated
    /// rule, its index and the result.
    pub(super) fn in_some_steps(
        &self,
        explained: &PerSide<Work>,
    ) -> Option<(Finding, Vec<(usize, State)>)> {
        let is_decidable = self.analysis.compared().basis() == WallBasis::Steps
            && self.context.baseline.steps() >= MANY_STEPS.baseline;
        if !is_decidable {
            return None;
        }
        let mut shown: Vec<(More, usize, State, String)> = Vec::new();
        for more in self.ops_in_some_steps().into_iter().chain(self.counts_in_some_steps(explained))
        {
            let Some(at) = self.covering(more.rule, None) else { continue };
            let rule = &self.rules[at];
            let is_allowed =
                |limit: Limit| (more.most - more.before) as f64 <= limit.above(more.before as f64);
            if rule.allowed.is_some_and(is_allowed) {
                continue;
            }
            let (state, remark) = self.context.state_at(more.rule.label(), rule.severity, None);
            let is_error = self.context.rules.intermittent == Severity::Error;
            let state = if state == State::Failed && !is_error { State::Warned } else { state };
            if state != State::Passed {
                shown.push((more, at, state, remark));
            }
        }
        let state = shown.iter().fold(None, |all, (_, _, state, _)| worst(all, *state))?;
        let remark =
            shown.iter().find(|(_, _, own, _)| *own == state).map(|(.., words)| words.clone());
        let states = shown.iter().map(|(_, at, state, _)| (*at, *state)).collect();
        let more: Vec<&More> = shown.iter().map(|(more, ..)| more).collect();
        Some((self.of_some_steps(&more, state, remark.unwrap_or_default()), states))
    }

    /// The ops that only runs other than the median run call more often.
    fn ops_in_some_steps(&self) -> Vec<More> {
        let (before, InSteps { ops, .. }) =
            (&self.context.baseline.ops, &self.context.candidate.in_steps);
        let more = |(name, counts): (&String, &Vec<u64>)| {
            let before = before.get(name).copied().unwrap_or_default();
            let steps = self.context.steps_with_more(name);
            self.more(StructureRule::NewOp, name, before, counts, steps)
                .filter(|more| !self.is_in_median_run(more))
        };
        ops.iter().filter_map(more).collect()
    }

    fn counts_in_some_steps(&self, explained: &PerSide<Work>) -> Vec<More> {
        let (before, counts) =
            (&self.context.baseline.counts, &self.context.candidate.in_steps.counts);
        let of = |name: &str| before.get(name).copied().unwrap_or_default();
        let copies = counts.get("copies");
        let bytes =
            self.scale.difference(explained.as_ref().map(|work| work.bytes)).max(0.0).ceil();
        let more = |&(rule, name): &(StructureRule, &str)| {
            let counts = counts.get(name)?;
            if name != BYTES {
                let steps = above(of(name), 0, counts);
                let more = self.more(rule, name, of(name), counts, steps);
                return more.filter(|more| !self.is_in_median_run(more));
            }
            // More copies explain more bytes, and all changes of the median run are explained.
            let mut steps = above(of(name), bytes as u64, counts);
            steps.retain(|&step| copies.is_some_and(|all| all[step] <= of("copies").most));
            let is_everywhere = steps.len() == counts.len();
            self.more(rule, name, of(name), counts, steps).filter(|_| !is_everywhere)
        };
        RULES.iter().filter_map(more).collect()
    }

    /// `None` if too few steps do more work.
    fn more(
        &self,
        rule: StructureRule,
        name: &str,
        before: Range,
        counts: &[u64],
        steps: Vec<usize>,
    ) -> Option<More> {
        let most = steps.iter().map(|&step| counts[step]).max()?;
        let is_often = steps.len() as u64 >= MANY_STEPS.candidate;
        is_often.then(|| More { rule, name: name.to_owned(), before: before.most, most, steps })
    }

    /// Whether the median run does more of this work, so that the changes name it.
    fn is_in_median_run(&self, more: &More) -> bool {
        let candidate = self.context.candidate;
        let median = candidate.median_run();
        let mut runs = candidate.runs.iter().zip(spans(candidate));
        let span = runs.find(|(run, _)| median.is_some_and(|median| std::ptr::eq(*run, median)));
        span.is_some_and(|(_, span)| more.steps.iter().any(|step| span.contains(step)))
    }

    fn of_some_steps(&self, more: &[&More], state: State, remark: String) -> Finding {
        let is_op = |more: &&&More| more.rule == StructureRule::NewOp;
        let names = |more: &More| more.name.replace('_', " ");
        let mut named: Vec<String> =
            more.iter().filter(is_op).map(|more| more.name.clone()).collect();
        if named.is_empty() {
            named = more.iter().map(|more| names(more)).collect();
        }
        let rules: BTreeSet<StructureRule> = more.iter().map(|more| more.rule).collect();
        let mut evidence = vec![self.of_which_runs(more)];
        evidence.extend(
            more.iter().filter(|more| !is_op(more)).map(|more| {
                format!("{} {} → up to {} per step", names(more), more.before, more.most)
            }),
        );
        Finding {
            kind: String::new(),
            rules: rules.into_iter().map(|rule| rule.label().to_owned()).collect(),
            what: format!(
                "some steps do more work than any step of the baseline: {}",
                listed(&named)
            ),
            before: String::new(),
            after: String::new(),
            limit: String::new(),
            evidence,
            sites: Vec::new(),
            state,
            remark,
        }
    }

    /// Says how many steps of which runs do more work.
    fn of_which_runs(&self, more: &[&More]) -> String {
        let candidate = self.context.candidate;
        let steps: BTreeSet<usize> =
            more.iter().flat_map(|more| more.steps.iter().copied()).collect();
        let mut of_runs: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, span) in spans(candidate).into_iter().enumerate() {
            let inside = steps.range(span).count();
            if inside > 0 {
                of_runs.insert(at, inside);
            }
        }
        let shown: Vec<String> = of_runs
            .into_iter()
            .map(|(at, inside)| format!("{inside} in {}", candidate.runs[at].name))
            .collect();
        format!(
            "in {} of {} steps ({}), but in no step of the baseline",
            steps.len(),
            candidate.steps(),
            shown.join(", ")
        )
    }
}
