//! Computes the peak memory and the number of allocations in each step from the memory events.

use super::range::Range;
use crate::rules::MemoryMeasure;
use std::collections::BTreeMap;
use tracetree::analysis::memory::{DeviceUsage, MemoryPlace, MemoryUsage};
use tracetree::program::Program;
use tracetree::trace::Nanos;

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
