//! Summarizes the contents of a [`Trace`] for `tracetree info`, without building a tree.

use super::annotations::{Annotation, Meaning, annotations};
use super::model::Model;
use super::overhead::OverheadInfo;
use super::phase::Phase;
use super::platform::Platform;
use crate::trace::{Category, Header, Nanos, Note, TextId, Trace, busy_time};
use crate::tree::{CallTree, ModuleName, launched_time, names_graph_launch};
use serde::Serialize;

/// A kind of GPU, as the file describes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct DeviceInfo {
    /// Marketing name; empty if the file has none.
    pub name: String,
    /// Number of devices of this kind.
    pub count: u64,
    /// Compute capability or gfx version, as `major.minor`.
    pub capability: Option<String>,
    /// Memory in GiB.
    pub memory_gib: Option<f64>,
    /// Number of streaming multiprocessors or compute units.
    pub multiprocessors: Option<i64>,
    /// Number of threads in a warp or wavefront.
    pub warp_size: Option<i64>,
}

/// Information about the whole trace. Most files store it before the events.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct HeadInfo {
    /// The profiler that wrote the file: `Kineto`, `Nsight Systems` or `XLA`.
    pub recorder: &'static str,
    /// The GPUs; identical GPUs are one entry with a count.
    pub devices: Vec<DeviceInfo>,
    /// Versions of the runtime, the driver and the profiler.
    pub versions: Vec<(String, String)>,
    /// Rank of the process, if the job has several processes.
    pub rank: Option<i64>,
    /// Number of processes.
    pub world_size: Option<i64>,
    /// Backend used for collectives; empty if no backend is recorded.
    pub backend: String,
    /// Recording options that were enabled.
    pub options: Vec<String>,
}

impl HeadInfo {
    /// Reads the header of a trace.
    pub fn of(header: &Header) -> HeadInfo {
        let distributed = header.distributed.as_ref();
        HeadInfo {
            recorder: header.recorder.label(),
            devices: grouped(header),
            versions: header.versions.clone(),
            rank: distributed.and_then(|group| group.rank),
            world_size: distributed.and_then(|group| group.world_size),
            backend: distributed.map_or_else(String::new, |group| group.backend.clone()),
            options: header.options.clone(),
        }
    }
}

fn grouped(header: &Header) -> Vec<DeviceInfo> {
    let mut devices: Vec<DeviceInfo> = Vec::new();
    for device in &header.devices {
        let info = DeviceInfo {
            name: device.name.clone(),
            count: 1,
            capability: device.capability.map(|(major, minor)| format!("{major}.{minor}")),
            memory_gib: device.memory_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30)),
            multiprocessors: device.multiprocessors,
            warp_size: device.warp_size,
        };
        match devices.iter_mut().find(|known| DeviceInfo { count: 1, ..(*known).clone() } == info) {
            Some(known) => known.count += 1,
            None => devices.push(info),
        }
    }
    devices
}

/// Number of events of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct CategoryCount {
    /// Kineto's name of the category.
    pub category: String,
    /// Number of events.
    pub count: u64,
}

/// Which useful kinds of information a trace contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct Contents {
    /// Whether input shapes of ops were recorded.
    pub shapes: bool,
    /// Whether the profiler recorded Python frames or call stacks of ops.
    pub stacks: bool,
    /// Whether calls of `nn.Module`s were recorded.
    pub modules: bool,
    /// Whether captured graphs were launched.
    pub graphs: bool,
    /// Whether user annotations were recorded.
    pub annotations: bool,
}

/// A summary of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[doc(hidden)]
pub struct TraceInfo {
    /// Path of the file, as the user gave it.
    pub path: String,
    /// Size of the file in bytes; `None` if unknown, as for standard input.
    pub file_bytes: Option<u64>,
    /// Size of the file after decompression, in bytes.
    pub unpacked_bytes: u64,
    /// Information that the file stores outside of its events.
    pub head: HeadInfo,
    /// The GPU vendor.
    pub platform: Platform,
    /// Number of elements in `traceEvents`.
    pub events: u64,
    /// Number of kept events per category.
    pub categories: Vec<CategoryCount>,
    /// Number of ignored events for each combination of `ph` and category.
    pub left_out: Vec<CategoryCount>,
    /// Number of kernels, copies and memsets.
    pub gpu_events: u64,
    /// Sum of the durations of all GPU events, in µs.
    pub gpu_time_us: f64,
    /// Time during which at least one GPU event ran, in µs.
    pub gpu_busy_us: f64,
    /// Fraction of the GPU time spent in events whose launch is in the trace, from 0 to 1; `None`
    /// if there is no GPU time.
    pub launched_share: Option<f64>,
    /// Time from the start of the first event to the end of the last event, in µs.
    pub span_us: f64,
    /// What the GPU profiler recorded as overhead; `None` if it recorded none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<OverheadInfo>,
    /// Number of `ProfilerStep#N` steps.
    pub steps: u64,
    /// Number of inference engine batches.
    pub batches: u64,
    /// The phases indicated by annotations and ops.
    pub phases: Vec<&'static str>,
    /// Which useful kinds of information the trace contains.
    pub contents: Contents,
    /// The kind of model that ran; `None` if no tree was built.
    pub model: Option<Model>,
    /// The number of graph launches whose captured graph was found; `None` if no captures were
    /// searched for.
    pub captured: Option<CapturedInfo>,
    /// Irregularities in the file and in captures.
    pub notes: Vec<Note>,
}

impl OverheadInfo {
    /// Whether the profiler worked during at least 1% of the recording.
    pub fn is_large(&self, info: &TraceInfo) -> bool {
        self.profiler_us >= 0.01 * info.span_us
    }
}

/// For how many graph launches the captured graph was found, and how many kernels of the replays
/// were therefore attributed to the ops that launched them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[doc(hidden)]
pub struct CapturedInfo {
    /// Number of graph launches with GPU events.
    pub launches: u64,
    /// Number of graph launches whose capture was found.
    pub fitting: u64,
    /// Total number of GPU events in all graph launches.
    pub kernels: u64,
    /// Number of GPU events placed below the captured call that launched them.
    pub placed: u64,
    /// Number of GPU events placed below the program parts that they name, because no capture fits.
    pub named: u64,
    /// The capture files that were used for at least one graph launch.
    pub captures: Vec<String>,
}

impl CapturedInfo {
    fn of(tree: &CallTree) -> Option<CapturedInfo> {
        let replays = tree.replays();
        let fitting = || replays.iter().filter_map(|replay| replay.graph.as_ref());
        let mut captures: Vec<String> = fitting().map(|graph| graph.source.clone()).collect();
        captures.sort_unstable();
        captures.dedup();
        (!replays.is_empty()).then(|| CapturedInfo {
            launches: replays.len() as u64,
            fitting: fitting().count() as u64,
            kernels: replays.iter().map(|replay| replay.kernels as u64).sum(),
            placed: replays.iter().map(|replay| replay.placed as u64).sum(),
            named: replays.iter().map(|replay| replay.named as u64).sum(),
            captures,
        })
    }
}

impl TraceInfo {
    /// Summarizes a tree's trace, including the kind of model that ran. The caller must fill in the
    /// size of the file.
    pub fn of_tree(tree: &CallTree) -> TraceInfo {
        let info = TraceInfo::of(tree.trace());
        TraceInfo {
            model: Some(Model::of(tree)),
            captured: CapturedInfo::of(tree),
            notes: info.notes.iter().chain(tree.notes().of_captures()).cloned().collect(),
            ..info
        }
    }

    /// Summarizes a trace. This function iterates over all events several times. The caller must
    /// fill in the size of the file.
    pub fn of(trace: &Trace) -> TraceInfo {
        let found = annotations(trace);
        let gpu: Vec<_> = trace.events().filter(|&e| trace.category(e).is_gpu()).collect();
        let spans = gpu.iter().map(|&event| (trace.start(event), trace.end(event)));
        let time: Nanos = gpu.iter().map(|&event| trace.duration(event)).sum();
        let left_out = trace.left_out().iter();
        let (start, end) = extent(trace);
        TraceInfo {
            path: trace.source().to_owned(),
            file_bytes: None,
            unpacked_bytes: trace.unpacked_bytes(),
            head: HeadInfo::of(trace.header()),
            platform: Platform::of(trace),
            events: trace.total_events(),
            categories: categories(trace),
            left_out: left_out
                .map(|(category, count)| CategoryCount {
                    category: category.clone(),
                    count: *count,
                })
                .collect(),
            gpu_events: gpu.len() as u64,
            gpu_time_us: time.as_micros(),
            gpu_busy_us: busy_time(spans.collect()).as_micros(),
            launched_share: launched_share(trace, time),
            span_us: (end - start).as_micros(),
            overhead: OverheadInfo::of(trace, (start, end)),
            steps: steps(&found),
            batches: found.iter().filter(|a| matches!(a.meaning, Meaning::Batch(_))).count() as u64,
            phases: phases(trace, &found),
            contents: contents(trace),
            model: None,
            captured: None,
            notes: trace.notes().iter().cloned().collect(),
        }
    }
}

fn categories(trace: &Trace) -> Vec<CategoryCount> {
    const ALL: [Category; 8] = [
        Category::CpuOp,
        Category::PythonFunction,
        Category::Runtime,
        Category::Kernel,
        Category::Memcpy,
        Category::Memset,
        Category::UserAnnotation,
        Category::GpuUserAnnotation,
    ];
    let mut counts = [0_u64; ALL.len()];
    for event in trace.own_events() {
        counts[trace.category(event) as usize] += 1;
    }
    ALL.into_iter()
        .map(|kind| CategoryCount {
            category: kind.label().to_owned(),
            count: counts[kind as usize],
        })
        .filter(|kind| kind.count > 0)
        .collect()
}

/// Fraction of the GPU time spent in events whose launch is in the trace.
fn launched_share(trace: &Trace, time: Nanos) -> Option<f64> {
    (time > Nanos::ZERO).then(|| launched_time(trace).as_micros() / time.as_micros())
}

/// The start of the first event and the end of the last event.
fn extent(trace: &Trace) -> (Nanos, Nanos) {
    let spans = trace.events().map(|event| (trace.start(event), trace.end(event)));
    spans.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1))).unwrap_or_default()
}

/// Number of `ProfilerStep#N` steps. The 2021 profiler wrote each step twice, as an annotation and
/// as an operator.
fn steps(found: &[Annotation]) -> u64 {
    let mut numbers: Vec<u64> = found
        .iter()
        .filter_map(|annotation| match annotation.meaning {
            Meaning::Step(number) => Some(number),
            Meaning::Batch(_) | Meaning::Training(_) | Meaning::Capture(_) => None,
        })
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() as u64
}

fn phases(trace: &Trace, found: &[Annotation]) -> Vec<&'static str> {
    let says = |phase: Phase| {
        found.iter().any(|annotation| match annotation.meaning {
            Meaning::Batch(batch) => batch.phase == phase,
            Meaning::Training(part) => part == phase,
            Meaning::Step(_) | Meaning::Capture(_) => false,
        })
    };
    // A backward op records the thread of its forward op, so one backward op proves that both
    // passes ran.
    let backward = trace.sequences.iter().any(|(_, sequence)| sequence.forward_thread != 0);
    let training = backward || says(Phase::TrainBackward) || says(Phase::TrainOptimizer);
    let has = |phase: &Phase| match phase {
        Phase::TrainForward => training && (backward || says(*phase)),
        Phase::TrainBackward => backward || says(*phase),
        Phase::Unknown => false,
        Phase::Prefill | Phase::Decode | Phase::Mixed | Phase::Idle | Phase::TrainOptimizer => {
            says(*phase)
        }
    };
    Phase::ALL.into_iter().filter(has).map(Phase::label).collect()
}

fn contents(trace: &Trace) -> Contents {
    let has = |wanted: Category| trace.events().any(|event| trace.category(event) == wanted);
    let named = |kind: Category, test: fn(&str) -> bool| {
        trace.events().any(|event| trace.category(event) == kind && test(trace.name(event)))
    };
    Contents {
        shapes: trace.all_arguments().iter().any(|arguments| arguments.dims != TextId::EMPTY),
        stacks: has(Category::PythonFunction) || !trace.call_stacks().is_empty(),
        modules: named(Category::PythonFunction, |name| ModuleName::of(name).is_some()),
        graphs: named(Category::Runtime, names_graph_launch),
        annotations: has(Category::UserAnnotation),
    }
}
