//! The calls of one run → the nodes of a digest.
//!
//! A call belongs to the node of its name below the node of the nearest module or op above it. What a
//! call is and how it is called is found out once for each node and name of a trace.

use super::node::NodeKind;
use super::run::Run;
use super::sites::Sites;
use super::tallies::{Counts, Nodes, add_up, count};
use crate::analysis::TraceCategories;
use crate::trace::{ArgumentsId, TextId};
use crate::tree::{CallId, CallKind};
use indextree::NodeId;
use rustc_hash::FxHashMap;

/// Nodes by what is around them and the name of a call.
type Seen = FxHashMap<(NodeId, NodeKind, TextId), NodeId>;

/// The first call of each place of a run: what it is tells what the place is.
#[derive(Debug)]
pub(super) struct Firsts(Vec<(NodeId, CallId)>);

impl Firsts {
    /// Tells the places that no earlier run has what they are.
    pub(super) fn describe(&self, nodes: &mut Nodes, run: &Run<'_>, work: &TraceCategories<'_>) {
        for &(id, call) in &self.0 {
            let node = nodes.node(id);
            if !node.phase.is_empty() {
                continue;
            }
            run.program.phases().phase(call).label().clone_into(&mut node.phase);
            node.is_collective = run.program.communication().is(run.tree, call);
            if run.measure.slot(run.tree, call).is_some() {
                work.name(run.tree, call).clone_into(&mut node.category);
            }
        }
    }
}

/// Adds the calls of one run to the nodes.
pub(super) struct Growth<'d, 'r> {
    into: &'d mut Nodes,
    run: &'r Run<'r>,
    /// The node of each call, or of the nearest place above it.
    nodes: Vec<Option<NodeId>>,
    /// Nodes by what is around them and the name in this trace.
    seen: Seen,
    /// The first calls of places, with them.
    firsts: Firsts,
    /// For each outermost backward op its forward op.
    forward: Vec<Option<CallId>>,
    sites: Sites,
    /// Columns of each node, by the arguments and frames of this trace.
    arguments: FxHashMap<(NodeId, ArgumentsId), Counts>,
    frames: FxHashMap<(NodeId, TextId), Counts>,
    /// Position of the first step of this run among all steps, and of the run.
    first_step: usize,
    number: usize,
}

impl<'d, 'r> Growth<'d, 'r> {
    /// Of the run of that number, whose first step is the one of that position among all.
    pub(super) fn of(
        into: &'d mut Nodes,
        run: &'r Run<'r>,
        (first_step, number): (usize, usize),
    ) -> Growth<'d, 'r> {
        let mut forward = vec![None; run.tree.len()];
        for &(op, backward) in run.tree.backward_links() {
            forward[backward.index()] = Some(op);
        }
        Growth {
            into,
            run,
            nodes: vec![None; run.tree.len()],
            seen: FxHashMap::default(),
            firsts: Firsts(Vec::new()),
            forward,
            sites: Sites::of(run.tree),
            arguments: FxHashMap::default(),
            frames: FxHashMap::default(),
            first_step,
            number,
        }
    }

    /// Adds all calls; the first call of each place is returned.
    pub(super) fn grow(mut self) -> Firsts {
        // Forward calls first: modules come in the order in which the program calls them.
        let tree = self.run.tree;
        let mut behind: Vec<CallId> = Vec::new();
        let mut at = 0;
        while let Some(call) = tree.call_id(at) {
            if self.forward[call.index()].is_some() {
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
        let firsts = std::mem::replace(&mut self.firsts, Firsts(Vec::new()));
        self.write_columns();
        firsts
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
        count(&mut self.into.tally(id).calls, step, 1);
        if kind.is_gpu() {
            self.add_bytes(call, id, step);
        }
        self.add_time(call, id);
        if kind == NodeKind::Op {
            self.add_arguments(call, id, step);
            let is_outermost = self.into.kind(above) != NodeKind::Op;
            if is_outermost {
                self.add_site(call, id, step);
            }
        }
    }

    /// The node that a call stands below: for a backward op the module of its forward op.
    fn above(&self, call: CallId) -> NodeId {
        let tree = self.run.tree;
        let above = match self.forward[call.index()] {
            Some(forward) => tree.module(forward),
            None => tree.parent(call),
        };
        above.and_then(|above| self.nodes[above.index()]).unwrap_or(self.into.root())
    }

    fn node(&mut self, above: NodeId, kind: NodeKind, call: CallId) -> NodeId {
        let event = self.run.tree.event(call).expect("places are events");
        let key = (above, kind, self.run.tree.trace().name_id(event));
        if let Some(&id) = self.seen.get(&key) {
            return id;
        }
        let id = self.into.below(above, kind, &self.run.name(call));
        self.seen.insert(key, id);
        self.firsts.0.push((id, call));
        id
    }

    fn is_accounted(&self, call: CallId) -> bool {
        self.run.measure.slot(self.run.tree, call).is_some()
    }

    fn count_launch(&mut self, call: CallId, id: NodeId) {
        let tree = self.run.tree;
        if tree.kind(call) == CallKind::Runtime
            && tree.is_gpu_path(call)
            && !tree.is_captured(call)
            && let Some(step) = self.run.step(call)
        {
            let step = self.first_step + step;
            count(&mut self.into.tally(id).launches, step, 1);
        }
    }

    fn add_bytes(&mut self, call: CallId, id: NodeId, step: usize) {
        let trace = self.run.tree.trace();
        let event = self.run.tree.event(call).expect("places are events");
        let copied = trace.gpu_bytes().get(event).copied();
        let sent = || trace.messages().get(event).map(|message| message.sent);
        if let Some(bytes) = copied.or_else(sent) {
            count(&mut self.into.tally(id).bytes, step, bytes);
        }
    }

    fn add_time(&mut self, call: CallId, id: NodeId) {
        if !self.is_accounted(call) {
            return;
        }
        let (time, number) = (self.run.measure.time(self.run.tree, call).0, self.number);
        let nanos = &mut self.into.tally(id).nanos;
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
        let called = self.forward[call.index()].unwrap_or(call);
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
            let tally = self.into.tally(id);
            add_up(tally.variants.entry(key).or_default(), &counts);
        }
        let mut frames: Vec<_> = self.frames.into_iter().collect();
        frames.sort_by_key(|&(key, _)| key);
        for ((id, frame), counts) in frames {
            let tally = self.into.tally(id);
            add_up(tally.sites.entry(trace.text(frame).to_owned()).or_default(), &counts);
        }
    }
}
