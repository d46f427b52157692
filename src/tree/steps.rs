//! Recorded steps: the `ProfilerStep#N` annotations of a trace, and which step a moment falls into.

use crate::trace::{Category, EventId, Nanos, Trace};

/// A recorded step: `ProfilerStep#N` on a host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// N. Two runs rarely share the numbers: match steps by position.
    pub number: u64,
    /// Start of the step.
    pub start: Nanos,
    /// End of the step, exclusive.
    pub end: Nanos,
    /// The annotation.
    pub event: EventId,
}

pub(super) fn find(trace: &Trace) -> Vec<Step> {
    let mut steps: Vec<Step> = trace
        .events()
        .filter_map(|event| {
            // The 2021 profiler recorded steps as operators.
            let kind = trace.category(event);
            let host = kind == Category::UserAnnotation || kind == Category::CpuOp;
            let number = trace.name(event).strip_prefix("ProfilerStep#").filter(|_| host)?;
            Some(Step {
                number: number.parse().ok()?,
                start: trace.start(event),
                end: trace.end(event),
                event,
            })
        })
        .collect();
    steps.sort_by_key(|step| (step.start, step.event));
    // The 2021 profiler wrote a step twice, as an annotation and as an operator.
    steps.dedup_by_key(|step| step.number);
    steps
}

pub(super) fn at(steps: &[Step], moment: Nanos) -> Option<&Step> {
    let after = steps.partition_point(|step| step.start <= moment);
    steps[..after].last().filter(|step| moment < step.end)
}
