//! One run of a side: what its calls are in a digest, and the facts of it.

use super::node::NodeKind;
use super::{RunFacts, Setup};
use crate::diff::plain_name;
use crate::program::{Measure, Platform, Program, StepId, is_synchronisation};
use crate::side::PerSide;
use crate::trace::{ByName, Category, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// One run, with what its calls are.
pub(super) struct Run<'a> {
    pub(super) program: &'a Program,
    pub(super) tree: &'a CallTree,
    pub(super) measure: Measure,
    /// What each call is in a digest.
    kinds: Vec<Option<NodeKind>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(program: &'a Program) -> Run<'a> {
        let tree: &CallTree = program.tree();
        let measure = Measure::of(PerSide::new(tree, tree));
        Run { program, tree, measure, kinds: kinds(tree) }
    }

    /// Calls of each op in a step.
    pub(super) fn ops(&self) -> BTreeMap<String, f64> {
        let steps = self.program.steps().len().max(1) as f64;
        let mut ops: FxHashMap<TextId, f64> = FxHashMap::default();
        for call in self.tree.calls().filter(|&call| self.kind(call) == Some(NodeKind::Op)) {
            if let (Some(event), Some(_)) = (self.tree.event(call), self.step(call)) {
                *ops.entry(self.tree.trace().name_id(event)).or_default() += 1.0 / steps;
            }
        }
        let mut sums = BTreeMap::new();
        let mut ops: Vec<(TextId, f64)> = ops.into_iter().collect();
        ops.sort_by_key(|&(name, _)| name);
        for (name, calls) in ops {
            let name = plain_name(CallKind::Op, self.tree.trace().text(name)).into_owned();
            *sums.entry(name).or_default() += calls;
        }
        sums
    }

    pub(super) fn setup(&self) -> Setup {
        let header = self.tree.trace().header();
        let mut devices: Vec<String> =
            header.devices.iter().map(|device| device.name.clone()).collect();
        devices.retain(|name| !name.is_empty());
        devices.sort();
        devices.dedup();
        let group = header.distributed.as_ref().and_then(|group| group.world_size);
        Setup {
            vendor: Platform::of(self.tree.trace()).vendor.label().to_owned(),
            devices,
            versions: header.versions.clone(),
            world_size: group.and_then(|size| u64::try_from(size).ok()).unwrap_or(1),
            has_gpu: self.measure == Measure::GpuTime,
            has_modules: self.tree.calls().any(|call| self.tree.is_module(call)),
            is_coarse: has_coarse_clock(self.tree.trace()),
            has_shapes: self.tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY),
        }
    }

    pub(super) fn facts(&self, steps: u64) -> RunFacts {
        let (mut all, mut launched) = (0, 0);
        for call in self.tree.calls().filter(|&call| self.tree.kind(call) == CallKind::Gpu) {
            let time = self.tree.duration(call).0;
            all += time;
            launched += if self.tree.launch(call).is_some() { time } else { 0 };
        }
        RunFacts {
            name: self.tree.trace().source().to_owned(),
            steps,
            is_truncated: self.tree.trace().notes().get("TRUNCATED").is_some(),
            launched_share: if all > 0 { launched as f64 / all as f64 } else { 1.0 },
        }
    }

    /// The step that a call counts to; `None` outside of all steps, and for GPU events whose launch is
    /// not in the trace: nothing says when they were asked for.
    pub(super) fn step(&self, call: CallId) -> Option<usize> {
        let steps = self.program.steps();
        let is_unlinked = self.tree.kind(call) == CallKind::Gpu && self.tree.launch(call).is_none();
        match steps.is_empty() {
            true => (!is_unlinked).then_some(0),
            false => steps.step(call).map(StepId::index),
        }
    }

    /// What a call is in a digest; `None` for those that are no place of it.
    pub(super) fn kind(&self, call: CallId) -> Option<NodeKind> {
        self.kinds[call.index()]
    }

    pub(super) fn name(&self, call: CallId) -> String {
        match self.tree.is_module(call) {
            true => ModuleName::instance_or_name(self.tree.name(call)).to_owned(),
            false => plain_name(self.tree.kind(call), self.tree.name(call)).into_owned(),
        }
    }
}

/// What each call of a tree is in a digest; `None` for those that are no place of it.
fn kinds(tree: &CallTree) -> Vec<Option<NodeKind>> {
    let trace = tree.trace();
    let (mut steps, mut waits) = (ByName::new(trace), ByName::new(trace));
    let kind = |call: CallId| {
        let event = tree.event(call)?;
        let name = trace.name_id(event);
        match tree.kind(call) {
            CallKind::Thread | CallKind::Unlinked => None,
            CallKind::Frame => tree.is_module(call).then_some(NodeKind::Module),
            // The 2021 profiler wrote a step as an operator, too.
            CallKind::Op => {
                let is_step = steps.get(name, || trace.text(name).starts_with("ProfilerStep#"));
                (!is_step).then_some(NodeKind::Op)
            }
            CallKind::Runtime if tree.is_graph_launch(call) => Some(NodeKind::GraphLaunch),
            CallKind::Runtime => {
                let waits = waits.get(name, || is_synchronisation(trace.text(name)));
                waits.then_some(NodeKind::Wait)
            }
            CallKind::Gpu => Some(match trace.category(event) {
                Category::Memcpy => NodeKind::Copy,
                Category::Memset => NodeKind::Memset,
                Category::Kernel
                | Category::CpuOp
                | Category::PythonFunction
                | Category::Runtime
                | Category::UserAnnotation
                | Category::GpuUserAnnotation => NodeKind::Kernel,
            }),
        }
    };
    tree.calls().map(kind).collect()
}

/// Whether all times of a trace are whole microseconds.
fn has_coarse_clock(trace: &Trace) -> bool {
    trace
        .events()
        .all(|event| trace.start(event).0 % 1_000 == 0 && trace.duration(event).0 % 1_000 == 0)
}
