//! Converts a captured graph and a replay into two sequences of integers.

use super::graphs::{Capture, CapturedGraph, LaunchKind};
use crate::trace::{Category, EventId, Nanos, Stream, TextId, Texts, Trace};
use crate::tree::{CallId, CallKind, CallTree, ModuleName};
use rustc_hash::FxHashMap;

/// Interns the combination of a kernel's name and grid.
fn sort(texts: &mut Texts, trace: &Trace, event: EventId) -> TextId {
    let grid = trace.grids().get(event).map_or("", |grid| trace.text(grid.grid));
    texts.intern(&format!("{}\n{grid}", trace.name(event)))
}

/// Interns a recorded grid and block.
fn grid(texts: &mut Texts, trace: &Trace, event: EventId) -> Option<TextId> {
    let grid = trace.grids().get(event)?;
    Some(texts.intern(&format!("{} {}", trace.text(grid.grid), trace.text(grid.block))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Launched {
    /// Position of the launch among the captured calls.
    pub(super) at: u32,
    pub(super) kind: LaunchKind,
    /// Id of the recorded kernel name, if any.
    pub(super) name: Option<TextId>,
    pub(super) grid: Option<TextId>,
    /// Id of the names and arguments of the calls above the launch, which hint at the launched
    /// kernel.
    pub(super) context: TextId,
    /// Whether the same op also made the previous launch.
    pub(super) follows: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Ran {
    pub(super) event: EventId,
    pub(super) kind: LaunchKind,
    pub(super) name: TextId,
    pub(super) grid: Option<TextId>,
    /// Id of the combination of the kernel's name and grid. An op with a given shape launches
    /// kernels with the same name and grid in every layer.
    pub(super) sort: TextId,
    pub(super) stream: Stream,
    pub(super) start: Nanos,
    /// Number of the graph node, if it was recorded.
    pub(super) node: Option<u64>,
}

/// Maximum number of frames between a launch and its op that are used as hints about the launched
/// kernel.
const FRAMES: usize = 3;

impl Launched {
    /// The launches of a captured graph, in order.
    pub(super) fn of(capture: &Capture, graph: &CapturedGraph, texts: &mut Texts) -> Vec<Launched> {
        let (tree, trace) = (&capture.tree, capture.trace());
        let mut last: Option<CallId> = None;
        let mut nth: FxHashMap<CallId, u32> = FxHashMap::default();
        let launched = |&(at, kind): &(u32, LaunchKind)| {
            let event = graph.calls[at as usize].event;
            let call = tree.call_of(event).expect("every captured call is in its tree");
            let name = trace.launched_kernels.get(event).map(|&name| trace.text(name));
            let op = tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op);
            let before = std::mem::replace(&mut last, op);
            Launched {
                at,
                kind,
                name: name.map(|name| texts.intern(name)),
                grid: grid(texts, trace, event),
                context: context(tree, call, op, &mut nth, texts),
                follows: op.is_some() && op == before,
            }
        };
        graph.launches.iter().map(launched).collect()
    }
}

/// The hints for a launch: the nearest op with its arguments, the number of earlier launches by
/// that op, and the names of the frames between the op and the launch (those nearest to the
/// launch).
fn context(
    tree: &CallTree,
    launch: CallId,
    op: Option<CallId>,
    nth: &mut FxHashMap<CallId, u32>,
    texts: &mut Texts,
) -> TextId {
    let trace = tree.trace();
    let frames = tree
        .ancestors(launch)
        .take_while(|&above| Some(above) != op)
        .filter(|&above| tree.kind(above) == CallKind::Frame)
        .take(FRAMES)
        .map(|above| plain_frame(tree.name(above)));
    let mut text = String::new();
    if let Some(op) = op {
        text.push_str(tree.name(op));
        let arguments = tree.event(op).and_then(|event| trace.arguments_id(event));
        if let Some(id) = arguments {
            text.push('\n');
            text.push_str(trace.text(trace.arguments(id).dims));
            text.push_str(trace.text(trace.arguments(id).types));
        }
        let before = nth.entry(op).or_default();
        text.push_str(&format!("\n#{before}"));
        *before += 1;
    }
    for frame in frames {
        text.push('\n');
        text.push_str(&frame);
    }
    texts.intern(&text)
}

/// The name of a frame without its file and line, or of a module without its instance number. The
/// names of corresponding calls in two layers differ only in the omitted parts.
fn plain_frame(name: &str) -> String {
    if let Some(module) = ModuleName::of(name) {
        return module.class.to_owned();
    }
    match name.split_once("): ") {
        Some((_, function)) => function.to_owned(),
        None => name.split(" object at 0x").next().unwrap_or_default().to_owned(),
    }
}

impl Ran {
    /// The GPU events directly below a graph launch, sorted by start.
    pub(super) fn of(tree: &CallTree, launch: CallId, texts: &mut Texts) -> Vec<Ran> {
        let trace = tree.trace();
        let events = tree.children(launch).filter(|&below| tree.kind(below) == CallKind::Gpu);
        events
            .filter_map(|call| tree.event(call))
            .map(|event| Ran {
                event,
                kind: kind_of(trace, event),
                name: texts.intern(trace.name(event)),
                grid: grid(texts, trace, event),
                sort: sort(texts, trace, event),
                stream: trace.stream(event).unwrap_or(Stream { device: 0, number: 0 }),
                start: trace.start(event),
                node: trace.graph_nodes().get(event).copied(),
            })
            .collect()
    }
}

fn kind_of(trace: &Trace, event: EventId) -> LaunchKind {
    match trace.category(event) {
        Category::Memcpy => LaunchKind::Memcpy,
        Category::Memset => LaunchKind::Memset,
        Category::Kernel
        | Category::CpuOp
        | Category::PythonFunction
        | Category::Runtime
        | Category::UserAnnotation
        | Category::GpuUserAnnotation => LaunchKind::Kernel,
    }
}
