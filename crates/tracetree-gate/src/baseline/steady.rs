//! Assigns the times of the representative step (the step of median length) to every step that makes the same calls.
//!
//! Steps with the same calls and the same times compress well. The gate does not need the original times of these
//! calls, because a baseline stores the measured times of each run separately.

use std::ops::Range;
use tracetree::diff::plain_name;
use tracetree::order::Order as _;
use tracetree::program::{Program, StepId};
use tracetree::trace::{EventId, Nanos};
use tracetree::tree::{CallId, CallTree};

/// The start and duration that a baseline file stores for each event.
pub(super) struct Times {
    of_events: Vec<(Nanos, Nanos)>,
}

impl Times {
    pub(super) fn of(program: &Program) -> Times {
        let tree: &CallTree = program.tree();
        let trace = tree.trace();
        let recorded = |event: EventId| (trace.start(event), trace.duration(event));
        let mut times = Times { of_events: trace.events().map(recorded).collect() };
        if let Some(steady) = Steady::of(program) {
            steady.set(&mut times.of_events);
        }
        let starts = || times.of_events.iter().map(|(start, _)| *start);
        let steps = program.steps().spans();
        let first = steps.first().map(|span| span.start).or_else(|| starts().min());
        let first = first.unwrap_or_default();
        times.of_events.iter_mut().for_each(|(start, _)| *start -= first);
        times
    }

    pub(super) fn of_event(&self, event: EventId) -> (Nanos, Nanos) {
        self.of_events[event.index()]
    }
}

/// The steps of a run, none of which overlap. `is_like` marks each step that makes the same calls as the representative
/// step.
struct Steady<'p> {
    program: &'p Program,
    representative: usize,
    is_like: Vec<bool>,
    /// For each step, its start as recorded, and its start on the new timeline.
    starts: Vec<(Nanos, Nanos)>,
    lengths: Vec<Nanos>,
}

impl<'p> Steady<'p> {
    fn of(program: &'p Program) -> Option<Steady<'p>> {
        let spans = program.steps().spans();
        let follows = |pair: &[tracetree::program::StepSpan]| pair[0].end <= pair[1].start;
        if spans.len() < 2 || !spans.windows(2).all(follows) {
            return None;
        }
        let lengths: Vec<Nanos> = spans.iter().map(|span| span.end - span.start).collect();
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.order_by_key(|&step| (lengths[step], step));
        let representative = order[(order.len() - 1) / 2];
        let own = calls(program, representative);
        let is_like: Vec<bool> = (0..spans.len())
            .map(|step| are_alike(program.tree(), &own, &calls(program, step)))
            .collect();
        let mut starts = Vec::with_capacity(spans.len());
        let mut next = spans[0].start;
        for (step, span) in spans.iter().enumerate() {
            if step > 0 {
                next += span.start - spans[step - 1].end;
            }
            starts.push((span.start, next));
            next += if is_like[step] { lengths[representative] } else { lengths[step] };
        }
        Some(Steady { program, representative, is_like, starts, lengths })
    }

    fn set(&self, times: &mut [(Nanos, Nanos)]) {
        let recorded = times.to_vec();
        for (start, duration) in times.iter_mut() {
            let end = self.moved(*start + *duration);
            *start = self.moved(*start);
            *duration = end - *start;
        }
        let tree = self.program.tree();
        let own = calls(self.program, self.representative);
        let (from, _) = self.starts[self.representative];
        for (step, _) in self.is_like.iter().enumerate().filter(|(_, is_like)| **is_like) {
            let pairs =
                own.iter().cloned().flatten().zip(calls(self.program, step).into_iter().flatten());
            for (one, two) in pairs {
                let events = [one, two].map(|at| tree.event(CallId(at as u32)));
                if let [Some(one), Some(two)] = events {
                    let (start, duration) = recorded[one.index()];
                    times[two.index()] = (start - from + self.starts[step].1, duration);
                }
            }
        }
    }

    /// Converts a recorded time to a time on the new timeline, on which steps have new starts and lengths.
    fn moved(&self, moment: Nanos) -> Nanos {
        let at = self.starts.partition_point(|(start, _)| *start <= moment);
        let Some(step) = at.checked_sub(1) else {
            return moment - self.starts[0].0 + self.starts[0].1;
        };
        let (old, new) = self.starts[step];
        let (inside, length) = (moment - old, self.lengths[step]);
        let scaled = if self.is_like[step] { self.lengths[self.representative] } else { length };
        if inside >= length || length <= Nanos::ZERO {
            return new + scaled + (inside - length);
        }
        let part = i128::from(inside.0) * i128::from(scaled.0) / i128::from(length.0);
        new + Nanos(part as i64)
    }
}

fn calls(program: &Program, step: usize) -> Vec<Range<usize>> {
    program.steps().calls_of(StepId(step as u32)).collect()
}

/// Whether two steps make the same calls with the same nesting.
fn are_alike(tree: &CallTree, one: &[Range<usize>], two: &[Range<usize>]) -> bool {
    let is_same = |(one, two): (usize, usize)| {
        let [one, two] = [one, two].map(|at| CallId(at as u32));
        let name = |call: CallId| tree.event(call).map(|event| tree.trace().name_id(event));
        let plain = |call: CallId| plain_name(tree.kind(call), tree.name(call));
        tree.kind(one) == tree.kind(two)
            && tree.size(one) == tree.size(two)
            && (name(one) == name(two) || plain(one) == plain(two))
    };
    let count = |ranges: &[Range<usize>]| ranges.iter().map(ExactSizeIterator::len).sum::<usize>();
    let [one_calls, two_calls] = [one, two].map(|ranges| ranges.iter().cloned().flatten());
    count(one) == count(two) && one_calls.zip(two_calls).all(is_same)
}
