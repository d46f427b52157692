//! Converts a captured graph and a replay into two sequences of integers.

use super::super::{CallId, CallKind, CallTree, ModuleName};
use super::graphs::{Capture, CapturedGraph, LaunchKind};
use crate::trace::{Category, EventId, Grid, Nanos, Stream, Trace};
use rustc_hash::FxHashMap;

/// Interned strings from several traces.
#[derive(Debug, Default)]
pub(crate) struct Alphabet {
    ids: FxHashMap<String, u32>,
    texts: Vec<String>,
}

impl Alphabet {
    pub(crate) fn id(&mut self, text: &str) -> u32 {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = self.texts.len() as u32;
        self.ids.insert(text.to_owned(), id);
        self.texts.push(text.to_owned());
        id
    }

    pub(crate) fn text(&self, id: u32) -> &str {
        &self.texts[id as usize]
    }

    /// Interns the combination of a kernel's name and grid.
    fn sort(&mut self, trace: &Trace, event: EventId) -> u32 {
        let grid = trace.grids().get(event).map_or("", |grid| trace.text(grid.grid));
        let text = format!("{}\n{grid}", trace.name(event));
        self.id(&text)
    }

    /// Interns a recorded grid and block.
    fn grid(&mut self, trace: &Trace, grid: Option<&Grid>) -> Option<u32> {
        let grid = grid?;
        let text = format!("{} {}", trace.text(grid.grid), trace.text(grid.block));
        Some(self.id(&text))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Launched {
    /// Position of the launch among the captured calls.
    pub(crate) at: u32,
    pub(crate) kind: LaunchKind,
    /// Id of the recorded kernel name, if any.
    pub(crate) name: Option<u32>,
    pub(crate) grid: Option<u32>,
    /// Id of the names and arguments of the calls above the launch, which hint at the launched
    /// kernel.
    pub(crate) context: u32,
    /// Whether the same op also made the previous launch.
    pub(crate) follows: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Ran {
    pub(crate) event: EventId,
    pub(crate) kind: LaunchKind,
    pub(crate) name: u32,
    pub(crate) grid: Option<u32>,
    /// Id of the combination of the kernel's name and grid. An op with a given shape launches
    /// kernels with the same name and grid in every layer.
    pub(crate) sort: u32,
    pub(crate) stream: Stream,
    pub(crate) start: Nanos,
    /// Number of the graph node, if it was recorded.
    pub(crate) node: Option<u64>,
}

/// Maximum number of frames between a launch and its op that are used as hints about the launched
/// kernel.
const FRAMES: usize = 3;

impl Launched {
    /// The launches of a captured graph, in order.
    pub(crate) fn of(
        capture: &Capture,
        graph: &CapturedGraph,
        alphabet: &mut Alphabet,
    ) -> Vec<Launched> {
        let (tree, trace) = (capture.tree(), capture.trace());
        let mut last: Option<CallId> = None;
        let mut nth: FxHashMap<CallId, u32> = FxHashMap::default();
        let launched = |&(at, kind): &(u32, LaunchKind)| {
            let event = graph.calls[at as usize].event;
            let call = tree.call_of(event).expect("every captured call is in its tree");
            let name = trace.launched_kernels().get(event).map(|&name| trace.text(name));
            let op = tree.ancestors(call).find(|&above| tree.kind(above) == CallKind::Op);
            let before = std::mem::replace(&mut last, op);
            Launched {
                at,
                kind,
                name: name.map(|name| alphabet.id(name)),
                grid: alphabet.grid(trace, trace.grids().get(event)),
                context: context(tree, call, op, &mut nth, alphabet),
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
    alphabet: &mut Alphabet,
) -> u32 {
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
    alphabet.id(&text)
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
    pub(crate) fn of(tree: &CallTree, launch: CallId, alphabet: &mut Alphabet) -> Vec<Ran> {
        let trace = tree.trace();
        let events = tree.children(launch).filter(|&below| tree.kind(below) == CallKind::Gpu);
        events
            .filter_map(|call| tree.event(call))
            .map(|event| Ran {
                event,
                kind: kind_of(trace, event),
                name: alphabet.id(trace.name(event)),
                grid: alphabet.grid(trace, trace.grids().get(event)),
                sort: alphabet.sort(trace, event),
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
