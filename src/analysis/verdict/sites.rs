//! [`Analysis`] → where in the program time changed: its rows by op, arguments and module, judged.
//!
//! A site is an op of the program: the rows of one name, with one set of arguments, in one module;
//! backward work belongs to the module of its forward op. The sites of one module are one place. The
//! repeats of a site are the steps where both traces have at least two of them, so that a site is
//! the work of one module instance; else they are its calls, and modules of one class are one site.

use super::{Judgement, Question, Thresholds, Work, judge};
use crate::analysis::{Analysis, Row};
use crate::program::{Measure, Steps};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::{CallId, CallTree, ModuleName};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// What the repeats of a verdict are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Repeats {
    /// Steps: both traces have at least two.
    Steps,
    /// Calls within one step.
    Calls,
}

impl Repeats {
    /// `steps` or `calls`.
    pub fn label(self) -> &'static str {
        match self {
            Repeats::Steps => "steps",
            Repeats::Calls => "calls",
        }
    }
}

/// One place of the program, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name of its rows.
    pub name: String,
    /// The innermost `nn.Module` around it, or its class where calls are the repeats; empty where
    /// there is none.
    pub module: PerSide<String>,
    /// Position of its first row.
    pub first_row: usize,
    /// Number of rows.
    pub row_count: u64,
    /// Sum of their times; adds up to the account over all sites.
    pub time: PerSide<Nanos>,
    /// The verdict and its evidence.
    pub judgement: Judgement,
}

/// The verdicts on a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdicts {
    /// What the repeats are.
    pub repeats: Repeats,
    /// Steps of each side.
    pub steps: PerSide<usize>,
    /// The least difference that matters, per step where steps are the repeats.
    pub least: Nanos,
    /// All accounted time.
    pub total: Judgement,
    /// All sites: largest difference first.
    pub sites: Vec<Site>,
}

impl Verdicts {
    /// The sites that changed, as far as the evidence supports it; largest difference first.
    pub fn changes(&self) -> impl Iterator<Item = &Site> {
        self.sites.iter().filter(|site| site.judgement.verdict.is_change())
    }

    /// Number of places that changed: modules with a change, and changes outside of all modules.
    pub fn changed_places(&self) -> usize {
        let (inside, outside): (Vec<&Site>, Vec<&Site>) =
            self.changes().partition(|site| site.has_module());
        inside.iter().map(|site| site.place()).collect::<BTreeSet<_>>().len() + outside.len()
    }
}

impl Site {
    fn has_module(&self) -> bool {
        !self.place().is_empty()
    }

    /// The module, by the baseline's name where it has one.
    fn place(&self) -> &str {
        let PerSide { baseline, candidate } = &self.module;
        if baseline.is_empty() { candidate } else { baseline }
    }
}

impl Analysis {
    /// The verdicts with the thresholds of the analysis.
    pub fn judged(&self) -> &Verdicts {
        self.cached.verdicts.get_or_init(|| self.verdicts(self.thresholds()))
    }

    /// Judges the total and each site.
    pub fn verdicts(&self, thresholds: &Thresholds) -> Verdicts {
        let steps = PerSide::from_fn(|side| self.steps(side));
        let counts = steps.map(Steps::len);
        let repeats = match counts.baseline.min(counts.candidate) {
            0 | 1 => Repeats::Calls,
            2.. => Repeats::Steps,
        };
        let sampler = Sampler { analysis: self, steps, repeats };
        let totals = sampler.total();
        let least = thresholds.least(totals.time);
        let drafts = sampler.sites();
        let questions: Vec<Question> = drafts.iter().map(|draft| draft.question.clone()).collect();
        let judged = judge(&questions, least, thresholds);
        let mut sites: Vec<Site> =
            drafts.into_iter().zip(judged).map(|(draft, judged)| draft.site(judged)).collect();
        sites.sort_by_key(|site| {
            let difference = site.time.candidate - site.time.baseline;
            (std::cmp::Reverse(difference.abs()), site.first_row)
        });
        let total = judge(&[totals], least, thresholds)[0];
        Verdicts { repeats, steps: counts, least, total, sites }
    }
}

impl Analysis {
    /// Judges groups of accounted events at once: `group` tells the group, below `count`, of each
    /// accounted call. The repeats are the steps; without at least two of them on both sides every
    /// group has one sample, and only other work can support a change.
    pub fn judge_groups(
        &self,
        count: usize,
        group: impl Fn(Side, CallId) -> usize,
    ) -> Vec<Judgement> {
        let steps = PerSide::from_fn(|side| self.steps(side));
        let by_step = steps.baseline.len().min(steps.candidate.len()) > 1;
        let repeats = if by_step { Repeats::Steps } else { Repeats::Calls };
        let sampler = Sampler { analysis: self, steps, repeats };
        let works: Vec<Work> = self.rows().iter().map(|row| sampler.judged_work(row)).collect();
        let mut drafts = vec![GroupDraft::default(); count];
        for side in Side::BOTH {
            for &call in self.accounted_calls(side) {
                let row = self.row_index(side, call).expect("accounted calls have a row");
                let draft = &mut drafts[group(side, call)];
                draft.calls[side].push(call);
                if works[row] != Work::Same {
                    draft.changed[side] += self.time_of(side, call);
                }
            }
        }
        let questions: Vec<Question> =
            drafts.iter().map(|draft| draft.question(&sampler)).collect();
        let least = self.thresholds().least(sampler.total().time);
        judge(&questions, least, self.thresholds())
    }
}

/// The accounted events of a group.
#[derive(Debug, Clone, Default)]
struct GroupDraft {
    calls: PerSide<Vec<CallId>>,
    /// Time in rows whose work changed, or that one side has alone.
    changed: PerSide<Nanos>,
}

impl GroupDraft {
    fn question(&self, sampler: &Sampler<'_>) -> Question {
        let time = PerSide::from_fn(|side| {
            self.calls[side].iter().map(|&call| sampler.analysis.time_of(side, call)).sum::<Nanos>()
        });
        let is_empty = |side: Side| self.calls[side].is_empty();
        let work = match is_empty(Side::Baseline) || is_empty(Side::Candidate) {
            true => Work::OneSided,
            false => explained(sampler.normalised(time), sampler.normalised(self.changed)),
        };
        Question {
            samples: PerSide::from_fn(|side| match sampler.repeats {
                Repeats::Steps => sampler.in_steps(self.calls[side].iter().copied(), side),
                Repeats::Calls => vec![time[side].as_micros()],
            }),
            time: sampler.normalised(time),
            work,
        }
    }
}

/// A site before it is judged.
struct Draft {
    name: String,
    module: PerSide<String>,
    first_row: usize,
    row_count: u64,
    time: PerSide<Nanos>,
    question: Question,
}

impl Draft {
    fn site(self, judgement: Judgement) -> Site {
        Site {
            name: self.name,
            module: self.module,
            first_row: self.first_row,
            row_count: self.row_count,
            time: self.time,
            judgement,
        }
    }
}

/// Forms the samples of rows.
struct Sampler<'a> {
    analysis: &'a Analysis,
    steps: PerSide<&'a Steps>,
    repeats: Repeats,
}

impl Sampler<'_> {
    fn total(&self) -> Question {
        let rows: Vec<&Row> = self.analysis.rows().iter().collect();
        // Calls of different ops are no repeats of each other: the total has one sample then.
        let samples = match self.repeats {
            Repeats::Steps => PerSide::from_fn(|side| self.by_step(&rows, side)),
            Repeats::Calls => PerSide::from_fn(|side| vec![sum(&rows, side).as_micros()]),
        };
        let other: Vec<&Row> =
            rows.iter().copied().filter(|row| self.judged_work(row) != Work::Same).collect();
        let work = explained(self.per_repeat(&rows), self.per_repeat(&other));
        Question { samples, time: self.per_repeat(&rows), work }
    }

    fn sites(&self) -> Vec<Draft> {
        let forward = PerSide::from_fn(|side| forward_ops(self.analysis.tree(side)));
        let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, row) in self.analysis.rows().iter().enumerate() {
            let key = (
                self.analysis.row_name(row),
                self.analysis.argument_texts(row),
                Side::BOTH.map(|side| self.module(row, side, &forward[side])),
            );
            groups.entry(key).or_default().push(at);
        }
        let mut drafts: Vec<Draft> = groups
            .into_iter()
            .map(|((name, _, [baseline, candidate]), rows)| {
                self.draft(name, PerSide::new(baseline, candidate), &rows)
            })
            .collect();
        drafts.sort_by_key(|draft| draft.first_row);
        drafts
    }

    fn draft(&self, name: String, module: PerSide<String>, at: &[usize]) -> Draft {
        let rows: Vec<&Row> = at.iter().map(|&at| &self.analysis.rows()[at]).collect();
        let samples = PerSide::from_fn(|side| match self.repeats {
            Repeats::Steps => self.by_step(&rows, side),
            Repeats::Calls => by_call(&rows, side),
        });
        let work = rows.iter().map(|row| self.judged_work(row)).max().unwrap_or(Work::Same);
        let has = PerSide::from_fn(|side| rows.iter().any(|row| !row.events[side].is_empty()));
        let work = match (work, has.baseline && has.candidate) {
            (_, false) => Work::OneSided,
            (Work::OneSided, true) => Work::Changed,
            (work, true) => work,
        };
        Draft {
            name,
            module,
            first_row: at[0],
            row_count: at.len() as u64,
            time: PerSide::from_fn(|side| sum(&rows, side)),
            question: Question { samples, time: self.judged_time(&rows, work), work },
        }
    }

    /// What both sides of a row did, as far as it says something about the work of a step.
    fn judged_work(&self, row: &Row) -> Work {
        match self.work(row) {
            Work::OneSided if self.is_of_surplus_steps(&[row]) => Work::Same,
            work @ (Work::OneSided | Work::Changed | Work::Same) => work,
        }
    }

    /// The time that is judged: none where the work is one-sided only because one side has more
    /// steps.
    fn judged_time(&self, rows: &[&Row], work: Work) -> PerSide<Nanos> {
        match work == Work::OneSided && self.is_of_surplus_steps(rows) {
            true => PerSide::default(),
            false => self.per_repeat(rows),
        }
    }

    /// Whether rows have work in at most as many steps as their side has more than the other.
    fn is_of_surplus_steps(&self, rows: &[&Row]) -> bool {
        let counts = self.steps.map(Steps::len);
        Side::BOTH.into_iter().any(|side| {
            let surplus = counts[side].saturating_sub(counts[side.other()]);
            if surplus == 0 || counts[side.other()] == 0 {
                return false;
            }
            let busy = self.by_step(rows, side).into_iter().filter(|&time| time > 0.0).count();
            (1..=surplus).contains(&busy)
        })
    }

    fn module(&self, row: &Row, side: Side, forward: &FxHashMap<CallId, CallId>) -> String {
        let tree = self.analysis.tree(side);
        let forward_of = |call| {
            let mut above = std::iter::once(call).chain(tree.ancestors(call));
            above.find_map(|call| forward.get(&call).copied())
        };
        let module = row.calls[side]
            .and_then(|call| tree.module(call).or_else(|| tree.module(forward_of(call)?)));
        let name = module.map_or("", |module| tree.name(module));
        match self.repeats {
            Repeats::Calls => ModuleName::class_or_name(name).to_owned(),
            Repeats::Steps => ModuleName::instance_or_name(name).to_owned(),
        }
    }

    /// Whether both sides of a row did the same.
    fn work(&self, row: &Row) -> Work {
        if Side::BOTH.iter().any(|&side| row.events[side].is_empty()) {
            return Work::OneSided;
        }
        let texts = self.analysis.argument_texts(row);
        let is_other = |pair: &[&str; 2]| pair[0] != pair[1] && !pair.iter().any(|t| t.is_empty());
        match texts.iter().any(is_other) || self.runs_other_kernels(row) {
            true => Work::Changed,
            false => Work::Same,
        }
    }

    fn runs_other_kernels(&self, row: &Row) -> bool {
        let names = PerSide::from_fn(|side| {
            let mut names = self.analysis.event_names(row, side);
            names.sort_unstable();
            names
        });
        self.analysis.measure() == Measure::GpuTime && names.baseline != names.candidate
    }

    fn by_step(&self, rows: &[&Row], side: Side) -> Vec<f64> {
        self.in_steps(rows.iter().flat_map(|row| &row.events[side]).copied(), side)
    }

    /// Time in each step of a side, in µs. A step without any of the work counts as 0.
    fn in_steps(&self, calls: impl Iterator<Item = CallId>, side: Side) -> Vec<f64> {
        let mut times = vec![Nanos::ZERO; self.steps[side].len()];
        for call in calls {
            if let Some(step) = self.steps[side].step(call) {
                times[step.index()] += self.analysis.time_of(side, call);
            }
        }
        times.into_iter().map(Nanos::as_micros).collect()
    }

    fn per_repeat(&self, rows: &[&Row]) -> PerSide<Nanos> {
        self.normalised(PerSide::from_fn(|side| sum(rows, side)))
    }

    /// The whole time; per step where both sides have steps.
    fn normalised(&self, time: PerSide<Nanos>) -> PerSide<Nanos> {
        let counts = self.steps.map(|steps| steps.len() as i64);
        match counts.baseline.min(counts.candidate) > 0 {
            true => PerSide::from_fn(|side| Nanos(time[side].0 / counts[side])),
            false => time,
        }
    }
}

/// Whether the work that changed explains a difference: at least half of it, in its direction.
/// A small change of the work must not make a verdict of noise in the rest.
fn explained(time: PerSide<Nanos>, changed: PerSide<Nanos>) -> Work {
    let difference = time.candidate - time.baseline;
    let share = changed.candidate - changed.baseline;
    let is_same_direction = share.0.signum() == difference.0.signum();
    match is_same_direction && share != Nanos::ZERO && share.abs() + share.abs() >= difference.abs()
    {
        true => Work::Changed,
        false => Work::Same,
    }
}

/// The forward op of each outermost backward op.
fn forward_ops(tree: &CallTree) -> FxHashMap<CallId, CallId> {
    tree.backward_links().into_iter().map(|(forward, backward)| (backward, forward)).collect()
}

fn sum(rows: &[&Row], side: Side) -> Nanos {
    rows.iter().map(|row| row.time[side]).sum()
}

fn by_call(rows: &[&Row], side: Side) -> Vec<f64> {
    let with_work = rows.iter().filter(|row| !row.events[side].is_empty());
    with_work.map(|row| row.time[side].as_micros()).collect()
}
