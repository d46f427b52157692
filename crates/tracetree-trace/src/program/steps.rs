//! Finds the steps of a trace, and assigns every call to a step.
//!
//! The `ProfilerStep#N` annotations of a trace are its steps. If there are none, the outermost
//! batches of an inference engine are the steps. If there are no batches either, the repeats of a
//! call are the steps ([`RepeatDetection`]). GPU work belongs to the step in which it was
//! *launched*, because kernels of one step often run while the host is already in the next step.
//!
//! If all steps are on one thread, a call on any thread belongs to the step during which it starts.
//! This rule covers the backward pass, which runs on its own thread. If several threads have steps,
//! a call can belong only to a step on its own thread.

use super::annotations::{Annotation, Batch, Meaning, annotations};
use super::phase::Phase;
use super::repeats::{RepeatDetection, repeats};
use crate::order::Order as _;
use crate::trace::{EventId, Nanos, ThreadId};
use crate::tree::{CallId, CallKind, CallTree, Stretches};
use std::ops::Range;

/// A step of one trace, identified by its position in start order, counting from 0. Steps of two
/// traces are matched by position or by content, so the counterpart of a step may have a different
/// position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

impl StepId {
    /// Position of the step among the steps of its trace.
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why a span of time counts as a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum StepOrigin {
    /// A `ProfilerStep#N` annotation.
    Recorded,
    /// An engine's annotation that encloses a batch.
    Batch,
    /// A repeated call, in a trace without step or batch annotations.
    Repeat,
}

/// A step of one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct StepSpan {
    /// The event of the step's annotation, or of the repeated call.
    pub event: EventId,
    /// Why the span of time counts as a step.
    pub origin: StepOrigin,
    /// The thread on which the annotation or the repeated call was recorded.
    pub thread: ThreadId,
    /// Start time in ns.
    pub start: Nanos,
    /// End time in ns, exclusive.
    pub end: Nanos,
    /// The number N in `ProfilerStep#N`; `None` for batches and repeats.
    pub number: Option<u64>,
    /// The phase of the step's batches, if all batches are in the same phase.
    pub phase: Option<Phase>,
    /// Number of tokens in the step's batches; `None` unless the number is recorded for every
    /// batch.
    pub tokens: Option<u64>,
    /// Number of requests in the step's batches; `None` if the step has no batches.
    pub requests: Option<u64>,
}

/// The steps of one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Steps {
    spans: Vec<StepSpan>,
    /// The step of each call; `None` outside of all steps.
    of_calls: Stretches<Option<StepId>>,
    /// For each step, the preorder positions of its calls.
    calls: Vec<Vec<Range<usize>>>,
}

impl Steps {
    /// Finds the steps of a tree, and the step of each call.
    pub fn of(tree: &CallTree) -> Steps {
        Steps::annotated(tree, &annotations(tree.trace()), RepeatDetection::Found)
    }

    /// Same as [`Steps::of`], but for a trace whose annotations are already parsed; `detection`
    /// decides whether repeated calls are used if no steps are recorded.
    pub(super) fn annotated(
        tree: &CallTree,
        annotations: &[Annotation],
        detection: RepeatDetection,
    ) -> Steps {
        let mut spans = step_spans(annotations);
        if spans.is_empty() && detection == RepeatDetection::Found {
            spans = repeat_spans(tree);
        }
        let mut finder = Finder::new(&spans, tree.trace().threads().len());
        let mut of_calls = Stretches::new();
        for call in tree.calls() {
            of_calls.push(match (tree.kind(call), tree.parent(call), tree.event(call)) {
                (CallKind::Gpu, Some(launch), _) => of_calls.get(launch.index()).flatten(),
                (_, _, Some(event)) => {
                    finder.at(tree.trace().thread_of(event), tree.trace().start(event))
                }
                (_, _, None) => None,
            });
        }
        let mut calls = vec![Vec::new(); spans.len()];
        for (range, step) in of_calls.ranges() {
            if let Some(step) = step {
                calls[step.index()].push(range);
            }
        }
        Steps { spans, of_calls, calls }
    }

    /// All steps of the trace, sorted by start.
    #[doc(hidden)]
    pub fn spans(&self) -> &[StepSpan] {
        &self.spans
    }

    /// The time span of a step.
    #[doc(hidden)]
    pub fn span(&self, step: StepId) -> &StepSpan {
        &self.spans[step.index()]
    }

    /// Display name of a step: the name of its annotation, or `repeat 0`, `repeat 1`, ….
    pub fn name(&self, tree: &CallTree, step: StepId) -> String {
        let span = self.span(step);
        match span.origin {
            StepOrigin::Recorded | StepOrigin::Batch => tree.trace().name(span.event).to_owned(),
            StepOrigin::Repeat => format!("repeat {}", step.0),
        }
    }

    /// The name of the call whose repeats are the steps; `None` if the steps are annotations.
    #[doc(hidden)]
    pub fn repeated<'t>(&self, tree: &'t CallTree) -> Option<&'t str> {
        let first = self.spans.first().filter(|span| span.origin == StepOrigin::Repeat);
        first.map(|span| tree.trace().name(span.event))
    }

    /// Number of steps.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the trace has no steps.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The step in which a call was made. A GPU event belongs to the step in which it was launched.
    #[inline]
    pub fn step(&self, call: CallId) -> Option<StepId> {
        self.of_calls.get(call.index()).flatten()
    }

    /// The calls made or launched in a step, as ascending ranges of preorder positions.
    #[doc(hidden)]
    pub fn calls_of(&self, step: StepId) -> impl Iterator<Item = Range<usize>> {
        self.calls[step.index()].iter().cloned()
    }

    /// Whether the calls from `first` up to `end` (exclusive, in preorder) are either all in the
    /// same step or all in no step.
    #[doc(hidden)]
    pub fn are_in_one(&self, first: CallId, end: CallId) -> bool {
        self.of_calls.is_one(first.index()..end.index())
    }
}

fn step_spans(found: &[Annotation]) -> Vec<StepSpan> {
    let batches = outermost_batches(found);
    let mut spans: Vec<StepSpan> = match &profiler_steps(found)[..] {
        [] => batches
            .iter()
            .map(|(around, batch)| span(StepOrigin::Batch, None, mark(around), &[*batch]))
            .collect(),
        steps => steps
            .iter()
            .map(|&(step, number)| {
                let inside = |(around, _): &&(Annotation, Batch)| {
                    (step.start..step.end).contains(&around.start)
                };
                let within: Vec<Batch> =
                    batches.iter().filter(inside).map(|&(_, batch)| batch).collect();
                span(StepOrigin::Recorded, Some(number), mark(step), &within)
            })
            .collect(),
    };
    spans.order_by_key(|span| (span.start, span.event));
    spans
}

fn repeat_spans(tree: &CallTree) -> Vec<StepSpan> {
    let trace = tree.trace();
    let events = repeats(tree).into_iter().filter_map(|call| tree.event(call));
    let mark = |event| (event, trace.thread_of(event), trace.start(event), trace.end(event));
    events.map(|event| span(StepOrigin::Repeat, None, mark(event), &[])).collect()
}

/// The `ProfilerStep#N` annotations with their numbers, sorted by start. The 2021 profiler recorded
/// each step twice, as an annotation and as an operator, so duplicates are removed.
fn profiler_steps(found: &[Annotation]) -> Vec<(&Annotation, u64)> {
    let number = |annotation: &Annotation| match annotation.meaning {
        Meaning::Step(number) => Some(number),
        Meaning::Batch(_) | Meaning::Training(_) | Meaning::Capture(_) => None,
    };
    let mut steps: Vec<(&Annotation, u64)> =
        found.iter().filter_map(|annotation| Some((annotation, number(annotation)?))).collect();
    steps.order_by_key(|(annotation, _)| (annotation.start, annotation.event));
    steps.dedup_by_key(|&mut (_, number)| number);
    steps
}

/// Batches that are not nested in another batch on the same thread. Engines nest several
/// annotations for a single forward pass.
fn outermost_batches(found: &[Annotation]) -> Vec<(Annotation, Batch)> {
    let mut outermost: Vec<(Annotation, Batch)> = Vec::new();
    for annotation in found {
        let Meaning::Batch(batch) = annotation.meaning else { continue };
        let nested = outermost.last().is_some_and(|(last, _)| {
            last.thread == annotation.thread && annotation.start < last.end
        });
        if !nested {
            outermost.push((*annotation, batch));
        }
    }
    outermost
}

/// The event that marks a step, and its thread, start and end.
type Mark = (EventId, ThreadId, Nanos, Nanos);

fn mark(annotation: &Annotation) -> Mark {
    (annotation.event, annotation.thread, annotation.start, annotation.end)
}

/// A step with the totals of its batches.
fn span(
    origin: StepOrigin,
    number: Option<u64>,
    (event, thread, start, end): Mark,
    batches: &[Batch],
) -> StepSpan {
    let first = batches.first();
    StepSpan {
        event,
        origin,
        thread,
        start,
        end,
        number,
        phase: first
            .map(|batch| batch.phase)
            .filter(|&phase| batches.iter().all(|batch| batch.phase == phase)),
        tokens: first.and_then(|_| batches.iter().map(|batch| batch.tokens).sum()),
        requests: first.map(|_| batches.iter().map(|batch| batch.requests).sum()),
    }
}

/// Finds the step at a given time on a thread.
struct Finder<'a> {
    spans: &'a [StepSpan],
    /// One list of steps per thread, sorted by start; a single list if one thread has all steps.
    lists: Vec<Vec<u32>>,
    /// The last lookup: the index of the searched list, the time range in which the result is
    /// valid, and the result. Calls are mostly in time order, so two successive lookups usually
    /// have the same result.
    last: (usize, Range<Nanos>, Option<StepId>),
}

impl<'a> Finder<'a> {
    fn new(spans: &'a [StepSpan], threads: usize) -> Self {
        let shared = spans.windows(2).all(|pair| pair[0].thread == pair[1].thread);
        let mut lists = vec![Vec::new(); if shared { 1 } else { threads }];
        for (at, span) in spans.iter().enumerate() {
            let list = if shared { 0 } else { span.thread.index() };
            lists[list].push(at as u32);
        }
        Finder { spans, lists, last: (0, Nanos::ZERO..Nanos::ZERO, None) }
    }

    fn at(&mut self, thread: ThreadId, moment: Nanos) -> Option<StepId> {
        let list = if self.lists.len() == 1 { 0 } else { thread.index() };
        if self.last.0 != list || !self.last.1.contains(&moment) {
            let (holds, step) = self.around(&self.lists[list], moment);
            self.last = (list, holds, step);
        }
        self.last.2
    }

    /// The step at a given time, and the range of times around this time for which the result is
    /// the same.
    fn around(&self, list: &[u32], moment: Nanos) -> (Range<Nanos>, Option<StepId>) {
        let span = |&at: &u32| &self.spans[at as usize];
        let after = list.partition_point(|at| span(at).start <= moment);
        let next = list.get(after).map_or(Nanos(i64::MAX), |at| span(at).start);
        match list[..after].last() {
            Some(at) if moment < span(at).end => {
                (span(at).start..next.min(span(at).end), Some(StepId(*at)))
            }
            Some(at) => (span(at).end..next, None),
            None => (Nanos(i64::MIN)..next, None),
        }
    }
}
