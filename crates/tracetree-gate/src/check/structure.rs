//! Checks the changes between two programs against the structural rules. Returns one finding for each change that
//! violates a rule, and one check for each rule.

use super::context::{Context, MANY_STEPS};
use super::effects::Scale;
use super::find::selects_no_call;
use super::health::has_other_captures;
use super::shift::micros;
use super::sites::{ChangeSite, Finder, argument};
use super::work::Work;
use super::{Check, Finding, FindingSite, State, worst};
use crate::rules::{Rule, Scope, Severity, StructureRule};
use std::collections::{BTreeMap, BTreeSet};
use tracetree::analysis::Analysis;
use tracetree::analysis::changes::{Change, ChangeKind};
use tracetree::analysis::steps::WallBasis;
use tracetree::program::{Query, Word};
use tracetree::side::{PerSide, Side};
use tracetree::tree::{CallId, CallKind};

/// The findings about structural changes, and one check per structural rule.
pub(super) fn checks(context: &Context<'_>, analysis: &Analysis) -> (Vec<Finding>, Vec<Check>) {
    let judge = Judge::new(context, analysis);
    let mut checks: Vec<Check> = judge.rules.iter().map(|rule| empty(context, rule)).collect();
    let mut findings = Vec::new();
    let mut explained: PerSide<Work> = PerSide::default();
    // Changes of the recording options are skipped: they say nothing about the program, and a baseline file stores only
    // some of the options.
    let list = analysis.changes().list().iter();
    // Changes in memory use are skipped: memory has its own rules, and baselines do not store the state of the
    // allocator.
    let is_of_memory =
        |change: &&Change| change.kind == ChangeKind::Allocator && change.nodes.is_empty();
    let is_of_program = |change: &&Change| change.kind != ChangeKind::Recording;
    for change in list.filter(is_of_program).filter(|change| !is_of_memory(change)) {
        let sites = judge.finder.sites(change);
        let work = sum(&sites);
        Side::BOTH.into_iter().for_each(|side| explained[side].plus(&work[side]));
        judge.add(change, &sites, &work, &mut findings, &mut checks);
    }
    for (at, rule) in judge.rules.iter().enumerate() {
        if checks[at].state != State::Inconclusive
            && rule.severity != Severity::Off
            && let Some(finding) = judge.unexplained(rule, &explained)
        {
            checks[at].add(finding.state, findings.len());
            findings.push(finding);
        }
    }
    if let Some((finding, states)) = judge.in_some_steps(&explained) {
        states.into_iter().for_each(|(at, state)| checks[at].add(state, findings.len()));
        findings.push(finding);
    }
    let is_on = |check: &Check| check.severity != Severity::Off;
    (findings, checks.into_iter().filter(is_on).collect())
}

fn sum(sites: &[ChangeSite]) -> PerSide<Work> {
    let mut all: PerSide<Work> = PerSide::default();
    for site in sites {
        Side::BOTH.into_iter().for_each(|side| all[side].plus(&site.work[side]));
    }
    all
}

fn usual(rule: StructureRule) -> Rule {
    Rule { rule, scope: Scope::default(), allowed: None, severity: rule.usual() }
}

/// A check that has no findings yet.
fn empty(context: &Context<'_>, rule: &Rule) -> Check {
    let sides = [context.baseline, context.candidate];
    let is_of_arguments = matches!(
        rule.rule,
        StructureRule::DtypeChange
            | StructureRule::ShapeChange
            | StructureRule::LayoutChange
            | StructureRule::Kind(
                ChangeKind::Precision | ChangeKind::Shapes | ChangeKind::MemoryFormat
            )
    );
    let is_asked = context.rules.structure.contains(rule);
    // Without captures, kernels at a graph launch have no ops, so missing shapes are not a recording error.
    let has_some_shapes =
        !has_other_captures(context) && sides.iter().any(|side| side.setup.has_shapes);
    let of_modules = |query: &Query| query.words().any(|word| word == Word::Module);
    let nothing = (!rule.scope.is_all()).then(|| selects_no_call(sides, &rule.scope)).flatten();
    let unknown = match &rule.scope {
        _ if nothing.is_some() => nothing,
        scope
            if scope.path.as_ref().is_some_and(of_modules)
                && !sides.iter().all(|side| side.setup.has_modules) =>
        {
            Some(
                "At least one side has no modules. Record both using with_stack and with_modules"
                    .to_owned(),
            )
        }
        // If shapes were not recorded on either side, a rule about shapes is inconclusive if the user configured the
        // rule; otherwise it passes.
        _ if is_of_arguments
            && !sides.iter().all(|side| side.setup.has_shapes)
            && (is_asked || has_some_shapes) =>
        {
            Some("At least one side has no shapes. Record both using record_shapes".to_owned())
        }
        _ => None,
    };
    let check = Check::new(rule.rule.label(), rule.scope.words(), rule.severity);
    match unknown {
        Some(why) => check.undecided(why),
        None => Check { message: rule.rule.words().to_owned(), ..check },
    }
}

/// A violation at a call site: the index of the rule that covers the call site, and the effect of the change that
/// violates the rule.
type Violation = (usize, StructureRule);

pub(super) struct Judge<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) analysis: &'a Analysis,
    finder: Finder<'a>,
    pub(super) scale: Scale,
    pub(super) rules: Vec<Rule>,
    /// For each rule, the calls that the path of the rule selects; `None` if the rule has no path.
    of_rules: Vec<Option<PerSide<Vec<CallId>>>>,
    /// For each `allow` entry, the calls that the path of the entry selects; `None` if the entry has no path.
    of_allow: Vec<Option<PerSide<Vec<CallId>>>>,
}

impl<'a> Judge<'a> {
    fn new(context: &'a Context<'a>, analysis: &'a Analysis) -> Judge<'a> {
        let mut rules: Vec<Rule> = StructureRule::ALL.into_iter().map(usual).collect();
        for rule in &context.rules.structure {
            let is_same = |known: &&mut Rule| known.rule == rule.rule && known.scope.is_all();
            // A configured rule without a scope replaces the default rule of the same name.
            match rules.iter_mut().find(is_same).filter(|_| rule.scope.is_all()) {
                Some(known) => known.clone_from(rule),
                None => rules.push(rule.clone()),
            }
        }
        let finder = Finder::new(analysis);
        let selected = |path: Option<&Query>| path.map(|query| finder.selected(query));
        let has = |is_it: fn(CallKind) -> bool| {
            Side::BOTH.into_iter().any(|side| {
                let tree = analysis.tree(side);
                tree.calls().any(|call| is_it(tree.kind(call)))
            })
        };
        Judge {
            scale: Scale {
                steps: PerSide::from_fn(|side| analysis.wall().totals(side).steps.max(1)),
                has_runtime: has(|kind| kind == CallKind::Runtime),
                has_gpu: has(|kind| kind == CallKind::Gpu),
            },
            of_rules: rules.iter().map(|rule| selected(rule.scope.path.as_ref())).collect(),
            of_allow: context.rules.allow.iter().map(|a| selected(a.path.as_ref())).collect(),
            context,
            analysis,
            finder,
            rules,
        }
    }

    /// The index of the last rule of the given kind that covers a call site.
    pub(super) fn covering(&self, rule: StructureRule, site: Option<&ChangeSite>) -> Option<usize> {
        self.rules.iter().enumerate().rposition(|(at, known)| {
            known.rule == rule
                && match site {
                    None => known.scope.is_all(),
                    Some(site) => self.covers(at, site),
                }
        })
    }

    fn covers(&self, at: usize, site: &ChangeSite) -> bool {
        let scope = &self.rules[at].scope;
        scope.phase.as_ref().is_none_or(|phase| *phase == site.place.phase)
            && scope.category.as_ref().is_none_or(|category| *category == site.category)
            && self.of_rules[at].as_ref().is_none_or(|found| self.finder.is_at(site, found))
    }

    /// Adds a finding for a change, unless every rule that the change violates is switched off or tolerates an increase
    /// of this size.
    fn add(
        &self,
        change: &Change,
        all: &[ChangeSite],
        work: &PerSide<Work>,
        findings: &mut Vec<Finding>,
        checks: &mut [Check],
    ) {
        let effects = self.scale.effects(change.kind, work, all);
        let varies = self
            .steps_of(all, work)
            .or_else(|| self.varies(change.kind, all))
            .or_else(|| self.rearranged(&effects, work));
        let is_excused = varies.is_some() && !self.is_new_in_steps(all, work);
        // A change without call sites is checked against the rules without a scope.
        let sites: Vec<Option<&ChangeSite>> =
            if all.is_empty() { vec![None] } else { all.iter().map(Some).collect() };
        let mut of_rules: BTreeMap<Violation, Vec<usize>> = BTreeMap::new();
        for (number, site) in sites.iter().enumerate() {
            // A rule that the user configured for this kind of change takes precedence over rules about effects,
            // because it is more specific.
            let kind = Some(StructureRule::Kind(change.kind));
            let kind = kind.filter(|kind| !StructureRule::ALL.contains(kind));
            let of_kind = kind.and_then(|kind| self.covering(kind, *site));
            let effects = effects.iter().filter_map(|&effect| {
                let at = of_kind.or_else(|| self.covering(effect, *site))?;
                Some((at, effect))
            });
            effects.for_each(|violation| of_rules.entry(violation).or_default().push(number));
        }
        let mut listed: Vec<(State, StructureRule, usize, String)> = Vec::new();
        let mut of_sites: Vec<Option<State>> = vec![None; sites.len()];
        for (&(at, effect), numbers) in &of_rules {
            let rule = &self.rules[at];
            let here = || numbers.iter().filter_map(|&number| sites[number]);
            let more = if matches!(rule.rule, StructureRule::Kind(_)) || here().count() == 0 {
                numbers.len() as f64
            } else {
                here().map(|site| self.scale.worse(effect, &site.work)).sum()
            };
            if rule.allowed.is_some_and(|limit| more <= limit.above(self.before(effect, here()))) {
                continue;
            }
            for &number in numbers {
                let names = [effect.label(), change.kind.label()];
                let (mut state, remark) = self.context.state(&names, rule.severity, |entry| {
                    self.of_allow[entry].as_ref().is_none_or(|found| {
                        sites[number].is_some_and(|site| self.finder.is_at(site, found))
                    })
                });
                if is_excused && state == State::Failed {
                    state = State::Warned;
                }
                if state != State::Passed {
                    of_sites[number] = worst(of_sites[number], state);
                    listed.push((state, effect, at, remark));
                }
            }
        }
        let Some(state) = listed.iter().fold(None, |all, (state, ..)| worst(all, *state)) else {
            return;
        };
        for (own, _, at, _) in &listed {
            checks[*at].add(*own, findings.len());
        }
        let is_it = |(own, ..): &&(State, StructureRule, usize, String)| *own == state;
        let mut rules: Vec<StructureRule> =
            listed.iter().filter(is_it).map(|(_, effect, ..)| *effect).collect();
        rules.sort_unstable();
        rules.dedup();
        let remark = listed.iter().find(is_it).map(|(.., remark)| remark.clone());
        let shown = (0..sites.len()).filter(|&number| of_sites[number] == Some(state));
        findings.push(Finding {
            kind: change.kind.label().to_owned(),
            rules: rules.into_iter().map(|rule| rule.label().to_owned()).collect(),
            what: change.sentence.clone(),
            before: String::new(),
            after: String::new(),
            limit: String::new(),
            evidence: self.evidence(change, work, varies),
            sites: shown.filter_map(|number| sites[number]).map(|s| self.shown(s)).collect(),
            state,
            remark: remark.unwrap_or_default(),
        });
    }

    /// The baseline value that a percentage in a rule applies to, such as the number of kernels per step.
    fn before<'s>(
        &self,
        effect: StructureRule,
        sites: impl Iterator<Item = &'s ChangeSite>,
    ) -> f64 {
        let none = Work::default;
        sites
            .map(|site| {
                let before = PerSide::new(none(), site.work.baseline.clone());
                self.scale.worse(effect, &before).abs()
            })
            .sum()
    }

    fn shown(&self, site: &ChangeSite) -> FindingSite {
        let calls = Side::BOTH.map(|side| site.calls[side].len() as u64);
        FindingSite {
            place: site.place.clone(),
            what: site.what.clone(),
            calls: calls[0].max(calls[1]),
            line: site.site.clone(),
        }
    }

    /// A remark that only some compared steps contain the changed calls; `None` if all steps contain them.
    fn steps_of(&self, sites: &[ChangeSite], work: &PerSide<Work>) -> Option<String> {
        if self.analysis.compared().basis() == WallBasis::Events {
            return None;
        }
        let with = self.steps_with(sites);
        let (with, all) = (with.baseline.max(with.candidate), self.scale.steps.candidate);
        let is_some = 0 < with && with < all;
        if !self.is_new_in_steps(sites, work) {
            return is_some
                .then(|| format!("in {with} of {all} steps, so the change varies within a run"));
        }
        let of_runs = self.steps_of_runs(work);
        let all_runs = self.context.candidate.steps();
        let (with, all) = if of_runs > with { (of_runs, all_runs) } else { (with, all) };
        is_some.then(|| format!("in {with} of {all} steps, but in no step of the baseline"))
    }

    /// The number of steps of each side that contain the changed calls.
    fn steps_with(&self, sites: &[ChangeSite]) -> PerSide<u64> {
        PerSide::from_fn(|side| {
            let calls = sites.iter().flat_map(|site| &site.calls[side]);
            let steps = self.analysis.diff().steps(side);
            calls.filter_map(|&call| steps.step(call)).collect::<BTreeSet<_>>().len() as u64
        })
    }

    /// The number of steps of all runs of the candidate that contain new calls of an op. Only the median run is aligned,
    /// so the calls of the other runs are counted.
    fn steps_of_runs(&self, work: &PerSide<Work>) -> u64 {
        let names = work.candidate.op_names.iter();
        names.map(|name| self.context.steps_with_more(name).len() as u64).max().unwrap_or(0)
    }

    /// Whether several steps of the candidate contain work that no step of the baseline contains. This is a change of
    /// the program (such as logging in every second step), and not a variation within a run, unless the ops also vary in
    /// the baseline.
    fn is_new_in_steps(&self, sites: &[ChangeSite], work: &PerSide<Work>) -> bool {
        let with = self.steps_with(sites);
        // Only ops are known in the runs of the baseline that are not aligned.
        let has_ops = !work.candidate.op_names.is_empty();
        let of_baseline = if has_ops { self.context.baseline.steps() } else { 0 };
        let varies = |name: &String| {
            let of_baseline = self.context.baseline.ops.get(name);
            of_baseline.is_some_and(|calls| calls.is_variable())
        };
        self.context.rules.intermittent == Severity::Error
            && self.analysis.compared().basis() == WallBasis::Steps
            && with.baseline == 0
            && (1..self.scale.steps.candidate).contains(&with.candidate)
            && with.candidate.max(self.steps_of_runs(work)) >= MANY_STEPS.candidate
            && self.scale.steps.baseline.max(of_baseline) >= MANY_STEPS.baseline
            && !work.candidate.op_names.iter().any(varies)
    }

    /// A remark that the arguments of all changed ops also vary between steps of the same side; `None` if the arguments
    /// of at least one of these ops do not vary.
    fn varies(&self, kind: ChangeKind, sites: &[ChangeSite]) -> Option<String> {
        argument(kind)?;
        let mut names = Side::BOTH.into_iter().flat_map(|side| {
            let calls = sites.iter().flat_map(move |site| &site.calls[side]);
            calls.map(move |&call| self.analysis.diff().plain_name(side, call))
        });
        let sides = [self.context.baseline, self.context.candidate];
        let is_varying = |name: &str| sides.iter().any(|side| side.varying.contains(name));
        (!sites.is_empty() && names.all(is_varying))
            .then(|| "the arguments also vary between steps on the same side".to_owned())
    }

    /// A remark that only the order or nesting of ops changed; `None` if anything else changed.
    fn rearranged(&self, effects: &[StructureRule], work: &PerSide<Work>) -> Option<String> {
        if !self.scale.has_same_work(effects, work) {
            return None;
        }
        let sides = [self.context.baseline, self.context.candidate];
        // If a trace records times in whole microseconds, it may be ambiguous which of two short calls contains the
        // other, so only the numbers of calls per step are compared.
        let is_coarse = sides.iter().any(|side| side.facts.runs.iter().any(|run| run.is_coarse));
        let mut names = work.baseline.op_names.union(&work.candidate.op_names);
        let is_as_often = |name: &String| {
            let [one, two] = sides.map(|side| side.ops.get(name).copied().unwrap_or_default());
            !one.is_above(two) && !two.is_above(one)
        };
        let is_equal = self.scale.has_same_ops(work);
        (is_equal || is_coarse && names.all(is_as_often)).then(|| REARRANGED.to_owned())
    }

    /// The price of this change in the bill; the attributed time if the runs cannot be replayed.
    fn price(&self, change: &Change) -> String {
        let mut changes = self.analysis.changes().list().iter();
        let at = changes.position(|known| std::ptr::eq(known, change));
        match at.and_then(|at| self.analysis.bill().price_of_change(at)) {
            Some(price) => format!("price {} per step, by replay", signed(price.as_micros())),
            None => format!("attributed {} per step", signed(change.cost.as_micros())),
        }
    }

    fn evidence(
        &self,
        change: &Change,
        work: &PerSide<Work>,
        varies: Option<String>,
    ) -> Vec<String> {
        let mut evidence = vec![self.price(change)];
        evidence.extend(varies);
        for (one, several, count) in [
            ("launch", "launches", work.as_ref().map(|work| work.launches)),
            ("wait", "waits", work.as_ref().map(|work| work.waits)),
            ("copy", "copies", work.as_ref().map(|work| work.copies)),
        ] {
            let more = self.scale.difference(count);
            if more != 0.0 {
                let name = if more.abs() == 1.0 { one } else { several };
                evidence.push(format!("{:+} {name} per step", rounded(more)));
            }
        }
        if !change.place.is_empty() {
            evidence.push(format!("first {}", change.place));
        }
        if !change.usual().is_empty() {
            evidence.push(format!("usually {}", change.usual()));
        }
        if !change.inferred().is_empty() {
            evidence.push(change.inferred().to_owned());
        }
        evidence
    }
}

const REARRANGED: &str = "each op and each kernel runs as often as before";

pub(super) fn rounded(count: f64) -> f64 {
    (count * 10.0).round() / 10.0 + 0.0
}

pub(super) fn signed(time: f64) -> String {
    if time > 0.0 { format!("+{}", micros(time)) } else { micros(time).replace('-', "−") }
}
