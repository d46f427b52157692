//! Assigns each measured event to a job, which is usually the op for which the event does work.
//!
//! The job of an event is the nearest modeled op above the event, which is an op whose work can be computed from its
//! arguments. An op is not a job if a nested op does its work. For example, both `aten::linear` and the nested
//! `aten::addmm` have a model, but the matrix product must be counted only once.
//!
//! ```text
//! aten::linear      a product                 counted below
//! └── aten::addmm   a product                 a job: the kernel, and the memset
//!     ├── Memset
//!     ├── kernel
//!     └── aten::copy_                         a separate job: not part of a product
//!         └── kernel
//! ```
//! A copy, memset or communication kernel without a modeled op above it is a job of its own, with the recorded number
//! of bytes. Ops are found with [`CallTree::ancestors`]. If a kernel is replayed from a graph, its ancestors include
//! the ops that were captured in the graph.
//!
//! Bandwidths of communication are defined as in its benchmarks. *Algorithm* bandwidth is the size of the whole message
//! divided by the time. *Bus* bandwidth is the algorithm bandwidth multiplied by the minimum number of bytes that each
//! rank must send per byte of the message. For any number of ranks, the bus bandwidth can therefore be compared with
//! the speed of a link. Source: nccl-tests, PERFORMANCE.md.
//!
//! ```text
//! all_reduce                             2 · (n − 1) / n     size: the input
//! all_gather, reduce_scatter, all_to_all     (n − 1) / n     size: the larger of input and output
//! broadcast, reduce, send, recv, gather …              1     size: the larger of input and output
//! ```
//! The time of a communication kernel includes the time spent waiting for other ranks.

use super::demand::{Demand, Unit};
use super::dtype::Dtype;
use super::formulas::{Formula, Weight};
use super::rules::{Models, demand_of};
use crate::analysis::kernel_facts;
use crate::analysis::precision::Precision;
use crate::program::{LengthsOf, Measure};
use crate::trace::{ArgumentsId, ByName, Category, EventId, Nanos, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree, Descent};
use rustc_hash::{FxHashMap, FxHashSet};

const NONE: u32 = u32::MAX;

/// The memory or link through which the bytes of a job move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Path {
    /// The bytes move through the memory of the device.
    Memory,
    /// The bytes move over the link to the host. The peak rate of this link is unknown.
    Host,
    /// The bytes move over the links to other devices. The value is the minimum number of bytes that each rank must
    /// send per byte of the message.
    Network(f64),
}

/// The minimum work of an op or of a single event, and the time of the events that do this work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    /// Position of the job in [`Jobs`].
    pub(super) number: usize,
    /// The op for which the events do work, or the event itself if there is no modeled op.
    pub(super) call: CallId,
    pub(super) demand: Demand,
    pub(super) path: Path,
    /// Total time of the job's events.
    pub(super) time: Nanos,
    pub(super) events: u32,
}

/// The jobs of one tree, and the job of each measured event.
#[derive(Debug, Clone, Default)]
pub(super) struct Jobs {
    jobs: Vec<Job>,
    /// Position of each event's job in `jobs`, indexed by the event's slot.
    of_slot: Vec<u32>,
}

impl Jobs {
    pub(super) fn of(tree: &CallTree, measure: Measure, models: &Models) -> Jobs {
        let mut finder = Finder::new(tree, measure, models);
        let nearest = finder.nearest_ops();
        let mut jobs = Jobs { jobs: Vec::new(), of_slot: vec![NONE; measure.slots(tree)] };
        let mut known: FxHashMap<CallId, u32> = FxHashMap::default();
        for (event, op) in nearest {
            let Some((call, demand, path)) = finder.job(event, op) else { continue };
            let at = *known.entry(call).or_insert_with(|| {
                let number = jobs.jobs.len();
                jobs.jobs.push(Job { number, call, demand, path, time: Nanos::ZERO, events: 0 });
                number as u32
            });
            jobs.add(at, event, &finder);
        }
        jobs
    }

    fn add(&mut self, at: u32, event: CallId, finder: &Finder<'_>) {
        let slot =
            finder.measure.slot(finder.tree, event).expect("every attributed call has a slot");
        self.of_slot[slot] = at;
        let job = &mut self.jobs[at as usize];
        job.time += finder.measure.time(finder.tree, event);
        job.events += 1;
        let name = finder.tree.name(event);
        if crosses_to_the_host(name) {
            job.path = Path::Host;
        }
        if job.demand.precision == Some(Precision::Fp32) && is_tf32(name, job.demand.unit) {
            job.demand.precision = Some(Precision::Tf32);
        }
    }

    /// The job of the measured event with the given slot.
    pub(super) fn at(&self, slot: usize) -> Option<&Job> {
        self.jobs.get(self.of_slot[slot] as usize)
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Job> {
        self.jobs.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }
}

/// Whether the name of a copy shows that it moves data between device and host. The runtimes of both vendors use such
/// names.
fn crosses_to_the_host(name: &str) -> bool {
    name.contains("HtoD") || name.contains("DtoH") || name.contains("Host")
}

/// Whether the name of a library kernel shows that 32-bit products are computed with a 10-bit mantissa.
fn is_tf32(name: &str, unit: Unit) -> bool {
    unit == Unit::Matrix && kernel_facts::is_tf32(name)
}

/// Finds the modeled ops above events, and caches the minimum work of ops by name and arguments.
struct Finder<'a> {
    tree: &'a CallTree,
    measure: Measure,
    models: &'a Models,
    lengths: LengthsOf,
    known: FxHashMap<(TextId, ArgumentsId), Option<(Demand, Weight)>>,
    /// Cache of the minimum work of individual calls, for ops whose work depends on more than their name and arguments.
    known_calls: FxHashMap<CallId, Option<(Demand, Weight)>>,
    /// The formulas of ops, by name.
    formulas: ByName<Option<&'a Formula>>,
    /// Element types found in kernel names.
    of_kernels: ByName<Option<Dtype>>,
    /// Ops whose work is done by a nested op.
    done_below: FxHashSet<CallId>,
}

/// A call on the path from the root to the current event.
#[derive(Debug, Clone, Copy)]
struct Entered {
    /// Weight of the call, if the call is an op with known minimum work.
    weight: Option<Weight>,
    /// Largest weight of any op between the call and the events below it.
    heaviest_below: Option<Weight>,
    /// The nearest op with known minimum work at or above the call.
    nearest: Option<CallId>,
}

impl<'a> Finder<'a> {
    fn new(tree: &'a CallTree, measure: Measure, models: &'a Models) -> Finder<'a> {
        Finder {
            tree,
            measure,
            models,
            lengths: LengthsOf::new(tree.trace()),
            known: FxHashMap::default(),
            known_calls: FxHashMap::default(),
            formulas: ByName::new(tree.trace()),
            of_kernels: ByName::new(tree.trace()),
            done_below: FxHashSet::default(),
        }
    }

    /// Finds the nearest op with known minimum work at or above each measured event. Also marks each op that contains a
    /// nested op with the same or a greater weight, because the nested op does the work.
    fn nearest_ops(&mut self) -> Vec<(CallId, Option<CallId>)> {
        let (tree, mut done_below) = (self.tree, std::mem::take(&mut self.done_below));
        let mut leave = |call, entered: Entered, above: Option<&mut Entered>| {
            if entered.weight.is_some() && entered.heaviest_below >= entered.weight {
                done_below.insert(call);
            }
            if let Some(above) = above {
                let heaviest = entered.heaviest_below.max(entered.weight);
                above.heaviest_below = above.heaviest_below.max(heaviest);
            }
        };
        let mut descent: Descent<Entered> = Descent::default();
        let mut nearest = Vec::new();
        for event in self.measure.calls(tree) {
            let enter = |above: Option<&Entered>, call| {
                let weight = self.demand(call, event).map(|(_, weight)| weight);
                let inherited = above.and_then(|above| above.nearest);
                let nearest = if weight.is_some() { Some(call) } else { inherited };
                Entered { weight, heaviest_below: None, nearest }
            };
            nearest.push((event, descent.visit(tree, event, enter, &mut leave).nearest));
        }
        descent.finish(&mut leave);
        self.done_below = done_below;
        nearest
    }

    /// The op for which an event does work, the minimum work of the op, and the memory or link through which its bytes
    /// move. If there is no modeled op, the event takes its place.
    fn job(&mut self, event: CallId, nearest: Option<CallId>) -> Option<(CallId, Demand, Path)> {
        if let Some(transfer) = self.transfer(event) {
            let demand = Demand::vector(0.0, Some(transfer.message), None);
            return Some((event, demand, Path::Network(transfer.factor)));
        }
        let op = nearest.and_then(|nearest| self.not_done_below(nearest, event));
        let by_op = op.and_then(|op| Some((op, self.demand(op, event)?.0, Path::Memory)));
        by_op.or_else(|| Some((event, self.own_bytes(event)?, Path::Memory)))
    }

    fn not_done_below(&mut self, nearest: CallId, event: CallId) -> Option<CallId> {
        let tree = self.tree;
        std::iter::once(nearest)
            .chain(tree.ancestors(nearest))
            .find(|&call| !self.done_below.contains(&call) && self.demand(call, event).is_some())
    }

    fn transfer(&self, event: CallId) -> Option<Transfer> {
        let trace = self.tree.trace();
        transfer(trace, self.tree.event(event)?)
    }

    /// The work of a copy or memset without a modeled op, which consists of the bytes that it moves. A copy within the
    /// device reads and writes each byte. A memset, or a copy to or from the host, moves each byte once.
    fn own_bytes(&self, event: CallId) -> Option<Demand> {
        let trace = self.tree.trace();
        let event = self.tree.event(event)?;
        let bytes = *trace.gpu_bytes().get(event)? as f64;
        let times = match trace.category(event) {
            Category::Memcpy if crosses_to_the_host(trace.name(event)) => 1.0,
            Category::Memcpy => 2.0,
            Category::Memset => 1.0,
            Category::CpuOp
            | Category::PythonFunction
            | Category::Runtime
            | Category::Kernel
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => return None,
        };
        Some(Demand::vector(0.0, Some(times * bytes), None))
    }

    /// The minimum work and the weight of an op; `None` if the call is not an op with known minimum work.
    fn demand(&mut self, call: CallId, event: CallId) -> Option<(Demand, Weight)> {
        if self.tree.kind(call) != CallKind::Op {
            return None;
        }
        let trace = self.tree.trace();
        let op = self.tree.event(call)?;
        let (name, arguments) = (trace.name_id(op), trace.arguments_id(op)?);
        let models = self.models;
        let formula = self.formulas.get(name, || models.formula(trace.text(name)))?;
        let find = |dtype: Option<Dtype>, lengths| {
            let arguments = trace.arguments(arguments);
            let demand = demand_of(formula, trace.text(name), trace, arguments, dtype, lengths)?;
            Some((demand, formula.weight()))
        };
        if formula.takes_lists() || formula.takes_lengths() {
            let (of_kernels, lengths) = (&mut self.of_kernels, &self.lengths);
            return *self.known_calls.entry(call).or_insert_with(|| {
                let kernel = self.tree.event(event).map(|event| trace.name_id(event));
                let of_kernel = |name| of_kernels.get(name, || Dtype::of_kernel(trace.text(name)));
                find(kernel.and_then(of_kernel), lengths.at(trace, op))
            });
        }
        *self.known.entry((name, arguments)).or_insert_with(|| find(None, None))
    }
}

/// The size of a collective's message, and the number of bytes that each rank must send to transfer the message.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Transfer {
    /// Size of the whole message, in bytes.
    message: f64,
    /// Minimum number of bytes that each rank must send per byte of the message.
    factor: f64,
}

/// The transfer that a communication kernel makes; `None` if its message, or a number of ranks that is needed, was not
/// recorded.
fn transfer(trace: &Trace, event: EventId) -> Option<Transfer> {
    let message = trace.messages().get(event)?;
    let dtype = Dtype::of_message(trace.text(message.dtype))?;
    let name = trace.text(*trace.collectives().get(event)?);
    let elements = message.sent.max(message.received) as f64;
    let size = elements * f64::from(dtype.bytes);
    Some(Transfer { message: size, factor: factor(name, message.ranks)? })
}

/// Minimum number of bytes that each rank must send per byte of a collective's message. `None` if this number depends
/// on the number of ranks, which was not recorded.
fn factor(name: &str, ranks: u64) -> Option<f64> {
    let plain: String = name.chars().filter(|c| c.is_alphabetic()).collect();
    let plain = plain.to_ascii_lowercase();
    let share = || (ranks > 0).then(|| (ranks - 1) as f64 / ranks as f64);
    if plain.contains("allreduce") {
        return share().map(|share| 2.0 * share);
    }
    let spread = ["allgather", "reducescatter", "alltoall"];
    if spread.iter().any(|part| plain.contains(part)) { share() } else { Some(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bus_factors_are_those_of_the_benchmarks() {
        assert_eq!(factor("allreduce", 8), Some(1.75));
        assert_eq!(factor("_allgather_base", 4), Some(0.75));
        assert_eq!(factor("reduce_scatter_tensor_coalesced", 2), Some(0.5));
        assert_eq!(factor("broadcast", 8), Some(1.0));
        assert_eq!(factor("allreduce", 0), None);
    }
}
