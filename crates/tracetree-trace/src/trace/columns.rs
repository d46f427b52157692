//! Stores the events of a trace as columns, with one entry for each event that comparisons use.

use super::captured_call::CapturedCall;
use super::category::Category;
use super::compiled::CompiledProgram;
use super::header::Header;
use super::ids::{ArgumentsId, EventId, ThreadId, Uid};
use super::memory::MemoryEvent;
use super::near::Near;
use super::notes::{Losses, Notes};
use super::sparse::Sparse;
use super::texts::{TextId, Texts};
use super::time::Nanos;

/// A thread in the trace. The pid and the tid are strings, because values such as `"Spans"` and
/// `"stream 7"` occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The `pid` field. For a GPU event, the pid is the device.
    pub pid: TextId,
    /// The `tid` field. For a GPU event, the tid is the stream.
    pub tid: TextId,
    /// The `thread_name` metadata; empty if the trace has none for the thread.
    pub name: TextId,
}

/// The arguments of an op. Each argument is JSON text with one blank after each `,` and no other
/// blanks. Python's `ast.literal_eval` and `json.loads` can both read this form. An absent argument
/// is an empty string.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Arguments {
    /// `Input Dims` (2021: `Input dims`).
    pub dims: TextId,
    /// `Input type`.
    pub types: TextId,
    /// `Input Strides`.
    pub strides: TextId,
    /// `Concrete Inputs`.
    pub concrete: TextId,
}

/// One of the [`Arguments`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Argument {
    /// `Input Dims`.
    Shape,
    /// `Concrete Inputs`.
    Concrete,
    /// `Input Strides`.
    Strides,
    /// `Input type`.
    Type,
}

impl Argument {
    /// All kinds of arguments of an op, in table order.
    pub const ALL: [Argument; 4] =
        [Argument::Shape, Argument::Concrete, Argument::Strides, Argument::Type];
}

impl Arguments {
    /// The JSON text of a single argument.
    #[inline]
    pub fn text(&self, which: Argument) -> TextId {
        match which {
            Argument::Shape => self.dims,
            Argument::Concrete => self.concrete,
            Argument::Strides => self.strides,
            Argument::Type => self.types,
        }
    }
}

/// The key that links a forward op with its backward ops: `(Fwd thread id, Sequence number)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub struct Sequence {
    /// `Sequence number`.
    pub number: i64,
    /// `Fwd thread id`; 0 on a forward op.
    pub forward_thread: i64,
}

/// The device and stream on which a GPU event ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// Number of the device, from `args.device` or, if that is absent, from the pid.
    pub device: i64,
    /// Number of the stream or queue, from `args.stream` or, if that is absent, from the tid.
    pub number: i64,
}

/// The launch dimensions of a kernel, as JSON lists. A list is empty if it was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[doc(hidden)]
pub struct Grid {
    /// `grid`. For some launch APIs, ROCm counts threads instead of blocks.
    pub grid: TextId,
    /// `block`.
    pub block: TextId,
}

/// How much data a rank contributed to a collective, and how much data it received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Message {
    /// `In msg nelems`: number of input elements.
    pub sent: u64,
    /// `Out msg nelems`: number of output elements.
    pub received: u64,
    /// `Group size`; 0 if not recorded.
    pub ranks: u64,
    /// `dtype`: the element type (`Float`, `BFloat16`, …); empty if not recorded.
    pub dtype: TextId,
}

/// What a trace states about the position of a host call, for traces whose times are too coarse to
/// show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Stated {
    /// `Ev Idx`: calls of one kind on one thread have ascending numbers.
    pub(crate) order: Option<i64>,
    /// `Python id` of a frame. Ids rise in the order of the calls.
    pub(crate) frame: Option<i64>,
    /// `Python parent id`: the `Python id` of the frame that called this frame.
    pub(crate) parent: Option<i64>,
}

/// An interval that the GPU profiler recorded as overhead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Overhead {
    /// The kind of overhead, such as `Activity Buffer Request`.
    pub name: TextId,
    /// Start of the interval.
    pub start: Nanos,
    /// Length of the interval.
    pub duration: Nanos,
}

/// A point of a flow arrow (`s` start, `t` step, `f` finish).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct FlowPoint {
    /// Position in `traceEvents`.
    pub uid: Uid,
    /// `id` of the flow arrow, shared by its start and its finish.
    pub id: i64,
    /// Category of the flow arrow (`ac2g`, `fwdbwd`, …).
    pub category: TextId,
    /// Whether this point starts the flow arrow or is a later point of it.
    pub end: FlowEnd,
    /// The thread of this point.
    pub thread: ThreadId,
    /// The time of this point.
    pub time: Nanos,
}

/// Whether a point starts a flow arrow or is a later point of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum FlowEnd {
    /// `ph: s`.
    Start,
    /// `ph: t` or `ph: f`.
    Finish,
}

/// The events of a trace that comparisons use, in file order.
///
/// The trace contains the complete events (`ph: X`, or joined `B`/`E`) of the kinds in
/// [`Category`]. All other events are counted in [`Trace::left_out`].
#[derive(Debug, Clone, Default)]
pub struct Trace {
    pub(crate) source: String,
    pub(crate) uids: Near<Uid, u16>,
    pub(crate) categories: Vec<Category>,
    pub(crate) names: Vec<TextId>,
    pub(crate) event_threads: Near<ThreadId, i16>,
    pub(crate) starts: Near<Nanos, i32>,
    pub(crate) durations: Near<Nanos, i32>,
    /// Index of each event's argument record; `u32::MAX` for an event without arguments.
    pub(crate) event_arguments: Vec<u32>,
    pub(crate) correlations: Sparse<i64>,
    pub(crate) external_ids: Sparse<i64>,
    /// The key that links an op with its forward or backward ops.
    pub(crate) sequences: Sparse<Sequence>,
    /// For each GPU event, the index of its stream in `all_streams`.
    pub(crate) streams: Sparse<u32>,
    pub(crate) all_streams: Vec<Stream>,
    pub(crate) gpu_bytes: Sparse<u64>,
    pub(crate) graph_nodes: Sparse<u64>,
    pub(crate) graphs: Sparse<u64>,
    pub(crate) regions: Sparse<TextId>,
    /// `args.kernel` of a runtime call: the name of the kernel that the call launches, if ROCm
    /// reports it.
    pub(crate) launched_kernels: Sparse<TextId>,
    pub(crate) grids: Sparse<Grid>,
    pub(crate) captured: Sparse<CapturedCall>,
    /// The files that contain captured calls, indexed by [`CapturedCall::source`].
    pub(crate) capture_sources: Vec<String>,
    /// For each GPU event of a replay, the captured call that launched it.
    pub(crate) captured_launches: Sparse<Uid>,
    pub(crate) collectives: Sparse<TextId>,
    pub(crate) process_groups: Sparse<TextId>,
    pub(crate) collective_sequences: Sparse<i64>,
    pub(crate) messages: Sparse<Message>,
    pub(crate) call_stacks: Sparse<TextId>,
    pub(crate) recorded_durations: Sparse<Nanos>,
    /// What the trace states about the order and the nesting of its host calls. The column is empty
    /// unless all host calls start at whole microseconds, because finer times show both.
    pub(crate) stated: Sparse<Stated>,
    pub(crate) flows: Vec<FlowPoint>,
    pub(crate) memory: Vec<MemoryEvent>,
    pub(crate) overheads: Vec<Overhead>,
    /// The compiled programs that ran, in the order in which they first ran.
    pub(crate) programs: Vec<CompiledProgram>,
    /// The category of the events of an accelerator that has a category of its own.
    pub(crate) accelerator: Option<&'static str>,
    pub(crate) texts: Texts,
    pub(crate) arguments: Vec<Arguments>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) header: Header,
    pub(crate) notes: Notes,
    pub(crate) losses: Losses,
    pub(crate) total_events: u64,
    pub(crate) left_out: Vec<(String, u64)>,
    /// Time spans in which a device ran GPU events that a selection dropped: disjoint, sorted by
    /// start.
    pub(crate) unselected: Vec<(Nanos, Nanos)>,
    pub(crate) unpacked_bytes: u64,
    pub(crate) content_hash: u128,
}

impl Trace {
    /// The file that the trace was read from, as the user specified it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of kept events.
    pub fn len(&self) -> usize {
        self.uids.len()
    }

    /// Whether the trace has no kept events.
    pub fn is_empty(&self) -> bool {
        self.uids.is_empty()
    }

    /// Time spans in which a device ran GPU events that [`Trace::select`] dropped: disjoint, sorted
    /// by start.
    #[doc(hidden)]
    pub fn unselected(&self) -> &[(Nanos, Nanos)] {
        &self.unselected
    }

    /// All kept events, in file order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = EventId> + use<> {
        (0..self.uids.len() as u32).map(EventId)
    }

    /// Position of the event in `traceEvents`.
    #[inline]
    pub fn uid(&self, event: EventId) -> Uid {
        self.uids.get(event.index())
    }

    /// The event at this position in `traceEvents`; `None` if the event was not kept.
    pub fn event_at(&self, uid: Uid) -> Option<EventId> {
        self.uids.position(uid).map(|at| EventId(at as u32))
    }

    /// Kind of the event.
    #[inline]
    pub fn category(&self, event: EventId) -> Category {
        self.categories[event.index()]
    }

    /// Name of the event.
    #[inline]
    pub fn name(&self, event: EventId) -> &str {
        self.text(self.names[event.index()])
    }

    /// Interned name of the event.
    #[inline]
    #[doc(hidden)]
    pub fn name_id(&self, event: EventId) -> TextId {
        self.names[event.index()]
    }

    /// Thread of the event. The thread of a GPU event consists of its device and its stream.
    #[inline]
    #[doc(hidden)]
    pub fn thread_of(&self, event: EventId) -> ThreadId {
        self.event_threads.get(event.index())
    }

    /// Start of the event, relative to [`Header::base_time`] if the trace has one.
    #[inline]
    pub fn start(&self, event: EventId) -> Nanos {
        self.starts.get(event.index())
    }

    /// Duration of the event; never negative.
    #[inline]
    pub fn duration(&self, event: EventId) -> Nanos {
        self.durations.get(event.index())
    }

    /// End of the event (exclusive).
    #[inline]
    pub fn end(&self, event: EventId) -> Nanos {
        self.start(event) + self.duration(event)
    }

    /// Arguments of an op, if argument shapes were recorded.
    #[doc(hidden)]
    pub fn arguments_id(&self, event: EventId) -> Option<ArgumentsId> {
        match self.event_arguments[event.index()] {
            u32::MAX => None,
            id => Some(ArgumentsId(id)),
        }
    }

    /// An argument record.
    #[doc(hidden)]
    pub fn arguments(&self, id: ArgumentsId) -> &Arguments {
        &self.arguments[id.index()]
    }

    /// All distinct argument records of the trace, by id.
    #[doc(hidden)]
    pub fn all_arguments(&self) -> &[Arguments] {
        &self.arguments
    }

    /// `args.correlation` of runtime calls and GPU events; the values 0 and -1 do not link an event
    /// to another event.
    #[doc(hidden)]
    pub fn correlations(&self) -> &Sparse<i64> {
        &self.correlations
    }

    /// `args.External id` of ops and GPU events.
    #[doc(hidden)]
    pub fn external_ids(&self) -> &Sparse<i64> {
        &self.external_ids
    }

    /// Device and stream on which a GPU event ran; `None` for all other events.
    pub fn stream(&self, event: EventId) -> Option<Stream> {
        self.streams.get(event).map(|&at| self.all_streams[at as usize])
    }

    /// `args.bytes` of copies and memsets.
    #[doc(hidden)]
    pub fn gpu_bytes(&self) -> &Sparse<u64> {
        &self.gpu_bytes
    }

    /// `args.graph node id` of a GPU event, if CUDA reports it.
    #[doc(hidden)]
    pub fn graph_nodes(&self) -> &Sparse<u64> {
        &self.graph_nodes
    }

    /// `args.graph id` of a GPU event, if CUDA reports it; 0 means no graph.
    pub fn graphs(&self) -> &Sparse<u64> {
        &self.graphs
    }

    /// `args.name` (or `args.module_fqn`) of a GPU event: the program part in which the event was
    /// captured, as PyTorch writes it with `export_chrome_trace(…, cuda_graph_annotations=…)`.
    pub fn regions(&self) -> &Sparse<TextId> {
        &self.regions
    }

    /// `args.grid` and `args.block` of a kernel, or of the runtime call that launches it.
    #[doc(hidden)]
    pub fn grids(&self) -> &Sparse<Grid> {
        &self.grids
    }

    /// `args.Process Group Name` of a communication kernel, or of the op that launched it.
    #[doc(hidden)]
    pub fn process_groups(&self) -> &Sparse<TextId> {
        &self.process_groups
    }

    /// `args.Seq` of a communication kernel, or of the op that launched it: the number of the
    /// collective in its process group.
    #[doc(hidden)]
    pub fn collective_sequences(&self) -> &Sparse<i64> {
        &self.collective_sequences
    }

    /// `args.Collective name` of communication kernels.
    #[doc(hidden)]
    pub fn collectives(&self) -> &Sparse<TextId> {
        &self.collectives
    }

    /// Message sizes of a communication kernel, if the communication library recorded them.
    #[doc(hidden)]
    pub fn messages(&self) -> &Sparse<Message> {
        &self.messages
    }

    /// `Call stack` of an op in a trace from 2021 or 2022.
    #[doc(hidden)]
    pub fn call_stacks(&self) -> &Sparse<TextId> {
        &self.call_stacks
    }

    /// The recorded durations that count as 0 because they are impossible (note `CLOCK_ANOMALY`).
    /// An impossible duration is negative, is absurdly long, or extends over later events on the
    /// same stream.
    #[doc(hidden)]
    pub fn recorded_durations(&self) -> &Sparse<Nanos> {
        &self.recorded_durations
    }

    /// Points of flow arrows in file order. With [`ReadOptions::without_flows`], only those that
    /// show which call launched a GPU event.
    ///
    /// [`ReadOptions::without_flows`]: super::ReadOptions::without_flows
    #[doc(hidden)]
    pub fn flows(&self) -> &[FlowPoint] {
        &self.flows
    }

    /// Allocations and frees in file order; empty unless the trace was recorded with
    /// `profile_memory=True`. [`Trace::select`] keeps the allocations and frees from the first
    /// selected step to the last.
    pub fn memory(&self) -> &[MemoryEvent] {
        &self.memory
    }

    /// Intervals that the GPU profiler recorded as overhead, in file order. [`Trace::select`] keeps
    /// all of them.
    #[doc(hidden)]
    pub fn overheads(&self) -> &[Overhead] {
        &self.overheads
    }

    /// An interned string.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// All interned strings.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// All threads of the trace, by id.
    #[doc(hidden)]
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// A thread.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// The metadata that the trace stores outside of its events.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the profile states about the compiled programs that ran, in the order in which they first ran.
    #[doc(hidden)]
    pub fn programs(&self) -> &[CompiledProgram] {
        &self.programs
    }

    /// Irregularities in the file.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Counts of events and bytes in the file that were lost or repaired, and of events whose times
    /// are impossible.
    #[doc(hidden)]
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Number of elements in `traceEvents`, of all kinds.
    #[doc(hidden)]
    pub fn total_events(&self) -> u64 {
        self.total_events
    }

    /// Number of events that comparisons ignore, sorted, for each `ph` and category
    /// (such as `i cpu_instant_event`).
    pub fn left_out(&self) -> &[(String, u64)] {
        &self.left_out
    }

    /// Size of the JSON text after decompression, in bytes.
    #[doc(hidden)]
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked_bytes
    }

    /// XXH3 hash (128 bits) of the file as stored, compressed or not. Files with identical bytes
    /// have identical hashes.
    #[doc(hidden)]
    pub fn content_hash(&self) -> u128 {
        self.content_hash
    }

    /// Whether both traces were read from files with the same content.
    #[doc(hidden)]
    pub fn is_copy_of(&self, other: &Trace) -> bool {
        self.content_hash != 0 && self.content_hash == other.content_hash
    }
}
