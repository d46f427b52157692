//! Nests the host calls of a thread by their time intervals, using a stack of open calls.
//!
//! ```text
//! ├─ a ────────────────┤            a
//!    ├─ b ──┤├─ c ─────┤            ├── b
//!              ├─ d ─┤              └── c
//!                                       └── d
//! ```
//!
//! The time intervals of calls are half-open. A call *bleeds* if it starts inside the call on top
//! of the stack and ends after that call:
//!
//! ```text
//! ├─ a ─────────┤
//!              ├─ b ──────┤     overlap of at most 1 µs: b starts after a; their clocks disagree
//! ├─ a ─────────┤
//!        ├─ c ───┤              overhang of at most 1 µs: c is below a; their clocks disagree
//! ├─ a ─────────┤
//!        ├─ d ────────┤         more: an artifact of instrumentation; d stays below a, is counted,
//!                               and ends at a's end for the calls that follow
//! ```
//!
//! If the times are whole microseconds, [`coarse`](super::coarse) finds the positions of the calls
//! instead.
//!
//! Calls that are nested more deeply than [`DEEPEST`] become siblings at that depth. Many later
//! stages walk from each call to the root, so the limit bounds the work of such a stage: it visits
//! at most about [`DEEPEST`] calls for each call.

use super::coarse;
use super::grafts::Grafts;
use super::launches::Launched;
use super::{CallKind, Frames, NONE};
use crate::trace::{Category, EventId, Nanos, Trace};
use std::cmp::Ordering;

/// Maximum overlap or overhang of two calls on one thread that is treated as timer noise.
const TIMER_NOISE: Nanos = Nanos(1_000);

/// Maximum depth of host calls below a thread. The deepest of 170 recorded traces has 112 levels,
/// all of which are Python frames and ops. Without a limit, 40,000 events with the same start and
/// end (a few megabytes of text) would be nested 40,000 levels deep.
pub(super) const DEEPEST: usize = 512;

/// The tree columns that a [`Planter`] fills.
#[derive(Default)]
pub(super) struct Planted {
    pub(super) kinds: Vec<CallKind>,
    pub(super) sources: Vec<u32>,
    pub(super) parents: Vec<u32>,
    pub(super) ends: Vec<u32>,
    pub(super) calls: Vec<u32>,
    pub(super) noise: u64,
    pub(super) artefacts: u64,
    /// Number of calls that were nested more deeply than [`DEEPEST`].
    pub(super) too_deep: u64,
    /// The parents of the calls that were nested too deeply, in preorder.
    pub(super) crowded: Vec<u32>,
    /// The calls whose position is uncertain, in preorder.
    pub(super) uncertain: Vec<u32>,
}

/// Appends calls to a tree in preorder.
pub(super) struct Planter<'a> {
    trace: &'a Trace,
    launched: &'a Launched,
    grafts: Grafts,
    frames: Frames,
    planted: Planted,
    stack: Vec<Open>,
}

/// A call whose end has not been reached yet.
struct Open {
    call: u32,
    end: Nanos,
}

impl<'a> Planter<'a> {
    pub(super) fn new(trace: &'a Trace, launched: &'a Launched, frames: Frames) -> Self {
        let column = || Vec::with_capacity(trace.len());
        let planted = Planted {
            kinds: Vec::with_capacity(trace.len()),
            sources: column(),
            parents: column(),
            ends: column(),
            calls: vec![NONE; trace.len()],
            ..Planted::default()
        };
        let grafts = Grafts::of(trace);
        Planter { trace, launched, grafts, frames, planted, stack: Vec::new() }
    }

    pub(super) fn finish(self) -> Planted {
        self.planted
    }

    /// Adds every thread that has host calls, with all its calls.
    pub(super) fn plant_threads(&mut self) {
        let threads = host_calls(self.trace, self.frames);
        if let Some(positions) = coarse::positions(self.trace, &threads) {
            return self.plant_positions(&positions);
        }
        for (thread, mut calls) in threads.into_iter().enumerate() {
            if calls.is_empty() {
                continue;
            }
            self.sort_for_nesting(&mut calls);
            self.open(CallKind::Thread, thread as u32, Nanos(i64::MAX));
            for (_, call) in calls {
                self.nest(call);
            }
            self.close_all();
        }
    }

    /// Adds every thread that has host calls, with its calls at known positions.
    fn plant_positions(&mut self, positions: &coarse::Positions) {
        for (thread, calls) in positions.threads.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
            self.open(CallKind::Thread, thread as u32, Nanos(i64::MAX));
            for &(event, depth) in calls {
                while self.stack.len() > depth as usize + 1 {
                    self.close();
                }
                self.plant_call(event, Nanos(i64::MAX));
            }
            self.close_all();
        }
        self.planted.artefacts += positions.artefacts;
        let call = |event: &EventId| self.planted.calls[event.index()];
        let uncertain = positions.uncertain.iter().map(call).filter(|&call| call != NONE);
        let mut uncertain: Vec<u32> = uncertain.collect();
        uncertain.sort_unstable();
        self.planted.uncertain = uncertain;
    }

    /// Adds the GPU events that have no launch, below a separate root.
    pub(super) fn plant_unlinked(&mut self) {
        if self.launched.unlinked.is_empty() {
            return;
        }
        self.open(CallKind::Unlinked, NONE, Nanos(i64::MAX));
        for &event in &self.launched.unlinked {
            self.plant_gpu_event(event);
        }
        self.close_all();
    }

    /// Sorts calls by their start times. Ties are broken in this order: the longer call comes
    /// first, then the call whose kind usually encloses the other kind, then the call that comes
    /// first in the file. Most of a file is already in order, and the sort is fast for ordered
    /// runs.
    fn sort_for_nesting(&self, calls: &mut [(Nanos, EventId)]) {
        let trace = self.trace;
        calls.sort_by(|a, b| match a.0.cmp(&b.0) {
            Ordering::Equal => {
                let key =
                    |call| (std::cmp::Reverse(trace.end(call)), rank(trace.category(call)), call);
                key(a.1).cmp(&key(b.1))
            }
            order @ (Ordering::Less | Ordering::Greater) => order,
        });
    }

    fn nest(&mut self, event: EventId) {
        let (start, mut end) = (self.trace.start(event), self.trace.end(event));
        while let Some(top) = self.stack.last() {
            let bleeds = start < top.end && top.end < end;
            if top.end <= start {
                self.close();
            } else if bleeds && top.end - start <= TIMER_NOISE {
                self.planted.noise += 1;
                self.close();
            } else {
                if bleeds {
                    if end - top.end <= TIMER_NOISE {
                        self.planted.noise += 1
                    } else {
                        self.planted.artefacts += 1
                    }
                    end = top.end;
                }
                break;
            }
        }
        self.plant_call(event, end);
    }

    /// Adds a host call below the open calls, with everything that it launched.
    fn plant_call(&mut self, event: EventId, end: Nanos) {
        self.leave_the_deepest_level();
        self.open_event(event, end);
        for gpu_event in self.launched.by(event) {
            // If a captured call launched the event, the event is added below that call instead.
            if self.trace.captured_launches().get(gpu_event).is_none() {
                self.plant_gpu_event(gpu_event);
            }
        }
        self.plant_captured(event);
    }

    /// If an open call is at the deepest allowed level, closes that call, so the next call becomes
    /// a sibling.
    fn leave_the_deepest_level(&mut self) {
        if self.stack.len() <= DEEPEST {
            return;
        }
        self.close();
        self.planted.too_deep += 1;
        let above = self.stack.last().map(|above| above.call);
        if above != self.planted.crowded.last().copied() {
            self.planted.crowded.extend(above);
        }
    }

    /// Adds the captured calls below a graph launch, with their GPU events. The GPU events of a
    /// captured call are placed among its children in order of time: a GPU event comes before a
    /// child if it starts before the first GPU event at or below that child.
    fn plant_captured(&mut self, launch: EventId) {
        if self.grafts.is_empty() {
            return;
        }
        let grafts = std::mem::take(&mut self.grafts);
        // One entry for each open captured call: its depth in the capture, and the GPU events that
        // were not added yet. The depths can have gaps, because calls may be omitted.
        let mut open: Vec<(u32, &[EventId])> = Vec::new();
        for call in grafts.below(launch) {
            self.close_captured(&mut open, call.depth);
            let is_frame = self.trace.category(call.event) == Category::PythonFunction;
            if is_frame && self.frames == Frames::LeftOut {
                continue;
            }
            if let (Some((_, events)), Some(first)) = (open.last_mut(), call.first) {
                let earlier = events.partition_point(|&event| self.trace.start(event) < first);
                let planted = events.split_off(..earlier).unwrap_or(&[]);
                planted.iter().for_each(|&event| self.plant_gpu_event(event));
            }
            self.open_event(call.event, Nanos(i64::MAX));
            open.push((call.depth, grafts.kernels(call.event)));
        }
        self.close_captured(&mut open, 0);
        self.grafts = grafts;
    }

    /// Closes the open captured calls at `depth` and deeper, after adding their remaining GPU
    /// events.
    fn close_captured(&mut self, open: &mut Vec<(u32, &[EventId])>, depth: u32) {
        while let Some((_, events)) = open.pop_if(|(own, _)| *own >= depth) {
            events.iter().for_each(|&event| self.plant_gpu_event(event));
            self.close();
        }
    }

    fn plant_gpu_event(&mut self, event: EventId) {
        self.open_event(event, Nanos::ZERO);
        self.close();
    }

    fn open_event(&mut self, event: EventId, end: Nanos) {
        let call = self.open(CallKind::of(self.trace.category(event)), event.0, end);
        self.planted.calls[event.index()] = call;
    }

    fn open(&mut self, kind: CallKind, source: u32, end: Nanos) -> u32 {
        let planted = &mut self.planted;
        let call = planted.ends.len() as u32;
        planted.kinds.push(kind);
        planted.sources.push(source);
        planted.parents.push(self.stack.last().map_or(NONE, |top| top.call));
        planted.ends.push(0);
        self.stack.push(Open { call, end });
        call
    }

    fn close(&mut self) {
        if let Some(open) = self.stack.pop() {
            self.planted.ends[open.call as usize] = self.planted.ends.len() as u32;
        }
    }

    fn close_all(&mut self) {
        while !self.stack.is_empty() {
            self.close();
        }
    }
}

/// The nesting priority of a category. If two calls have the same start and end, the call whose category has
/// the lower priority value encloses the other call.
fn rank(category: Category) -> u8 {
    match category {
        Category::PythonFunction => 0,
        Category::CpuOp
        | Category::Kernel
        | Category::Memcpy
        | Category::Memset
        | Category::UserAnnotation
        | Category::GpuUserAnnotation => 1,
        Category::Runtime => 2,
    }
}

/// The host calls of each thread with their start times, in file order.
fn host_calls(trace: &Trace, frames: Frames) -> Vec<Vec<(Nanos, EventId)>> {
    let mut calls = vec![Vec::new(); trace.threads().len()];
    let takes_part = |event: &EventId| {
        let category = trace.category(*event);
        category.is_host_call() && (frames == Frames::Kept || category != Category::PythonFunction)
    };
    for event in trace.own_events().filter(takes_part) {
        calls[trace.thread_of(event).index()].push((trace.start(event), event));
    }
    calls
}
