//! The rows of an [`Analysis`](crate::analysis::Analysis) → its places, each with its samples, before
//! they are judged.
//!
//! A place is the rows of one name, with one set of shapes and types, in one module instance (of one
//! module class, where there are no steps to tell instances by); backward work belongs to the module
//! of its forward op. A row that one side has alone belongs to the place whose rows look the same on
//! that side: a further step, or a further call, of the same op. Where the rows of further steps look like
//! no others, as they stand at the outermost op and not at the lowest common one, only steps that have
//! a partner are samples.

use super::family::{Family, Question};
use super::judgement::{Repeats, Thresholds, Work};
use super::sampler::Sampler;
use super::site::Site;
use crate::analysis::Row;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Arguments, Nanos, TextId};
use crate::tree::{CallId, CallTree, ModuleName};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A site before it is judged.
pub(super) struct Draft {
    name: String,
    module: PerSide<String>,
    pub(super) rows: Vec<usize>,
    time: PerSide<Nanos>,
    pub(super) work: Work,
    pub(super) question: Question,
}

impl Draft {
    /// The site, with the verdict on it.
    pub(super) fn judged(self, family: &Family, thresholds: &Thresholds) -> Site {
        let judgement = family.judge(&self.question, thresholds);
        let Draft { name, module, rows, time, work, question } = self;
        Site { name, module, rows, time, work, question, judgement }
    }
}

/// What tells the rows of one place from those of another, on one side: shapes, types and module.
type Look<'a> = (&'a str, &'a str, String);

/// Name and looks of a place; `None` where a side has nothing.
type Key<'a> = (String, [Option<Look<'a>>; 2]);

/// A row that one side has alone: its position, its name, which side, and what it looks like there.
type Alone<'a> = (usize, String, usize, Look<'a>);

impl Sampler<'_> {
    /// The places, by their first row.
    pub(super) fn drafts(&self) -> Vec<Draft> {
        let (mut groups, alone) = self.rows_by_look();
        let mut likes: BTreeMap<(String, usize, Look<'_>), (usize, Key<'_>)> = BTreeMap::new();
        for (key, rows) in &groups {
            for (side, look) in key.1.iter().enumerate() {
                let Some(look) = look else { continue };
                let like = likes.entry((key.0.clone(), side, look.clone()));
                let first = like.or_insert_with(|| (rows[0], key.clone()));
                if rows[0] < first.0 {
                    *first = (rows[0], key.clone());
                }
            }
        }
        for (at, name, side, look) in alone {
            let both = (name.clone(), [Some(look.clone()), Some(look.clone())]);
            let like = likes.get(&(name, side, look)).map_or(both, |(_, key)| key.clone());
            groups.entry(like).or_default().push(at);
        }
        let is_other = |rows: &[usize]| {
            rows.iter().all(|&at| self.analysis.is_of_other_steps(&self.analysis.rows()[at]))
        };
        let all_steps = !groups.values().any(|rows| is_other(rows));
        let sampler = Sampler { all_steps, ..*self };
        let mut drafts: Vec<Draft> =
            groups.into_iter().map(|(key, rows)| sampler.draft(key.1, rows)).collect();
        drafts.sort_by_key(|draft| draft.rows[0]);
        drafts
    }

    /// The rows that both sides have, by their looks, and those that one side has alone, with that.
    fn rows_by_look(&self) -> (BTreeMap<Key<'_>, Vec<usize>>, Vec<Alone<'_>>) {
        let forward = PerSide::from_fn(|side| forward_ops(self.analysis.tree(side)));
        let (mut groups, mut alone) = (BTreeMap::<Key<'_>, Vec<usize>>::new(), Vec::new());
        for (at, row) in self.analysis.rows().iter().enumerate() {
            let name = self.analysis.row_name(row);
            match Side::BOTH.map(|side| self.look(row, side, &forward[side])) {
                [Some(look), None] => alone.push((at, name, 0, look)),
                [None, Some(look)] => alone.push((at, name, 1, look)),
                looks => groups.entry((name, looks)).or_default().push(at),
            }
        }
        (groups, alone)
    }

    fn look(&self, row: &Row, side: Side, forward: &FxHashMap<CallId, CallId>) -> Option<Look<'_>> {
        if !is_on(row, side) {
            return None;
        }
        let tree = self.analysis.tree(side);
        let arguments = row.calls[side].and_then(|call| tree.arguments(call));
        let text = |pick: fn(&Arguments) -> TextId| {
            arguments.map_or("", |arguments| tree.trace().text(pick(arguments)))
        };
        Some((text(|a| a.dims), text(|a| a.types), self.module(row, side, forward)))
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
        match self.repeats() {
            Repeats::None => ModuleName::class_or_name(name).to_owned(),
            Repeats::Runs | Repeats::Steps => ModuleName::instance_or_name(name).to_owned(),
        }
    }

    fn draft(&self, looks: [Option<Look<'_>>; 2], mut rows: Vec<usize>) -> Draft {
        rows.sort_unstable();
        let of_place: Vec<&Row> = rows.iter().map(|&at| &self.analysis.rows()[at]).collect();
        let events = PerSide::from_fn(|side| {
            let events = of_place.iter().flat_map(|row| &row.events[side]).copied();
            events.filter(|&event| self.takes_part(side, event)).collect::<Vec<CallId>>()
        });
        let [baseline, candidate] = looks.map(|look| look.map_or_else(String::new, |look| look.2));
        let mut module = PerSide::new(baseline, candidate);
        for side in Side::BOTH {
            if !of_place.iter().any(|row| is_on(row, side)) {
                module[side].clear();
            }
        }
        let work = self.work(&of_place, &events);
        Draft {
            name: self.analysis.row_name(of_place[0]),
            module,
            time: PerSide::from_fn(|side| of_place.iter().map(|row| row.time[side]).sum()),
            question: Question { work, ..self.question(&events, &[]) },
            work,
            rows,
        }
    }

    /// Whether both sides of a place did the same.
    fn work(&self, rows: &[&Row], events: &PerSide<Vec<CallId>>) -> Work {
        let has_other_arguments = |row: &&Row| {
            let texts = self.analysis.argument_texts(row);
            texts.iter().any(|pair| pair[0] != pair[1] && !pair.contains(&""))
        };
        match (events.baseline.is_empty(), events.candidate.is_empty()) {
            // All of it is in steps that do not count.
            (true, true) => Work::Same,
            (true, false) | (false, true) => Work::OneSided,
            (false, false) if rows.iter().any(has_other_arguments) => Work::Changed,
            (false, false) if self.runs_other_kernels(events) => Work::Changed,
            (false, false) => Work::Same,
        }
    }

    /// Whether the kernels differ, or how many of them run in a step.
    fn runs_other_kernels(&self, events: &PerSide<Vec<CallId>>) -> bool {
        let mut counts: BTreeMap<&str, PerSide<u64>> = BTreeMap::new();
        for side in Side::BOTH {
            let is_counted = |event: &&CallId| match self.repeats() {
                Repeats::Runs if self.steps[side].is_empty() => true,
                Repeats::Runs | Repeats::Steps => self.steps[side].step(**event).is_some(),
                Repeats::None => true,
            };
            for &event in events[side].iter().filter(is_counted) {
                counts.entry(self.analysis.tree(side).name(event)).or_default()[side] += 1;
            }
        }
        let steps = PerSide::from_fn(|side| self.step_count(side).max(1) as u64);
        let differs = |count: &PerSide<u64>| {
            count.baseline * steps.candidate != count.candidate * steps.baseline
        };
        self.analysis.measure() == Measure::GpuTime && counts.values().any(differs)
    }
}

/// Whether a side has anything of a row.
fn is_on(row: &Row, side: Side) -> bool {
    row.calls[side].is_some() || !row.events[side].is_empty()
}

/// The forward op of each outermost backward op.
fn forward_ops(tree: &CallTree) -> FxHashMap<CallId, CallId> {
    tree.backward_links().iter().map(|&(forward, backward)| (backward, forward)).collect()
}
