//! Stores the links between calls (launches, links from forward to backward ops, and flow arrows)
//! as a graph that can be queried and exported. The nesting of calls does not count as a link.

use super::{CallId, CallTree};
use crate::escape::one_line;
use crate::trace::{EventId, FlowEnd, Nanos, ThreadId, Trace};
use petgraph::dot::{Config, Dot};
use petgraph::graphmap::DiGraphMap;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;

/// The kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum LinkKind {
    /// A link from a runtime call to a GPU event that the call launched.
    Launch,
    /// A link from a forward op to its backward op.
    Backward,
    /// A flow arrow in the trace between two calls that have no other link.
    Flow,
}

impl LinkKind {
    /// `launch`, `backward` or `flow`.
    pub fn label(self) -> &'static str {
        match self {
            LinkKind::Launch => "launch",
            LinkKind::Backward => "backward",
            LinkKind::Flow => "flow",
        }
    }
}

/// Directed links between the calls of one tree.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct LinkGraph {
    graph: DiGraphMap<u32, LinkKind>,
}

impl CallTree {
    /// Returns the links of the tree: launches, links from forward to backward ops, and flow
    /// arrows.
    #[doc(hidden)]
    pub fn links(&self) -> LinkGraph {
        let mut graph = DiGraphMap::new();
        for (from, to) in flow_links(self) {
            graph.add_edge(from.0, to.0, LinkKind::Flow);
        }
        for &(forward, backward) in self.backward_links() {
            graph.add_edge(forward.0, backward.0, LinkKind::Backward);
        }
        for call in self.calls().filter(|&call| self.kind(call) == super::CallKind::Gpu) {
            if let Some(launch) = self.launch(call) {
                graph.add_edge(launch.0, call.0, LinkKind::Launch);
            }
        }
        LinkGraph { graph }
    }
}

impl LinkGraph {
    /// Number of links.
    pub fn len(&self) -> usize {
        self.graph.edge_count()
    }

    /// Whether the tree has no links.
    pub fn is_empty(&self) -> bool {
        self.graph.edge_count() == 0
    }

    /// All links as (from, to, kind), sorted.
    pub fn iter(&self) -> impl Iterator<Item = (CallId, CallId, LinkKind)> {
        let mut edges: Vec<_> =
            self.graph.all_edges().map(|(a, b, &kind)| (CallId(a), CallId(b), kind)).collect();
        edges.sort();
        edges.into_iter()
    }

    /// The targets of the links from a call, sorted.
    pub fn targets(&self, call: CallId) -> Vec<(CallId, LinkKind)> {
        let mut targets: Vec<_> =
            self.graph.edges(call.0).map(|(_, to, &kind)| (CallId(to), kind)).collect();
        targets.sort();
        targets
    }

    /// The sources of the links to a call, sorted.
    pub fn sources(&self, call: CallId) -> Vec<(CallId, LinkKind)> {
        let mut sources: Vec<_> = self
            .graph
            .neighbors_directed(call.0, petgraph::Direction::Incoming)
            .filter_map(|from| Some((CallId(from), *self.graph.edge_weight(from, call.0)?)))
            .collect();
        sources.sort();
        sources
    }

    /// The graph in the DOT language of Graphviz, with the names of the calls. `tree` must be the
    /// tree that the links belong to.
    pub fn to_dot(&self, tree: &CallTree) -> String {
        let name = |_, (call, _): (u32, _)| {
            let label = one_line(tree.name(CallId(call)));
            let label = label.replace('\\', "\\\\").replace('"', "\\\"");
            format!("label=\"{label}\"")
        };
        let kind = |_, (_, _, kind): (_, _, &LinkKind)| format!("label=\"{}\"", kind.label());
        let config = [Config::EdgeNoLabel, Config::NodeNoLabel];
        let mut text = String::new();
        write!(text, "{:?}", Dot::with_attr_getters(&self.graph, &config, &kind, &name))
            .expect("writing to a string cannot fail");
        text
    }
}

/// Flow arrows from the start of one call to the start of a different call.
fn flow_links(tree: &CallTree) -> Vec<(CallId, CallId)> {
    let trace = tree.trace();
    let starts = calls_by_start(trace);
    let at = |thread, time| starts.get(&(thread, time)).and_then(|&event| tree.call_of(event));
    let mut open: FxHashMap<(crate::trace::TextId, i64), CallId> = FxHashMap::default();
    let mut links = Vec::new();
    for flow in trace.flows().iter().filter(|flow| flow.end == FlowEnd::Start) {
        if let Some(call) = at(flow.thread, flow.time) {
            open.insert((flow.category, flow.id), call);
        }
    }
    for flow in trace.flows().iter().filter(|flow| flow.end == FlowEnd::Finish) {
        let from = open.get(&(flow.category, flow.id)).copied();
        if let (Some(from), Some(to)) = (from, at(flow.thread, flow.time))
            && from != to
        {
            links.push((from, to));
        }
    }
    links
}

/// Calls by thread and start. If several nested calls have the same start, only the innermost call
/// is listed. In Kineto traces, each point of a flow arrow has exactly the start time of its call.
fn calls_by_start(trace: &Trace) -> FxHashMap<(ThreadId, Nanos), EventId> {
    let mut starts: FxHashMap<(ThreadId, Nanos), EventId> = FxHashMap::default();
    for event in trace
        .own_events()
        .filter(|&e| trace.category(e).is_host_call() || trace.category(e).is_gpu())
    {
        starts
            .entry((trace.thread_of(event), trace.start(event)))
            .and_modify(|held| {
                if trace.duration(event) <= trace.duration(*held) {
                    *held = event;
                }
            })
            .or_insert(event);
    }
    starts
}
