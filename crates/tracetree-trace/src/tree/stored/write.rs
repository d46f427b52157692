//! Converts a [`CallTree`] into the columns of a [`StoredTree`].

use super::{CAPTURED, KINDS, StoredTree, THREAD, UNLINKED_ROOT};
use crate::trace::{Arguments, Category, EventId, Message, Nanos, Stream, TextId, Texts, ThreadId};
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

impl CallTree {
    /// Returns columns with the calls for which `is_kept` is true, and with all annotations. If a
    /// call is kept, all its ancestors must be kept too. The times of a frame are kept only if
    /// `is_timed` is true for that frame. `time` returns start and duration of an event, and `name`
    /// returns the name that is stored for a frame.
    #[doc(hidden)]
    pub fn stored(
        &self,
        is_kept: impl Fn(CallId) -> bool,
        is_timed: impl Fn(CallId) -> bool,
        time: impl Fn(EventId) -> (Nanos, Nanos),
        name: impl Fn(&str) -> Cow<'_, str>,
    ) -> StoredTree {
        let mut writer = Writer::new(self);
        for call in self.calls().filter(|&call| is_kept(call)) {
            writer.add(call, is_timed(call), &time, &name);
        }
        let trace = &*self.trace;
        let is_annotation = |event: &EventId| trace.category(*event) == Category::UserAnnotation;
        let mut last = Nanos::ZERO;
        for event in trace.own_events().filter(is_annotation) {
            let (start, duration) = time(event);
            let name = writer.text_id(trace.name_id(event));
            let thread = writer.thread(trace.thread_of(event));
            writer.stored.annotations.push((name, thread, (start - last).0, duration.0));
            last = start;
        }
        let texts = 0..writer.texts.len() as u32;
        writer.stored.texts = texts.map(|id| writer.texts.get(TextId(id)).to_owned()).collect();
        writer.stored
    }
}

/// Assigns numbers to strings, threads and arguments in order of first use.
struct Writer<'t> {
    tree: &'t CallTree,
    stored: StoredTree,
    texts: Texts,
    threads: Vec<Option<u32>>,
    arguments: Vec<Option<u32>>,
    streams: FxHashMap<Stream, u32>,
    /// The stored ancestors of the current call.
    above: Vec<CallId>,
    last_start: Nanos,
    last_sequence: i64,
}

impl<'t> Writer<'t> {
    fn new(tree: &'t CallTree) -> Writer<'t> {
        let stored = StoredTree { header: tree.trace.header().clone(), ..StoredTree::default() };
        Writer {
            texts: Texts::default(),
            threads: vec![None; tree.trace.threads().len()],
            arguments: vec![None; tree.trace.all_arguments().len()],
            streams: FxHashMap::default(),
            above: Vec::new(),
            last_start: Nanos::ZERO,
            last_sequence: 0,
            stored,
            tree,
        }
    }

    fn text(&mut self, text: &str) -> u32 {
        self.texts.intern(text).0
    }

    fn text_id(&mut self, id: TextId) -> u32 {
        let tree = self.tree;
        self.text(tree.trace.text(id))
    }

    fn thread(&mut self, id: ThreadId) -> u32 {
        if let Some(at) = self.threads[id.index()] {
            return at;
        }
        let thread = self.tree.trace.thread(id).clone();
        let texts = [thread.pid, thread.tid, thread.name].map(|id| self.text_id(id));
        let at = self.stored.threads.len() as u32;
        self.stored.threads.push(texts);
        self.threads[id.index()] = Some(at);
        at
    }

    fn add(
        &mut self,
        call: CallId,
        is_timed: bool,
        time: &impl Fn(EventId) -> (Nanos, Nanos),
        name: &impl Fn(&str) -> Cow<'_, str>,
    ) {
        let tree = self.tree;
        while self.above.last().is_some_and(|&above| !tree.is_below(call, above)) {
            self.above.pop();
        }
        self.stored.depths.push(self.above.len() as u32);
        self.above.push(call);
        let Some(event) = tree.event(call) else {
            let thread = tree.thread(call).map(|thread| self.thread(thread));
            let kind = if thread.is_some() { THREAD } else { UNLINKED_ROOT };
            self.push(kind, thread.unwrap_or(0), 0, (0, 0), 0);
            return;
        };
        let trace = &*tree.trace;
        let (start, duration) = time(event);
        let category = trace.category(event);
        let kind = KINDS.iter().position(|&known| known == category).unwrap_or(0) as u8;
        let is_frame = category == Category::PythonFunction;
        let text = if is_frame { name(trace.name(event)) } else { trace.name(event).into() };
        let text = self.text(&text);
        let thread = self.thread(trace.thread_of(event));
        let is_timed = !is_frame || is_timed;
        let times = if is_timed { ((start - self.last_start).0, duration.0) } else { (0, 0) };
        if is_timed {
            self.last_start = start;
        }
        let arguments = trace.arguments_id(event).map(|id| match self.arguments[id.index()] {
            Some(at) => at,
            None => {
                let Arguments { dims, types, strides, concrete } = *trace.arguments(id);
                let texts = [dims, types, strides, concrete].map(|id| self.text_id(id));
                let at = self.stored.arguments.len() as u32;
                self.stored.arguments.push(texts);
                self.arguments[id.index()] = Some(at);
                at
            }
        });
        self.push(kind, text, thread, times, arguments.map_or(0, |at| at + 1));
        self.add_few(event);
    }

    fn push(
        &mut self,
        kind: u8,
        name: u32,
        thread: u32,
        (start, duration): (i64, i64),
        arguments: u32,
    ) {
        let stored = &mut self.stored;
        stored.kinds.push(kind);
        stored.names.push(name);
        stored.thread_of.push(thread);
        stored.starts.push(start);
        stored.durations.push(duration);
        stored.arguments_of.push(arguments);
    }

    /// Adds the event's values to the columns that contain values for only a few calls.
    fn add_few(&mut self, event: EventId) {
        let trace = &*self.tree.trace;
        let at = self.stored.depths.len() - 1;
        if let Some(call) = trace.captured(event) {
            let known = CAPTURED.iter().position(|&known| known == call.known).unwrap_or(0);
            self.stored.captured.push(at, known as u8);
        }
        if let Some(stream) = trace.stream(event) {
            let next = self.stored.streams.len() as u32;
            let number = *self.streams.entry(stream).or_insert(next);
            if number == next {
                self.stored.streams.push((stream.device, stream.number));
            }
            self.stored.stream_of.push(at, number);
        }
        if let Some(&bytes) = trace.gpu_bytes().get(event) {
            self.stored.bytes.push(at, bytes);
        }
        if let Some(grid) = trace.grids().get(event) {
            let texts = [grid.grid, grid.block].map(|id| self.text_id(id));
            self.stored.grids.push(at, texts);
        }
        if let Some(sequence) = trace.sequences.get(event) {
            let number = sequence.number - self.last_sequence;
            self.last_sequence = sequence.number;
            self.stored.sequences.push(at, (number, sequence.forward_thread));
        }
        if let Some(&region) = trace.regions().get(event) {
            let region = self.text_id(region);
            self.stored.regions.push(at, region);
        }
        if let Some(&name) = trace.collectives().get(event) {
            let name = self.text_id(name);
            self.stored.collectives.push(at, name);
        }
        if let Some(&group) = trace.process_groups().get(event) {
            let group = self.text_id(group);
            self.stored.groups.push(at, group);
        }
        if let Some(&Message { sent, received, ranks, dtype }) = trace.messages().get(event) {
            let dtype = self.text_id(dtype);
            self.stored.messages.push(at, (sent, received, ranks, dtype));
        }
    }
}
