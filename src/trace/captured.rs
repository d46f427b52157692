//! [`Trace`] and what was recorded while its graphs were captured → one trace with both.
//!
//! A trace of a replay has one call for a whole graph. The calls that were recorded when the graph was
//! captured are put behind its own events, once for each replay:
//!
//! ```text
//! event    0 … n-1          n … n+k-1                  n+k …
//!          the trace's own  captured, of the 1st replay captured, of the 2nd replay
//! uid      as in the file   first + uid in the capture  first' + uid in the capture
//! ```
//!
//! Nothing of them ran when the replay ran. So all of them start when the graph was launched and take
//! no time: no sum of host times counts them, and steps and phases find them where the launch is.

use super::category::Category;
use super::columns::{Arguments, Sequence, Trace};
use super::ids::{ArgumentsId, EventId, Uid};
use super::sparse::Sparse;
use super::texts::TextId;
use super::time::Nanos;
use rustc_hash::FxHashMap;

/// How a captured call is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapturedAs {
    /// It was recorded while the graph was captured.
    Call,
    /// Kernels of the replay name it as the part of the program that they were captured in.
    Part,
}

/// Where a captured call comes from, and where it stands below its graph launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapturedCall {
    /// How it is known.
    pub known: CapturedAs,
    /// The graph launch that it stands below: a position in the trace's own `traceEvents`.
    pub launch: Uid,
    /// Its position in the `traceEvents` of the capture; of a part its position below the launch.
    pub uid: Uid,
    /// The capture, by its number in [`Trace::capture_sources`].
    pub(crate) source: u32,
    /// Its position below the launch, in preorder.
    pub(crate) position: u32,
    /// How many captured calls stand above it.
    pub(crate) depth: u32,
}

/// The calls of one captured graph that are to stand below one graph launch.
#[derive(Debug, Clone)]
pub(crate) struct Graft {
    /// How its calls are known.
    pub(crate) known: CapturedAs,
    /// The graph launch.
    pub(crate) launch: EventId,
    /// The capture, by its number among those given.
    pub(crate) source: u32,
    /// The captured calls, in preorder.
    pub(crate) calls: Vec<GraftedCall>,
    /// GPU events of the replay, each with the call that launches it, by its position in `calls`.
    pub(crate) kernels: Vec<(EventId, u32)>,
}

/// A call of a captured graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraftedCall {
    /// The event of the capture.
    pub(crate) event: EventId,
    /// How many calls of the captured graph stand above it.
    pub(crate) depth: u32,
}

/// Sequence numbers of one replay lie so far from those of the next one.
const SEQUENCES: u32 = 40;

impl Trace {
    /// Where a captured call comes from; `None` for the events of the trace itself.
    pub fn captured(&self, event: EventId) -> Option<&CapturedCall> {
        self.captured.get(event)
    }

    /// Whether the call is none of the trace, but was recorded while its graph was captured.
    pub fn is_captured(&self, event: EventId) -> bool {
        self.captured.first().is_some_and(|first| event >= first)
    }

    /// The events of the trace itself, in file order: all but the captured ones.
    pub fn own_events(&self) -> impl ExactSizeIterator<Item = EventId> + use<> {
        let end = self.captured.first().map_or(self.uids.len() as u32, |first| first.0);
        (0..end).map(EventId)
    }

    /// The captured calls.
    pub fn captured_calls(&self) -> &Sparse<CapturedCall> {
        &self.captured
    }

    /// For each graph launch with captured calls, by uid: the uid that the first event of the capture's
    /// file would have, and the launch.
    pub fn captured_ranges(&self) -> Vec<(Uid, Uid)> {
        let range = |(event, call): (EventId, &CapturedCall)| {
            (Uid(self.uid(event).0 - call.uid.0), call.launch)
        };
        let mut ranges: Vec<(Uid, Uid)> = self.captured.iter().map(range).collect();
        ranges.dedup();
        ranges
    }

    /// For GPU events of replayed graphs, the uid of the captured call that launches them.
    pub fn captured_launches(&self) -> &Sparse<Uid> {
        &self.captured_launches
    }

    /// The files of the captures whose calls the trace has.
    pub fn capture_sources(&self) -> &[String] {
        &self.capture_sources
    }

    /// The file that an event stands in: the capture's for a captured call.
    pub fn source_of(&self, event: EventId) -> &str {
        match self.captured(event) {
            Some(call) => &self.capture_sources[call.source as usize],
            None => &self.source,
        }
    }

    /// How an event is named to people: its position in `traceEvents`; for a captured call that of
    /// its graph launch and, behind a colon, its position in the capture's `traceEvents`.
    pub fn uid_label(&self, event: EventId) -> String {
        match self.captured(event) {
            Some(call) => format!("{}:{}", call.launch.0, call.uid.0),
            None => self.uid(event).0.to_string(),
        }
    }

    /// The captured call at a position of the capture's `traceEvents`, below one graph launch.
    pub fn captured_at(&self, launch: Uid, uid: Uid) -> Option<EventId> {
        let wanted = |call: &CapturedCall| call.launch == launch && call.uid == uid;
        self.captured.iter().find_map(|(event, call)| wanted(call).then_some(event))
    }

    /// What a capture would hold of the parts of a program that only names tell of: an event for each name, without
    /// time, thread or arguments.
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

    /// The trace with captured calls behind its own events. What does not fit into 2^32 positions is
    /// left out: returns how many of the grafts were taken.
    pub(crate) fn with_captured(&self, captures: &[&Trace], grafts: &[Graft]) -> (Trace, usize) {
        let mut grown = self.clone();
        grown.capture_sources = captures.iter().map(|trace| trace.source.clone()).collect();
        let mut grafting = Grafting::new(grown, captures);
        let taken = grafts.iter().take_while(|graft| grafting.add(graft).is_some()).count();
        (grafting.finish(), taken)
    }
}

/// A trace that captured calls are added to.
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

    /// `None` where there is no room for it.
    fn add(&mut self, graft: &Graft) -> Option<()> {
        let capture = self.captures[graft.source as usize];
        let first = u32::try_from(self.next_uid).ok()?;
        let next_uid = self.next_uid.checked_add(capture.total_events)?;
        u32::try_from(next_uid).ok()?;
        u32::try_from(self.trace.len() + graft.calls.len()).ok()?;
        self.next_uid = next_uid;
        self.replays += 1;
        // In the order of the capture's file, so that uids rise.
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
            // Every replay counts on its own, and none of them with the rest of the trace.
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
