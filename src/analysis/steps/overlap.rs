//! Measures how much of a step's GPU work runs at the same time as other work: on several streams, or as
//! computation during communication.

use super::{Activity, activity};
use crate::analysis::account::Ledger;
use crate::analysis::steps::StepPairs;
use crate::diff::TraceDiff;
use crate::order::Order as _;
use crate::program::{Measure, StepId};
use crate::side::{PerSide, Side};
use crate::trace::Nanos;
use crate::tree::CallKind;
use rustc_hash::FxHashMap;

/// Concurrency of the GPU work launched in a step, on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlapRow {
    /// The matched step; `None` for all GPU work of the traces.
    pub step: Option<PerSide<Option<StepId>>>,
    /// The concurrency on each side; `None` if a side lacks the step or has no GPU events.
    pub figures: PerSide<Option<Overlap>>,
}

/// Concurrency of a set of GPU events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overlap {
    /// Number of streams on which the events run.
    pub streams: u64,
    /// Time during which at least one event runs.
    pub busy: Nanos,
    /// Part of `busy` during which events run on at least two streams.
    pub concurrent: Nanos,
    /// Time during which a communication kernel runs.
    pub communication: Nanos,
    /// Part of `communication` during which a compute kernel also runs.
    pub overlapped_communication: Nanos,
}

/// A GPU event with its stream and activity.
struct Running {
    start: Nanos,
    end: Nanos,
    stream: u32,
    activity: Activity,
}

/// The concurrency of all GPU work, followed by one row for each step. Empty if there are no GPU events.
pub fn overlap_rows(diff: &TraceDiff, ledger: &Ledger, compared: &StepPairs) -> Vec<OverlapRow> {
    if ledger.measure() != Measure::GpuTime {
        return Vec::new();
    }
    let of_steps = PerSide::from_fn(|side| overlap_of(diff, side));
    let whole = OverlapRow {
        step: None,
        figures: of_steps.as_ref().map(|(whole, _)| (whole.streams > 0).then_some(*whole)),
    };
    let row = |ids: PerSide<Option<StepId>>| OverlapRow {
        step: Some(ids),
        figures: PerSide::from_fn(|side| {
            let (whole, steps) = &of_steps[side];
            ids[side].filter(|_| whole.streams > 0).map(|id| steps[id.index()])
        }),
    };
    std::iter::once(whole).chain(compared.places().into_iter().map(row)).collect()
}

/// The concurrency of all GPU work on a side, and of the GPU work in each step.
fn overlap_of(diff: &TraceDiff, side: Side) -> (Overlap, Vec<Overlap>) {
    let (tree, steps) = (diff.tree(side), diff.steps(side));
    let communication = diff.program(side).communication();
    let mut streams: FxHashMap<_, u32> = FxHashMap::default();
    let mut all: Vec<(Option<usize>, Running)> = Vec::new();
    for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
        let Some(event) = tree.event(call) else { continue };
        let next = streams.len() as u32;
        all.push((
            steps.step(call).map(StepId::index),
            Running {
                start: tree.trace().start(event),
                end: tree.trace().end(event),
                stream: *streams.entry(tree.trace().stream(event)).or_insert(next),
                activity: activity(tree, communication, call),
            },
        ));
    }
    all.order_by_key(|(_, running)| (running.start, running.end));
    let whole = overlap(streams.len(), all.iter().map(|(_, running)| running));
    let mut of_steps: Vec<Vec<&Running>> = vec![Vec::new(); steps.len()];
    for (step, running) in &all {
        if let Some(step) = step {
            of_steps[*step].push(running);
        }
    }
    let of_step = |step: Vec<&Running>| overlap(streams.len(), step.into_iter());
    (whole, of_steps.into_iter().map(of_step).collect())
}

/// Computes the concurrency of events that are sorted by start; stream numbers must be below `streams`.
fn overlap<'r>(streams: usize, events: impl Iterator<Item = &'r Running>) -> Overlap {
    let mut edges: Vec<(Nanos, bool, &Running)> = Vec::new();
    for event in events.filter(|event| event.start < event.end) {
        edges.push((event.start, true, event));
        edges.push((event.end, false, event));
    }
    edges.order_by_key(|&(time, starts, _)| (time, starts));
    let mut found = Overlap::default();
    let mut on_stream = vec![0u32; streams];
    let mut is_used = vec![false; streams];
    let (mut active, mut computing, mut communicating) = (0u32, 0u32, 0u32);
    let mut last = Nanos::ZERO;
    for (time, starts, event) in edges {
        let passed = time - last;
        let add = |sum: &mut Nanos, counts: bool| {
            if counts {
                *sum += passed;
            }
        };
        add(&mut found.busy, active > 0);
        add(&mut found.concurrent, active > 1);
        add(&mut found.communication, communicating > 0);
        add(&mut found.overlapped_communication, communicating > 0 && computing > 0);
        last = time;
        let here = &mut on_stream[event.stream as usize];
        is_used[event.stream as usize] = true;
        let of_kind = match event.activity {
            Activity::Compute => Some(&mut computing),
            Activity::Communication => Some(&mut communicating),
            Activity::Copy => None,
        };
        if starts {
            active += u32::from(*here == 0);
            *here += 1;
            of_kind.into_iter().for_each(|count| *count += 1);
        } else {
            *here -= 1;
            active -= u32::from(*here == 0);
            of_kind.into_iter().for_each(|count| *count -= 1);
        }
    }
    found.streams = is_used.into_iter().filter(|&is_used| is_used).count() as u64;
    found
}
