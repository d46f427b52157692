//! Appends the fields of an event to the columns of a trace.

use super::super::cursor::Value;
use super::super::decode::Marks;
use super::super::event::{Args, Fields};
use super::super::normal;
use super::super::numbers;
use super::super::oddity::Oddity;
use super::super::strings::Form;
use super::super::threads;
use super::{Builder, Spot};
use crate::error::Place;
use crate::trace::category::Category;
use crate::trace::columns::{Grid, Message, Sequence, Stated, Stream};
use crate::trace::ids::{EventId, ThreadId};
use crate::trace::sparse::Sparse;
use crate::trace::texts::TextId;
use crate::trace::time::Nanos;

/// A microsecond in nanoseconds.
const MICROSECOND: i64 = 1_000;

impl Builder {
    /// Appends an event to all columns.
    pub(super) fn push(
        &mut self,
        fields: &Fields<'_>,
        category: Category,
        (start, duration): (Nanos, Nanos),
        spot: Spot,
    ) -> EventId {
        let form = if category == Category::PythonFunction { Form::Frame } else { Form::Text };
        let name = self.name(fields, form, spot.place);
        let thread = self.threads.resolve(fields.pid, fields.tid, &mut self.strings);
        let event = EventId(self.trace.uids.len() as u32);
        self.trace.uids.push(spot.uid);
        self.trace.categories.push(category);
        self.trace.names.push(name);
        self.trace.event_threads.push(thread);
        self.trace.starts.push(start);
        self.trace.durations.push(duration);
        let arguments = if category == Category::PythonFunction {
            u32::MAX
        } else {
            self.push_args(&fields.args, category, event, thread, spot.place)
        };
        self.trace.event_arguments.push(arguments);
        if self.is_coarse() && category.is_host_call() {
            self.push_stated(&fields.args, category, event, start);
        }
        event
    }

    /// Stores what the event states about its position in the call tree. The first call with a
    /// finer time than a whole microsecond makes all such statements unnecessary.
    #[inline(never)]
    fn push_stated(&mut self, args: &Args<'_>, category: Category, event: EventId, start: Nanos) {
        if start.0 % MICROSECOND != 0 {
            self.is_fine = true;
            self.trace.stated = Sparse::default();
            return;
        }
        let (frame, parent) = match category {
            Category::PythonFunction => (args.frame(), args.parent_frame()),
            Category::CpuOp
            | Category::Runtime
            | Category::Kernel
            | Category::Memcpy
            | Category::Memset
            | Category::UserAnnotation
            | Category::GpuUserAnnotation => (None, None),
        };
        let stated = Stated { order: args.memory.order, frame, parent };
        if stated != Stated::default() {
            self.trace.stated.push(event, stated);
        }
    }

    /// Fills the columns in which only some events have values; returns the index of the event's
    /// argument record.
    fn push_args(
        &mut self,
        args: &Args<'_>,
        category: Category,
        event: EventId,
        thread: ThreadId,
        place: Place,
    ) -> u32 {
        if let (Some(id), true) = (args.external_id, category != Category::Runtime) {
            self.trace.external_ids.push(event, id);
        }
        if let (Some(id), true) =
            (args.correlation, category.is_gpu() || category == Category::Runtime)
        {
            self.trace.correlations.push(event, id);
        }
        if let Some(number) = args.sequence.filter(|&number| number >= 0) {
            let forward_thread = args.forward_thread.unwrap_or(0);
            self.trace.sequences.push(event, Sequence { number, forward_thread });
        }
        let group = self.text(threads::raw(args.process_group), Form::Text, place);
        if group != TextId::EMPTY {
            self.trace.process_groups.push(event, group);
        }
        if let Some(number) = args.collective_sequence {
            self.trace.collective_sequences.push(event, number);
        }
        if matches!(category, Category::Runtime | Category::Kernel) {
            self.push_launch_args(args, category, event, place);
        }
        if category.is_gpu() {
            self.push_gpu_args(args, event, thread, place);
        }
        if let Value::Text(stack @ [_, ..]) = args.call_stack {
            let stack = self.text(stack, Form::Text, place);
            self.trace.call_stacks.push(event, stack);
        }
        self.argument_record(args, place)
    }

    /// Fills the columns that are used both by kernels and by the calls that launch kernels.
    fn push_launch_args(
        &mut self,
        args: &Args<'_>,
        category: Category,
        event: EventId,
        place: Place,
    ) {
        let mut list = |value: Value<'_>| match value {
            Value::Composite(raw) if normal::is_normal(raw) => self.text(raw, Form::Text, place),
            Value::Composite(raw) => self.strings.add(&normal::normalised(raw).0),
            Value::Absent | Value::Text(_) | Value::Scalar(_) | Value::Null => TextId::EMPTY,
        };
        let grid = Grid { grid: list(args.grid), block: list(args.block) };
        if grid != Grid::default() {
            self.trace.grids.push(event, grid);
        }
        if category == Category::Runtime {
            let kernel = self.text(threads::raw(args.kernel), Form::Text, place);
            if kernel != TextId::EMPTY {
                self.trace.launched_kernels.push(event, kernel);
            }
        }
    }

    /// Fills the columns that only GPU events use.
    fn push_gpu_args(&mut self, args: &Args<'_>, event: EventId, thread: ThreadId, place: Place) {
        let thread = self.threads.get(thread);
        let number = |id: TextId| numbers::trailing_integer(self.strings.get(id)).unwrap_or(0);
        let stream = Stream {
            device: args.device.unwrap_or_else(|| number(thread.pid)),
            number: args.stream.unwrap_or_else(|| number(thread.tid)),
        };
        let id = *self.stream_ids.entry(stream).or_insert_with(|| {
            self.trace.all_streams.push(stream);
            self.trace.all_streams.len() as u32 - 1
        });
        self.trace.streams.push(event, id);
        let is_copy = self.trace.categories[event.index()] == Category::Memcpy;
        if let Some(bytes) = args.bytes.or_else(|| args.size().filter(|_| is_copy)) {
            self.trace.gpu_bytes.push(event, bytes);
        }
        if let Some(node) = args.graph_node {
            self.trace.graph_nodes.push(event, node);
        }
        if let Some(graph) = args.graph {
            self.trace.graphs.push(event, graph);
        }
        let region = self.text(threads::raw(args.name), Form::Text, place);
        if region != TextId::EMPTY {
            self.trace.regions.push(event, region);
        }
        let collective = self.text(threads::raw(args.collective), Form::Text, place);
        if collective != TextId::EMPTY {
            self.trace.collectives.push(event, collective);
            self.push_message(args, event, place);
        }
    }

    /// Stores the message sizes of a collective, if the communication library recorded them.
    fn push_message(&mut self, args: &Args<'_>, event: EventId, place: Place) {
        let (Some(sent), Some(received)) = (args.sent_elements, args.received_elements) else {
            return;
        };
        let dtype = self.text(threads::raw(args.message_type), Form::Text, place);
        let ranks = args.group_size.unwrap_or(0);
        self.trace.messages.push(event, Message { sent, received, ranks, dtype });
    }

    fn argument_record(&mut self, args: &Args<'_>, place: Place) -> u32 {
        let (record, marks) = self.records.find_or_add(args, &mut self.strings);
        if !marks.is_empty() {
            self.count_marks(marks, place);
        }
        record
    }

    pub(super) fn name(&mut self, fields: &Fields<'_>, form: Form, place: Place) -> TextId {
        match fields.name {
            Value::Text(raw) | Value::Scalar(raw) => self.text(raw, form, place),
            Value::Absent => TextId::EMPTY,
            Value::Composite(_) | Value::Null => {
                self.odd.add(Oddity::WrongType, 1, place);
                TextId::EMPTY
            }
        }
    }

    #[inline]
    pub(super) fn text(&mut self, raw: &[u8], form: Form, place: Place) -> TextId {
        let (text, marks) = self.strings.intern(raw, form);
        if !marks.is_empty() {
            self.count_marks(marks, place);
        }
        text
    }

    fn count_marks(&mut self, marks: Marks, place: Place) {
        self.odd.add(Oddity::Backslash, marks.backslash.into(), place);
        self.odd.add(Oddity::LoneSurrogate, marks.lone_surrogate.into(), place);
    }
}
