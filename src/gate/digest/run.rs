//! One run of a side: what its calls are in a digest, and the facts of it.

use super::node::NodeKind;
use super::{Captured, RunFacts, Setup};
use crate::diff::plain_name;
use crate::program::{Footing, Measure, Program, StepId, is_synchronisation};
use crate::trace::{ByName, Category, TextId};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
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
    pub(super) fn new(program: &'a Program, measure: Measure) -> Run<'a> {
        let tree: &CallTree = program.tree();
        Run { program, tree, measure, kinds: kinds(tree) }
    }

    /// Calls of each op in a step, those left out that ran when a graph was captured: one run may show
    /// them, and another not.
    pub(super) fn ops(&self) -> BTreeMap<String, f64> {
        let steps = self.program.steps().len().max(1) as f64;
        let trace = self.tree.trace();
        let mut names: Vec<TextId> = Vec::new();
        let mut calls_of = vec![0_u32; trace.texts().len()];
        for call in self.tree.calls().filter(|&call| self.kind(call) == Some(NodeKind::Op)) {
            if let (Some(event), Some(_)) = (self.tree.event(call), self.step(call))
                && !trace.is_captured(event)
            {
                let name = trace.name_id(event);
                if calls_of[name.index()] == 0 {
                    names.push(name);
                }
                calls_of[name.index()] += 1;
            }
        }
        let mut sums: BTreeMap<String, u32> = BTreeMap::new();
        for name in names {
            let plain = plain_name(CallKind::Op, trace.text(name)).into_owned();
            *sums.entry(plain).or_default() += calls_of[name.index()];
        }
        sums.into_iter().map(|(name, calls)| (name, f64::from(calls) / steps)).collect()
    }

    pub(super) fn facts(&self, footing: &Footing, steps: u64) -> RunFacts {
        RunFacts {
            name: self.tree.trace().source().to_owned(),
            steps,
            is_truncated: footing.cut_off > 0,
            launched_share: footing.launched_share,
        }
    }

    /// What was odd about the captures of its graphs.
    pub(super) fn remarks(&self) -> impl Iterator<Item = String> {
        let told = self.tree.notes().iter().filter(|note| note.code.starts_with("CAPTURE_"));
        let source = self.tree.trace().source();
        told.map(move |note| format!("{source}: {} {}", note.code, note.message))
    }

    /// The step that a call counts to.
    pub(super) fn step(&self, call: CallId) -> Option<usize> {
        step_of(self.program, call)
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

/// On what a run was recorded and how, beside its `footing`.
pub(super) fn setup_of(tree: &CallTree, footing: &Footing) -> Setup {
    Setup {
        vendor: footing.vendor.clone(),
        devices: footing.devices.clone(),
        versions: tree.trace().header().versions.clone(),
        world_size: footing.world_size,
        has_gpu: footing.has_gpu,
        has_modules: tree.calls().any(|call| tree.is_module(call)),
        is_coarse: tree.trace().has_coarse_clock(),
        has_shapes: tree.trace().all_arguments().iter().any(|a| a.dims != TextId::EMPTY),
        captured: captured(tree),
    }
}

/// The step that a call counts to; `None` outside of all steps, and for GPU events whose launch is not
/// in the trace: nothing says when they were asked for.
#[inline]
pub(super) fn step_of(program: &Program, call: CallId) -> Option<usize> {
    let (tree, steps) = (program.tree(), program.steps());
    match steps.is_empty() {
        true => (tree.kind(call) != CallKind::Gpu || tree.launch(call).is_some()).then_some(0),
        false => steps.step(call).map(StepId::index),
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
            // It did not run again when its graph was replayed.
            CallKind::Runtime if tree.is_captured(call) => None,
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

/// How far the graph launches of a tree show what was captured.
fn captured(tree: &CallTree) -> Captured {
    let is_launch = |&call: &CallId| tree.is_graph_launch(call) && !tree.is_captured(call);
    let shows = |call: CallId| tree.children(call).any(|below| tree.is_captured(below));
    tree.calls()
        .filter(is_launch)
        .map(|launch| if shows(launch) { Captured::Wholly } else { Captured::No })
        .reduce(Captured::and)
        .unwrap_or_default()
}
