//! Builds the columns of a [`Trace`], one event at a time.

mod fill;

use super::category;
use super::clocks;
use super::cursor::Value;
use super::event::Fields;
use super::left_out::LeftOut;
use super::numbers;
use super::oddity::{Oddities, Oddity};
use super::options::ReadOptions;
use super::pairs::{Open, OpenEvents};
use super::records::Records;
use super::strings::{Form, Strings};
use super::threads::{self, Threads};
use crate::error::Place;
use crate::trace::category::Category;
use crate::trace::columns::{FlowEnd, FlowPoint, Overhead, Stream, Trace};
use crate::trace::header::Header;
use crate::trace::ids::{EventId, Uid};
use crate::trace::memory::{MemoryDevice, MemoryEvent};
use crate::trace::notes::{Losses, Notes};
use crate::trace::texts::TextId;
use crate::trace::time::Nanos;
use rustc_hash::FxHashMap;

#[derive(Debug, Default)]
pub(super) struct Builder {
    trace: Trace,
    strings: Strings,
    threads: Threads,
    records: Records,
    stream_ids: FxHashMap<Stream, u32>,
    open: OpenEvents,
    left_out: LeftOut,
    odd: Oddities,
    keeps_flows: bool,
    is_fine: bool,
}

/// In the counts of ignored events, precedes the process of events that have no category.
pub(super) const NO_CATEGORY: &str = "(no category)";

/// The category of the flow arrows of `torch_npu` that lead from a host call to the GPU event that
/// the call launched.
const LAUNCH_FLOW: &[u8] = b"async_npu";

/// The location of an event: its position in `traceEvents`, and its offset in the text.
#[derive(Debug, Clone, Copy)]
struct Spot {
    uid: Uid,
    place: Place,
}

/// Number of events for which the columns of a large trace reserve space at the start. A small
/// column would be copied whenever it grows, whereas a large column gets additional memory pages.
const FIRST_EVENTS: usize = 128 * 1024;

impl Builder {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Builder { keeps_flows: !options.without_flows, ..Builder::default() }
    }

    /// Reserves space for a large trace.
    pub(super) fn reserve(&mut self) {
        let trace = &mut self.trace;
        trace.uids.reserve(FIRST_EVENTS);
        trace.categories.reserve(FIRST_EVENTS);
        trace.names.reserve(FIRST_EVENTS);
        trace.event_threads.reserve(FIRST_EVENTS);
        trace.starts.reserve(FIRST_EVENTS);
        trace.durations.reserve(FIRST_EVENTS);
        trace.event_arguments.reserve(FIRST_EVENTS);
        trace.correlations.reserve(FIRST_EVENTS);
        trace.external_ids.reserve(FIRST_EVENTS);
    }

    /// Adds the next element of `traceEvents`, which starts at `offset` in the text.
    pub(super) fn add(&mut self, fields: &Fields<'_>, offset: u64) {
        let place = Place { offset, event: Some(self.trace.total_events) };
        let spot = Spot { uid: Uid(self.trace.total_events as u32), place };
        self.trace.total_events += 1;
        self.odd.add(Oddity::ExtraComma, fields.extra_commas.into(), place);
        self.odd.add(Oddity::WrongType, fields.wrong_types.into(), place);
        match threads::raw(fields.phase) {
            _ if fields.is_empty => {
                self.odd.add(Oddity::EmptyEvent, 1, place);
                self.left_out.add_label("(empty)");
            }
            b"X" => self.add_complete(fields, spot),
            b"s" => self.add_flow(fields, FlowEnd::Start, spot),
            b"t" | b"f" => self.add_flow(fields, FlowEnd::Finish, spot),
            b"M" => self.add_metadata(fields, place),
            b"B" => self.add_begin(fields, spot),
            b"E" => self.add_end(fields, place),
            b"i" if fields.name == Value::Text(b"[memory]") => self.add_memory(fields, spot),
            _ => drop(self.leave_out(fields)),
        }
    }

    /// Counts an element of `traceEvents` that is not an event.
    pub(super) fn add_other(&mut self, oddity: Oddity, label: &'static str, offset: u64) {
        let place = Place { offset, event: Some(self.trace.total_events) };
        self.trace.total_events += 1;
        self.odd.add(oddity, 1, place);
        self.left_out.add_label(label);
    }

    /// Counts `count` unreadable events in the `bytes` bytes that start at `offset`.
    pub(super) fn add_lost(&mut self, oddity: Oddity, count: u32, bytes: u64, offset: u64) {
        let place = Place { offset, event: Some(self.trace.total_events) };
        self.trace.total_events += u64::from(count);
        self.odd.add(oddity, count.into(), place);
        self.odd.add_skipped(oddity, bytes);
        (0..count).for_each(|_| self.left_out.add_label("(unreadable)"));
    }

    /// Number of elements added so far.
    pub(super) fn total_events(&self) -> u64 {
        self.trace.total_events
    }

    /// Whether any element had the field `ph`, which all events of a trace have.
    pub(super) fn has_events(&self) -> bool {
        !self.trace.is_empty() || !self.trace.flows.is_empty() || self.left_out.has_phases()
    }

    /// Whether all host calls so far start at whole microseconds.
    #[inline]
    pub(super) fn is_coarse(&self) -> bool {
        !self.is_fine
    }

    /// Total size of all distinct strings and their raw forms, in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        self.strings.bytes()
    }

    pub(super) fn header_mut(&mut self) -> &mut Header {
        &mut self.trace.header
    }

    pub(super) fn odd(&self) -> &Oddities {
        &self.odd
    }

    /// Mutable access to the irregularities found so far.
    pub(super) fn odd_mut(&mut self) -> &mut Oddities {
        &mut self.odd
    }

    pub(super) fn finish(mut self, source: &str, unpacked_bytes: u64, notes: Notes) -> Trace {
        for event in self.open.unfinished() {
            self.odd.add_event(Oddity::UnmatchedBegin, self.trace.uid(event));
        }
        for event in clocks::at_zero(&self.trace) {
            self.odd.add_event(Oddity::StartAtZero, self.trace.uid(event));
        }
        clocks::drop_overlong(&mut self.trace, &self.strings, &mut self.odd);
        self.trace.source = source.to_owned();
        self.trace.unpacked_bytes = unpacked_bytes;
        self.trace.left_out = self.left_out.into_sorted(&self.strings);
        self.trace.texts = self.strings.into_texts();
        self.trace.threads = self.threads.into_list();
        self.trace.arguments = self.records.into_list();
        let is_truncated = notes.get("TRUNCATED").is_some();
        self.trace.losses = Losses { is_truncated, ..self.odd.losses() };
        self.trace.notes = notes;
        self.odd.into_notes(unpacked_bytes, &mut self.trace.notes);
        self.trace
    }

    fn add_complete(&mut self, fields: &Fields<'_>, spot: Spot) {
        let Some(category) = self.category(fields) else {
            self.leave_out_complete(fields, spot);
            return;
        };
        let Some(start) = self.start(fields, spot.place) else {
            self.leave_out(fields);
            return;
        };
        let event = EventId(self.trace.uids.len() as u32);
        let duration = match fields.duration {
            Some(recorded) => self.checked_duration(recorded, event, spot.place),
            None => {
                self.odd.add(Oddity::NoDuration, 1, spot.place);
                Nanos::ZERO
            }
        };
        self.push(fields, category, (start, duration), spot);
    }

    /// Counts a complete event that comparisons ignore. An event without a category is counted
    /// under the name of its process. The intervals of the profiler's own work are stored.
    #[inline(never)]
    fn leave_out_complete(&mut self, fields: &Fields<'_>, spot: Spot) {
        let phase = threads::raw(fields.phase);
        match threads::raw(fields.category) {
            b"" => {
                let process = self.threads.process_name(fields.pid, &mut self.strings);
                let process = process.map_or("", |name| self.strings.get(name));
                let label = format!("{NO_CATEGORY} {process}");
                self.left_out.add(phase, label.trim_end().as_bytes(), &mut self.strings);
            }
            b"overhead" | b"Overhead" => {
                self.leave_out(fields);
                self.add_overhead(fields, spot.place);
            }
            _ => drop(self.leave_out(fields)),
        }
    }

    fn add_overhead(&mut self, fields: &Fields<'_>, place: Place) {
        let name = self.name(fields, Form::Text, place);
        let is_possible = |duration: &Nanos| clocks::impossible(*duration).is_none();
        if let (Some(start), Some(duration)) = (fields.start, fields.duration.filter(is_possible)) {
            self.trace.overheads.push(Overhead { name, start, duration });
        }
    }

    /// The category of an event, determined from its `cat` field or, if it has none, from its
    /// process.
    #[inline]
    fn category(&mut self, fields: &Fields<'_>) -> Option<Category> {
        match fields.category {
            Value::Text(name) => category::from_name(name)
                .or_else(|| self.category_of_device(name, threads::raw(fields.name))),
            Value::Absent | Value::Null => self.category_of_process(fields.pid),
            Value::Scalar(_) | Value::Composite(_) => None,
        }
    }

    #[inline(never)]
    fn category_of_device(&mut self, category: &[u8], name: &[u8]) -> Option<Category> {
        let (category, accelerator) = category::from_device_name(category, name)?;
        self.trace.accelerator = Some(accelerator);
        Some(category)
    }

    #[inline(never)]
    fn category_of_process(&mut self, pid: Value<'_>) -> Option<Category> {
        let from_name = self.threads.process_name(pid, &mut self.strings);
        let from_name = from_name.and_then(|name| category::from_process(self.strings.get(name)));
        from_name.or_else(|| category::from_pid(std::str::from_utf8(pid.bytes()?).ok()?))
    }

    #[inline]
    fn start(&mut self, fields: &Fields<'_>, place: Place) -> Option<Nanos> {
        let start = fields.start;
        self.odd.add(Oddity::NoStart, u64::from(start.is_none()), place);
        let is_absurd =
            start.is_some_and(|start| start.0.unsigned_abs() == i64::MAX.unsigned_abs());
        self.odd.add(Oddity::AbsurdStart, is_absurd.into(), place);
        start
    }

    /// The duration of an event, or 0 if the recorded duration is impossible; the recorded value is
    /// then kept separately.
    #[inline]
    fn checked_duration(&mut self, recorded: Nanos, event: EventId, place: Place) -> Nanos {
        match clocks::impossible(recorded) {
            None => recorded,
            Some(oddity) => {
                self.odd.add(oddity, 1, place);
                self.trace.recorded_durations.push(event, recorded);
                Nanos::ZERO
            }
        }
    }

    fn add_begin(&mut self, fields: &Fields<'_>, spot: Spot) {
        let name = self.name(fields, Form::Text, spot.place);
        let thread = self.threads.resolve(fields.pid, fields.tid, &mut self.strings);
        let category = self.category(fields);
        let start = category.and_then(|_| self.start(fields, spot.place));
        let event = match category.zip(start) {
            Some((category, start)) => {
                Some(self.push(fields, category, (start, Nanos::ZERO), spot))
            }
            None => {
                self.leave_out(fields);
                None
            }
        };
        self.open.begin(thread, Open { name, event });
    }

    fn add_end(&mut self, fields: &Fields<'_>, place: Place) {
        self.leave_out(fields);
        let name = self.name(fields, Form::Text, place);
        let thread = self.threads.resolve(fields.pid, fields.tid, &mut self.strings);
        let Some(open) = self.open.end(thread, name) else {
            return self.odd.add(Oddity::UnmatchedEnd, 1, place);
        };
        let Some(event) = open.event else { return };
        let Some(end) = self.start(fields, place) else {
            return;
        };
        let duration = end - self.trace.start(event);
        let duration = match clocks::impossible(duration) {
            None => duration,
            Some(oddity) => {
                self.odd.add(oddity, 1, place);
                Nanos::ZERO
            }
        };
        self.trace.durations.set(event.index(), duration);
    }

    fn add_flow(&mut self, fields: &Fields<'_>, end: FlowEnd, spot: Spot) {
        let category = self.leave_out(fields);
        let Some(time) = self.start(fields, spot.place) else {
            return;
        };
        let Some(id) = fields.id.bytes().and_then(numbers::id) else {
            return self.odd.add(Oddity::WrongType, 1, spot.place);
        };
        let thread = self.threads.resolve(fields.pid, fields.tid, &mut self.strings);
        if self.keeps_flows || threads::raw(fields.category) == LAUNCH_FLOW {
            self.trace.flows.push(FlowPoint { uid: spot.uid, id, category, end, thread, time });
        }
    }

    /// Adds an allocation or a free. Like flow arrows, allocations and frees are counted among the
    /// events that the alignment ignores.
    fn add_memory(&mut self, fields: &Fields<'_>, spot: Spot) {
        self.leave_out(fields);
        let args = fields.args.memory;
        let Some(bytes) = args.bytes else {
            return self.odd.add(Oddity::WrongType, 1, spot.place);
        };
        let Some(time) = self.start(fields, spot.place) else {
            return;
        };
        self.trace.memory.push(MemoryEvent {
            uid: spot.uid,
            thread: self.threads.resolve(fields.pid, fields.tid, &mut self.strings),
            time,
            device: MemoryDevice { kind: args.device_type, number: args.device_id },
            bytes,
            address: args.address,
            allocated: args.allocated,
            reserved: args.reserved,
            order: args.order,
        });
    }

    fn add_metadata(&mut self, fields: &Fields<'_>, place: Place) {
        self.leave_out(fields);
        let kind = threads::raw(fields.name);
        if !matches!(kind, b"thread_name" | b"process_name") {
            return;
        }
        let name = self.text(threads::raw(fields.args.name), Form::Text, place);
        match kind {
            b"thread_name" => {
                self.threads.name_thread(fields.pid, fields.tid, name, &mut self.strings)
            }
            _ => self.threads.name_process(fields.pid, name, &mut self.strings),
        }
    }

    /// Counts an event that comparisons ignore; returns the name of its category.
    fn leave_out(&mut self, fields: &Fields<'_>) -> TextId {
        let phase = threads::raw(fields.phase);
        let category = threads::raw(fields.category);
        self.left_out.add(phase, category, &mut self.strings)
    }
}
