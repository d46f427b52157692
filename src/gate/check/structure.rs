//! Changes of the structure and rules → checks: one for each rule of the file, one for each that holds
//! without a file.

use super::find::{has_modules, speaks_of_nothing};
use super::{Check, Context, Finding, State};
use crate::gate::compare::{Change, Graphs, Place, Structure, StructureRule};
use crate::gate::digest::{Digest, Range};
use crate::gate::rules::{Limit, Rule, Scope, Severity};
use crate::program::{Query, Word};

/// How many things of one place are told.
const TOLD: usize = 6;

/// A check for each rule about the structure.
pub(super) fn checks(context: &Context<'_>, structure: &Structure) -> Vec<Check> {
    let mut rules: Vec<Rule> = StructureRule::ALL.into_iter().map(usual).collect();
    for rule in &context.rules.structure {
        match rule.scope.is_all() {
            // Said for everywhere: in the place of what holds without it.
            true => rules
                .iter_mut()
                .filter(|known| known.rule == rule.rule && known.scope.is_all())
                .for_each(|known| known.clone_from(rule)),
            false => rules.push(rule.clone()),
        }
    }
    let mut checks: Vec<Check> = rules.iter().map(|rule| empty(context, structure, rule)).collect();
    for change in &structure.changes {
        // The last rule that speaks of a change holds.
        let at =
            rules.iter().rposition(|rule| rule.rule == change.rule && covers(&rule.scope, change));
        if let Some(at) = at
            && let Some(finding) = finding(context, &rules[at], change)
        {
            checks[at].findings.push(finding);
        }
    }
    let explained: i64 =
        structure.changes.iter().chain(&structure.follow).map(|c| c.launches).sum();
    for (rule, check) in rules.iter().zip(&mut checks) {
        if rule.rule == StructureRule::LaunchesPerStep && check.state != State::Inconclusive {
            check.findings.extend(launches(context, rule, explained));
        }
    }
    checks.into_iter().filter(|check| check.severity != Severity::Off).map(Check::settled).collect()
}

fn usual(rule: StructureRule) -> Rule {
    Rule { rule, scope: Scope::default(), allowed: None, severity: Severity::Error }
}

/// A check that nothing broke so far.
fn empty(context: &Context<'_>, structure: &Structure, rule: &Rule) -> Check {
    let digests = [context.baseline, context.candidate];
    let is_of_arguments =
        matches!(rule.rule, StructureRule::DtypeChange | StructureRule::ShapeChange);
    let is_asked = context.rules.structure.contains(rule);
    // At the launches of graphs there are no ops, and so no shapes to lose.
    let has_some_shapes = context.graphs != Graphs::AtTheirLaunches
        && digests.iter().any(|digest| digest.setup.has_shapes);
    let of_modules = |query: &Query| query.words().any(|word| word == Word::Module);
    let unknown = match &rule.scope {
        scope if !scope.is_all() && speaks_of_nothing(digests, scope).is_some() => {
            speaks_of_nothing(digests, scope)
        }
        scope
            if scope.path.as_ref().is_some_and(of_modules)
                && !digests.iter().all(|digest| has_modules(digest)) =>
        {
            Some("a side has no modules: record with_stack and with_modules".to_owned())
        }
        // Where neither side has shapes there is nothing to lose.
        _ if is_of_arguments && !structure.has_shapes && (is_asked || has_some_shapes) => {
            Some("a side has no shapes: record with record_shapes".to_owned())
        }
        _ => None,
    };
    let is_off = rule.severity == Severity::Off;
    Check {
        rule: rule.rule.label().to_owned(),
        scope: rule.scope.words(),
        severity: rule.severity,
        state: match &unknown {
            Some(_) if !is_off => State::Inconclusive,
            Some(_) | None => State::Passed,
        },
        message: unknown.unwrap_or_else(|| rule.rule.words().to_owned()),
        findings: Vec::new(),
    }
}

/// Whether a rule speaks of a change: of its place, or of what changed there.
fn covers(scope: &Scope, change: &Change) -> bool {
    let is_phase = scope.phase.as_ref().is_none_or(|phase| *phase == change.place.phase);
    let is_category = scope.category.as_ref().is_none_or(|category| *category == change.category);
    is_phase && is_category && scope.path.as_ref().is_none_or(|query| is_at(query, change))
}

fn is_at(query: &Query, change: &Change) -> bool {
    change.place.is_within(query)
        || change.items.iter().any(|item| {
            let word = query.finds();
            let name = item.what.strip_prefix("module ").unwrap_or(&item.what);
            let mut place = change.place.clone();
            place.path.push((word, name.to_owned()));
            place.is_within(query)
        })
}

fn finding(context: &Context<'_>, rule: &Rule, change: &Change) -> Option<Finding> {
    let more = match change.rule {
        StructureRule::GoneOp | StructureRule::GoneKernel | StructureRule::GraphReplayLost => {
            change.before.saturating_sub(change.after)
        }
        StructureRule::DtypeChange | StructureRule::ShapeChange => change.after,
        StructureRule::KernelsPerCall
        | StructureRule::NewKernel
        | StructureRule::LaunchesPerStep
        | StructureRule::NewSync
        | StructureRule::NewCopy
        | StructureRule::LostFusion
        | StructureRule::NewOp
        | StructureRule::Collectives
        | StructureRule::GraphBreaks => change.after.saturating_sub(change.before),
    };
    let is_within = |limit: Limit| more as f64 <= limit.above(change.before as f64);
    if rule.allowed.is_some_and(is_within) {
        return None;
    }
    let permission = context.permission(rule.rule.label(), |query| is_at(query, change));
    let (state, remark) = permission.state(rule.severity);
    let mut evidence: Vec<String> = change
        .items
        .iter()
        .take(TOLD)
        .map(|item| format!("{}: {} → {}", item.what, item.before, item.after))
        .collect();
    if change.items.len() > TOLD {
        evidence.push(format!("and {} more", change.items.len() - TOLD));
    }
    if change.launches != 0 {
        evidence.push(format!("{:+} launches in a step", change.launches));
    }
    let first = change.items.first();
    Some(Finding {
        place: change.place.clone(),
        what: format!("{}: {}", change.rule.words(), first.map_or("", |item| item.what.as_str())),
        before: first.map(|item| item.before.clone()).unwrap_or_default(),
        after: first.map(|item| item.after.clone()).unwrap_or_default(),
        limit: rule.allowed.map_or_else(|| "no more".to_owned(), |limit| format!("{limit} more")),
        evidence,
        site: change.site.clone(),
        state,
        remark,
    })
}

/// Launches of a whole step, or of a scope: what no change of a place explains, or what the user allows.
fn launches(context: &Context<'_>, rule: &Rule, explained: i64) -> Option<Finding> {
    let before = launches_of(context.baseline, &rule.scope);
    let after = launches_of(context.candidate, &rule.scope);
    if !after.is_above(before) {
        return None;
    }
    let more = after.usual as i64 - before.usual as i64;
    let is_broken = match (rule.allowed, context.rules.structure.contains(rule)) {
        (Some(limit), _) => more as f64 > limit.above(before.usual as f64),
        (None, true) => true,
        (None, false) => more > explained.max(0),
    };
    if !is_broken {
        return None;
    }
    let permission = context.permission(rule.rule.label(), |_| true);
    let (state, remark) = permission.state(rule.severity);
    Some(Finding {
        place: Place::default(),
        what: "more launches in a step".to_owned(),
        before: before.to_string(),
        after: after.to_string(),
        limit: rule.allowed.map_or_else(|| "no more".to_owned(), |limit| format!("{limit} more")),
        evidence: vec![format!("{explained:+} are of changes at places")],
        site: None,
        state,
        remark,
    })
}

fn launches_of(digest: &Digest, scope: &Scope) -> Range {
    if scope.is_all() {
        return digest.counts.get("launches").copied().unwrap_or_default();
    }
    let roots = match &scope.path {
        Some(query) => digest.find(query),
        None => vec![digest.root],
    };
    let mut counted = std::collections::BTreeSet::new();
    let below = roots.into_iter().flat_map(|id| id.descendants(&digest.tree));
    below
        .filter(|&id| counted.insert(usize::from(id)))
        .map(|id| digest.node(id))
        .filter(|node| scope.phase.as_ref().is_none_or(|phase| *phase == node.phase))
        .fold(Range::default(), |sum, node| sum.plus(node.launches))
}
