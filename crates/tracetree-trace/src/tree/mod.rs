//! Builds the [`CallTree`] of a [`Trace`]: thread → Python frame → op → launch → GPU event.
//!
//! Calls on a thread are nested by time. A GPU event is below the call that launched it. Calls are
//! numbered in preorder, so the subtree of a call is a range of numbers:
//!
//! ```text
//! 0 thread              subtree 0..7
//! 1 └── frame           subtree 1..7
//! 2     ├── op          subtree 2..5
//! 3     │   └── launch  subtree 3..5
//! 4     │       └── kernel
//! 5     └── op          subtree 5..7
//! 6         └── op
//! ```

mod arrows;
mod backward;
mod coarse;
mod counts;
mod descent;
mod grafts;
mod launches;
mod links;
mod module_name;
mod nest;
mod options;
mod replays;
mod stored;
mod stretches;

#[doc(hidden)]
pub use counts::Counts;
#[doc(hidden)]
pub use descent::Descent;
pub(crate) use launches::launched_time;
pub use links::{LinkGraph, LinkKind};
pub use module_name::ModuleName;
pub use options::{Frames, TreeOptions};
pub use replays::{Misfit, Replay, ReplayedGraph};
#[doc(hidden)]
pub use stored::StoredTree;
pub(crate) use stretches::Stretches;

use crate::trace::{
    Arguments, ByName, CapturedAs, Category, EventId, Nanos, Notes, PROGRAMS, Recorder, ThreadId,
    Trace, is_wait,
};
use std::sync::{Arc, OnceLock};

/// Name of the root above the GPU events whose launch is not in the trace.
pub const UNLINKED: &str = "(launch not in trace)";

/// Id of a call in one tree: its position in preorder, counted from 0. Ids from different trees
/// cannot be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

impl CallId {
    /// Position in preorder.
    #[doc(hidden)]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// The root of a host thread.
    Thread,
    /// The root above the GPU events whose launch is not in the trace.
    Unlinked,
    /// A Python frame or an `nn.Module` call.
    Frame,
    /// An operator (`cpu_op`).
    Op,
    /// A call into the GPU runtime or driver. A runtime call with GPU events below it is a launch.
    Runtime,
    /// A kernel, memcpy or memset.
    Gpu,
}

/// Value that marks a missing call, event or thread, such as the parent of a root.
const NONE: u32 = u32::MAX;

/// Name prefix of the ops that run nodes in the autograd graph.
#[doc(hidden)]
pub const AUTOGRAD_PREFIX: &str = "autograd::engine::evaluate_function: ";

/// Whether a runtime call with this name launches a captured graph: `cudaGraphLaunch`,
/// `hipGraphLaunch`, ….
#[doc(hidden)]
pub fn names_graph_launch(name: &str) -> bool {
    contains_word(name, "GraphLaunch")
}

/// Whether a name contains an ASCII word. The check runs for every call. `str::contains` is not
/// used, because preparing its search takes longer than scanning such short names.
pub(crate) fn contains_word(name: &str, word: &str) -> bool {
    let (name, word) = (name.as_bytes(), word.as_bytes());
    name.windows(word.len()).any(|part| part == word)
}

impl CallKind {
    fn of(category: Category) -> CallKind {
        match category {
            Category::PythonFunction => CallKind::Frame,
            Category::Runtime => CallKind::Runtime,
            Category::Kernel | Category::Memcpy | Category::Memset => CallKind::Gpu,
            Category::CpuOp | Category::UserAnnotation | Category::GpuUserAnnotation => {
                CallKind::Op
            }
        }
    }
}

/// The nested calls in one trace, including the GPU events that host calls launched.
#[derive(Debug, Clone)]
pub struct CallTree {
    trace: Arc<Trace>,
    kinds: Vec<CallKind>,
    /// For each call, its event; for a thread root, the thread.
    sources: Vec<u32>,
    parents: Vec<u32>,
    /// For each call, the position in preorder after the last call of its subtree.
    ends: Vec<u32>,
    /// For each call, the number of GPU events before the call in preorder; one additional entry
    /// contains the number of all GPU events.
    gpu_before: Counts,
    /// The call that represents each event; `u32::MAX` for events that are not calls.
    calls: Vec<u32>,
    /// The parents of calls that were nested too deeply, in preorder. So far, the list has been
    /// empty for every trace of a real program.
    crowded: Vec<u32>,
    /// The calls whose position is uncertain, in preorder. The list is empty for traces whose times
    /// are finer than whole microseconds.
    uncertain: Vec<u32>,
    /// For each call, the innermost module call that contains it, which may be the call itself;
    /// computed on first use.
    modules: OnceLock<Stretches<Option<CallId>>>,
    /// Pairs of a forward op and a backward op; computed on first use.
    backward: OnceLock<Vec<(CallId, CallId)>>,
    notes: Notes,
    replays: Vec<Replay>,
}

impl CallTree {
    /// Builds the call tree of `trace`. This function never fails, because calls that cannot be
    /// nested or linked are kept and reported as notes.
    ///
    /// ```
    /// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).expect("a folder");
    /// use tracetree::{CallTree, Trace};
    ///
    /// let trace = Trace::open("examples/traces/resnet.rocm.json.gz")?;
    /// let tree = CallTree::build(trace);
    /// let op = tree.calls().find(|&call| tree.name(call) == "aten::miopen_convolution");
    /// let op = op.expect("a convolution");
    /// let above: Vec<&str> = tree.ancestors(op).take(2).map(|call| tree.name(call)).collect();
    /// assert_eq!(above, ["aten::_convolution", "aten::convolution"]);
    /// # Ok::<(), tracetree::Error>(())
    /// ```
    pub fn build(trace: impl Into<Arc<Trace>>) -> CallTree {
        CallTree::with_options(trace, TreeOptions::default())
    }

    /// Builds the call tree of `trace`, with options.
    pub fn with_options(trace: impl Into<Arc<Trace>>, options: TreeOptions) -> CallTree {
        let trace = trace.into();
        let mut notes = Notes::default();
        let launched = launches::link(&trace, &mut notes);
        let mut planter = nest::Planter::new(&trace, &launched, options.frames);
        planter.plant_threads();
        planter.plant_unlinked();
        let planted = planter.finish();
        let nest::Planted { noise, artefacts, too_deep, .. } = planted;
        let count = planted.uncertain.len() as u64;
        notes.add(
            "POSITION_UNCERTAIN",
            count,
            "record with PyTorch 2.3 or later, which writes nanoseconds",
            || {
                format!(
                    "{count} × call whose position in the call tree is uncertain, because the times \
                     are whole microseconds; no change of these calls is certain"
                )
            },
        );
        notes.add(
            "BROKEN_NESTING",
            artefacts,
            "the profiler's instrumentation overlaps calls; totals are unaffected",
            || {
                format!(
                    "{artefacts} × call that ends more than 1 µs after the enclosing call; kept \
                     nested in it"
                )
            },
        );
        notes.add("TIMER_NOISE", noise, "", || {
            format!(
                "{noise} × call that overlaps its neighbor by at most 1 µs; treated as timer noise"
            )
        });
        let deepest = nest::DEEPEST;
        notes.add(
            "TOO_DEEP",
            too_deep,
            "if the program recurses this deeply, record it without Python stacks",
            || {
                format!(
                    "{too_deep} × call nested more than {deepest} levels deep; moved up to level \
                     {deepest}, with its host time attributed to the call above it; GPU time is \
                     unaffected"
                )
            },
        );
        CallTree::of_columns(trace, planted, notes)
    }

    /// Creates a tree from its columns.
    fn of_columns(trace: Arc<Trace>, planted: nest::Planted, notes: Notes) -> CallTree {
        let nest::Planted { kinds, sources, parents, ends, calls, crowded, uncertain, .. } =
            planted;
        CallTree {
            gpu_before: Counts::of(kinds.iter().map(|&kind| u8::from(kind == CallKind::Gpu))),
            kinds,
            sources,
            parents,
            ends,
            calls,
            crowded,
            uncertain,
            modules: OnceLock::new(),
            backward: OnceLock::new(),
            notes,
            replays: Vec::new(),
            trace,
        }
    }

    /// Returns the tree with the given replays of graph launches and the given notes about
    /// captures.
    pub(crate) fn with_replays(mut self, replays: Vec<Replay>, odd: &Notes) -> CallTree {
        self.replays = replays;
        for note in odd {
            self.notes.add(note.code, note.count, note.hint, || note.message.clone());
        }
        self
    }

    /// The launches of captured graphs in this tree, ordered by position. The list is empty if
    /// captures were not searched for.
    pub fn replays(&self) -> &[Replay] {
        &self.replays
    }

    /// The trace that the tree was built from.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Number of calls, including roots and GPU events.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether the tree has no calls.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Irregularities found while the tree was built.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The call at a position in preorder; `None` if the position is out of range.
    #[doc(hidden)]
    pub fn call_id(&self, index: usize) -> Option<CallId> {
        (index < self.len()).then_some(CallId(index as u32))
    }

    /// All calls in preorder.
    pub fn calls(&self) -> impl ExactSizeIterator<Item = CallId> + use<> {
        (0..self.ends.len() as u32).map(CallId)
    }

    /// The root calls: host threads in order of first appearance, then the root of the unlinked GPU
    /// events, if any.
    #[doc(hidden)]
    pub fn roots(&self) -> impl Iterator<Item = CallId> + '_ {
        self.siblings(0, self.ends.len() as u32)
    }

    /// The children of a call, sorted by start; below a launch, GPU events come first.
    pub fn children(&self, call: CallId) -> impl Iterator<Item = CallId> + '_ {
        self.siblings(call.0 + 1, self.ends[call.index()])
    }

    fn siblings(&self, first: u32, end: u32) -> impl Iterator<Item = CallId> + '_ {
        let mut next = first;
        std::iter::from_fn(move || {
            (next < end).then(|| {
                let call = CallId(next);
                next = self.ends[call.index()];
                call
            })
        })
    }

    /// A call and all calls below it, in preorder.
    #[doc(hidden)]
    pub fn subtree(&self, call: CallId) -> impl DoubleEndedIterator<Item = CallId> + use<> {
        (call.0..self.ends[call.index()]).map(CallId)
    }

    /// Number of calls in the subtree of a call, including the call itself.
    pub fn size(&self, call: CallId) -> usize {
        (self.ends[call.index()] - call.0) as usize
    }

    /// The first call in preorder after the subtree of a call, which may be past the end of the
    /// tree.
    pub fn end(&self, call: CallId) -> CallId {
        CallId(self.ends[call.index()])
    }

    /// The parent of a call; `None` for roots.
    #[inline]
    pub fn parent(&self, call: CallId) -> Option<CallId> {
        match self.parents[call.index()] {
            NONE => None,
            above => Some(CallId(above)),
        }
    }

    /// The ancestors of a call, innermost first, excluding the call itself.
    pub fn ancestors(&self, call: CallId) -> impl Iterator<Item = CallId> + '_ {
        std::iter::successors(self.parent(call), |&above| self.parent(above))
    }

    /// Whether `call` is in the subtree of `above`. A call is in its own subtree.
    #[inline]
    #[doc(hidden)]
    pub fn is_below(&self, call: CallId, above: CallId) -> bool {
        (above.0..self.ends[above.index()]).contains(&call.0)
    }

    /// The kind of a call.
    #[inline]
    pub fn kind(&self, call: CallId) -> CallKind {
        self.kinds[call.index()]
    }

    /// The event of a call; `None` for roots.
    #[inline]
    pub fn event(&self, call: CallId) -> Option<EventId> {
        match self.kind(call) {
            CallKind::Thread | CallKind::Unlinked => None,
            CallKind::Frame | CallKind::Op | CallKind::Runtime | CallKind::Gpu => {
                Some(EventId(self.sources[call.index()]))
            }
        }
    }

    /// The call that represents an event; `None` if the event is not part of the tree, as for an
    /// annotation.
    pub fn call_of(&self, event: EventId) -> Option<CallId> {
        match self.calls[event.index()] {
            NONE => None,
            call => Some(CallId(call)),
        }
    }

    /// The thread that a thread root represents; `None` for all other calls.
    pub fn thread(&self, call: CallId) -> Option<ThreadId> {
        (self.kind(call) == CallKind::Thread).then(|| ThreadId(self.sources[call.index()]))
    }

    /// The calls of compiled programs that run on a pool of threads, in the order in which they start. Which thread runs
    /// an op differs from run to run. Empty unless XLA recorded a program on a CPU.
    #[doc(hidden)]
    pub fn pooled(&self) -> Vec<CallId> {
        if self.trace.header().recorder != Recorder::Xla {
            return Vec::new();
        }
        let threads = self.calls().filter(|&call| self.is_pool(call));
        let mut calls: Vec<CallId> =
            threads.flat_map(|thread| (thread.0 + 1..self.end(thread).0).map(CallId)).collect();
        calls.sort_by_key(|&call| (self.start(call), call));
        calls
    }

    /// Whether a call runs on a pool of threads (see [`CallTree::pooled`]).
    #[doc(hidden)]
    pub fn is_pooled(&self, call: CallId) -> bool {
        self.trace.header().recorder == Recorder::Xla
            && self.ancestors(call).last().is_some_and(|thread| self.is_pool(thread))
    }

    /// Whether a call is a wait of XLA's runtime.
    #[doc(hidden)]
    pub fn is_wait(&self, call: CallId) -> bool {
        self.trace.header().recorder == Recorder::Xla
            && self.kind(call) == CallKind::Frame
            && is_wait(self.name(call))
    }

    fn is_pool(&self, thread: CallId) -> bool {
        self.kind(thread) == CallKind::Thread
            && self.name(thread).starts_with(PROGRAMS)
            && !self.is_gpu_path(thread)
    }

    /// The name of a call. For a thread, this is the recorded thread name or, if no name was
    /// recorded, `thread`.
    #[inline]
    pub fn name(&self, call: CallId) -> &str {
        match (self.event(call), self.thread(call)) {
            (Some(event), _) => self.trace.name(event),
            (None, None) => UNLINKED,
            (None, Some(thread)) => match self.trace.text(self.trace.thread(thread).name) {
                "" => "thread",
                name => name,
            },
        }
    }

    /// The start of a call; `None` for roots.
    pub(crate) fn start(&self, call: CallId) -> Option<Nanos> {
        self.event(call).map(|event| self.trace.start(event))
    }

    /// The duration of a call; zero for roots.
    #[inline]
    pub fn duration(&self, call: CallId) -> Nanos {
        self.event(call).map_or(Nanos::ZERO, |event| self.trace.duration(event))
    }

    /// Whether the calls below this call were nested too deeply for the tree, so all of them became
    /// its children. The times of these children overlap. Therefore, the whole duration of this
    /// call counts as its self time, and the children have no self time.
    pub(crate) fn is_crowded(&self, call: CallId) -> bool {
        !self.crowded.is_empty() && self.crowded.binary_search(&call.0).is_ok()
    }

    /// Whether the position of a host call is uncertain: the times of the trace are whole
    /// microseconds, and neither they nor anything else in the trace show whether the call is below
    /// another call or next to it.
    pub fn is_position_uncertain(&self, call: CallId) -> bool {
        !self.uncertain.is_empty() && self.uncertain.binary_search(&call.0).is_ok()
    }

    /// The self time of a crowded call (see [`CallTree::is_crowded`]) or of a child of a crowded
    /// call; `None` for all other calls.
    pub(crate) fn crowded_self_time(&self, call: CallId) -> Option<Nanos> {
        if self.is_crowded(call) {
            return Some(self.duration(call));
        }
        self.parent(call).filter(|&above| self.is_crowded(above)).map(|_| Nanos::ZERO)
    }

    /// Self time of a host call: its duration minus the durations of the host calls directly below
    /// it. Calls that were nested too deeply (note `TOO_DEEP`) have zero self time, because their
    /// time is attributed to the call above them.
    #[doc(hidden)]
    pub fn self_time(&self, call: CallId) -> Nanos {
        if let Some(time) = self.crowded_self_time(call) {
            return time;
        }
        let below: Nanos = self
            .children(call)
            .filter(|&child| self.kind(child) != CallKind::Gpu)
            .map(|child| self.duration(child))
            .sum();
        (self.duration(call) - below).max(Nanos::ZERO)
    }

    /// Whether the call was recorded during a capture and is placed below a launch of the captured
    /// graph. A captured call did not run when the graph was replayed, so it takes no time.
    #[inline]
    pub fn is_captured(&self, call: CallId) -> bool {
        self.event(call).is_some_and(|event| self.trace.is_captured(event))
    }

    /// How a captured call is known: it was recorded during the capture, or only the kernels of the
    /// replay name it. Returns `None` for a call that ran.
    #[doc(hidden)]
    pub fn captured_as(&self, call: CallId) -> Option<CapturedAs> {
        Some(self.trace.captured(self.event(call)?)?.known)
    }

    /// How the captured calls below a graph launch are known: they were recorded during the
    /// capture, or only the kernels of the replay name them. Returns `None` if there are no
    /// captured calls.
    #[doc(hidden)]
    pub fn known_below(&self, launch: CallId) -> Option<CapturedAs> {
        let has_only_events = self.size(launch) == self.gpu_events(launch) + 1;
        (!has_only_events).then(|| self.children(launch).find_map(|call| self.captured_as(call)))?
    }

    /// Whether the call launches a captured graph whose calls are unknown. A program part that is
    /// known only from the kernels' names does not count as a known call.
    #[doc(hidden)]
    pub fn is_bare_replay(&self, call: CallId) -> bool {
        self.is_graph_launch(call) && self.known_below(call) != Some(CapturedAs::Call)
    }

    /// Whether the call launches a captured graph: a runtime call with GPU work and a name such as
    /// `cudaGraphLaunch`.
    #[inline]
    #[doc(hidden)]
    pub fn is_graph_launch(&self, call: CallId) -> bool {
        self.kind(call) == CallKind::Runtime
            && self.is_gpu_path(call)
            && names_graph_launch(self.name(call))
    }

    /// The arguments of an op, if they were recorded.
    #[inline]
    #[doc(hidden)]
    pub fn arguments(&self, call: CallId) -> Option<&Arguments> {
        let id = self.trace.arguments_id(self.event(call)?)?;
        Some(self.trace.arguments(id))
    }

    /// Number of GPU events in the subtree of the call.
    pub fn gpu_events(&self, call: CallId) -> usize {
        let end = self.ends[call.index()] as usize;
        self.gpu_before.within(call.index()..end) as usize
    }

    /// Position of a GPU event among the GPU events of the tree, in preorder; `None` for all other
    /// calls.
    pub(crate) fn gpu_position(&self, call: CallId) -> Option<usize> {
        (self.kind(call) == CallKind::Gpu).then(|| self.gpu_before.before(call.index()) as usize)
    }

    /// Whether the call is on the GPU path. A call is on the GPU path if its subtree contains a GPU
    /// event.
    #[inline]
    pub fn is_gpu_path(&self, call: CallId) -> bool {
        self.gpu_events(call) > 0
    }

    /// The call that launched a GPU event; `None` if the launch is not in the trace.
    #[doc(hidden)]
    pub fn launch(&self, gpu_event: CallId) -> Option<CallId> {
        self.parent(gpu_event).filter(|&above| self.kind(above) != CallKind::Unlinked)
    }

    /// The call that actually launched a GPU event. For a GPU event below a captured launch, this
    /// is the graph launch above the captured launch. Returns `None` if the launch is not in the
    /// trace.
    #[doc(hidden)]
    pub fn running_launch(&self, gpu_event: CallId) -> Option<CallId> {
        let launch = self.launch(gpu_event)?;
        let ran = |call: &CallId| !self.is_captured(*call);
        std::iter::once(launch).chain(self.ancestors(launch)).find(ran)
    }

    /// The `nn.Module` calls that contain a call, including the call itself, outermost first.
    #[doc(hidden)]
    pub fn module_stack(&self, call: CallId) -> Vec<CallId> {
        let next = |&module: &CallId| self.module(self.parent(module)?);
        let mut stack: Vec<CallId> = std::iter::successors(self.module(call), next).collect();
        stack.reverse();
        stack
    }

    /// The innermost `nn.Module` call that contains a call, which may be the call itself.
    #[inline]
    pub fn module(&self, call: CallId) -> Option<CallId> {
        self.modules().get(call.index()).flatten()
    }

    /// Whether the call is an `nn.Module` frame.
    #[inline]
    #[doc(hidden)]
    pub fn is_module(&self, call: CallId) -> bool {
        self.module(call) == Some(call)
    }

    /// All `nn.Module` frames, in preorder.
    #[doc(hidden)]
    pub fn module_calls(&self) -> impl Iterator<Item = CallId> {
        // All calls in a range have the same innermost module call. The first range that belongs to
        // a module call begins with the module call itself.
        let ranges = self.modules().ranges();
        ranges.filter_map(|(range, module)| module.filter(|module| module.index() == range.start))
    }

    fn modules(&self) -> &Stretches<Option<CallId>> {
        self.modules.get_or_init(|| {
            let mut is_module = ByName::new(&self.trace);
            let mut modules: Stretches<Option<CallId>> = Stretches::new();
            for call in self.calls() {
                let mut frame = || {
                    let name = self.trace.name_id(self.event(call)?);
                    let say = || ModuleName::of(self.trace.text(name)).is_some();
                    is_module.get(name, say).then_some(call)
                };
                let own = if self.kind(call) == CallKind::Frame { frame() } else { None };
                let above = || modules.get(self.parent(call)?.index()).flatten();
                let module = own.or_else(above);
                modules.push(module);
            }
            modules
        })
    }
}
