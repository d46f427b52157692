//! Inserts the calls from capture traces below the graph launches in a tree.
//!
//! ```text
//! capture   BeginCapture … mm(launch a) relu(launch b) … EndCapture     nothing runs
//! replay    GraphLaunch  │ kernel A │ kernel B │                       all kernels, no calls
//! both      GraphLaunch → mm → launch a → kernel A
//!                       → relu → launch b → kernel B
//! ```
//!
//! Two criteria determine which captured graph a launch replays: the batch size in the engine's
//! annotations, and how well the captured launches align with the replayed kernels. If several
//! graphs fit equally well, the capture order breaks the tie. If no graph fits, kernels that name a
//! program part are placed below that part, and all other kernels stay directly below the graph
//! launch. A note then names the most similar graph and explains why it does not fit.

mod align;
mod batches;
mod evidence;
mod fit;
mod graphs;
mod order;
mod parts;
mod remarks;
mod sequences;
mod source;

pub use graphs::LaunchKind;
pub(super) use graphs::{Captured, captures};
pub use source::{CaptureSource, Captures};

use crate::trace::{CapturedAs, Graft, Texts, Trace};
use crate::tree::{CallId, CallKind, CallTree, Replay, ReplayedGraph, TreeOptions};
use batches::Batches;
use fit::{Candidate, Fitting, ReplayEnd};
use graphs::{Capture, CapturedGraph, GraphId};
use parts::PartTraces;
use sequences::Ran;

impl Captures {
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
        let mut texts = Texts::default();
        let batches = Batches::of(&self.captures, tree);
        let replays: Vec<Vec<Ran>> =
            launches.iter().map(|&launch| Ran::of(tree, launch, &mut texts)).collect();
        let mut fitting = Fitting::new(&self.captures, &batches, texts);
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
        let chosen = order::choose(tree, &launches, &candidates, &self.captures, &batches);
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
        remarks::replays(&found, &self.captures, &mut notes);
        if grafts.is_empty() {
            tree.clone().with_replays(found, &notes)
        } else {
            CallTree::with_options(trace, options).with_replays(found, &notes)
        }
    }

    fn graph(&self, id: GraphId) -> (&Capture, &CapturedGraph) {
        let capture = &self.captures[id.capture as usize];
        (capture, &capture.graphs[id.graph as usize])
    }

    fn named(&self, id: GraphId, batches: &Batches) -> ReplayedGraph {
        let (capture, graph) = self.graph(id);
        ReplayedGraph {
            source: capture.trace().source().to_owned(),
            number: id.graph as usize,
            begin: capture.begin(graph),
            launches: graph.launches.len(),
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
