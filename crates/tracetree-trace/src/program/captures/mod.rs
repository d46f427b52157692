//! Inserts the calls from capture traces below the graph launches in a tree.
//!
//! Two criteria determine which captured graph a launch replays: the batch size in the engine's
//! annotations, and how well the captured launches align with the replayed kernels. If several
//! graphs fit equally well, the capture order breaks the tie. If no graph fits, kernels that name a
//! program part are placed below that part, and all other kernels stay directly below the graph
//! launch. A note then names the most similar graph and explains why it does not fit.

mod batches;
mod fit;
mod order;
mod parts;
mod recorded;
mod remarks;
mod source;

pub use recorded::Captures;
pub use source::CaptureSource;

use crate::trace::{CapturedAs, Graft, Notes, Trace};
use crate::tree::{Alphabet, CallId, CallTree, Capture, CapturedGraph, Ran, Replay, ReplayedGraph};
use crate::tree::{CallKind, TreeOptions};
use batches::Batches;
use fit::{Candidate, Fitting, ReplayEnd};
use parts::PartTraces;
use recorded::GraphId;
use std::sync::Arc;

impl Captures {
    /// Finds the captured graphs in traces.
    pub fn of<T: Into<Arc<Trace>>>(traces: impl IntoIterator<Item = T>) -> Captures {
        let mut captures = Captures::default();
        for trace in traces {
            captures.push(trace, None);
        }
        captures
    }

    /// Adds a capture trace. `batch` is the batch size of the captured graphs, if a source outside
    /// the trace states it; an annotation in the trace takes precedence.
    #[doc(hidden)]
    pub fn push(&mut self, trace: impl Into<Arc<Trace>>, batch: Option<u64>) {
        let capture = Capture::of(trace);
        remarks::reading(&capture, &mut self.notes);
        self.captures.push(Arc::new(capture));
        self.hints.push(batch);
    }

    /// Adds a note about the search for captures.
    pub(crate) fn note(&mut self, code: &'static str, hint: &'static str, message: String) {
        self.notes.add(code, 1, hint, || message);
    }

    /// The capture traces.
    #[doc(hidden)]
    pub fn captures(&self) -> &[Arc<Capture>] {
        &self.captures
    }

    /// Whether there are no capture traces.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.captures.is_empty()
    }

    /// Notes about irregularities in the capture traces.
    #[doc(hidden)]
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the tree with the calls of the matching captured graph added below each graph
    /// launch. Each GPU event is placed below the captured call that launched it. If no graph fits,
    /// the program parts that are named in the GPU events are added instead. [`CallTree::replays`]
    /// lists all graph launches with the graph that each of them replays, if known;
    /// [`CallTree::notes`] summarizes them.
    #[must_use]
    #[doc(hidden)]
    pub fn add_to(&self, tree: &CallTree, options: TreeOptions) -> CallTree {
        let launches: Vec<CallId> = tree
            .calls()
            .filter(|&call| tree.is_graph_launch(call))
            .filter(|&call| tree.children(call).any(|below| tree.kind(below) == CallKind::Gpu))
            .collect();
        let mut alphabet = Alphabet::default();
        let batches = Batches::of(self, tree);
        let replays: Vec<Vec<Ran>> =
            launches.iter().map(|&launch| Ran::of(tree, launch, &mut alphabet)).collect();
        let mut fitting = Fitting::new(self, &batches, alphabet);
        let candidates: Vec<Vec<Candidate>> = launches
            .iter()
            .zip(&replays)
            .enumerate()
            .map(|(at, (&launch, ran))| {
                let end = if at + 1 == launches.len() {
                    ReplayEnd::MayBeMissing
                } else {
                    ReplayEnd::Recorded
                };
                fitting.candidates(ran, batches.of_replay(tree, launch), end)
            })
            .collect();
        let groups = |id: GraphId| batches.group(id);
        let chosen = order::choose(tree, &launches, &candidates, self, groups);
        let mut grafts = Vec::new();
        let mut found = Vec::new();
        let mut parts = PartTraces::after(self.captures.len());
        for (at, &launch) in launches.iter().enumerate() {
            let best = chosen[at].map(|choice| &candidates[at][choice]);
            let mut replay =
                self.replay(tree, launch, &replays[at], best, &candidates[at], &batches);
            match best {
                Some(best) => grafts.push(self.graft(tree, launch, &replays[at], best)),
                None => {
                    let graft = parts.graft(tree, launch, &replays[at]);
                    replay.named = graft.as_ref().map_or(0, |graft| graft.kernels.len());
                    grafts.extend(graft);
                }
            }
            found.push(replay);
        }
        let mut notes = self.notes.clone();
        let captures = self.captures.iter().map(|capture| &**capture.trace());
        let traces: Vec<&Trace> = captures.chain(parts.traces()).collect();
        let (trace, taken) = tree.trace().with_captured(&traces, &grafts);
        remarks::room(grafts.len() - taken, &mut notes);
        let is_grafted = |replay: &&mut Replay| replay.graph.is_some() || replay.named > 0;
        for replay in found.iter_mut().filter(is_grafted).skip(taken) {
            (replay.graph, replay.placed, replay.named) = (None, 0, 0);
        }
        remarks::replays(&found, self, &mut notes);
        if grafts.is_empty() {
            tree.clone().with_replays(found, &notes)
        } else {
            CallTree::with_options(trace, options).with_replays(found, &notes)
        }
    }

    fn graph(&self, id: GraphId) -> (&Capture, &CapturedGraph) {
        let capture = &self.captures[id.capture as usize];
        (capture, &capture.graphs()[id.graph as usize])
    }

    fn named(&self, id: GraphId, batches: &Batches) -> ReplayedGraph {
        let (capture, graph) = self.graph(id);
        ReplayedGraph {
            source: capture.trace().source().to_owned(),
            number: id.graph as usize,
            begin: capture.begin(graph),
            launches: graph.launches(),
            batch: batches.of_graph(id),
        }
    }

    fn replay(
        &self,
        tree: &CallTree,
        launch: CallId,
        ran: &[Ran],
        best: Option<&Candidate>,
        candidates: &[Candidate],
        batches: &Batches,
    ) -> Replay {
        let event = tree.event(launch).expect("a launch is an event");
        let misfit = || {
            let nearest = candidates.first()?;
            Some((self.named(nearest.graph, batches), nearest.misfit?))
        };
        Replay {
            launch: tree.trace().uid(event),
            kernels: ran.len(),
            placed: best.map_or(0, |best| best.alignment.placed()),
            named: 0,
            graph: best.map(|best| self.named(best.graph, batches)),
            equals: best.map_or(0, |best| {
                candidates.iter().filter(|other| other.is_as_good_as(best)).count() - 1
            }),
            misfit: if best.is_some() { None } else { misfit() },
        }
    }

    fn graft(&self, tree: &CallTree, launch: CallId, ran: &[Ran], best: &Candidate) -> Graft {
        let (_, graph) = self.graph(best.graph);
        let kernel = |(at, launch): (usize, usize)| (ran[at].event, graph.launches[launch].0);
        Graft {
            known: CapturedAs::Call,
            launch: tree.event(launch).expect("a launch is an event"),
            source: best.graph.capture,
            calls: graph.calls.clone(),
            kernels: best.alignment.pairs().map(kernel).collect(),
        }
    }
}
