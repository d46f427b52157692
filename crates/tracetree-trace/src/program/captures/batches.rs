//! Reads batch sizes from annotations: the size that each graph was captured for, and the size of
//! the batch that each replay processed.

use super::graphs::{Capture, GraphId};
use crate::program::annotations::{Annotation, Meaning, annotations};
use crate::trace::EventId;
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The batch size that each graph was captured for, and the batch that each replay processed.
pub(super) struct Batches {
    /// For each captured graph, the annotation that encloses the capture, and the batch size. The
    /// batch size comes from that annotation or from outside the trace.
    captured: FxHashMap<GraphId, (Option<EventId>, Option<u64>)>,
    replayed: Vec<Annotation>,
}

/// The graphs that were captured for one batch size, identified by the capture trace and by the
/// annotation that encloses the captures.
pub(super) type Group = (u32, Option<EventId>);

/// The batch that a graph replay processed. Engines capture graphs either for a fixed number of
/// requests or for a fixed number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ReplayedBatch {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

/// How well the batch size of a captured graph matches the batch of a replay. Variants are ordered
/// from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Suits {
    /// The graph was captured for exactly the replay's batch size.
    Exactly,
    /// The graph was captured for the next larger batch size; the engine padded the replay's batch
    /// to this size.
    Padded(u64),
    /// The batch size of the graph, of the replay, or of both is unknown.
    Unknown,
    /// The graph was captured for an unsuitable batch size. Either this size is smaller than the
    /// replay's batch, or it is so large that no engine would pad the batch to it.
    Not,
}

impl Batches {
    pub(super) fn of(captures: &[Arc<Capture>], tree: &CallTree) -> Batches {
        let mut captured = FxHashMap::default();
        for (at, capture) in captures.iter().enumerate() {
            let said = annotations(capture.trace());
            for (number, graph) in capture.graphs.iter().enumerate() {
                let around = said.iter().rev().find(|annotation| {
                    matches!(annotation.meaning, Meaning::Capture(_))
                        && annotation.thread == graph.thread
                        && (annotation.start..annotation.end).contains(&graph.span.0)
                });
                let size = around.and_then(|annotation| match annotation.meaning {
                    Meaning::Capture(size) => Some(size),
                    Meaning::Step(_) | Meaning::Batch(_) | Meaning::Training(_) => None,
                });
                let id = GraphId { capture: at as u32, graph: number as u32 };
                let event = around.map(|annotation| annotation.event);
                captured.insert(id, (event, size.or(capture.batch)));
            }
        }
        let is_batch = |annotation: &Annotation| matches!(annotation.meaning, Meaning::Batch(_));
        let replayed = annotations(tree.trace()).into_iter().filter(is_batch).collect();
        Batches { captured, replayed }
    }

    /// The batch size of a captured graph.
    pub(super) fn of_graph(&self, graph: GraphId) -> Option<u64> {
        self.captured.get(&graph).and_then(|&(_, size)| size)
    }

    /// The group of consecutively captured graphs that contains this graph. Engines replay the
    /// graphs of a group in capture order.
    pub(super) fn group(&self, graph: GraphId) -> Group {
        (graph.capture, self.captured.get(&graph).and_then(|&(event, _)| event))
    }

    /// The batch described by the innermost annotation that encloses a graph launch.
    pub(super) fn of_replay(&self, tree: &CallTree, launch: CallId) -> Option<ReplayedBatch> {
        let event = tree.event(launch)?;
        let (thread, start) = (tree.trace().thread_of(event), tree.trace().start(event));
        let around = |annotation: &&Annotation| {
            annotation.thread == thread && (annotation.start..annotation.end).contains(&start)
        };
        match self.replayed.iter().rev().find(around)?.meaning {
            Meaning::Batch(batch) if batch.requests > 0 => Some(ReplayedBatch {
                requests: batch.requests,
                tokens: batch.tokens.unwrap_or(batch.requests),
            }),
            Meaning::Batch(_) | Meaning::Step(_) | Meaning::Training(_) | Meaning::Capture(_) => {
                None
            }
        }
    }
}

/// Compares the batch that a graph was captured for with the batch of a replay. Engines pad a batch
/// to the next larger captured size. The next larger size is less than twice the batch size,
/// because neighboring captured sizes are less than a factor of two apart.
pub(super) fn suits(captured: Option<u64>, replayed: Option<ReplayedBatch>) -> Suits {
    let (Some(size), Some(batch)) = (captured, replayed) else { return Suits::Unknown };
    if size == batch.tokens || size == batch.requests {
        return Suits::Exactly;
    }
    let least = batch.tokens.min(batch.requests);
    let is_next = |used: u64| used < size && size < used.saturating_mul(2);
    if is_next(batch.tokens) || (least > 0 && is_next(least)) {
        Suits::Padded(size)
    } else {
        Suits::Not
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_padded_to_the_next_size() {
        let batch = |requests, tokens| Some(ReplayedBatch { requests, tokens });
        assert_eq!(suits(Some(32), batch(32, 32)), Suits::Exactly);
        assert_eq!(suits(Some(8192), batch(46, 8192)), Suits::Exactly);
        assert_eq!(suits(Some(32), batch(27, 27)), Suits::Padded(32));
        assert_eq!(suits(Some(64), batch(32, 32)), Suits::Not);
        assert_eq!(suits(Some(16), batch(32, 32)), Suits::Not);
        assert_eq!(suits(None, batch(32, 32)), Suits::Unknown);
    }
}
