//! Checks time rules and budgets. Each run counts as one measurement.

use super::context::Context;
use super::find::{selects_no_call, time};
use super::health;
use super::shift::{Decision, Hardness, Times, micros, words};
use super::{Check, Finding, FindingSite, Floor};
use crate::place::Place;
use crate::recording::Recording;
use crate::rules::{Budget, Quantity, Scope, Severity, TimeMeasure, TimeRule, Timing};
use tracetree::analysis::robust::{lower_median as median, range as spread};
use tracetree::analysis::verdict::drift;
use tracetree::program::counted;
use tracetree::side::PerSide;

/// One check per time rule, then one per budget.
pub(super) fn checks(context: &Context<'_>, findings: &mut Vec<Finding>) -> Vec<Check> {
    let drift = speed_drift(context);
    let of_rules = context.rules.time.iter().filter_map(|rule| check(context, drift, rule));
    let of_budgets = context.rules.budgets.iter().map(|budget| check_budget(context, budget));
    let settled = |(mut check, finding): (Check, Option<Finding>)| {
        if let Some(finding) = finding {
            check.add(finding.state, findings.len());
            findings.push(finding);
        }
        check
    };
    of_rules.chain(of_budgets).map(settled).collect()
}

/// A check, and a finding if the check's rule is violated.
type Checked = (Check, Option<Finding>);

/// The value of a time measure for each run, in µs; `None` if the measure was not recorded.
fn samples(side: &Recording, measure: TimeMeasure, scope: &Scope) -> Option<Vec<f64>> {
    let whole = side.times.get(measure.label())?;
    let group = match (&scope.path, &scope.phase, &scope.category) {
        (None, None, None) => return Some(whole.clone()),
        (None, Some(phase), None) => format!("phase:{phase}"),
        (None, None, Some(category)) => format!("category:{category}"),
        (_, _, _) => return Some(time(side, scope)),
    };
    Some(side.times.get(&group).cloned().unwrap_or_else(|| vec![0.0; side.runs.len()]))
}

/// The clock resolution in µs: 1 if the times of any run are whole microseconds, otherwise 0.
fn resolution(context: &Context<'_>) -> f64 {
    let mut runs = context.baseline.facts.runs.iter().chain(&context.candidate.facts.runs);
    if runs.any(|run| run.is_coarse) { 1.0 } else { 0.0 }
}

/// How much the speed of the machine varies between the runs of one side.
fn speed_drift(context: &Context<'_>) -> f64 {
    let sides = PerSide::new(context.baseline, context.candidate);
    drift(&sides.map(|side| side.places.list.iter().map(|place| &*place.micros).collect()))
}

fn check(context: &Context<'_>, drift: f64, rule: &TimeRule) -> Option<Checked> {
    if rule.severity == Severity::Off {
        return None;
    }
    let severity = context.rules.timing.severity(rule.severity);
    let mut check = Check::new(rule.measure.label(), rule.scope.words(), severity);
    if let Some(message) = selects_no_call([context.baseline, context.candidate], &rule.scope) {
        return Some((check.undecided(message), None));
    }
    if rule.scope.category.is_some() && health::has_other_captures(context) {
        // The category of a kernel is derived from its op or, if the op is unknown, from its name. So the same kernel
        // may have different categories on the two sides.
        let message = "the sides differ in which graph launches have captures, so categories of work cannot be \
                       compared. Record captures for both sides or for neither";
        return Some((check.undecided(message), None));
    }
    let before = samples(context.baseline, rule.measure, &rule.scope);
    let after = samples(context.candidate, rule.measure, &rule.scope);
    let (Some(before), Some(after)) = (before, after) else {
        let message = "was not measured on at least one side";
        return rule.is_asked.then(|| (check.undecided(message), None));
    };
    let asked = rule.limit.above(median(&before)).max(rule.least_us);
    let runs = PerSide::new(before.as_slice(), after.as_slice());
    let times = Times { runs, drift, resolution_us: resolution(context) };
    let (shift, decision) = times.decide(asked, rule.hardness())?;
    check.message = words(&shift);
    let evidence = match (decision, context.rules.timing) {
        (Decision::Within, _) => return Some((check, None)),
        (Decision::Unknown(why), Timing::Decide) => {
            return Some((check.undecided(format!("{} {why}", words(&shift))), None));
        }
        (Decision::Unknown(why), Timing::Report) => vec![why],
        (Decision::Exceeds(evidence), _) => evidence,
    };
    let (state, remark) = context.state_at(&check.rule, check.severity, rule.scope.path.as_ref());
    let more = shift.medians.candidate - shift.medians.baseline;
    let finding = Finding {
        kind: String::new(),
        rules: vec![check.rule.clone()],
        what: format!("{} increased by {}", rule.measure.label(), micros(more)),
        before: micros(shift.medians.baseline),
        after: micros(shift.medians.candidate),
        limit: format!("{} more", micros(asked)),
        evidence,
        sites: sites(&rule.scope),
        state,
        remark,
    };
    Some((check, Some(finding)))
}

fn check_budget(context: &Context<'_>, budget: &Budget) -> Checked {
    let severity = match budget.quantity {
        Quantity::Time(_) => context.rules.timing.severity(budget.severity),
        Quantity::Count(_) => budget.severity,
    };
    let mut check = Check::new("budget", budget.text.clone(), severity);
    let (baseline, candidate) = (context.baseline, context.candidate);
    if let Some(message) = selects_no_call([candidate, candidate], &budget.scope) {
        return (check.undecided(message), None);
    }
    let Some((value, shown)) = budget.value(candidate) else {
        return (check.undecided("was not measured"), None);
    };
    check.message = format!("measured: {shown}");
    if budget.relation.holds(value, budget.limit) {
        return (check, None);
    }
    let (state, remark) = context.state_at("budget", check.severity, budget.scope.path.as_ref());
    let finding = Finding {
        kind: String::new(),
        rules: vec!["budget".to_owned()],
        what: format!("budget not met: {}", budget.text),
        before: budget.before(baseline),
        after: shown,
        limit: budget.text.clone(),
        evidence: vec![format!("median of {}", counted(candidate.runs.len() as u64, "run"))],
        sites: sites(&budget.scope),
        state,
        remark,
    };
    (check, Some(finding))
}

impl TimeRule {
    fn hardness(&self) -> Hardness {
        if self.hard { Hardness::Hard } else { Hardness::Tested }
    }
}

impl Budget {
    /// The value of the budgeted quantity on a side, as a number and as a formatted string.
    fn value(&self, side: &Recording) -> Option<(f64, String)> {
        match self.quantity {
            Quantity::Time(measure) => {
                let time = median(&samples(side, measure, &self.scope)?);
                Some((time, micros(time)))
            }
            Quantity::Count(name) => {
                let count = side.counts.get(name)?;
                Some((count.usual as f64, count.to_string()))
            }
        }
    }

    fn before(&self, side: &Recording) -> String {
        self.value(side).map(|(_, shown)| shown).unwrap_or_default()
    }
}

/// The run-to-run noise of each time measure for whole steps.
pub(super) fn floors(baseline: &Recording, candidate: &Recording) -> Vec<Floor> {
    let mut floors = Vec::new();
    for measure in TimeMeasure::ALL {
        let times = [baseline, candidate].map(|side| side.times.get(measure.label()));
        let several = times.into_iter().flatten().filter(|times| times.len() > 1);
        let widest = several.max_by(|a, b| spread(a).total_cmp(&spread(b)));
        if let Some(times) = widest.filter(|times| median(times) > 0.0) {
            floors.push(Floor {
                measure: measure.label().to_owned(),
                micros: spread(times),
                percent: 100.0 * spread(times) / median(times),
            });
        }
    }
    floors
}

/// Returns a call site that names only the phase, if the rule covers one phase; otherwise returns an empty list.
fn sites(scope: &Scope) -> Vec<FindingSite> {
    let Some(phase) = &scope.phase else { return Vec::new() };
    let place = Place { path: Vec::new(), phase: phase.clone() };
    vec![FindingSite { place, what: String::new(), calls: 0, line: None }]
}
