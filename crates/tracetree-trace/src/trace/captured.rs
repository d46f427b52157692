//! Adds the calls recorded during graph captures to the [`Trace`] that contains the replays of the
//! graphs.
//!
//! The trace of a replay has a single call for a whole graph. This module takes the calls that were
//! recorded when the graph was captured, and appends them to the trace's own events, once for each
//! replay:
//!
//! ```text
//! event    0 … n-1          n … n+k-1                   n+k …
//!          the trace's own  captured, for 1st replay    captured, for 2nd replay
//! uid      as in the file   first + uid in the capture  first' + uid in the capture
//! ```
//!
//! None of the captured calls ran during the replay. The appended calls start at the graph launch
//! and have duration 0, so they add nothing to host times. The appended calls are in the same step
//! and phase as the launch.

use super::captured_call::{CapturedAs, CapturedCall};
use super::category::Category;
use super::columns::{Arguments, Sequence, Trace};
use super::ids::{ArgumentsId, EventId, Uid};
use super::sparse::Sparse;
use super::texts::TextId;
use super::time::Nanos;
use rustc_hash::FxHashMap;

/// The calls of one captured graph, to be inserted below one graph launch.
#[derive(Debug, Clone)]
pub(crate) struct Graft {
    /// Whether the calls were recorded during the capture, or are known only from names in the
    /// replay's kernels.
    pub(crate) known: CapturedAs,
    /// The graph launch below which the calls are inserted.
    pub(crate) launch: EventId,
    /// Index of the capture among the captures passed to [`Trace::with_captured`].
    pub(crate) source: u32,
    /// The captured calls, in preorder.
    pub(crate) calls: Vec<GraftedCall>,
    /// GPU events of the replay, each with its launching call (as an index in `calls`).
    pub(crate) kernels: Vec<(EventId, u32)>,
}

/// A call of a captured graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraftedCall {
    /// The call's event in the capture.
    pub(crate) event: EventId,
    /// Number of the call's ancestors within the captured graph.
    pub(crate) depth: u32,
}

/// The sequence numbers of each replay are increased by a different multiple of 2^`SEQUENCES`, so
/// that they are distinct.
const SEQUENCES: u32 = 40;

impl Trace {
    /// The origin of a captured call; `None` for the trace's own events.
    #[doc(hidden)]
    pub fn captured(&self, event: EventId) -> Option<&CapturedCall> {
        self.captured.get(event)
    }

    /// Whether the event is a captured call rather than one of the trace's own events.
    #[doc(hidden)]
    pub fn is_captured(&self, event: EventId) -> bool {
        self.captured.first().is_some_and(|first| event >= first)
    }

    /// The trace's own events, in file order, without captured calls.
    #[doc(hidden)]
    pub fn own_events(&self) -> impl ExactSizeIterator<Item = EventId> + use<> {
        let end = self.captured.first().map_or(self.uids.len() as u32, |first| first.0);
        (0..end).map(EventId)
    }

    /// For each graph launch with captured calls, returns an offset and the uid of the launch, in
    /// the order of the captured calls. The uid of a captured call is the offset plus the call's
    /// position in the capture file.
    #[doc(hidden)]
    pub fn captured_ranges(&self) -> Vec<(Uid, Uid)> {
        let range = |(event, call): (EventId, &CapturedCall)| {
            (Uid(self.uid(event).0 - call.uid.0), call.launch)
        };
        let mut ranges: Vec<(Uid, Uid)> = self.captured.iter().map(range).collect();
        ranges.dedup();
        ranges
    }

    /// For each GPU event of a replayed graph, the uid of the captured call that launched it.
    #[doc(hidden)]
    pub fn captured_launches(&self) -> &Sparse<Uid> {
        &self.captured_launches
    }

    /// The file that contains an event. For a captured call, this is the capture file.
    #[doc(hidden)]
    pub fn source_of(&self, event: EventId) -> &str {
        match self.captured(event) {
            Some(call) => &self.capture_sources[call.source as usize],
            None => &self.source,
        }
    }

    /// The label of an event in reports: its position in `traceEvents`. The label of a captured
    /// call consists of the position of its graph launch, a colon, and the call's position in the
    /// capture's `traceEvents`.
    #[doc(hidden)]
    pub fn uid_label(&self, event: EventId) -> String {
        match self.captured(event) {
            Some(call) => format!("{}:{}", call.launch.0, call.uid.0),
            None => self.uid(event).0.to_string(),
        }
    }

    /// Finds a captured call by its graph launch `launch` and its position `uid` in the capture's
    /// `traceEvents`.
    #[doc(hidden)]
    pub fn captured_at(&self, launch: Uid, uid: Uid) -> Option<EventId> {
        let wanted = |call: &CapturedCall| call.launch == launch && call.uid == uid;
        self.captured.iter().find_map(|(event, call)| wanted(call).then_some(event))
    }

    /// A placeholder for a capture that is known only by the names of its program parts. The
    /// placeholder has one event for each name, without time, thread or arguments.
    pub(crate) fn of_parts<'n>(source: &str, names: impl IntoIterator<Item = &'n str>) -> Trace {
        let mut parts = Trace { source: source.to_owned(), ..Trace::default() };
        for name in names {
            let name = parts.texts.intern(name);
            parts.uids.push(Uid(parts.uids.len() as u32));
            parts.categories.push(Category::UserAnnotation);
            parts.names.push(name);
            parts.event_arguments.push(u32::MAX);
        }
        parts.total_events = parts.uids.len() as u64;
        parts
    }

    /// Returns the trace with captured calls appended after its own events, and the number of
    /// `grafts` that were added. This function stops at the first graft whose calls would exceed
    /// 2^32 positions.
    pub(crate) fn with_captured(&self, captures: &[&Trace], grafts: &[Graft]) -> (Trace, usize) {
        let mut grown = self.clone();
        grown.capture_sources = captures.iter().map(|trace| trace.source.clone()).collect();
        let mut grafting = Grafting::new(grown, captures);
        let taken = grafts.iter().take_while(|graft| grafting.add(graft).is_some()).count();
        (grafting.finish(), taken)
    }
}

/// A trace to which captured calls are being added.
struct Grafting<'a> {
    trace: Trace,
    captures: &'a [&'a Trace],
    texts: Vec<Vec<Option<TextId>>>,
    records: Vec<Vec<Option<u32>>>,
    by_content: FxHashMap<Arguments, u32>,
    kernels: Vec<(EventId, Uid)>,
    next_uid: u64,
    replays: i64,
}

impl<'a> Grafting<'a> {
    fn new(trace: Trace, captures: &'a [&'a Trace]) -> Self {
        let by_content = trace.arguments.iter().copied().zip(0..).collect();
        Grafting {
            captures,
            texts: captures.iter().map(|capture| vec![None; capture.texts.len()]).collect(),
            records: captures.iter().map(|capture| vec![None; capture.arguments.len()]).collect(),
            by_content,
            kernels: Vec::new(),
            next_uid: trace.total_events,
            replays: 0,
            trace,
        }
    }

    /// Appends the calls of a graft; returns `None` if positions would exceed 32 bits.
    fn add(&mut self, graft: &Graft) -> Option<()> {
        let capture = self.captures[graft.source as usize];
        let first = u32::try_from(self.next_uid).ok()?;
        let next_uid = self.next_uid.checked_add(capture.total_events)?;
        u32::try_from(next_uid).ok()?;
        u32::try_from(self.trace.len() + graft.calls.len()).ok()?;
        self.next_uid = next_uid;
        self.replays += 1;
        // The calls are added in the order of the capture file, so their uids ascend.
        let mut order: Vec<(GraftedCall, u32)> = graft.calls.iter().copied().zip(0..).collect();
        order.sort_unstable_by_key(|(call, _)| call.event);
        for (call, position) in order {
            let uid = capture.uid(call.event);
            let place = CapturedCall {
                known: graft.known,
                launch: self.trace.uid(graft.launch),
                uid,
                source: graft.source,
                position,
                depth: call.depth,
            };
            self.push(graft, call.event, Uid(first + uid.0), place);
        }
        let uid_of =
            |position: u32| Uid(first + capture.uid(graft.calls[position as usize].event).0);
        self.kernels.extend(graft.kernels.iter().map(|&(kernel, at)| (kernel, uid_of(at))));
        Some(())
    }

    fn push(&mut self, graft: &Graft, from: EventId, uid: Uid, place: CapturedCall) {
        let capture = self.captures[graft.source as usize];
        let name = self.text(graft.source, capture.name_id(from));
        let arguments = match capture.arguments_id(from) {
            Some(id) => self.record(graft.source, id),
            None => u32::MAX,
        };
        let event = EventId(self.trace.uids.len() as u32);
        let trace = &mut self.trace;
        let (thread, start) = (trace.thread_of(graft.launch), trace.start(graft.launch));
        trace.uids.push(uid);
        trace.categories.push(capture.category(from));
        trace.names.push(name);
        trace.event_threads.push(thread);
        trace.starts.push(start);
        trace.durations.push(Nanos::ZERO);
        trace.event_arguments.push(arguments);
        trace.captured.push(event, place);
        if let Some(sequence) = capture.sequences.get(from) {
            // Sequence numbers in this replay must differ from those in other replays and in the
            // trace itself.
            let own = |number: i64| number.saturating_add(self.replays << SEQUENCES);
            let forward_thread = match sequence.forward_thread {
                0 => 0,
                number => own(number),
            };
            trace.sequences.push(event, Sequence { number: own(sequence.number), forward_thread });
        }
    }

    fn text(&mut self, source: u32, id: TextId) -> TextId {
        let capture = self.captures[source as usize];
        let known = &mut self.texts[source as usize][id.index()];
        *known.get_or_insert_with(|| self.trace.texts.intern(capture.text(id)))
    }

    fn record(&mut self, source: u32, id: ArgumentsId) -> u32 {
        if let Some(record) = self.records[source as usize][id.index()] {
            return record;
        }
        let theirs = *self.captures[source as usize].arguments(id);
        let ours = Arguments {
            dims: self.text(source, theirs.dims),
            types: self.text(source, theirs.types),
            strides: self.text(source, theirs.strides),
            concrete: self.text(source, theirs.concrete),
        };
        let list = &mut self.trace.arguments;
        let record = *self.by_content.entry(ours).or_insert_with(|| {
            list.push(ours);
            list.len() as u32 - 1
        });
        self.records[source as usize][id.index()] = Some(record);
        record
    }

    fn finish(mut self) -> Trace {
        self.kernels.sort_unstable();
        for &(kernel, uid) in &self.kernels {
            self.trace.captured_launches.push(kernel, uid);
        }
        self.trace
    }
}
