//! Determines the phase of every call: what the program was doing when it made the call.
//!
//! A call has the phase of the innermost annotation or backward op that is active on the call's own
//! thread when the call starts. If neither an annotation nor a backward op is active, the phase is
//! derived from the links between forward and backward ops:
//!
//! ```text
//! an annotation around it          what the annotation says (see `annotations`)
//! a backward op above it           train.backward; recomputed forward work included
//! an op or module above it that    train.forward
//! led to a backward op
//! nothing                          unknown
//! ```
//! `train.*` is reported only for traces with a backward op or a backward or optimizer annotation.

use super::annotations::{Annotation, Meaning, annotations};
use super::phase::Phase;
use crate::trace::{ByName, Nanos};
use crate::tree::{CallId, CallKind, CallTree};

/// The phase of every call in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phases {
    of_calls: Vec<Phase>,
}

impl Phases {
    /// Finds the phase of each call.
    #[doc(hidden)]
    pub fn of(tree: &CallTree) -> Phases {
        Phases::annotated(tree, &annotations(tree.trace()))
    }

    /// Same as [`Phases::of`], but for a trace whose annotations are already parsed.
    pub(super) fn annotated(tree: &CallTree, annotations: &[Annotation]) -> Phases {
        let evidence = Evidence::of(tree, annotations);
        if evidence.is_none() {
            return Phases { of_calls: vec![Phase::Unknown; tree.len()] };
        }
        // The ancestors of the current call, each with the evidence that its children inherit.
        let mut above: Vec<(CallId, Known)> = Vec::new();
        let of_calls = tree.calls().map(|call| {
            while above.last().is_some_and(|&(open, _)| !tree.is_below(call, open)) {
                above.pop();
            }
            let parent = above.last().map_or(Known::NOTHING, |&(_, known)| known);
            let known = evidence.at(tree, call, parent);
            above.push((call, known));
            evidence.phase(&known)
        });
        Phases { of_calls: of_calls.collect() }
    }

    /// The phase of a call. A GPU event has the phase in which it was launched.
    #[doc(hidden)]
    pub fn phase(&self, call: CallId) -> Phase {
        self.of_calls[call.index()]
    }
}

/// The evidence that a call inherits from its ancestors.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// The innermost known phase, and the time at which that phase starts.
    said: Option<(Nanos, Phase)>,
    /// Whether an ancestor is a forward op that has a backward op, or a module that encloses such a
    /// forward op.
    led_to_backward: bool,
}

impl Known {
    const NOTHING: Known = Known { said: None, led_to_backward: false };
}

/// The data in a trace that indicates phases.
struct Evidence {
    annotated: Vec<Innermost>,
    /// For each call, whether it is a forward op that has a backward op, or a module that encloses
    /// such a forward op.
    leads_to_backward: Vec<bool>,
    /// For each call, whether autograd made the call.
    is_backward: Vec<bool>,
    is_training: bool,
}

impl Evidence {
    fn of(tree: &CallTree, found: &[Annotation]) -> Evidence {
        let says_training = |annotation: &Annotation| {
            use Phase::{TrainBackward, TrainOptimizer};
            matches!(annotation.meaning, Meaning::Training(TrainBackward | TrainOptimizer))
        };
        let is_backward = backward_ops(tree);
        Evidence {
            annotated: Innermost::by_thread(found, tree.trace().threads().len()),
            leads_to_backward: leads_to_backward(tree),
            is_training: found.iter().any(says_training) || is_backward.contains(&true),
            is_backward,
        }
    }

    /// Whether nothing in the trace indicates a phase, as is usual for inference traces without
    /// annotations.
    fn is_none(&self) -> bool {
        let says_nothing = |thread: &Innermost| thread.changes.is_empty();
        self.annotated.iter().all(says_nothing)
            && !self.leads_to_backward.contains(&true)
            && !self.is_backward.contains(&true)
    }

    fn at(&self, tree: &CallTree, call: CallId, above: Known) -> Known {
        let (Some(event), false) = (tree.event(call), tree.kind(call) == CallKind::Gpu) else {
            return above;
        };
        let start = tree.trace().start(event);
        let annotated = self.annotated[tree.trace().thread_of(event).index()].at(start);
        let backward = self.is_backward[call.index()].then_some((start, Phase::TrainBackward));
        // The backward op is the second argument, because it is inside the annotation if both start
        // at the same time.
        let said = later(later(above.said, annotated), backward);
        let led_to_backward = above.led_to_backward || self.leads_to_backward[call.index()];
        Known { said, led_to_backward }
    }

    fn phase(&self, known: &Known) -> Phase {
        match known.said {
            Some((_, Phase::TrainForward)) if !self.is_training => Phase::Unknown,
            Some((_, phase)) => phase,
            None if known.led_to_backward => Phase::TrainForward,
            None => Phase::Unknown,
        }
    }
}

/// Returns the phase that started later or, if both started at the same time, the second one.
fn later(one: Option<(Nanos, Phase)>, two: Option<(Nanos, Phase)>) -> Option<(Nanos, Phase)> {
    match (one, two) {
        (Some((since, _)), Some((until, _))) if until < since => one,
        (_, Some(_)) => two,
        (_, None) => one,
    }
}

/// For each call, whether autograd made the call: either the op's name says so, or the op records
/// the thread of its forward op.
fn backward_ops(tree: &CallTree) -> Vec<bool> {
    let trace = tree.trace();
    let mut names_autograd = ByName::new(trace);
    let mut is_backward = |call: CallId| {
        let event = tree.event(call)?;
        let name = trace.name_id(event);
        let named = names_autograd.get(name, || {
            let name = trace.text(name);
            name.starts_with("autograd::engine::") || name.starts_with("torch::autograd::")
        });
        let numbered = || {
            let sequence = trace.sequences.get(event);
            sequence.is_some_and(|sequence| sequence.forward_thread != 0)
        };
        Some(named || numbered())
    };
    let is_op = |call| tree.kind(call) == CallKind::Op;
    tree.calls().map(|call| is_op(call) && is_backward(call).unwrap_or(false)).collect()
}

fn leads_to_backward(tree: &CallTree) -> Vec<bool> {
    let mut leads = vec![false; tree.len()];
    for &(forward, _) in tree.backward_links() {
        leads[forward.index()] = true;
        // If a module encloses the forward op, all modules around that module enclose it as well.
        let mut above = tree.module(forward);
        while let Some(module) = above.filter(|module| !leads[module.index()]) {
            leads[module.index()] = true;
            above = tree.parent(module).and_then(|parent| tree.module(parent));
        }
    }
    leads
}

/// The innermost annotation on one thread at each point in time, stored as a list of transitions.
struct Innermost {
    /// The times at which the innermost annotation changes, each with the new phase and the start
    /// of that phase.
    changes: Vec<(Nanos, Option<(Nanos, Phase)>)>,
}

impl Innermost {
    fn by_thread(found: &[Annotation], threads: usize) -> Vec<Innermost> {
        let mut by_thread: Vec<Vec<&Annotation>> = vec![Vec::new(); threads];
        for annotation in found {
            by_thread[annotation.thread.index()].push(annotation);
        }
        by_thread.iter().map(|list| Innermost::new(list)).collect()
    }

    /// Builds the list of transitions. `list` must be sorted by start, longer annotations first.
    fn new(list: &[&Annotation]) -> Innermost {
        let mut changes = Vec::new();
        let mut open: Vec<(Nanos, (Nanos, Phase))> = Vec::new();
        for annotation in list {
            let phase = match annotation.meaning {
                Meaning::Step(_) | Meaning::Capture(_) => continue,
                Meaning::Batch(batch) => batch.phase,
                Meaning::Training(phase) => phase,
            };
            Innermost::close_until(annotation.start, &mut open, &mut changes);
            open.push((annotation.end, (annotation.start, phase)));
            changes.push((annotation.start, Some((annotation.start, phase))));
        }
        Innermost::close_until(Nanos(i64::MAX), &mut open, &mut changes);
        Innermost { changes }
    }

    fn close_until(
        moment: Nanos,
        open: &mut Vec<(Nanos, (Nanos, Phase))>,
        changes: &mut Vec<(Nanos, Option<(Nanos, Phase)>)>,
    ) {
        while let Some(&(end, _)) = open.last().filter(|(end, _)| *end <= moment) {
            open.pop();
            let last = changes.last().map_or(end, |&(at, _)| at.max(end));
            changes.push((last, open.last().map(|&(_, said)| said)));
        }
    }

    fn at(&self, moment: Nanos) -> Option<(Nanos, Phase)> {
        let after = self.changes.partition_point(|&(at, _)| at <= moment);
        self.changes[..after].last().and_then(|&(_, said)| said)
    }
}
