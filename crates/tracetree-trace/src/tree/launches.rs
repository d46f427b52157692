//! Finds the GPU events that each host call launched.
//!
//! GPU events are linked to launches by `correlation`: a GPU event has the same correlation as the
//! runtime call that launched it, and all kernels in a graph have the same correlation as the graph
//! launch. The correlations 0 and -1 (RCCL) do not identify a launch. In traces from torch 1.12 to
//! 2.2, `External id` repeats the correlation and refers to the wrong op. `External id` is
//! therefore used only if the trace has no runtime calls and the GPU events have external ids that
//! differ from their correlations. Even then, the op must start before its GPU event.
//!
//! If several runtime calls have the id of a GPU event, the last of them launched it. If one of
//! them contains the others, as a runtime call contains a driver call, that call launched it. A GPU
//! event without any of these ids is linked by the flow arrows of its recorder
//! ([`arrows`](super::arrows)).

use super::arrows;
use crate::trace::{Category, EventId, Nanos, Notes, Trace};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// The GPU events that each host call launched, and the GPU events without a launch.
#[derive(Debug, Default)]
pub(super) struct Launched {
    /// Pairs of (launch, GPU event), sorted by launch, then start, then file order.
    links: Vec<(EventId, EventId)>,
    /// For each event, whether it launched a GPU event. Most calls launched nothing; this column
    /// makes their lookup fast.
    is_launch: Vec<bool>,
    /// GPU events whose launch is not in the trace, sorted by start.
    pub(super) unlinked: Vec<EventId>,
}

impl Launched {
    /// The GPU events of a launch, sorted by start.
    #[inline]
    pub(super) fn by(&self, launch: EventId) -> impl Iterator<Item = EventId> + '_ {
        let first = if self.is_launch[launch.index()] {
            self.links.partition_point(|&(from, _)| from < launch)
        } else {
            self.links.len()
        };
        self.links[first..]
            .iter()
            .take_while(move |&&(from, _)| from == launch)
            .map(|&(_, event)| event)
    }
}

/// The time of all GPU events whose launch is in the trace.
pub(crate) fn launched_time(trace: &Trace) -> Nanos {
    let launched = link(trace, &mut Notes::default());
    launched.links.iter().map(|&(_, event)| trace.duration(event)).sum()
}

/// Finds the launch of each GPU event.
pub(super) fn link(trace: &Trace, notes: &mut Notes) -> Launched {
    let launchers = launchers(trace);
    let ids = if launchers.by_external_id { trace.external_ids() } else { trace.correlations() };
    let mut launched = Launched { is_launch: vec![false; trace.len()], ..Launched::default() };
    let by_arrow = arrows::launches(trace);
    for event in trace.events().filter(|&event| trace.category(event).is_gpu()) {
        let launch = ids.get(event).and_then(|id| launchers.calls.get(id)).copied();
        match launch
            .filter(|&call| !launchers.by_external_id || trace.start(call) <= trace.start(event))
            .or_else(|| by_arrow.get(&event).copied())
        {
            Some(launch) => {
                launched.is_launch[launch.index()] = true;
                launched.links.push((launch, event));
            }
            None => launched.unlinked.push(event),
        }
    }
    launched.links.sort_by_key(|&(launch, event)| (launch, trace.start(event), event));
    launched.unlinked.sort_by_key(|&event| (trace.start(event), event));
    note(trace, &launched, launchers.by_external_id, notes);
    launched
}

/// Host calls, indexed by the ids that GPU events use to refer to host calls.
struct Launchers {
    calls: FxHashMap<i64, EventId>,
    by_external_id: bool,
}

fn launchers(trace: &Trace) -> Launchers {
    let host = |wanted| move |&(event, _): &(EventId, &i64)| trace.category(event) == wanted;
    let mut calls = FxHashMap::default();
    for (event, &id) in trace.correlations().iter().filter(host(Category::Runtime)) {
        if id > 0 {
            let held = calls.entry(id).or_insert(event);
            if is_later_launch(trace, event, *held) {
                *held = event;
            }
        }
    }
    let by_external_id = calls.is_empty() && !external_id_repeats_correlation(trace);
    if by_external_id {
        for (event, &id) in trace.external_ids().iter().filter(host(Category::CpuOp)) {
            if id > 0 {
                calls.entry(id).or_insert(event);
            }
        }
    }
    Launchers { calls, by_external_id }
}

/// Whether `call` rather than `held` launched the GPU events with the id of both: it starts later
/// and not inside the other call, or it contains the other call.
fn is_later_launch(trace: &Trace, call: EventId, held: EventId) -> bool {
    let contains = |outer: EventId, inner: EventId| {
        trace.thread_of(outer) == trace.thread_of(inner)
            && trace.start(outer) <= trace.start(inner)
            && trace.end(outer) >= trace.end(inner)
    };
    match trace.start(call).cmp(&trace.start(held)) {
        Ordering::Greater => !contains(held, call),
        Ordering::Less => contains(call, held),
        Ordering::Equal => false,
    }
}

fn external_id_repeats_correlation(trace: &Trace) -> bool {
    trace
        .external_ids()
        .iter()
        .filter(|&(event, _)| trace.category(event).is_gpu())
        .all(|(event, id)| trace.correlations().get(event) == Some(id))
}

fn note(trace: &Trace, launched: &Launched, by_external_id: bool, notes: &mut Notes) {
    let all = launched.links.len() + launched.unlinked.len();
    let unlinked = launched.unlinked.len() as u64;
    notes.add(
        "LAUNCH_NOT_CAPTURED",
        unlinked,
        "start the profiler earlier, or use a schedule with warm-up steps",
        || {
            let time = |events: &mut dyn Iterator<Item = EventId>| -> f64 {
                events.map(|event| trace.duration(event).as_micros()).sum()
            };
            let lost = time(&mut launched.unlinked.iter().copied());
            let linked = time(&mut launched.links.iter().map(|&(_, event)| event));
            let share = 100.0 * lost / (lost + linked).max(f64::MIN_POSITIVE);
            format!(
                "{unlinked} of {all} GPU events ({share:.1}% of the GPU time) have no launch in \
                 the trace, so their call sites are unknown"
            )
        },
    );
    if by_external_id && !launched.links.is_empty() {
        notes.add(
            "LINKED_BY_EXTERNAL_ID",
            launched.links.len() as u64,
            "also record the CUDA/HIP runtime calls",
            || {
                "the trace has no runtime calls; each GPU event is attributed directly to the op \
                 with the same External id"
                    .to_owned()
            },
        );
    }
}
