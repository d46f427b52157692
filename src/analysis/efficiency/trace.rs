//! Computes the efficiency of individual groups of events in one trace, and of each op with its shapes and types.

use super::demand::Unit;
use super::jobs::{Job, Jobs};
use super::peaks::{DevicePeaks, Peaks};
use super::roofline::Efficiency;
use super::rules::Models;
use crate::analysis::precision::Precision;
use crate::order::Order as _;
use crate::program::Measure;
use crate::trace::Nanos;
use crate::tree::{CallId, CallTree};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The efficiency of one trace.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct TraceEfficiency {
    tree: Arc<CallTree>,
    measure: Measure,
    jobs: Jobs,
    peaks: Option<DevicePeaks>,
}

/// The work and time of all calls to one op with the same shapes and types.
#[derive(Debug, Clone, PartialEq)]
#[doc(hidden)]
pub struct OpEfficiency {
    /// Name of the op, or of the event if the event does not belong to a modeled op.
    pub op: String,
    /// `Input Dims` of the op, as in the trace.
    pub dims: String,
    /// `Input type` of the op, as in the trace.
    pub types: String,
    /// Number of calls.
    pub count: u64,
    /// The work and time of the op's events.
    pub efficiency: Efficiency,
}

impl TraceEfficiency {
    /// Computes the minimum work of all ops in a tree. If the trace has no GPU events, the host self time of the ops is
    /// used as the measured time.
    pub fn new(tree: impl Into<Arc<CallTree>>, models: &Models, peaks: &Peaks) -> TraceEfficiency {
        let tree = tree.into();
        let has_gpu = tree.roots().any(|root| tree.is_gpu_path(root));
        let measure = if has_gpu { Measure::GpuTime } else { Measure::HostSelfTime };
        TraceEfficiency::with_measure(tree, measure, models, peaks)
    }

    pub(in crate::analysis) fn with_measure(
        tree: Arc<CallTree>,
        measure: Measure,
        models: &Models,
        peaks: &Peaks,
    ) -> TraceEfficiency {
        let jobs = Jobs::of(&tree, measure, models);
        let peaks = match measure {
            Measure::GpuTime => peaks.of_trace(tree.trace().header()).cloned(),
            Measure::HostSelfTime => None,
        };
        TraceEfficiency { tree, measure, jobs, peaks }
    }

    /// Peak rates of the devices in the trace; `None` if the rates are unknown.
    pub fn peaks(&self) -> Option<&DevicePeaks> {
        self.peaks.as_ref()
    }

    /// The peak rates at which the modeled ops compute, in 10^12 operations per second, by descending time of these ops.
    pub fn ceilings(&self) -> Vec<(Precision, f64)> {
        let Some(peaks) = self.peaks() else { return Vec::new() };
        let mut times: BTreeMap<(Unit, Precision), Nanos> = BTreeMap::new();
        for job in self.jobs.iter().filter(|job| job.demand.flops > 0.0) {
            if let Some(precision) = job.demand.precision {
                *times.entry((job.demand.unit, precision)).or_default() += job.time;
            }
        }
        let mut times: Vec<((Unit, Precision), Nanos)> = times.into_iter().collect();
        times.sort_by_key(|&(_, time)| Reverse(time));
        let rate = |((unit, precision), _)| Some((precision, peaks.tflops_per_s(unit, precision)?));
        times.into_iter().filter_map(rate).collect()
    }

    /// The total work and time of the given measured events.
    pub fn of_events<'a>(&self, events: impl IntoIterator<Item = &'a CallId>) -> Efficiency {
        let mut efficiency = Efficiency::default();
        for &event in events {
            let time = self.measure.time(&self.tree, event);
            efficiency.add(time, self.job(event), self.peaks());
        }
        efficiency
    }

    /// The total work and time of all measured events.
    pub fn total(&self) -> Efficiency {
        self.of_events(&self.measure.calls(&self.tree).collect::<Vec<_>>())
    }

    /// The total work and time of the events whose launch is in the trace. All other events have no op above them, so
    /// their work is usually unknown.
    pub fn launched(&self) -> Efficiency {
        let is_launched = |&event: &CallId| match self.measure {
            Measure::GpuTime => self.tree.launch(event).is_some(),
            Measure::HostSelfTime => true,
        };
        self.of_events(&self.measure.calls(&self.tree).filter(is_launched).collect::<Vec<_>>())
    }

    /// The work and time of each op, grouped by name, shapes and types, and sorted by descending possible saving, then
    /// by descending time. Events without a model are omitted.
    pub fn by_op(&self) -> Vec<OpEfficiency> {
        let mut groups: BTreeMap<[&str; 3], OpEfficiency> = BTreeMap::new();
        let mut counted = vec![false; self.jobs.len()];
        for event in self.measure.calls(&self.tree) {
            let Some(job) = self.job(event) else { continue };
            let key = self.op_and_shapes(job);
            let group = groups.entry(key).or_insert_with(|| OpEfficiency::new(key));
            group.count += u64::from(!std::mem::replace(&mut counted[job.number], true));
            group.efficiency.add(self.measure.time(&self.tree, event), Some(job), self.peaks());
        }
        let mut ops: Vec<OpEfficiency> = groups.into_values().collect();
        // The sort is stable, so ties remain in the order of name, shapes and types.
        ops.order_by(|a, b| {
            let saved = |op: &OpEfficiency| op.efficiency.savable_us().unwrap_or(-1.0);
            let time = |op: &OpEfficiency| Reverse(op.efficiency.time);
            saved(b).total_cmp(&saved(a)).then(time(a).cmp(&time(b)))
        });
        ops
    }

    pub(super) fn job(&self, event: CallId) -> Option<&Job> {
        self.jobs.at(self.measure.slot(&self.tree, event)?)
    }

    pub(super) fn job_count(&self) -> usize {
        self.jobs.len()
    }

    pub(super) fn op_and_shapes(&self, job: &Job) -> [&str; 3] {
        let trace = self.tree.trace();
        let (dims, types) = match self.tree.arguments(job.call) {
            Some(arguments) => (trace.text(arguments.dims), trace.text(arguments.types)),
            None => ("", ""),
        };
        [self.tree.name(job.call), dims, types]
    }
}

impl OpEfficiency {
    fn new([op, dims, types]: [&str; 3]) -> OpEfficiency {
        OpEfficiency {
            op: op.to_owned(),
            dims: dims.to_owned(),
            types: types.to_owned(),
            count: 0,
            efficiency: Efficiency::default(),
        }
    }
}
