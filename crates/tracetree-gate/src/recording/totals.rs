//! Computes the times, the counts and the memory use of each step in a run, and combines them into means and ranges for
//! several runs.

use super::{Range, step_of};
use crate::rules::MemoryMeasure;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use tracetree::analysis::categories::{CategoryId, TraceCategories};
use tracetree::analysis::memory::{DeviceUsage, MemoryPlace, MemoryUsage};
use tracetree::analysis::steps::group_figures;
use tracetree::analysis::wall::StepWall;
use tracetree::program::{Measure, Phase, Program, is_synchronisation};
use tracetree::trace::{ByName, Category, Nanos};
use tracetree::tree::{CallId, CallKind, CallTree, names_graph_launch};

/// The times and counts of each step in a run.
#[derive(Debug, Default)]
pub(super) struct StepTotals {
    steps: usize,
    /// The step time that `diff` reports for the run, in µs.
    step_wall: f64,
    /// The time of each measure in each step, in µs.
    times: BTreeMap<String, Vec<f64>>,
    /// Values of each [`Count`] in each step.
    counts: [Vec<u64>; COUNTS.len()],
}

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

/// The names of the [`Count`] variants, in the order of the variants. Every recording contains every count, even if the
/// count is zero, so that a budget can refer to any of them.
pub(crate) const COUNTS: [&str; 8] = [
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
    /// Computes the step time of a run and, for each step, the counts, the GPU times, and the times by category and
    /// by phase.
    pub(super) fn of(
        program: &Program,
        measure: Measure,
        categories: &TraceCategories<'_>,
    ) -> StepTotals {
        let steps = program.steps().len().max(1);
        let step_wall = StepWall::of(program, measure).micros();
        let mut totals = StepTotals { steps, step_wall, ..StepTotals::default() };
        totals.add_groups(program, measure, categories);
        totals.add_counts(program);
        totals.add_figures(program, measure);
        totals
    }

    fn time(&mut self, measure: &str, step: usize, time: Nanos) {
        let steps = self.steps;
        self.times.entry(measure.to_owned()).or_insert_with(|| vec![0.0; steps])[step] +=
            time.as_micros();
    }

    fn add_counts(&mut self, program: &Program) {
        let tree: &CallTree = program.tree();
        self.counts = std::array::from_fn(|_| vec![0; self.steps]);
        let (mut waits, mut graphs) = (ByName::new(tree.trace()), ByName::new(tree.trace()));
        for call in tree.calls() {
            let Some(step) = step_of(program, call) else { continue };
            let mut add = |count: Count, more: u64| self.counts[count as usize][step] += more;
            match tree.kind(call) {
                CallKind::Runtime if tree.is_captured(call) => {}
                CallKind::Runtime => {
                    let event = tree.event(call).expect("every runtime call has an event");
                    let name = tree.trace().name_id(event);
                    let is_launch = tree.is_gpu_path(call);
                    add(Count::Launches, is_launch.into());
                    let launches_graph = || names_graph_launch(tree.trace().text(name));
                    let is_graph = is_launch && graphs.get(name, launches_graph);
                    add(Count::GraphLaunches, is_graph.into());
                    let waiting = || is_synchronisation(tree.trace().text(name));
                    add(Count::Waits, waits.get(name, waiting).into());
                }
                CallKind::Gpu => count_gpu_event(program, call, add),
                CallKind::Thread | CallKind::Unlinked | CallKind::Frame | CallKind::Op => {}
            }
        }
    }

    fn add_figures(&mut self, program: &Program, measure: Measure) {
        let (tree, steps) = (program.tree(), program.steps());
        let calls = || measure.calls(tree);
        let count = self.steps;
        let group = |call: CallId| step_of(program, call).unwrap_or(count);
        let figures = group_figures((program, measure), steps, calls(), count + 1, group);
        for (step, figures) in figures.iter().take(count).enumerate() {
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

    fn add_groups(
        &mut self,
        program: &Program,
        measure: Measure,
        categories: &TraceCategories<'_>,
    ) {
        let tree: &CallTree = program.tree();
        let zeros = || vec![Nanos::ZERO; self.steps];
        let mut by_category: FxHashMap<CategoryId, Vec<Nanos>> = FxHashMap::default();
        let mut by_phase: BTreeMap<Phase, Vec<Nanos>> = BTreeMap::new();
        for call in measure.calls(tree) {
            let Some(step) = step_of(program, call) else { continue };
            let time = measure.time(tree, call);
            let category = categories.category(tree, call).id;
            by_category.entry(category).or_insert_with(zeros)[step] += time;
            let phase = program.phases().phase(call);
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

/// Adds a GPU event to the counts of its step.
fn count_gpu_event(program: &Program, call: CallId, mut add: impl FnMut(Count, u64)) {
    let tree: &CallTree = program.tree();
    let event = tree.event(call).expect("every GPU call has an event");
    if tree.trace().category(event) == Category::Memcpy {
        add(Count::Copies, 1);
        add(Count::CopyBytes, tree.trace().gpu_bytes().get(event).copied().unwrap_or(0));
        return;
    }
    let in_graph = tree.running_launch(call).is_some_and(|launch| tree.is_graph_launch(launch));
    add(Count::Kernels, 1);
    add(Count::GraphKernels, in_graph.into());
    add(Count::Collectives, program.communication().is(tree, call).into());
}

/// Totals over all runs of a side.
#[derive(Debug, Default)]
pub(super) struct Totals {
    runs: usize,
    times: BTreeMap<String, Vec<f64>>,
    counts: BTreeMap<String, Vec<u64>>,
}

impl Totals {
    /// Adds a run; `before` is the total number of steps in the runs added earlier.
    pub(super) fn add_run(&mut self, run: &StepTotals, before: usize) {
        let mean = |steps: &Vec<f64>| steps.iter().sum::<f64>() / steps.len().max(1) as f64;
        let means = run.times.iter().map(|(measure, steps)| (measure.as_str(), mean(steps)));
        for (measure, time) in means.chain([("step_wall", run.step_wall)]) {
            let times = self.times.entry(measure.to_owned()).or_default();
            times.resize(self.runs, 0.0);
            times.push(time);
        }
        for (name, steps) in COUNTS.iter().zip(&run.counts) {
            let counts = self.counts.entry((*name).to_owned()).or_default();
            counts.resize(before, 0);
            counts.extend(steps);
        }
        self.runs += 1;
    }

    /// For each measure, the mean time per step of each run in µs.
    pub(super) fn times(&self) -> BTreeMap<String, Vec<f64>> {
        let filled = |(measure, times): (&String, &Vec<f64>)| {
            let mut times = times.clone();
            times.resize(self.runs, 0.0);
            (measure.clone(), times)
        };
        self.times.iter().map(filled).collect()
    }

    /// Each count in each step of all runs.
    pub(super) fn counts(&self, steps: usize) -> BTreeMap<String, Vec<u64>> {
        let filled = |(name, counts): (&String, &Vec<u64>)| {
            let mut counts = counts.clone();
            counts.resize(steps, 0);
            (name.clone(), counts)
        };
        self.counts.iter().map(filled).collect()
    }
}

/// The memory figures for all steps of the runs added so far.
#[derive(Debug, Default)]
pub(super) struct Memory {
    of_steps: BTreeMap<MemoryMeasure, Vec<u64>>,
    /// Whether at least one run has no memory events. The figures of the other runs are then discarded, because they do
    /// not represent all runs.
    is_incomplete: bool,
}

impl Memory {
    pub(super) fn add_run(&mut self, program: &Program) {
        if program.tree().trace().memory().is_empty() {
            self.is_incomplete = true;
            return;
        }
        let usage = MemoryUsage::of(program.tree());
        let is_gpu = |place: MemoryPlace| matches!(place, MemoryPlace::Gpu(_));
        let has_gpu = usage.devices().any(|(place, _)| is_gpu(place));
        let devices: Vec<&DeviceUsage> = usage
            .devices()
            .filter(|(place, _)| is_gpu(*place) == has_gpu)
            .map(|(_, usage)| usage)
            .collect();
        let spans = program.steps().spans().iter().map(|step| (step.start, step.end));
        let mut spans: Vec<(Nanos, Nanos)> = spans.collect();
        if spans.is_empty() {
            spans.push((Nanos(i64::MIN), Nanos(i64::MAX)));
        }
        for span in spans {
            let peak = devices.iter().map(|usage| usage.peak_within(span)).max().unwrap_or(0);
            let allocations = devices.iter().map(|usage| usage.allocations_within(span)).sum();
            let mut add = |measure, value| self.of_steps.entry(measure).or_default().push(value);
            add(MemoryMeasure::PeakMemory, u64::try_from(peak).unwrap_or(0));
            add(MemoryMeasure::AllocationsPerStep, allocations);
        }
    }

    /// The range of each memory measure over all steps of all runs; empty if a run has no memory events.
    pub(super) fn finish(self) -> BTreeMap<String, Range> {
        let known = self.of_steps.into_iter().filter(|_| !self.is_incomplete);
        known.map(|(measure, steps)| (measure.label().to_owned(), Range::of(steps))).collect()
    }
}
