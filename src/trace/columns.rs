//! The events of one trace as columns, with one entry for each event that takes part in a
//! comparison.

use super::captured_call::CapturedCall;
use super::category::Category;
use super::header::Header;
use super::ids::{ArgumentsId, EventId, ThreadId, Uid};
use super::losses::Losses;
use super::memory::MemoryEvent;
use super::near::Near;
use super::notes::Notes;
use super::sparse::Sparse;
use super::texts::{TextId, Texts};
use super::time::Nanos;

/// A thread of the trace: pid and tid as text (`"Spans"` and `"stream 7"` occur), and its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// The `pid` field. For GPU events, the pid is the device.
    pub pid: TextId,
    /// The `tid` field. For GPU events, the tid is the stream.
    pub tid: TextId,
    /// `thread_name` metadata; empty if there is none.
    pub name: TextId,
}

/// The arguments of an op, each as JSON text with one blank after `,` and none elsewhere, which
/// Python's `ast.literal_eval` and `json.loads` can both read. The text of an absent argument is
/// empty.
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
    /// All arguments, in the order in which tables list them.
    pub const ALL: [Argument; 4] =
        [Argument::Shape, Argument::Concrete, Argument::Strides, Argument::Type];
}

impl Arguments {
    /// The text of one argument.
    pub fn text(&self, which: Argument) -> TextId {
        match which {
            Argument::Shape => self.dims,
            Argument::Concrete => self.concrete,
            Argument::Strides => self.strides,
            Argument::Type => self.types,
        }
    }
}

/// The key that links forward and backward ops: `(Fwd thread id, Sequence number)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence {
    /// `Sequence number`.
    pub number: i64,
    /// `Fwd thread id`; 0 on a forward op.
    pub forward_thread: i64,
}

/// The device and stream on which a GPU event ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stream {
    /// Number of the device, from `args.device` or, without it, from the pid.
    pub device: i64,
    /// Number of the stream or queue, from `args.stream` or, without it, from the tid.
    pub number: i64,
}

/// The launch dimensions of a kernel, each as the JSON list of the trace; empty if not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Grid {
    /// `grid`. ROCm counts blocks for some launch APIs and threads for others.
    pub grid: TextId,
    /// `block`.
    pub block: TextId,
}

/// The sizes of the data that one rank sent to a collective and received from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// `In msg nelems`: elements of the input.
    pub sent: u64,
    /// `Out msg nelems`: elements of the output.
    pub received: u64,
    /// `Group size`; 0 if not recorded.
    pub ranks: u64,
    /// `dtype`: the type of the elements (`Float`, `BFloat16`, …); empty if not recorded.
    pub dtype: TextId,
}

/// A point of a flow arrow (`s` start, `t` step, `f` finish).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowPoint {
    /// Position in `traceEvents`.
    pub uid: Uid,
    /// `id` of the arrow; start and finish share it.
    pub id: i64,
    /// Category of the flow (`ac2g`, `fwdbwd`, …).
    pub category: TextId,
    /// Whether this point is the start or the finish of the arrow.
    pub end: FlowEnd,
    /// Thread of the point.
    pub thread: ThreadId,
    /// Time of the point.
    pub time: Nanos,
}

/// Which end of a flow arrow a point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FlowEnd {
    /// `ph: s`.
    Start,
    /// `ph: t` or `ph: f`.
    Finish,
}

/// A trace that was read: the events that take part in a comparison, in file order.
///
/// The events are complete events (`ph: X`, or joined `B`/`E`) of the kinds in [`Category`]. All
/// other events are counted in [`Trace::left_out`].
#[derive(Debug, Clone, Default)]
pub struct Trace {
    pub(crate) source: String,
    pub(crate) uids: Near<Uid, u16>,
    pub(crate) categories: Vec<Category>,
    pub(crate) names: Vec<TextId>,
    pub(crate) event_threads: Near<ThreadId, i16>,
    pub(crate) starts: Near<Nanos, i32>,
    pub(crate) durations: Near<Nanos, i32>,
    /// Index of each event's argument record; `u32::MAX` if the event has no arguments.
    pub(crate) event_arguments: Vec<u32>,
    pub(crate) correlations: Sparse<i64>,
    pub(crate) external_ids: Sparse<i64>,
    pub(crate) sequences: Sparse<Sequence>,
    /// For each GPU event, the index of its stream in `all_streams`.
    pub(crate) streams: Sparse<u32>,
    pub(crate) all_streams: Vec<Stream>,
    pub(crate) gpu_bytes: Sparse<u64>,
    pub(crate) graph_nodes: Sparse<u64>,
    pub(crate) graphs: Sparse<u64>,
    pub(crate) regions: Sparse<TextId>,
    pub(crate) launched_kernels: Sparse<TextId>,
    pub(crate) grids: Sparse<Grid>,
    pub(crate) captured: Sparse<CapturedCall>,
    /// The files that captured calls come from, indexed by [`CapturedCall::source`].
    pub(crate) capture_sources: Vec<String>,
    /// For GPU events of a replay, the captured call that launched them.
    pub(crate) captured_launches: Sparse<Uid>,
    pub(crate) collectives: Sparse<TextId>,
    pub(crate) process_groups: Sparse<TextId>,
    pub(crate) collective_sequences: Sparse<i64>,
    pub(crate) messages: Sparse<Message>,
    pub(crate) call_stacks: Sparse<TextId>,
    pub(crate) recorded_durations: Sparse<Nanos>,
    pub(crate) flows: Vec<FlowPoint>,
    pub(crate) memory: Vec<MemoryEvent>,
    pub(crate) texts: Texts,
    pub(crate) arguments: Vec<Arguments>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) header: Header,
    pub(crate) notes: Notes,
    pub(crate) losses: Losses,
    pub(crate) total_events: u64,
    pub(crate) left_out: Vec<(String, u64)>,
    /// Spans in which GPU events ran that a selection dropped: disjoint, sorted by start.
    pub(crate) unselected: Vec<(Nanos, Nanos)>,
    pub(crate) unpacked_bytes: u64,
    pub(crate) content_hash: u128,
}

impl Trace {
    /// The file that the trace was read from, as the user named it.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Number of kept events.
    pub fn len(&self) -> usize {
        self.uids.len()
    }

    /// Whether no event was kept.
    pub fn is_empty(&self) -> bool {
        self.uids.is_empty()
    }

    /// Spans in which a device ran GPU events that [`Trace::select`] dropped: disjoint, sorted by
    /// start.
    pub fn unselected(&self) -> &[(Nanos, Nanos)] {
        &self.unselected
    }

    /// The kept event at `index`; `None` past the last one.
    pub fn event_id(&self, index: usize) -> Option<EventId> {
        (index < self.len()).then_some(EventId(index as u32))
    }

    /// The thread at `index` of [`Trace::threads`]; `None` past the last one.
    pub fn thread_id(&self, index: usize) -> Option<ThreadId> {
        (index < self.threads.len()).then_some(ThreadId(index as u32))
    }

    /// All kept events, in file order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = EventId> + use<> {
        (0..self.uids.len() as u32).map(EventId)
    }

    /// Position of the event in `traceEvents`.
    pub fn uid(&self, event: EventId) -> Uid {
        self.uids.get(event.index())
    }

    /// The kept event at this position of `traceEvents`.
    pub fn event_at(&self, uid: Uid) -> Option<EventId> {
        self.uids.position(uid).map(|at| EventId(at as u32))
    }

    /// Kind of the event.
    pub fn category(&self, event: EventId) -> Category {
        self.categories[event.index()]
    }

    /// Name of the event.
    pub fn name(&self, event: EventId) -> &str {
        self.text(self.names[event.index()])
    }

    /// Name of the event, interned.
    pub fn name_id(&self, event: EventId) -> TextId {
        self.names[event.index()]
    }

    /// Thread of the event. For GPU events, the thread is (device, stream).
    pub fn thread_of(&self, event: EventId) -> ThreadId {
        self.event_threads.get(event.index())
    }

    /// Start of the event, relative to [`Header::base_time`] if the trace has one.
    pub fn start(&self, event: EventId) -> Nanos {
        self.starts.get(event.index())
    }

    /// Duration of the event; never negative.
    pub fn duration(&self, event: EventId) -> Nanos {
        self.durations.get(event.index())
    }

    /// End of the event (exclusive).
    pub fn end(&self, event: EventId) -> Nanos {
        self.start(event) + self.duration(event)
    }

    /// Arguments of an op, if shapes were recorded.
    pub fn arguments_id(&self, event: EventId) -> Option<ArgumentsId> {
        match self.event_arguments[event.index()] {
            u32::MAX => None,
            id => Some(ArgumentsId(id)),
        }
    }

    /// An argument record.
    pub fn arguments(&self, id: ArgumentsId) -> &Arguments {
        &self.arguments[id.index()]
    }

    /// All distinct argument records, by id.
    pub fn all_arguments(&self) -> &[Arguments] {
        &self.arguments
    }

    /// `args.correlation` of runtime calls and GPU events; 0 and -1 link nothing.
    pub fn correlations(&self) -> &Sparse<i64> {
        &self.correlations
    }

    /// `args.External id` of ops and GPU events.
    pub fn external_ids(&self) -> &Sparse<i64> {
        &self.external_ids
    }

    /// The keys that link forward and backward ops.
    pub fn sequences(&self) -> &Sparse<Sequence> {
        &self.sequences
    }

    /// Device and stream on which a GPU event ran; `None` for all other events.
    pub fn stream(&self, event: EventId) -> Option<Stream> {
        self.streams.get(event).map(|&at| self.all_streams[at as usize])
    }

    /// `args.bytes` of copies and memsets.
    pub fn gpu_bytes(&self) -> &Sparse<u64> {
        &self.gpu_bytes
    }

    /// `args.graph node id` of GPU events, if CUDA reports it.
    pub fn graph_nodes(&self) -> &Sparse<u64> {
        &self.graph_nodes
    }

    /// `args.graph id` of GPU events, if CUDA reports it; 0 means no graph.
    pub fn graphs(&self) -> &Sparse<u64> {
        &self.graphs
    }

    /// `args.name` (or `args.module_fqn`) of GPU events: the part of the program that they were
    /// captured in, as PyTorch writes it with `export_chrome_trace(…, cuda_graph_annotations=…)`.
    pub fn regions(&self) -> &Sparse<TextId> {
        &self.regions
    }

    /// `args.kernel` of runtime calls: the name of the kernel that is launched, if ROCm reports it.
    pub fn launched_kernels(&self) -> &Sparse<TextId> {
        &self.launched_kernels
    }

    /// `args.grid` and `args.block` of kernels, and of the runtime calls that launch them.
    pub fn grids(&self) -> &Sparse<Grid> {
        &self.grids
    }

    /// `args.Process Group Name` of communication kernels and of the ops that launched them.
    pub fn process_groups(&self) -> &Sparse<TextId> {
        &self.process_groups
    }

    /// `args.Seq` of communication kernels and of the ops that launched them: the number of the
    /// collective in its process group.
    pub fn collective_sequences(&self) -> &Sparse<i64> {
        &self.collective_sequences
    }

    /// `args.Collective name` of communication kernels.
    pub fn collectives(&self) -> &Sparse<TextId> {
        &self.collectives
    }

    /// Message sizes of communication kernels, if the library recorded them.
    pub fn messages(&self) -> &Sparse<Message> {
        &self.messages
    }

    /// `Call stack` of ops in traces of 2021 and 2022.
    pub fn call_stacks(&self) -> &Sparse<TextId> {
        &self.call_stacks
    }

    /// Recorded durations of events whose duration is impossible and counts as 0: negative,
    /// absurdly long, or extending over the next events on the stream (note `CLOCK_ANOMALY`).
    pub fn recorded_durations(&self) -> &Sparse<Nanos> {
        &self.recorded_durations
    }

    /// Points of flow arrows, in file order; empty with [`ReadOptions::without_flows`].
    ///
    /// [`ReadOptions::without_flows`]: super::ReadOptions::without_flows
    pub fn flows(&self) -> &[FlowPoint] {
        &self.flows
    }

    /// Allocations and frees, in file order; empty unless the trace was recorded with
    /// `profile_memory=True`. A selection keeps all memory events.
    pub fn memory(&self) -> &[MemoryEvent] {
        &self.memory
    }

    /// An interned text.
    pub fn text(&self, id: TextId) -> &str {
        self.texts.get(id)
    }

    /// All interned texts.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }

    /// All threads, by id.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// A thread.
    pub fn thread(&self, id: ThreadId) -> &Thread {
        &self.threads[id.index()]
    }

    /// Metadata of the trace.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Irregularities of the file.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Counts of what was lost, repaired or impossible in the file.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Number of elements of `traceEvents`, of all kinds.
    pub fn total_events(&self) -> u64 {
        self.total_events
    }

    /// Number of events that take no part in a comparison, by phase and category (`i
    /// cpu_instant_event`), sorted.
    pub fn left_out(&self) -> &[(String, u64)] {
        &self.left_out
    }

    /// Size of the JSON text after decompression, in bytes.
    pub fn unpacked_bytes(&self) -> u64 {
        self.unpacked_bytes
    }

    /// XXH3 hash (128 bits) of the file as stored, compressed or not. Files with equal bytes have
    /// equal hashes.
    pub fn content_hash(&self) -> u128 {
        self.content_hash
    }
}
