//! Call trees of the runs of one side, one after the other → their [`Digest`].
//!
//! A call belongs to the node of its name below the node of the nearest module or op above it. What a
//! call is and how it is called is found out once for each node and name of a trace.

use super::node::{Node, NodeKind, Range, Variant};
use super::sites::Sites;
use super::totals::{StepTotals, Totals};
use super::{Digest, RunFacts, Setup};
use crate::analysis::{Categories, TraceCategories};
use crate::diff::plain_name;
use crate::error::{Error, ErrorKind, Result};
use crate::program::{Measure, Platform, Program, RepeatDetection, StepId, is_synchronisation};
use crate::side::PerSide;
use crate::trace::{ArgumentsId, Category, TextId, Trace};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use indextree::{Arena, NodeId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Counts of each step so far; steps that are missing at the end have none.
type Counts = Vec<u64>;

/// What is counted of one node while runs are added.
#[derive(Debug, Default)]
struct Tally {
    calls: Counts,
    launches: Counts,
    bytes: Counts,
    variants: BTreeMap<(String, String), Counts>,
    sites: BTreeMap<String, Counts>,
    /// For each run, the accounted time of all steps in ns.
    nanos: Vec<i64>,
}

/// Takes runs of one side, and becomes their digest.
#[derive(Debug)]
pub struct Digester {
    tree: Arena<Node>,
    root: NodeId,
    tallies: FxHashMap<NodeId, Tally>,
    known: FxHashMap<(NodeId, NodeKind, String), NodeId>,
    steps: usize,
    setup: Option<Setup>,
    runs: Vec<RunFacts>,
    totals: Totals,
    categories: Categories,
    repeats: RepeatDetection,
    /// Calls of each op of the first run in a step.
    ops: Option<BTreeMap<String, f64>>,
}

/// Two runs of which fewer ops are the same are of two programs.
pub(in crate::gate) const ONE_PROGRAM: f64 = 0.5;

/// The share of calls that two sides have both, of what either has.
pub(in crate::gate) fn likeness(one: &BTreeMap<String, f64>, two: &BTreeMap<String, f64>) -> f64 {
    let of = |ops: &BTreeMap<String, f64>, name: &str| ops.get(name).copied().unwrap_or(0.0);
    let shared: f64 = one.iter().map(|(name, &calls)| calls.min(of(two, name))).sum();
    let all = one.values().sum::<f64>() + two.values().sum::<f64>() - shared;
    if all > 0.0 { shared / all } else { 1.0 }
}

impl Default for Digester {
    fn default() -> Self {
        Digester::new(Categories::default(), RepeatDetection::Found)
    }
}

impl Digester {
    /// Without any run yet; says by which rules kinds of work are told, and whether repeats stand for
    /// steps where none are recorded.
    pub fn new(categories: Categories, repeats: RepeatDetection) -> Digester {
        let mut tree = Arena::new();
        let root = tree.new_node(Node::new(NodeKind::Step, "step".to_owned()));
        Digester {
            tree,
            root,
            tallies: FxHashMap::default(),
            known: FxHashMap::default(),
            steps: 0,
            setup: None,
            runs: Vec::new(),
            totals: Totals::default(),
            categories,
            repeats,
            ops: None,
        }
    }

    /// Adds a run.
    ///
    /// # Errors
    /// If it is no run of the program that the first one is of: fewer than half of their ops are the
    /// same.
    pub fn add(&mut self, tree: impl Into<Arc<CallTree>>) -> Result<()> {
        let program = Program::with_repeats(tree, self.repeats);
        let rules = self.categories.clone();
        let run = Run::new(&program);
        let (categories, (ops, setup)) = rayon::join(
            || TraceCategories::of(&program, run.measure, &rules),
            || (run.ops(), run.setup()),
        );
        self.check_likeness(&run, ops)?;
        let steps = program.steps().len().max(1);
        match &mut self.setup {
            // What one run shows, all can show.
            Some(known) => {
                known.has_gpu |= setup.has_gpu;
                known.has_modules |= setup.has_modules;
                known.has_shapes |= setup.has_shapes;
                known.is_coarse |= setup.is_coarse;
            }
            None => self.setup = Some(setup),
        }
        let (totals, ()) = rayon::join(
            || StepTotals::of(&program, run.measure, &categories),
            || Growth::of(self, &run, &categories).grow(),
        );
        self.totals.add_run(&totals, self.steps);
        self.runs.push(run.facts(steps as u64));
        self.steps += steps;
        Ok(())
    }

    fn check_likeness(&mut self, run: &Run<'_>, ops: BTreeMap<String, f64>) -> Result<()> {
        let Some(first) = &self.ops else {
            self.ops = Some(ops);
            return Ok(());
        };
        let alike = likeness(first, &ops);
        if alike >= ONE_PROGRAM {
            return Ok(());
        }
        let message = format!(
            "is no run of the program that {} is of: {:.0} % of their ops are the same",
            self.runs[0].name,
            100.0 * alike
        );
        Err(Error::new(ErrorKind::Usage, run.tree.trace().source(), message)
            .remedy("give runs of one program as one side"))
    }

    /// The digest of all runs that were added.
    pub fn finish(mut self) -> Digest {
        let (steps, runs) = (self.steps, &self.runs);
        let range = |counts: &Counts| {
            let mut counts = counts.clone();
            counts.resize(steps, 0);
            Range::of(&counts)
        };
        let ids: Vec<NodeId> = self.root.descendants(&self.tree).collect();
        for id in ids {
            let Some(tally) = self.tallies.get(&id) else { continue };
            let node = self.tree[id].get_mut();
            node.calls = range(&tally.calls);
            node.launches = range(&tally.launches);
            node.bytes = range(&tally.bytes);
            let variant = |((dims, types), counts): (&(String, String), &Counts)| Variant {
                dims: dims.clone(),
                types: types.clone(),
                calls: range(counts),
            };
            node.variants = tally.variants.iter().map(variant).collect();
            let site = |(name, counts): (&String, &Counts)| (name.clone(), range(counts));
            node.sites = tally.sites.iter().map(site).collect();
            node.micros = per_step(&tally.nanos, runs);
        }
        Digest {
            setup: self.setup.unwrap_or_default(),
            runs: self.runs,
            times: self.totals.times(),
            counts: self.totals.counts(steps),
            tree: self.tree,
            root: self.root,
        }
    }

    /// The node of a name below another, which is made where it is new.
    fn node(&mut self, above: NodeId, kind: NodeKind, name: &str) -> NodeId {
        let key = (above, kind, name.to_owned());
        if let Some(&id) = self.known.get(&key) {
            return id;
        }
        let id = self.tree.new_node(Node::new(kind, name.to_owned()));
        above.append(id, &mut self.tree);
        self.known.insert(key, id);
        id
    }
}

/// Times of each run, in µs per step; none where no run has any.
fn per_step(nanos: &[i64], runs: &[RunFacts]) -> Vec<f64> {
    if nanos.is_empty() {
        return Vec::new();
    }
    let time = |(at, run): (usize, &RunFacts)| {
        nanos.get(at).copied().unwrap_or(0) as f64 / 1e3 / run.steps as f64
    };
    runs.iter().enumerate().map(time).collect()
}

/// Adds one at the position of a step.
fn count(counts: &mut Counts, step: usize, more: u64) {
    if counts.len() <= step {
        counts.resize(step + 1, 0);
    }
    counts[step] += more;
}

/// One run, with what its calls are.
struct Run<'a> {
    program: &'a Program,
    tree: &'a CallTree,
    measure: Measure,
}

impl<'a> Run<'a> {
    fn new(program: &'a Program) -> Run<'a> {
        let tree: &CallTree = program.tree();
        Run { program, tree, measure: Measure::of(PerSide::new(tree, tree)) }
    }

    /// Calls of each op in a step.
    fn ops(&self) -> BTreeMap<String, f64> {
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

    fn setup(&self) -> Setup {
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

    fn facts(&self, steps: u64) -> RunFacts {
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
    fn step(&self, call: CallId) -> Option<usize> {
        let steps = self.program.steps();
        let is_unlinked = self.tree.kind(call) == CallKind::Gpu && self.tree.launch(call).is_none();
        match steps.is_empty() {
            true => (!is_unlinked).then_some(0),
            false => steps.step(call).map(StepId::index),
        }
    }

    /// What a call is in a digest; `None` for those that are no place of it.
    fn kind(&self, call: CallId) -> Option<NodeKind> {
        let tree = self.tree;
        match tree.kind(call) {
            CallKind::Thread | CallKind::Unlinked => None,
            CallKind::Frame => tree.is_module(call).then_some(NodeKind::Module),
            // The 2021 profiler wrote a step as an operator, too.
            CallKind::Op if tree.name(call).starts_with("ProfilerStep#") => None,
            CallKind::Op => Some(NodeKind::Op),
            CallKind::Runtime if tree.is_graph_launch(call) => Some(NodeKind::GraphLaunch),
            CallKind::Runtime => is_synchronisation(tree.name(call)).then_some(NodeKind::Wait),
            CallKind::Gpu => {
                let event = tree.event(call).expect("a GPU event");
                Some(match tree.trace().category(event) {
                    Category::Memcpy => NodeKind::Copy,
                    Category::Memset => NodeKind::Memset,
                    Category::Kernel
                    | Category::CpuOp
                    | Category::PythonFunction
                    | Category::Runtime
                    | Category::UserAnnotation
                    | Category::GpuUserAnnotation => NodeKind::Kernel,
                })
            }
        }
    }

    fn name(&self, call: CallId) -> String {
        match self.tree.is_module(call) {
            true => ModuleName::instance_or_name(self.tree.name(call)).to_owned(),
            false => plain_name(self.tree.kind(call), self.tree.name(call)).into_owned(),
        }
    }
}

/// Whether all times of a trace are whole microseconds.
fn has_coarse_clock(trace: &Trace) -> bool {
    trace
        .events()
        .all(|event| trace.start(event).0 % 1_000 == 0 && trace.duration(event).0 % 1_000 == 0)
}

/// Nodes by what is around them and the name of a call.
type Seen = FxHashMap<(NodeId, NodeKind, TextId), NodeId>;

/// Adds the calls of one run to the nodes.
struct Growth<'d, 'r> {
    digester: &'d mut Digester,
    run: &'r Run<'r>,
    categories: &'r TraceCategories<'r>,
    /// The node of each call, or of the nearest place above it.
    nodes: Vec<Option<NodeId>>,
    /// Nodes by what is around them and the name in this trace.
    seen: Seen,
    /// For each outermost backward op its forward op.
    forward: FxHashMap<CallId, CallId>,
    sites: Sites,
    /// Columns of each node, by the arguments and frames of this trace.
    arguments: FxHashMap<(NodeId, ArgumentsId), Counts>,
    frames: FxHashMap<(NodeId, TextId), Counts>,
    /// Position of the first step of this run among all steps, and of the run.
    first_step: usize,
    number: usize,
}

impl<'d, 'r> Growth<'d, 'r> {
    fn of(
        digester: &'d mut Digester,
        run: &'r Run<'r>,
        categories: &'r TraceCategories<'r>,
    ) -> Growth<'d, 'r> {
        let (first_step, number) = (digester.steps, digester.runs.len());
        let forward = run.tree.backward_links().into_iter().map(|(op, back)| (back, op)).collect();
        Growth {
            digester,
            run,
            categories,
            nodes: vec![None; run.tree.len()],
            seen: FxHashMap::default(),
            forward,
            sites: Sites::of(run.tree),
            arguments: FxHashMap::default(),
            frames: FxHashMap::default(),
            first_step,
            number,
        }
    }

    fn grow(mut self) {
        // Forward calls first: modules come in the order in which the program calls them.
        let tree = self.run.tree;
        let mut behind: Vec<CallId> = Vec::new();
        let mut at = 0;
        while let Some(call) = tree.call_id(at) {
            if self.forward.contains_key(&call) {
                behind.push(call);
                at = tree.end(call).index();
            } else {
                self.add(call);
                at += 1;
            }
        }
        for call in behind {
            tree.subtree(call).for_each(|call| self.add(call));
        }
        self.write_columns();
    }

    fn add(&mut self, call: CallId) {
        let above = self.above(call);
        let Some(kind) = self.run.kind(call) else {
            self.nodes[call.index()] = Some(above);
            self.count_launch(call, above);
            return;
        };
        let Some(step) = self.run.step(call).map(|step| self.first_step + step) else {
            // A module around all steps is a place, though nobody calls it in a step.
            let around =
                if kind == NodeKind::Module { self.node(above, kind, call) } else { above };
            self.nodes[call.index()] = Some(around);
            return;
        };
        let id = self.node(above, kind, call);
        self.nodes[call.index()] = Some(id);
        self.count_launch(call, id);
        count(&mut self.tally(id).calls, step, 1);
        self.add_bytes(call, id, step);
        self.add_time(call, id);
        if kind == NodeKind::Op {
            self.add_arguments(call, id, step);
            let is_outermost = self.digester.tree[above].get().kind != NodeKind::Op;
            if is_outermost {
                self.add_site(call, id, step);
            }
        }
    }

    /// The node that a call stands below: for a backward op the module of its forward op.
    fn above(&self, call: CallId) -> NodeId {
        let tree = self.run.tree;
        let above = match self.forward.get(&call) {
            Some(&forward) => tree.module(forward),
            None => tree.parent(call),
        };
        above.and_then(|above| self.nodes[above.index()]).unwrap_or(self.digester.root)
    }

    fn node(&mut self, above: NodeId, kind: NodeKind, call: CallId) -> NodeId {
        let event = self.run.tree.event(call).expect("places are events");
        let key = (above, kind, self.run.tree.trace().name_id(event));
        if let Some(&id) = self.seen.get(&key) {
            return id;
        }
        let id = self.digester.node(above, kind, &self.run.name(call));
        self.seen.insert(key, id);
        let category = match self.is_accounted(call) {
            true => self.categories.name(self.run.tree, call),
            false => "",
        };
        let node = self.digester.tree[id].get_mut();
        if node.phase.is_empty() {
            self.run.program.phases().phase(call).label().clone_into(&mut node.phase);
            node.is_collective = self.run.program.communication().is(self.run.tree, call);
            category.clone_into(&mut node.category);
        }
        id
    }

    fn is_accounted(&self, call: CallId) -> bool {
        self.run.measure.slot(self.run.tree, call).is_some()
    }

    fn tally(&mut self, id: NodeId) -> &mut Tally {
        self.digester.tallies.entry(id).or_default()
    }

    fn count_launch(&mut self, call: CallId, id: NodeId) {
        let tree = self.run.tree;
        if tree.kind(call) == CallKind::Runtime
            && tree.is_gpu_path(call)
            && let Some(step) = self.run.step(call)
        {
            let step = self.first_step + step;
            count(&mut self.tally(id).launches, step, 1);
        }
    }

    fn add_bytes(&mut self, call: CallId, id: NodeId, step: usize) {
        let trace = self.run.tree.trace();
        let event = self.run.tree.event(call).expect("places are events");
        let copied = trace.gpu_bytes().get(event).copied();
        let sent = || trace.messages().get(event).map(|message| message.sent);
        if let Some(bytes) = copied.or_else(sent) {
            count(&mut self.tally(id).bytes, step, bytes);
        }
    }

    fn add_time(&mut self, call: CallId, id: NodeId) {
        if !self.is_accounted(call) {
            return;
        }
        let (time, number) = (self.run.measure.time(self.run.tree, call).0, self.number);
        let nanos = &mut self.tally(id).nanos;
        if nanos.len() <= number {
            nanos.resize(number + 1, 0);
        }
        nanos[number] += time;
    }

    fn add_arguments(&mut self, call: CallId, id: NodeId, step: usize) {
        let event = self.run.tree.event(call).expect("places are events");
        if let Some(arguments) = self.run.tree.trace().arguments_id(event) {
            count(self.arguments.entry((id, arguments)).or_default(), step, 1);
        }
    }

    fn add_site(&mut self, call: CallId, id: NodeId, step: usize) {
        let tree = self.run.tree;
        let called = self.forward.get(&call).copied().unwrap_or(call);
        let frame = self.sites.frame(tree, called).and_then(|frame| tree.event(frame));
        if let Some(frame) = frame {
            count(self.frames.entry((id, tree.trace().name_id(frame))).or_default(), step, 1);
        }
    }

    /// Adds what was counted by ids of this trace, as text.
    fn write_columns(self) {
        let trace = self.run.tree.trace();
        let mut arguments: Vec<_> = self.arguments.into_iter().collect();
        arguments.sort_by_key(|&(key, _)| key);
        for ((id, arguments), counts) in arguments {
            let arguments = trace.arguments(arguments);
            let key =
                (trace.text(arguments.dims).to_owned(), trace.text(arguments.types).to_owned());
            let tally = self.digester.tallies.entry(id).or_default();
            add_up(tally.variants.entry(key).or_default(), &counts);
        }
        let mut frames: Vec<_> = self.frames.into_iter().collect();
        frames.sort_by_key(|&(key, _)| key);
        for ((id, frame), counts) in frames {
            let tally = self.digester.tallies.entry(id).or_default();
            add_up(tally.sites.entry(trace.text(frame).to_owned()).or_default(), &counts);
        }
    }
}

fn add_up(sums: &mut Counts, counts: &Counts) {
    for (step, &more) in counts.iter().enumerate().filter(|&(_, &more)| more > 0) {
        count(sums, step, more);
    }
}
