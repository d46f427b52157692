//! Nests the calls of a trace whose times are whole microseconds: by what the trace states before
//! times.
//!
//! Most calls take less than a microsecond of their own, so the times do not show which of two
//! calls came first, or whether one of them contains the other. Versions of PyTorch up to 2.2 write
//! such traces, but they state the rest:
//!
//! ```text
//! Python id, Python parent id   the frame that called a frame
//! Ev Idx                        the order of the ops of a thread, and of its frames
//! correlation                   the order of its runtime calls
//! ```
//! A frame is below the frame that called it, and is open at least until the last frame below it
//! starts. Otherwise, a call is below the open call whose time contains it. If it starts at the
//! end of that call, the times do not decide:
//!
//! ```text
//!        12       13                       12       13
//! ├─ expand ─────┤│                        ├─ view ┤│
//!          ├─ as_strided ─┤ or after it?            ├─ view ┤ or inside?
//! ```
//! Then the same two names decide, where they occur elsewhere in the trace with clear times. If
//! they never occur there, or occur both ways, the positions of both calls are uncertain.

use crate::trace::{Category, EventId, Nanos, Stated, TextId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};

/// The unit of the times.
const TICK: Nanos = Nanos(1_000);

/// Maximum time between two calls in a row that shows that the second call is not below the first.
/// Later calls have nothing to do with the first call.
const SOON: Nanos = Nanos(2_000);

/// The calls of a trace with their positions.
pub(super) struct Positions {
    /// For each thread, its calls in preorder, each with its depth below the thread.
    pub(super) threads: Vec<Vec<(EventId, u32)>>,
    /// The calls whose position is uncertain, sorted.
    pub(super) uncertain: Vec<EventId>,
    /// Number of calls that end long after the call that contains their start.
    pub(super) artefacts: u64,
}

/// Finds the positions of the calls of each thread, which are given in file order. Returns `None`
/// if the times of the trace are fine enough to show the positions, or if the trace states nothing
/// else.
pub(super) fn positions(trace: &Trace, threads: &[Vec<(Nanos, EventId)>]) -> Option<Positions> {
    if trace.stated.is_empty() {
        return None;
    }
    let threads: Vec<Vec<Call>> = threads.iter().map(|calls| in_order(trace, calls)).collect();
    let slack = if threads.iter().any(|calls| is_rounded(calls)) { TICK } else { Nanos::ZERO };
    let mut evidence = Evidence::default();
    for calls in &threads {
        Nesting::new(calls, slack, &mut evidence).run(Pass::Learn);
    }
    let mut found = Positions { threads: Vec::new(), uncertain: Vec::new(), artefacts: 0 };
    for calls in &threads {
        let mut nesting = Nesting::new(calls, slack, &mut evidence);
        nesting.run(Pass::Decide);
        found.threads.push(nesting.depths);
        found.uncertain.extend(nesting.uncertain);
        found.artefacts += nesting.artefacts;
    }
    found.uncertain.sort_unstable();
    found.uncertain.dedup();
    Some(found)
}

/// A host call.
#[derive(Debug, Clone, Copy)]
struct Call {
    event: EventId,
    start: Nanos,
    end: Nanos,
    kind: Kind,
    /// The name of an op or runtime call; empty for frames, many of which have unique names.
    name: TextId,
    stated: Stated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Frame,
    Op,
    Runtime,
}

impl Call {
    fn of(trace: &Trace, event: EventId) -> Call {
        let kind = match trace.category(event) {
            Category::PythonFunction => Kind::Frame,
            Category::Runtime => Kind::Runtime,
            Category::CpuOp
            | Category::Kernel
            | Category::Memcpy
            | Category::Memset
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => Kind::Op,
        };
        let name = if kind == Kind::Frame { TextId::EMPTY } else { trace.name_id(event) };
        let mut stated = trace.stated.get(event).copied().unwrap_or_default();
        if kind == Kind::Runtime {
            stated.order = trace.correlations().get(event).copied().filter(|&id| id > 0);
        }
        Call { event, start: trace.start(event), end: trace.end(event), kind, name, stated }
    }

    /// Sorts calls of one kind that start in the same microsecond.
    fn rank(&self) -> impl Ord + use<> {
        let frame = self.stated.frame.unwrap_or(i64::MAX);
        let order = self.stated.order.unwrap_or(i64::MAX);
        (frame, order, std::cmp::Reverse(self.end), self.event)
    }

    /// Whether another call that starts in the same microsecond may come after this call, inside
    /// or not.
    fn may_precede(&self, later: &Call) -> bool {
        self.end >= later.end || self.end == self.start
    }
}

/// Sorts the calls of a thread by their starts. Calls that start in the same microsecond are in the
/// order that the trace states. Some versions of PyTorch number ops and frames together, others
/// number all ops before all frames.
fn in_order(trace: &Trace, calls: &[(Nanos, EventId)]) -> Vec<Call> {
    let mut calls: Vec<Call> = calls.iter().map(|&(_, event)| Call::of(trace, event)).collect();
    calls.sort_by_key(|call| (call.start, call.kind, call.rank()));
    let numbered_together = are_numbered_together(&calls);
    let mut ordered = Vec::with_capacity(calls.len());
    for tick in calls.chunk_by(|a, b| a.start == b.start) {
        let runtime = tick.partition_point(|call| call.kind < Kind::Runtime);
        let (tick, runtime) = tick.split_at(runtime);
        let (frames, ops) = tick.split_at(tick.partition_point(|call| call.kind < Kind::Op));
        let mut tick = if numbered_together {
            let mut both = tick.to_vec();
            both.sort_by_key(|call| {
                (call.stated.order.unwrap_or(i64::MAX), call.kind, call.rank())
            });
            both
        } else {
            merged(frames.to_vec(), ops)
        };
        tick = merged(tick, runtime);
        ordered.append(&mut tick);
    }
    ordered
}

/// Whether one sequence of numbers orders the ops and the frames of a thread.
fn are_numbered_together(calls: &[Call]) -> bool {
    let own = calls.iter().filter(|call| call.kind != Kind::Runtime);
    let mut numbered: Vec<(i64, Nanos)> =
        own.filter_map(|call| Some((call.stated.order?, call.start))).collect();
    numbered.sort_unstable();
    numbered.is_sorted_by_key(|&(_, start)| start)
}

/// Inserts `inner` calls into a list of calls that start in the same microsecond. Both lists keep
/// their order. Each inner call comes after the last of the calls that may precede it.
fn merged(outer: Vec<Call>, inner: &[Call]) -> Vec<Call> {
    let Some(instants) = inner
        .first()
        .map(|_| outer.iter().rposition(|call| call.end == call.start).map_or(0, |last| last + 1))
    else {
        return outer;
    };
    // The latest end of each call and the calls after it.
    let mut latest: Vec<Nanos> = outer.iter().map(|call| call.end).collect();
    for at in (1..latest.len()).rev() {
        latest[at - 1] = latest[at - 1].max(latest[at]);
    }
    let mut merged = Vec::with_capacity(outer.len() + inner.len());
    let mut used = 0;
    for call in inner {
        let longer = latest.partition_point(|&end| end >= call.end);
        let until = used.max(longer).max(instants);
        debug_assert!(outer[until..].iter().all(|later| !later.may_precede(call)));
        merged.extend_from_slice(&outer[used..until]);
        merged.push(*call);
        used = until;
    }
    merged.extend_from_slice(&outer[used..]);
    merged
}

/// Whether starts and durations were rounded separately, so that a call may end a microsecond after
/// the call that contains it. PyTorch rounds all starts and ends down, which keeps their order.
fn is_rounded(calls: &[Call]) -> bool {
    let mut open: Vec<Nanos> = Vec::new();
    for call in calls.iter().filter(|call| call.kind != Kind::Runtime) {
        while open.pop_if(|end| *end <= call.start).is_some() {}
        let bleeds = |&end: &Nanos| end < call.end && call.end - end <= TICK;
        if open.last().is_some_and(bleeds) {
            return true;
        }
        open.push(call.end);
    }
    false
}

/// How often two names occur in a trace with clear times, as (outer, inner): one call below the
/// other, and one soon after the other.
#[derive(Default)]
struct Evidence(FxHashMap<(TextId, TextId), (u32, u32)>);

/// Whether the times of two calls show that the second call is below the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Inside,
    Behind,
    /// The times allow both. `fits` is whether they contain the second call as they are written.
    Open {
        fits: bool,
    },
}

/// What a run over the calls is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Collect evidence from calls with clear times.
    Learn,
    /// Decide with that evidence.
    Decide,
}

/// The calls of one thread while they are nested.
struct Nesting<'a> {
    calls: &'a [Call],
    slack: Nanos,
    evidence: &'a mut Evidence,
    /// For each frame, the position of the last frame below it.
    last_below: FxHashMap<i64, usize>,
    stack: Vec<OpenCall>,
    /// The positions of the frames in the stack.
    open_frames: Vec<usize>,
    /// Where in the stack each frame is, if it is open.
    place_of: FxHashMap<i64, usize>,
    depths: Vec<(EventId, u32)>,
    uncertain: Vec<EventId>,
    artefacts: u64,
}

#[derive(Debug, Clone, Copy)]
struct OpenCall {
    call: Call,
    end: Nanos,
}

impl<'a> Nesting<'a> {
    fn new(calls: &'a [Call], slack: Nanos, evidence: &'a mut Evidence) -> Nesting<'a> {
        Nesting {
            calls,
            slack,
            evidence,
            last_below: last_below(calls),
            stack: Vec::new(),
            open_frames: Vec::new(),
            place_of: FxHashMap::default(),
            depths: Vec::with_capacity(calls.len()),
            uncertain: Vec::new(),
            artefacts: 0,
        }
    }

    fn run(&mut self, pass: Pass) {
        for (at, call) in self.calls.iter().enumerate() {
            self.close_for_caller(call);
            let end = self.close_for_time(at, call, pass);
            self.depths.push((call.event, self.stack.len() as u32));
            self.open(*call, end);
        }
    }

    fn open(&mut self, call: Call, end: Nanos) {
        if let Some(frame) = call.stated.frame {
            self.place_of.insert(frame, self.stack.len());
            self.open_frames.push(self.stack.len());
        }
        self.stack.push(OpenCall { call, end });
    }

    fn close_down_to(&mut self, count: usize) {
        self.stack.truncate(count);
        while self.open_frames.pop_if(|place| *place >= count).is_some() {}
    }

    /// Closes the frames that the caller of a frame did not call. A frame without a caller on this
    /// thread is below no frame.
    fn close_for_caller(&mut self, call: &Call) {
        if call.stated.frame.is_none() {
            return;
        }
        let below = match call.stated.parent {
            None => 0,
            Some(caller) => match self.place_of_open(caller) {
                Some(place) => place + 1,
                None if self.last_below.contains_key(&caller) => return,
                None => 0,
            },
        };
        let first = self.open_frames.partition_point(|&place| place < below);
        if let Some(&place) = self.open_frames.get(first) {
            self.close_down_to(place);
        }
    }

    fn place_of_open(&self, frame: i64) -> Option<usize> {
        let place = *self.place_of.get(&frame)?;
        let open = self.stack.get(place)?;
        (open.call.stated.frame == Some(frame)).then_some(place)
    }

    /// Closes the calls that end before a call; returns the end of the call, which is at most the
    /// end of the call that contains it.
    fn close_for_time(&mut self, at: usize, call: &Call, pass: Pass) -> Nanos {
        let (mut closed, mut is_clear) = (None, true);
        while let Some(&top) = self.stack.last() {
            let names = (top.call.name, call.name);
            if self.is_stated_above(&top, at, call) {
                return top.clamped(call);
            }
            let verdict = top.contains(call, self.slack);
            is_clear &= !matches!(verdict, Verdict::Open { .. });
            if self.is_inside(&top, call, verdict, pass) {
                if pass == Pass::Learn && is_clear {
                    self.evidence.0.entry(names).or_default().0 += 1;
                }
                break;
            }
            closed = Some((names, top.end));
            self.close_down_to(self.stack.len() - 1);
        }
        if let (Pass::Learn, true, Some((names, end))) = (pass, is_clear, closed)
            && call.start - end <= SOON
        {
            self.evidence.0.entry(names).or_default().1 += 1;
        }
        let Some(&top) = self.stack.last() else { return call.end };
        self.artefacts += u64::from(call.end - top.end > TICK);
        top.clamped(call)
    }

    /// Whether an open frame is stated to contain a call: the frame called it, or the frame is
    /// still open when a later frame below it starts.
    fn is_stated_above(&self, top: &OpenCall, at: usize, call: &Call) -> bool {
        let Some(frame) = top.call.stated.frame else { return false };
        let is_caller = call.stated.frame.is_some() && call.stated.parent == Some(frame);
        is_caller || self.last_below.get(&frame).is_some_and(|&last| last > at)
    }

    fn is_inside(&mut self, top: &OpenCall, call: &Call, verdict: Verdict, pass: Pass) -> bool {
        let fits = match verdict {
            Verdict::Inside => return true,
            Verdict::Behind => return false,
            Verdict::Open { fits } => fits,
        };
        let names = (top.call.name, call.name);
        let (inside, behind) = self.evidence.0.get(&names).copied().unwrap_or_default();
        if pass == Pass::Decide && (inside > 0) == (behind > 0) {
            self.uncertain.extend([top.call.event, call.event]);
        }
        if fits { inside > 0 || behind == 0 } else { inside > behind }
    }
}

impl OpenCall {
    /// The end of a call that this call contains.
    fn clamped(&self, call: &Call) -> Nanos {
        if self.end > call.start { call.end.min(self.end) } else { call.end }
    }

    /// Whether the times show that this call contains a later call. Each time may be off by
    /// `slack`.
    fn contains(&self, call: &Call, slack: Nanos) -> Verdict {
        let is_runtime = self.call.kind == Kind::Runtime;
        if is_runtime && self.call.start == call.start {
            let is_inner = call.kind == Kind::Runtime;
            return if is_inner { Verdict::Open { fits: false } } else { Verdict::Behind };
        }
        let (overlap, overhang) = (self.end - call.start, call.end - self.end);
        if overhang > slack {
            return if overlap > TICK { Verdict::Inside } else { Verdict::Behind };
        }
        match overlap.cmp(&slack) {
            std::cmp::Ordering::Greater => Verdict::Inside,
            _ if overlap < Nanos::ZERO - slack => Verdict::Behind,
            std::cmp::Ordering::Equal | std::cmp::Ordering::Less => {
                Verdict::Open { fits: overlap > Nanos::ZERO && overhang <= Nanos::ZERO }
            }
        }
    }
}

/// For each frame, the position of the last frame that is stated to be below it, or its own
/// position.
fn last_below(calls: &[Call]) -> FxHashMap<i64, usize> {
    let mut last: FxHashMap<i64, usize> = FxHashMap::default();
    let own: FxHashSet<i64> = calls.iter().filter_map(|call| call.stated.frame).collect();
    for (at, call) in calls.iter().enumerate().rev() {
        let Some(frame) = call.stated.frame else { continue };
        let below = *last.entry(frame).or_insert(at);
        let caller = call.stated.parent.filter(|caller| *caller != frame && own.contains(caller));
        if let Some(caller) = caller {
            let of_caller = last.entry(caller).or_insert(below);
            *of_caller = (*of_caller).max(below);
        }
    }
    last
}
