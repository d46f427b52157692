//! Rules about time and budgets → checks, with the runs as what is repeated.
//!
//! ```text
//! shift = median of the candidate's runs − median of the baseline's
//! a rule is broken where the shift is more than its limit, than its least, and than the floor (the
//! largest difference between two runs of one side), and the moderated test over the runs agrees
//! ```
//! With one run on a side the noise between runs is unknown: a rule whose limit is exceeded is then
//! inconclusive, and fails only where the user says that it is hard.

use super::find::speaks_of_nothing;
use super::{Check, Context, Finding, Floor, State};
use crate::analysis::robust::median;
use crate::analysis::{Family, Question, Thresholds, Verdict, Work};
use crate::gate::compare::{Graphs, Place};
use crate::gate::digest::Digest;
use crate::gate::rules::{Budget, Quantity, Scope, Severity, TimeMeasure, TimeRule};
use crate::side::PerSide;
use std::collections::BTreeMap;

/// A check for each rule about time, then for each budget.
pub(super) fn checks(context: &Context<'_>) -> Vec<Check> {
    let family = family(context);
    let mut checks: Vec<Check> =
        context.rules.time.iter().filter_map(|rule| check(context, &family, rule)).collect();
    checks.extend(context.rules.budgets.iter().map(|budget| check_budget(context, budget)));
    checks.into_iter().map(Check::settled).collect()
}

/// Times of each run, in µs; `None` where it was not measured.
fn samples(digest: &Digest, measure: TimeMeasure, scope: &Scope) -> Option<Vec<f64>> {
    let whole = digest.times.get(measure.label())?;
    let group = match (&scope.path, &scope.phase, &scope.category) {
        (None, None, None) => return Some(whole.clone()),
        (None, Some(phase), None) => format!("phase:{phase}"),
        (None, None, Some(category)) => format!("category:{category}"),
        (_, _, _) => return Some(digest.time_of(scope)),
    };
    Some(digest.times.get(&group).cloned().unwrap_or_else(|| vec![0.0; digest.runs.len()]))
}

/// What all places say of the spread between runs.
fn family(context: &Context<'_>) -> Family {
    let (one, two) = (times_by_place(context.baseline), times_by_place(context.candidate));
    let questions: Vec<Question> = one
        .into_iter()
        .filter_map(|(place, before)| {
            let after = two.get(&place)?.clone();
            Some(Question { samples: PerSide::new(before, after), ..Question::default() })
        })
        .collect();
    Family::of(&questions)
}

fn times_by_place(digest: &Digest) -> BTreeMap<String, Vec<f64>> {
    let mut times: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut names: Vec<&str> = Vec::new();
    for (depth, node) in digest.nodes() {
        names.truncate(depth);
        names.push(&node.name);
        if !node.micros.is_empty() {
            times.insert(names.join("/"), node.micros.clone());
        }
    }
    times
}

fn check(context: &Context<'_>, family: &Family, rule: &TimeRule) -> Option<Check> {
    if rule.severity == Severity::Off {
        return None;
    }
    let mut check = Check {
        rule: rule.measure.label().to_owned(),
        scope: rule.scope.words(),
        severity: rule.severity,
        state: State::Passed,
        message: String::new(),
        findings: Vec::new(),
    };
    let unknown = |mut check: Check, message: String| {
        (check.state, check.message) = (State::Inconclusive, message);
        Some(check)
    };
    if let Some(message) = speaks_of_nothing([context.baseline, context.candidate], &rule.scope) {
        return unknown(check, message);
    }
    if context.graphs == Graphs::AtTheirLaunches && rule.scope.category.is_some() {
        // Ops say what their kernels do, else the kernel's name does.
        let message = "captures tell kinds of work on one side alone: record both with, or without";
        return unknown(check, message.to_owned());
    }
    let before = samples(context.baseline, rule.measure, &rule.scope);
    let after = samples(context.candidate, rule.measure, &rule.scope);
    let (Some(before), Some(after)) = (before, after) else {
        return match rule.is_asked {
            true => unknown(check, format!("no {} was measured", rule.measure.label())),
            false => None,
        };
    };
    let medians = (median(&before), median(&after));
    let shift = medians.1 - medians.0;
    let asked = rule.limit.above(medians.0).max(rule.least_us);
    let floor = spread(&before).max(spread(&after));
    let is_tested = before.len() > 1 && after.len() > 1;
    let words = words(medians);
    if shift <= asked {
        check.message = words;
        return Some(check);
    }
    let judgement = is_tested.then(|| {
        let samples = PerSide::new(before.clone(), after.clone());
        // One planned question: its probability counts, not its rank among hundreds.
        let question = Question { samples, work: Work::Changed, ..Question::default() };
        let thresholds = Thresholds { relative: 0.0, ..Thresholds::default() };
        family.judge(&question, &thresholds)
    });
    let runs = runs(before.len(), after.len());
    let evidence = match judgement {
        Some(judgement) if shift <= floor => {
            check.message = format!(
                "{words}: within noise, runs of one side lie {} apart{}",
                micros(floor),
                chance(judgement.p)
            );
            return Some(check);
        }
        Some(judgement) if judgement.verdict != Verdict::Slower => {
            check.message = format!("{words}: not proven{} ({runs})", chance(judgement.p));
            return Some(check);
        }
        Some(judgement) => vec![
            format!("{runs}; runs of one side lie at most {} apart", micros(floor)),
            format!("moderated t test{}", chance(judgement.p)),
        ],
        None if rule.hard => vec![format!("{runs}: run-to-run noise unknown; the rule is hard")],
        None => {
            return unknown(
                check,
                format!("{words} with {runs}; record 3 runs per side to decide"),
            );
        }
    };
    let is_there = |query: &crate::program::Query| rule.scope.path.as_ref() == Some(query);
    let (state, remark) = context.permission(rule.measure.label(), is_there).state(rule.severity);
    check.message = words;
    check.findings.push(Finding {
        place: place(&rule.scope),
        what: format!("{} is longer by {}", rule.measure.label(), micros(shift)),
        before: micros(medians.0),
        after: micros(medians.1),
        limit: format!("{} more", micros(asked)),
        evidence,
        site: None,
        state,
        remark,
    });
    Some(check)
}

fn check_budget(context: &Context<'_>, budget: &Budget) -> Check {
    let mut check = Check {
        rule: "budget".to_owned(),
        scope: budget.text.clone(),
        severity: budget.severity,
        state: State::Passed,
        message: String::new(),
        findings: Vec::new(),
    };
    let unknown = |mut check: Check, message: String| {
        (check.state, check.message) = (State::Inconclusive, message);
        check
    };
    let [baseline, candidate] = context.whole;
    if let Some(message) = speaks_of_nothing([candidate, candidate], &budget.scope) {
        return unknown(check, message);
    }
    let Some((value, shown)) = budget.value(candidate) else {
        return unknown(check, "was not measured".to_owned());
    };
    check.message = format!("is {shown}");
    if budget.relation.holds(value, budget.limit) {
        return check;
    }
    let is_there = |query: &crate::program::Query| budget.scope.path.as_ref() == Some(query);
    let (state, remark) = context.permission("budget", is_there).state(budget.severity);
    check.findings.push(Finding {
        place: place(&budget.scope),
        what: "is not within its budget".to_owned(),
        before: budget.before(baseline),
        after: shown,
        limit: budget.text.clone(),
        evidence: vec![format!("the median of {} runs", candidate.runs.len())],
        site: None,
        state,
        remark,
    });
    check
}

impl Budget {
    /// The value of a side, and the same for people.
    fn value(&self, digest: &Digest) -> Option<(f64, String)> {
        match self.quantity {
            Quantity::Time(measure) => {
                let time = median(&samples(digest, measure, &self.scope)?);
                Some((time, micros(time)))
            }
            Quantity::Count(name) => {
                let count = digest.counts.get(name)?;
                Some((count.usual as f64, count.to_string()))
            }
        }
    }

    fn before(&self, digest: &Digest) -> String {
        self.value(digest).map(|(_, shown)| shown).unwrap_or_default()
    }
}

/// The noise between runs of one side, for the measures of a whole step.
pub(super) fn floors(baseline: &Digest, candidate: &Digest) -> Vec<Floor> {
    let mut floors = Vec::new();
    for measure in TimeMeasure::ALL {
        let times = [baseline, candidate].map(|digest| digest.times.get(measure.label()));
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

/// The largest difference between two runs.
fn spread(times: &[f64]) -> f64 {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    let most = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if times.is_empty() { 0.0 } else { most - least }
}

fn place(scope: &Scope) -> Place {
    Place { path: Vec::new(), phase: scope.phase.clone().unwrap_or_default() }
}

fn words((before, after): (f64, f64)) -> String {
    match before > 0.0 {
        true => {
            let percent = 100.0 * (after - before) / before;
            format!("{} → {} ({percent:+.1} %)", micros(before), micros(after))
        }
        false => format!("{} → {}", micros(before), micros(after)),
    }
}

fn runs(before: usize, after: usize) -> String {
    match (before, after) {
        (1, 1) => "1 run per side".to_owned(),
        (one, two) if one == two => format!("{one} runs per side"),
        (one, two) => format!("{one} and {two} runs"),
    }
}

fn chance(p: Option<f64>) -> String {
    match p {
        Some(p) if p < 0.001 => ", p < 0.001".to_owned(),
        Some(p) => format!(", p {p:.3}"),
        None => String::new(),
    }
}

/// A time of so many µs, for people.
pub(super) fn micros(micros: f64) -> String {
    match micros.abs() {
        1e6.. => format!("{:.3} s", micros / 1e6),
        1e3.. => format!("{:.3} ms", micros / 1e3),
        _ => format!("{micros:.1} us"),
    }
}
