//! Derives a dependency graph from a trace: the host timeline, the GPU events that the host launches, and
//! typical latencies.
//!
//! ```text
//! host   ├gap┤op├gap┤launch├gap┤launch├──── synchronization ────┤gap┤
//!                      ╰latency╮    ╰latency╮                    ╭return latency
//! stream                       ├─ kernel ─┤gap├──── kernel ──────┤
//! ```
//! Threads that take turns, such as the main thread and the autograd thread, share one host timeline. The
//! graph contains the recorded durations of host gaps and GPU events, but typical values for launch latencies
//! and for the gaps between kernels. If it contained the recorded latencies and gaps instead, a replay would
//! agree with the recording even if the model were wrong.

use super::parts::{
    Action, Behind, CLOCK, Draft, Item, Point, Replayed, Wait, Waiting, Work, WorkKind, span,
};
use super::reason::Reason;
use super::threads::{self, Line};
use super::typical::Typical;
use crate::order::Order as _;
use crate::program::{Steps, is_synchronisation};
use crate::tree::{CallId, CallKind, CallTree};
use std::ops::Range;

/// The steps of a trace as a dependency graph that can be replayed; times are in ns.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The points of the host timeline, in order.
    pub items: Vec<Item>,
    /// GPU events in the order of their launches.
    pub works: Vec<Work>,
    /// The waits of the host for the GPU.
    pub waits: Vec<Wait>,
    /// Stream numbers, sorted by descending busy time.
    pub streams: Vec<i64>,
    /// Time at which each stream finishes work launched before the window, relative to the start of the
    /// window.
    pub before: Vec<i64>,
    /// Typical latencies and gaps of the trace.
    pub typical: Typical,
    /// The recorded end times of the window and its steps.
    pub measured: Replayed,
    /// Whether GPU events on different streams depend on each other.
    pub is_crossing: bool,
    /// The GPU time of events whose launch is not in the trace, as a share of all GPU time in the window.
    pub unlaunched: f64,
}

impl Recorded {
    /// Builds the graph for the steps of a trace, or for the whole trace if the trace has no steps.
    ///
    /// # Errors
    /// Returns the reason why the trace cannot be replayed.
    pub fn of(tree: &CallTree, steps: &Steps) -> Result<Recorded, Reason> {
        Recorded::with_points(tree, steps, &|_| true)
    }

    /// Like [`Recorded::of`], but creates points only for calls for which `is_wanted` is true: at the start
    /// and the end of each such call. The host time of all other calls is kept.
    pub(super) fn with_points(
        tree: &CallTree,
        steps: &Steps,
        is_wanted: &dyn Fn(CallId) -> bool,
    ) -> Result<Recorded, Reason> {
        let window = window(tree, steps);
        let line = threads::line(tree, steps, window.clone(), is_wanted)?;
        Builder::new(tree, line, window).finish()
    }
}

/// The time span from the start of the first step to the end of the last step.
fn window(tree: &CallTree, steps: &Steps) -> Range<i64> {
    let spans = steps.spans();
    match (spans.iter().map(|s| s.start.0).min(), spans.iter().map(|s| s.end.0).max()) {
        (Some(start), Some(end)) => start..end,
        (_, _) => {
            let trace = tree.trace();
            let own = || {
                trace.own_events().filter(|&event| {
                    trace.category(event).is_host_call() || trace.category(event).is_gpu()
                })
            };
            let start = own().map(|event| trace.start(event).0).min().unwrap_or(0);
            let host = own().filter(|&event| !trace.category(event).is_gpu());
            start..host.map(|event| trace.end(event).0).max().unwrap_or(start) + 1
        }
    }
}

struct Builder<'t> {
    tree: &'t CallTree,
    line: Line,
    window: Range<i64>,
    drafts: Vec<Draft>,
    streams: Vec<i64>,
    before: Vec<i64>,
    /// GPU events whose launch is not in the trace. Each entry is a pair of the event's leader and the event.
    /// The leader is the last event before it on the same stream that was launched in the window.
    followers: Vec<(CallId, CallId)>,
    unlaunched: f64,
}

impl<'t> Builder<'t> {
    fn new(tree: &'t CallTree, line: Line, window: Range<i64>) -> Self {
        Builder {
            tree,
            line,
            window,
            drafts: Vec::new(),
            streams: Vec::new(),
            before: Vec::new(),
            followers: Vec::new(),
            unlaunched: 0.0,
        }
    }

    fn span(&self, call: CallId) -> (i64, i64) {
        span(self.tree, call)
    }

    fn stream(&self, call: CallId) -> Option<(i64, i64)> {
        let stream = self.tree.trace().stream(self.tree.event(call)?)?;
        Some((stream.device, stream.number))
    }

    /// Assigns all GPU events to streams. Also finds the events that were launched before the window, and the
    /// events whose launch is not in the trace.
    fn find_streams(&mut self) -> Result<(), Reason> {
        let tree = self.tree;
        let mut works: Vec<(i64, CallId, i64, bool)> = Vec::new();
        let mut busy: Vec<(i64, i64)> = Vec::new();
        let mut device = None;
        for call in tree.calls().filter(|&call| tree.kind(call) == CallKind::Gpu) {
            let Some((on, number)) = self.stream(call) else { return Err(Reason::Streams) };
            let (start, end) = self.span(call);
            let launch = tree.running_launch(call);
            let launched = launch.map(|launch| self.span(launch).0);
            if launched.is_none_or(|at| at < self.window.end) {
                if *device.get_or_insert(on) != on {
                    return Err(Reason::Devices);
                }
                works.push((
                    start,
                    call,
                    number,
                    launched.is_some_and(|at| at >= self.window.start),
                ));
                match busy.iter_mut().find(|(of, _)| *of == number) {
                    Some(busy) => busy.1 += end - start,
                    None => busy.push((number, end - start)),
                }
            }
        }
        busy.order_by_key(|&(number, time)| (std::cmp::Reverse(time), number));
        self.streams = busy.iter().map(|&(number, _)| number).collect();
        self.before = vec![0; self.streams.len()];
        works.sort_unstable();
        let mut last: Vec<Option<CallId>> = vec![None; self.streams.len()];
        let (mut inside, mut unlinked) = (0, 0);
        for (_, call, number, in_window) in works {
            let stream = self.position(number);
            let (start, end) = self.span(call);
            let is_unlinked = tree.running_launch(call).is_none();
            if start >= self.window.start && (in_window || is_unlinked) {
                inside += end - start;
                unlinked += if is_unlinked { end - start } else { 0 };
            }
            if in_window {
                last[stream] = Some(call);
                continue;
            }
            match last[stream].filter(|_| is_unlinked) {
                Some(leader) => self.followers.push((leader, call)),
                None => {
                    self.before[stream] = self.before[stream].max(end - self.window.start);
                }
            }
        }
        self.unlaunched = unlinked as f64 / inside.max(1) as f64;
        self.followers.order_by_key(|&(leader, call)| (leader, span(tree, call).0, call));
        Ok(())
    }

    fn position(&self, number: i64) -> usize {
        self.streams.iter().position(|&of| of == number).unwrap_or(0)
    }

    fn finish(mut self) -> Result<Recorded, Reason> {
        self.find_streams()?;
        let tree = self.tree;
        let mut items: Vec<Item> = Vec::with_capacity(self.line.points.len());
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut at = self.window.start;
        let mut owner = self.line.root;
        let mut in_call = false;
        let mut step = 0;
        let mut ends: Vec<i64> = Vec::new();
        for (time, point) in std::mem::take(&mut self.line.points) {
            let mut item =
                Item { point, time: (time - at).max(0), owner, in_call, action: Action::Nothing };
            at = at.max(time);
            in_call = match point {
                Point::Start(call) => tree.kind(call) == CallKind::Runtime,
                Point::End(_) => false,
                Point::Step(_) => in_call,
            };
            match point {
                Point::Start(call) => {
                    owner = Some(call);
                    let first = self.drafts.len();
                    self.launch(call, step);
                    if self.drafts.len() > first {
                        item.action = Action::Launch(first as u32, self.drafts.len() as u32);
                    }
                }
                Point::End(call) => {
                    owner = tree.parent(call);
                    if let Some(wait) = self.waiting(call, items.last()) {
                        item.action = Action::Wait(waiting.len() as u32);
                        waiting.push(Waiting { item: items.len(), ..wait });
                    }
                }
                Point::Step(_) => {
                    ends.push(time);
                    step += 1;
                }
            }
            items.push(item);
        }
        let measured = self.measured(&ends);
        let busy_before = self.before.iter().max().map_or(i64::MIN, |end| self.window.start + end);
        let (typical, works) = Typical::of(&self.drafts, busy_before, &waiting, &mut items)?;
        let waits = waiting
            .iter()
            .map(|wait| Wait {
                targets: wait.targets.clone(),
                latency: typical.return_latency(wait.name),
                call: wait.call,
            })
            .collect();
        let is_crossing = works.iter().any(|work| work.waits.is_some())
            || works.iter().any(|work| work.stream > 0 && work.kind.is_in_graph());
        Ok(Recorded {
            items,
            works,
            waits,
            streams: self.streams,
            before: self.before,
            typical,
            measured,
            is_crossing,
            unlaunched: self.unlaunched,
        })
    }

    /// Adds the GPU events that a call launches. Each of them is followed by the subsequent events on its
    /// stream whose launch is not in the trace.
    fn launch(&mut self, call: CallId, step: usize) {
        let tree = self.tree;
        let mut gpu: Vec<CallId> = match tree.kind(call) {
            CallKind::Runtime => {
                tree.subtree(call).filter(|&below| tree.kind(below) == CallKind::Gpu).collect()
            }
            CallKind::Op => {
                tree.children(call).filter(|&below| tree.kind(below) == CallKind::Gpu).collect()
            }
            CallKind::Frame | CallKind::Gpu | CallKind::Thread | CallKind::Unlinked => return,
        };
        gpu.order_by_key(|&work| (self.span(work).0, work));
        let in_graph = tree.is_graph_launch(call);
        let event = tree.event(call);
        let name = event.map_or(0, |event| tree.trace().name_id(event).index() as u32);
        let launch = Some((self.span(call).0, name));
        for work in gpu {
            self.push(work, launch, in_graph, step);
            let first = self.followers.partition_point(|&(leader, _)| leader < work);
            let followers: Vec<CallId> = self.followers[first..]
                .iter()
                .take_while(|(leader, _)| *leader == work)
                .map(|&(_, call)| call)
                .collect();
            for follower in followers {
                self.push(follower, None, false, step);
            }
        }
    }

    fn push(&mut self, call: CallId, launch: Option<(i64, u32)>, in_graph: bool, step: usize) {
        let (start, end) = self.span(call);
        let Some((_, number)) = self.stream(call) else { return };
        let Some(event) = self.tree.event(call) else { return };
        self.drafts.push(Draft {
            call,
            start,
            end,
            stream: self.position(number) as u32,
            kind: WorkKind::of(self.tree.trace().category(event), in_graph),
            launch,
            step,
        });
    }

    /// The wait of a call, with the GPU events that had to end before the call returned; `None` if the call
    /// does not wait.
    fn waiting(&self, call: CallId, before: Option<&Item>) -> Option<Waiting> {
        let tree = self.tree;
        if tree.kind(call) != CallKind::Runtime {
            return None;
        }
        let name = tree.name(call);
        let (start, end) = self.span(call);
        let own = before.and_then(|item| match item.action {
            Action::Launch(first, end) if item.point == Point::Start(call) => Some(first..end),
            Action::Launch(..) | Action::Nothing | Action::Wait(_) => None,
        });
        let is_copy = name.contains("emcpy");
        let targets = if let Some(own) = own.filter(|_| is_copy) {
            let last = &self.drafts[own.end as usize - 1];
            if last.end > end + 1_000 && !is_synchronisation(name) {
                return None;
            }
            vec![Behind { stream: last.stream, back: 0 }]
        } else if !is_synchronisation(name) {
            return None;
        } else {
            self.targets(name, end)
        };
        let done = targets.iter().filter_map(|&target| self.ended(target)).max();
        let name = tree.trace().name_id(tree.event(call)?).index() as u32;
        Some(Waiting { call, name, item: 0, start, end, done, targets })
    }

    /// The recorded end of a GPU event.
    fn ended(&self, target: Behind) -> Option<i64> {
        let of_stream = self.drafts.iter().rev().filter(|work| work.stream == target.stream);
        of_stream.clone().nth(target.back as usize).map(|work| work.end)
    }

    fn targets(&self, name: &str, end: i64) -> Vec<Behind> {
        const FAR: usize = 2_000;
        let mut back = vec![0; self.streams.len()];
        let mut found: Vec<Option<(i64, Behind)>> = vec![None; self.streams.len()];
        let is_all = name.contains("DeviceSynchronize") || name.contains("CtxSynchronize");
        for work in self.drafts.iter().rev().take(FAR) {
            let stream = work.stream as usize;
            if found[stream].is_none() && (is_all || work.end <= end + CLOCK) {
                let target = Behind { stream: work.stream, back: back[stream] };
                found[stream] = Some((work.end, target));
            }
            back[stream] += 1;
        }
        let mut found: Vec<(i64, Behind)> = found.into_iter().flatten().collect();
        if is_all {
            return found.into_iter().map(|(_, target)| target).collect();
        }
        if !name.contains("Event") {
            found.retain(|(_, target)| target.back == 0);
        }
        let last = found.into_iter().max_by_key(|&(end, target)| (end, target.stream));
        last.map(|(_, target)| target).into_iter().collect()
    }

    /// The recorded times at which the window and each step ended. A step ends when the host and the GPU work
    /// launched in the step have finished.
    fn measured(&self, host_ends: &[i64]) -> Replayed {
        let mut ends = host_ends.to_vec();
        for work in &self.drafts {
            if let Some(end) = ends.get_mut(work.step) {
                *end = work.end.max(*end);
            }
        }
        let mut reached = self.window.start;
        let mut steps = Vec::new();
        for end in ends {
            reached = reached.max(end);
            steps.push(reached - self.window.start);
        }
        let all = self.drafts.iter().map(|work| work.end);
        let end = all.fold(reached.max(self.window.end), i64::max) - self.window.start;
        Replayed { end, steps }
    }
}
