//! Restores a [`CallTree`] and its trace from the columns of a [`StoredTree`].

use super::{CAPTURED, Column, KINDS, LONGEST, StoredTree, THREAD, UNLINKED_ROOT};
use crate::trace::{
    Arguments, CapturedAs, CapturedCall, Category, EventId, Grid, Message, Nanos, Notes, Sequence,
    Sparse, Stream, TextId, Thread, ThreadId, Trace, Uid,
};
use crate::tree::nest::Planted;
use crate::tree::{CallKind, CallTree, NONE};

impl StoredTree {
    /// Restores the tree. The restored trace is named `source`.
    ///
    /// # Errors
    /// Fails if the columns are damaged or do not fit together; the error says why.
    pub fn restored(self, source: &str) -> Result<CallTree, String> {
        let (calls, order) = self.checked()?;
        let mut trace = Trace { source: source.to_owned(), ..Trace::default() };
        let texts: Vec<TextId> = self.texts.iter().map(|text| trace.texts.intern(text)).collect();
        let text =
            |at: u32| texts.get(at as usize).copied().ok_or(format!("string {at} does not exist"));
        for [pid, tid, name] in &self.threads {
            let thread = Thread { pid: text(*pid)?, tid: text(*tid)?, name: text(*name)? };
            trace.threads.push(thread);
        }
        for texts in &self.arguments {
            let [dims, types, strides, concrete] = *texts;
            trace.arguments.push(Arguments {
                dims: text(dims)?,
                types: text(types)?,
                strides: text(strides)?,
                concrete: text(concrete)?,
            });
        }
        trace.all_streams =
            self.streams.iter().map(|&(device, number)| Stream { device, number }).collect();
        let times = times(&calls, &self.kinds, &self.starts, &self.durations);
        // The events are in this order: the trace's own calls in preorder, then the annotations,
        // then the captured calls.
        let mut event_of = vec![NONE; calls.parents.len()];
        let own = order.len() - self.captured.at.len();
        for (number, &call) in order.iter().enumerate() {
            if number == own {
                self.add_annotations(&mut trace, &texts)?;
            }
            let event = trace.uids.len() as u32;
            event_of[call] = event;
            trace.uids.push(Uid(event));
            trace.categories.push(KINDS[usize::from(self.kinds[call])]);
            trace.names.push(text(self.names[call])?);
            let thread = self.thread_of[call];
            if thread as usize >= trace.threads.len() {
                return Err(format!("thread {thread} does not exist"));
            }
            trace.event_threads.push(ThreadId(thread));
            trace.starts.push(Nanos(times[call].0));
            trace.durations.push(Nanos(times[call].1));
            let arguments = self.arguments_of[call].wrapping_sub(1);
            if arguments != NONE && arguments as usize >= trace.arguments.len() {
                return Err(format!("arguments {arguments} do not exist"));
            }
            trace.event_arguments.push(arguments);
        }
        if own == order.len() {
            self.add_annotations(&mut trace, &texts)?;
        }
        trace.total_events = trace.uids.len() as u64;
        trace.header = self.header;
        let count = calls.parents.len();
        let streams = trace.all_streams.len() as u32;
        trace.streams = sparse(self.stream_of, &event_of, |at| {
            if at < streams { Ok(at) } else { Err(format!("stream {at} does not exist")) }
        })?;
        trace.gpu_bytes = sparse(self.bytes, &event_of, Ok)?;
        trace.grids = sparse(self.grids, &event_of, |[grid, block]| {
            Ok(Grid { grid: text(grid)?, block: text(block)? })
        })?;
        let mut last = 0_i64;
        trace.sequences = {
            // Each number is stored as the difference from the previous number. The previous number
            // is the one before it in the order of the calls, not of the events.
            let numbered =
                self.sequences.entries(count)?.into_iter().map(|(at, (number, thread))| {
                    last = last.wrapping_add(number);
                    (at, Sequence { number: last, forward_thread: thread })
                });
            in_order(numbered.collect(), &event_of)?
        };
        trace.regions = sparse(self.regions, &event_of, text)?;
        trace.collectives = sparse(self.collectives, &event_of, text)?;
        trace.process_groups = sparse(self.groups, &event_of, text)?;
        trace.messages = sparse(self.messages, &event_of, |(sent, received, ranks, dtype)| {
            Ok(Message { sent, received, ranks, dtype: text(dtype)? })
        })?;
        add_captured(&mut trace, &calls, &self.captured, &event_of);
        let mut kinds = Vec::with_capacity(count);
        let mut sources = Vec::with_capacity(count);
        for (call, &kind) in self.kinds.iter().enumerate() {
            kinds.push(match kind {
                THREAD => CallKind::Thread,
                UNLINKED_ROOT => CallKind::Unlinked,
                kind => CallKind::of(KINDS[usize::from(kind)]),
            });
            sources.push(if kind == THREAD { self.names[call] } else { event_of[call] });
        }
        let mut call_of = vec![NONE; trace.uids.len()];
        for (call, &event) in event_of.iter().enumerate().filter(|(_, event)| **event != NONE) {
            call_of[event as usize] = call as u32;
        }
        let Nesting { parents, ends } = calls;
        let planted =
            Planted { kinds, sources, parents, ends, calls: call_of, ..Planted::default() };
        Ok(CallTree::of_columns(trace.into(), planted, Notes::default()))
    }

    fn add_annotations(&self, trace: &mut Trace, texts: &[TextId]) -> Result<(), String> {
        let mut last = 0_i64;
        for &(name, thread, start, duration) in &self.annotations {
            let name = texts.get(name as usize).ok_or(format!("string {name} does not exist"))?;
            if thread as usize >= trace.threads.len() {
                return Err(format!("thread {thread} does not exist"));
            }
            last = last.saturating_add(start).clamp(-LONGEST, LONGEST);
            trace.uids.push(Uid(trace.uids.len() as u32));
            trace.categories.push(Category::UserAnnotation);
            trace.names.push(*name);
            trace.event_threads.push(ThreadId(thread));
            trace.starts.push(Nanos(last));
            trace.durations.push(Nanos(duration.clamp(0, LONGEST)));
            trace.event_arguments.push(NONE);
        }
        Ok(())
    }

    /// Checks the columns; returns the nesting of the calls, and the calls that are events, in
    /// event order.
    fn checked(&self) -> Result<(Nesting, Vec<usize>), String> {
        let count = self.depths.len();
        let lengths = [
            self.kinds.len(),
            self.names.len(),
            self.thread_of.len(),
            self.starts.len(),
            self.durations.len(),
            self.arguments_of.len(),
        ];
        if lengths.iter().any(|&length| length != count) || count >= NONE as usize {
            return Err("the columns differ in length".to_owned());
        }
        if self.texts.first().is_none_or(|text| !text.is_empty()) {
            return Err("the strings are damaged".to_owned());
        }
        let mut nesting = Nesting { parents: vec![NONE; count], ends: vec![0; count] };
        let mut above: Vec<usize> = Vec::new();
        for (call, (&depth, &kind)) in self.depths.iter().zip(&self.kinds).enumerate() {
            let depth = depth as usize;
            if depth > above.len() || (depth == 0) != (kind >= THREAD) || kind > UNLINKED_ROOT {
                return Err(format!("call {call} has no valid parent"));
            }
            if kind == THREAD && self.names[call] as usize >= self.threads.len() {
                return Err(format!("call {call} has no thread"));
            }
            above.drain(depth..).for_each(|ended| nesting.ends[ended] = call as u32);
            if let Some(&parent) = above.last() {
                nesting.parents[call] = parent as u32;
            }
            above.push(call);
        }
        above.into_iter().for_each(|ended| nesting.ends[ended] = count as u32);
        if self.captured.at.len() != self.captured.values.len() {
            return Err("the columns differ in length".to_owned());
        }
        let mut is_captured = vec![false; count];
        for (call, &known) in self.captured.calls().zip(&self.captured.values) {
            let is_event = self.kinds.get(call).is_some_and(|&kind| kind < THREAD);
            if !is_event || usize::from(known) >= CAPTURED.len() {
                return Err("the captured calls are damaged".to_owned());
            }
            is_captured[call] = true;
        }
        let events = || (0..count).filter(|&call| self.kinds[call] < THREAD);
        let own = events().filter(|&call| !is_captured[call]);
        Ok((nesting, own.chain(events().filter(|&call| is_captured[call])).collect()))
    }
}

/// For each call, its parent and the end of its subtree.
struct Nesting {
    parents: Vec<u32>,
    ends: Vec<u32>,
}

/// Start and duration of each call. A frame without times gets the time span of the host calls
/// below it.
fn times(calls: &Nesting, kinds: &[u8], starts: &[i64], durations: &[i64]) -> Vec<(i64, i64)> {
    let is_host = |call: usize| {
        kinds[call] < THREAD && CallKind::of(KINDS[usize::from(kinds[call])]) != CallKind::Gpu
    };
    let is_open = |call: usize| kinds[call] == 0 && starts[call] == 0 && durations[call] == 0;
    // The start of the previous call, and the start of the last host call with times on the thread.
    let (mut last, mut host) = (0_i64, None);
    let mut times: Vec<(i64, i64)> = Vec::with_capacity(starts.len());
    for (call, (&start, &duration)) in starts.iter().zip(durations).enumerate() {
        last = last.saturating_add(start).clamp(-LONGEST, LONGEST);
        match () {
            () if kinds[call] >= THREAD => host = None,
            () if is_host(call) && !is_open(call) => host = Some(last),
            () => {}
        }
        let start = if is_open(call) { host.unwrap_or(last) } else { last };
        times.push((start, duration.clamp(0, LONGEST)));
    }
    // The calls are visited in reverse preorder, so inner frames are visited before outer frames.
    for call in (0..starts.len()).rev() {
        let mut below = (call + 1..calls.ends[call] as usize).filter(|&at| is_host(at));
        if !is_open(call) {
            continue;
        }
        let Some(first) = below.next() else { continue };
        let mut end = times[first].0 + times[first].1;
        let mut at = calls.ends[first] as usize;
        while at < calls.ends[call] as usize {
            if is_host(at) {
                end = end.max(times[at].0 + times[at].1);
            }
            at = calls.ends[at] as usize;
        }
        times[call] = (times[first].0, (end - times[first].0).max(0));
    }
    times
}

fn sparse<T, U: Clone>(
    column: Column<T>,
    event_of: &[u32],
    value: impl Fn(T) -> Result<U, String>,
) -> Result<Sparse<U>, String> {
    let entries = column.entries(event_of.len())?.into_iter();
    let valued = entries.map(|(at, stored)| Ok((at, value(stored)?)));
    in_order(valued.collect::<Result<_, String>>()?, event_of)
}

/// Converts values indexed by call into a column indexed by event.
fn in_order<U>(entries: Vec<(usize, U)>, event_of: &[u32]) -> Result<Sparse<U>, String> {
    let mut of_events: Vec<(u32, U)> = Vec::with_capacity(entries.len());
    for (at, value) in entries {
        match event_of[at] {
            NONE => return Err(format!("call {at} is a root but has a value")),
            event => of_events.push((event, value)),
        }
    }
    of_events.sort_by_key(|(event, _)| *event);
    Ok(of_events.into_iter().map(|(event, value)| (EventId(event), value)).collect())
}

/// Stores in the trace, for each captured call, the graph launch above it and the GPU events that
/// it launched.
fn add_captured(trace: &mut Trace, calls: &Nesting, captured: &Column<u8>, event_of: &[u32]) {
    let mut known: Vec<Option<CapturedAs>> = vec![None; event_of.len()];
    for (call, &code) in captured.calls().zip(&captured.values) {
        known[call] = Some(CAPTURED[usize::from(code)]);
    }
    if captured.at.is_empty() {
        return;
    }
    trace.capture_sources = vec![trace.source.clone()];
    let mut of_events: Vec<(u32, CapturedCall)> = Vec::new();
    let mut launched: Vec<(u32, Uid)> = Vec::new();
    // The graph launch above the current call, and the position of the next captured call below
    // that launch.
    let (mut launch, mut position) = (NONE, 0);
    for call in 0..event_of.len() {
        let parent = calls.parents[call];
        let Some(as_) = known[call] else {
            if parent != NONE && known[parent as usize].is_some() {
                launched.push((event_of[call], Uid(event_of[parent as usize])));
            }
            continue;
        };
        let mut depth = 0;
        let mut above = parent;
        while above != NONE && known[above as usize].is_some() {
            depth += 1;
            above = calls.parents[above as usize];
        }
        if above != launch {
            (launch, position) = (above, 0);
        }
        let uid = if launch == NONE { Uid(0) } else { Uid(event_of[launch as usize]) };
        let place = CapturedCall {
            known: as_,
            launch: uid,
            uid: Uid(position),
            source: 0,
            position,
            depth,
        };
        of_events.push((event_of[call], place));
        position += 1;
    }
    of_events.sort_by_key(|(event, _)| *event);
    of_events.into_iter().for_each(|(event, call)| trace.captured.push(EventId(event), call));
    launched.sort_unstable();
    for (event, uid) in launched.into_iter().filter(|(event, _)| *event != NONE) {
        trace.captured_launches.push(EventId(event), uid);
    }
}
