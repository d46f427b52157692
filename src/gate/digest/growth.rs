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

/// Adds the calls of one run to the nodes.
pub(super) struct Growth<'d, 'r> {
    into: &'d mut Nodes,
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
    /// Of the run of that number, whose first step is the one of that position among all.
    pub(super) fn of(
        into: &'d mut Nodes,
        run: &'r Run<'r>,
        categories: &'r TraceCategories<'r>,
        (first_step, number): (usize, usize),
    ) -> Growth<'d, 'r> {
        let forward = run.tree.backward_links().into_iter().map(|(op, back)| (back, op)).collect();
        Growth {
            into,
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

    /// Adds all calls.
    pub(super) fn grow(mut self) {
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
        count(&mut self.into.tally(id).calls, step, 1);
        self.add_bytes(call, id, step);
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
        let above = match self.forward.get(&call) {
            Some(&forward) => tree.module(forward),
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
        let category = match self.is_accounted(call) {
            true => self.categories.name(self.run.tree, call),
            false => "",
        };
        let node = self.into.node(id);
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

    fn count_launch(&mut self, call: CallId, id: NodeId) {
        let tree = self.run.tree;
        if tree.kind(call) == CallKind::Runtime
            && tree.is_gpu_path(call)
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
