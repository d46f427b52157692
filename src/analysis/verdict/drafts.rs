//! Groups the rows of an [`Analysis`](crate::analysis::Analysis) into call sites with their samples,
//! before the call sites are tested.
//!
//! A call site consists of the rows that share a name, shapes, types and a module instance. If there are no
//! repeats, the rows in all instances of a module class form one call site. Work in the backward pass is assigned
//! to the module of the forward op. A row that only one side has counts as an additional call of an op. It joins
//! the call site whose rows have the same name, shapes, types and module on that side. Steps without a counterpart
//! are not used as samples.

use super::family::{Family, Question};
use super::judgement::{Repeats, Thresholds, Work};
use super::sampler::Sampler;
use super::site::Site;
use crate::analysis::account::Row;
use crate::analysis::shared_texts::SharedTexts;
use crate::order::Order as _;
use crate::program::Measure;
use crate::side::{PerSide, Side};
use crate::trace::{Argument, Arguments, Nanos, TextId};
use crate::tree::{CallId, ModuleName};
use rustc_hash::FxHashMap;

/// A call site whose difference has not been tested yet.
pub(super) struct Draft {
    name: String,
    module: PerSide<String>,
    pub(super) rows: Vec<usize>,
    time: PerSide<Nanos>,
    pub(super) work: Work,
    pub(super) question: Question,
}

impl Draft {
    pub(super) fn judged(self, family: &Family, thresholds: &Thresholds) -> Site {
        let judgement = family.judge(&self.question, thresholds);
        let Draft { name, module, rows, time, work, question } = self;
        Site { name, module, rows, time, work, question, judgement }
    }
}

/// The *look* of a row is its shapes, types and module on one side. Rows with different looks belong to different
/// call sites.
type Look<'a> = (u32, u32, &'a str);

/// Key of a call site: the name and the look (shapes, types and module) on each side. The look is `None` on a side
/// without a call.
type Key<'a> = (u32, [Option<Look<'a>>; 2]);

/// A row that only one side has: position, name, side and look (shapes, types and module).
type Alone<'a> = (usize, u32, usize, Look<'a>);

/// Rows with the same name and, on each side, the same look (shapes, types and module) form a group. The
/// groups are in the order of their first rows.
#[derive(Default)]
struct Groups<'a> {
    numbers: FxHashMap<Key<'a>, usize>,
    list: Vec<(Key<'a>, Vec<usize>)>,
}

impl<'a> Groups<'a> {
    fn add(&mut self, key: Key<'a>, row: usize) {
        let at = *self.numbers.entry(key).or_insert_with(|| {
            self.list.push((key, Vec::new()));
            self.list.len() - 1
        });
        self.list[at].1.push(row);
    }
}

impl<'a> Sampler<'a> {
    /// The call sites before they are tested, sorted by their first row.
    pub(super) fn drafts(&self) -> Vec<Draft> {
        let mut texts = SharedTexts::new(self.times.diff);
        let (mut groups, alone) = self.rows_by_look(&mut texts);
        // For each name, side and look (shapes, types and module): the first call site that has these
        // properties.
        let mut likes: FxHashMap<(u32, usize, Look<'_>), Key<'_>> = FxHashMap::default();
        for (key, _) in &groups.list {
            for (side, look) in key.1.iter().enumerate() {
                if let Some(look) = *look {
                    likes.entry((key.0, side, look)).or_insert(*key);
                }
            }
        }
        for (at, name, side, look) in alone {
            let like = likes.get(&(name, side, look));
            groups.add(like.copied().unwrap_or((name, [Some(look), Some(look)])), at);
        }
        let mut drafts: Vec<Draft> = groups
            .list
            .into_iter()
            .map(|(key, rows)| self.draft(key.1, rows, &mut texts))
            .collect();
        drafts.order_by_key(|draft| draft.rows[0]);
        drafts
    }

    /// The rows that both sides have, grouped by name and by look on each side, and the rows that only one side
    /// has.
    fn rows_by_look(&self, texts: &mut SharedTexts<'_>) -> (Groups<'a>, Vec<Alone<'a>>) {
        let forward = self.times.diff.forward_of_backward();
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let (mut groups, mut alone) = (Groups::default(), Vec::new());
        for (at, row) in self.times.ledger.rows().iter().enumerate() {
            let next = names.len() as u32;
            let name = *names.entry(row.name(self.times.diff)).or_insert(next);
            match Side::BOTH.map(|side| self.look(row, side, &forward[side], texts)) {
                [Some(look), None] => alone.push((at, name, 0, look)),
                [None, Some(look)] => alone.push((at, name, 1, look)),
                looks => groups.add((name, looks), at),
            }
        }
        (groups, alone)
    }

    fn look(
        &self,
        row: &Row,
        side: Side,
        forward: &FxHashMap<CallId, CallId>,
        texts: &mut SharedTexts<'_>,
    ) -> Option<Look<'a>> {
        if !is_on(row, side) {
            return None;
        }
        let Arguments { dims, types, .. } = row.arguments(self.times.diff, side);
        let module = self.module(row, side, forward);
        Some((texts.number(side, dims), texts.number(side, types), module))
    }

    fn module(&self, row: &Row, side: Side, forward: &FxHashMap<CallId, CallId>) -> &'a str {
        let tree = self.times.diff.tree(side);
        let forward_of = |call| {
            let mut above = std::iter::once(call).chain(tree.ancestors(call));
            above.find_map(|call| forward.get(&call).copied())
        };
        let module = row.calls[side]
            .and_then(|call| tree.module(call).or_else(|| tree.module(forward_of(call)?)));
        let name = module.map_or("", |module| tree.name(module));
        match self.repeats() {
            Repeats::None => ModuleName::class_or_name(name),
            Repeats::Runs | Repeats::Steps | Repeats::OtherOptions => {
                ModuleName::instance_or_name(name)
            }
        }
    }

    fn draft(
        &self,
        looks: [Option<Look<'_>>; 2],
        mut rows: Vec<usize>,
        texts: &mut SharedTexts<'_>,
    ) -> Draft {
        rows.sort_unstable();
        let of_place: Vec<&Row> = rows.iter().map(|&at| &self.times.ledger.rows()[at]).collect();
        let events = PerSide::from_fn(|side| {
            let events = of_place.iter().flat_map(|row| &row.events[side]).copied();
            events.filter(|&event| self.takes_part(side, event)).collect::<Vec<CallId>>()
        });
        let [baseline, candidate] =
            looks.map(|look| look.map_or_else(String::new, |look| look.2.to_owned()));
        let mut module = PerSide::new(baseline, candidate);
        for side in Side::BOTH {
            if !of_place.iter().any(|row| is_on(row, side)) {
                module[side].clear();
            }
        }
        let work = self.work(&of_place, &events, texts);
        Draft {
            name: of_place[0].name(self.times.diff),
            module,
            time: PerSide::from_fn(|side| {
                events[side]
                    .iter()
                    .map(|&event| self.times.ledger.time_of(self.times.diff, side, event))
                    .sum()
            }),
            question: Question { work, ..self.question(&events, &[]) },
            work,
            rows,
        }
    }

    /// Whether both sides of a call site did the same work.
    fn work(
        &self,
        rows: &[&Row],
        events: &PerSide<Vec<CallId>>,
        texts: &mut SharedTexts<'_>,
    ) -> Work {
        let mut has_other_arguments = |row: &&Row| {
            let [a, b] = Side::BOTH.map(|side| row.arguments(self.times.diff, side));
            let pairs = Argument::ALL.map(|argument| (a.text(argument), b.text(argument)));
            pairs
                .into_iter()
                .filter(|pair| pair.0 != TextId::EMPTY && pair.1 != TextId::EMPTY)
                .any(|(a, b)| texts.number(Side::Baseline, a) != texts.number(Side::Candidate, b))
        };
        match (events.baseline.is_empty(), events.candidate.is_empty()) {
            // All work of this call site is in steps without a counterpart, so the call site has no samples.
            (true, true) => Work::Same,
            (true, false) | (false, true) => Work::OneSided,
            (false, false) if rows.iter().any(&mut has_other_arguments) => Work::Changed,
            (false, false) if self.runs_other_kernels(events, texts) => Work::Changed,
            (false, false) => Work::Same,
        }
    }

    /// Whether the two sides run different kernels, or run a kernel a different number of times per step.
    fn runs_other_kernels(
        &self,
        events: &PerSide<Vec<CallId>>,
        texts: &mut SharedTexts<'_>,
    ) -> bool {
        if self.times.ledger.measure() != Measure::GpuTime {
            return false;
        }
        let mut kernels: Vec<(u32, Side)> = Vec::new();
        for side in Side::BOTH {
            let is_counted = |event: &&CallId| match self.repeats() {
                Repeats::Runs if self.steps[side].is_empty() => true,
                Repeats::Runs | Repeats::Steps => self.steps[side].step(**event).is_some(),
                Repeats::None | Repeats::OtherOptions => true,
            };
            let counted = events[side].iter().filter(is_counted);
            kernels.extend(counted.map(|&event| (texts.of_event(side, event), side)));
        }
        kernels.sort_unstable();
        let steps = self.step_counts.map(|count| count.max(1) as u64);
        kernels.chunk_by(|a, b| a.0 == b.0).any(|of_name| {
            let first = of_name.partition_point(|kernel| kernel.1 == Side::Baseline) as u64;
            first * steps.candidate != (of_name.len() as u64 - first) * steps.baseline
        })
    }
}

/// Whether a row has a call or events on a side.
fn is_on(row: &Row, side: Side) -> bool {
    row.calls[side].is_some() || !row.events[side].is_empty()
}
