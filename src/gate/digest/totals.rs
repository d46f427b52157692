//! One run → what each of its steps comes to as a whole; several runs → medians and ranges.

use super::node::{NodeKind, Range};
use super::run::Run;
use crate::analysis::robust::median;
use crate::analysis::{CategoryId, TraceCategories, group_figures};
use crate::program::{Measure, Phase};
use crate::trace::{Category, Nanos};
use crate::tree::{CallId, CallKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The sums of each step of one run, by measure.
#[derive(Debug, Default)]
pub(super) struct StepTotals {
    steps: usize,
    /// In µs.
    times: BTreeMap<String, Vec<f64>>,
    /// By [`Count`], then by step.
    counts: [Vec<u64>; COUNTS.len()],
}

/// What is counted in each step.
#[derive(Debug, Clone, Copy)]
enum Count {
    Launches,
    Kernels,
    GraphLaunches,
    GraphKernels,
    Waits,
    Copies,
    CopyBytes,
    Collectives,
}

/// The counts that every run has, be they nothing, and of which a budget may speak: names of [`Count`].
pub(in crate::gate) const COUNTS: [&str; 8] = [
    "launches",
    "kernels",
    "graph_launches",
    "graph_kernels",
    "waits",
    "copies",
    "copy_bytes",
    "collectives",
];

impl StepTotals {
    pub(super) fn of(run: &Run<'_>, categories: &TraceCategories<'_>) -> StepTotals {
        let steps = run.program.steps().len().max(1);
        let mut totals = StepTotals { steps, ..StepTotals::default() };
        totals.add_counts(run);
        totals.add_figures(run);
        totals.add_groups(run, categories);
        totals
    }

    fn time(&mut self, measure: &str, step: usize, time: Nanos) {
        let steps = self.steps;
        self.times.entry(measure.to_owned()).or_insert_with(|| vec![0.0; steps])[step] +=
            time.as_micros();
    }

    fn add_counts(&mut self, run: &Run<'_>) {
        let tree = run.tree;
        self.counts = std::array::from_fn(|_| vec![0; self.steps]);
        for call in tree.calls() {
            let Some(step) = run.step(call) else { continue };
            let mut add = |count: Count, more: u64| self.counts[count as usize][step] += more;
            match tree.kind(call) {
                CallKind::Runtime => {
                    let kind = run.kind(call);
                    add(Count::Launches, tree.is_gpu_path(call).into());
                    add(Count::GraphLaunches, (kind == Some(NodeKind::GraphLaunch)).into());
                    add(Count::Waits, (kind == Some(NodeKind::Wait)).into());
                }
                CallKind::Gpu => count_gpu_event(run, call, add),
                CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Op => {}
            }
        }
    }

    /// The wall of each step, and what its GPU did.
    fn add_figures(&mut self, run: &Run<'_>) {
        let (steps, measure) = (run.program.steps(), run.measure);
        let count = self.steps;
        let group = |call: CallId| run.step(call).unwrap_or(count);
        let calls = measure.calls(run.tree);
        let figures = group_figures((run.program, measure), steps, calls, count + 1, group);
        for (step, figures) in figures.iter().take(count).enumerate() {
            let wall = match steps.spans().get(step) {
                Some(span) => span.end - span.start,
                None => figures.wall(),
            };
            self.time("step_wall", step, wall);
            match measure {
                Measure::GpuTime => {
                    self.time("gpu_time", step, figures.time);
                    self.time("idle", step, figures.idle);
                    self.time("exposed_communication", step, figures.exposed_communication);
                }
                Measure::HostSelfTime => self.time("host_time", step, figures.time),
            }
        }
    }

    fn add_groups(&mut self, run: &Run<'_>, categories: &TraceCategories<'_>) {
        let (tree, measure) = (run.tree, run.measure);
        let zeros = || vec![Nanos::ZERO; self.steps];
        let mut by_category: FxHashMap<CategoryId, Vec<Nanos>> = FxHashMap::default();
        let mut by_phase: BTreeMap<Phase, Vec<Nanos>> = BTreeMap::new();
        for call in measure.calls(tree) {
            let Some(step) = run.step(call) else { continue };
            let time = measure.time(tree, call);
            let category = categories.category(tree, call).id;
            by_category.entry(category).or_insert_with(zeros)[step] += time;
            let phase = run.program.phases().phase(call);
            by_phase.entry(phase).or_insert_with(zeros)[step] += time;
        }
        by_phase.remove(&Phase::Unknown);
        let categories = by_category
            .into_iter()
            .map(|(id, sums)| (format!("category:{}", categories.label(id)), sums));
        let phases =
            by_phase.into_iter().map(|(phase, sums)| (format!("phase:{}", phase.label()), sums));
        for (measure, sums) in categories.chain(phases) {
            for (step, time) in sums.into_iter().enumerate() {
                self.time(&measure, step, time);
            }
        }
    }
}

/// What a GPU event adds to the counts of its step.
fn count_gpu_event(run: &Run<'_>, call: CallId, mut add: impl FnMut(Count, u64)) {
    let tree = run.tree;
    let event = tree.event(call).expect("a GPU event");
    if tree.trace().category(event) == Category::Memcpy {
        add(Count::Copies, 1);
        add(Count::CopyBytes, tree.trace().gpu_bytes().get(event).copied().unwrap_or(0));
        return;
    }
    let in_graph = tree.launch(call).is_some_and(|launch| tree.is_graph_launch(launch));
    add(Count::Kernels, 1);
    add(Count::GraphKernels, in_graph.into());
    add(Count::Collectives, run.program.communication().is(tree, call).into());
}

/// What all runs of a side come to.
#[derive(Debug, Default)]
pub(super) struct Totals {
    runs: usize,
    times: BTreeMap<String, Vec<f64>>,
    counts: BTreeMap<String, Vec<u64>>,
}

impl Totals {
    /// Adds a run; `before` steps of other runs were added.
    pub(super) fn add_run(&mut self, run: &StepTotals, before: usize) {
        for (measure, steps) in &run.times {
            let medians = self.times.entry(measure.clone()).or_default();
            medians.resize(self.runs, 0.0);
            medians.push(median(steps));
        }
        for (name, steps) in COUNTS.iter().zip(&run.counts) {
            let counts = self.counts.entry((*name).to_owned()).or_default();
            counts.resize(before, 0);
            counts.extend(steps);
        }
        self.runs += 1;
    }

    /// For each measure and run the median over its steps, in µs.
    pub(super) fn times(&self) -> BTreeMap<String, Vec<f64>> {
        let filled = |(measure, medians): (&String, &Vec<f64>)| {
            let mut medians = medians.clone();
            medians.resize(self.runs, 0.0);
            (measure.clone(), medians)
        };
        self.times.iter().map(filled).collect()
    }

    pub(super) fn counts(&self, steps: usize) -> BTreeMap<String, Range> {
        let range = |(name, counts): (&String, &Vec<u64>)| {
            let mut counts = counts.clone();
            counts.resize(steps, 0);
            (name.clone(), Range::of(&counts))
        };
        self.counts.iter().map(range).collect()
    }
}
