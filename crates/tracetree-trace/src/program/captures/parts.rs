//! Adds program parts as calls below graph launches. The kernels of a replay may record the names
//! of these parts.
//!
//! During a graph capture, a program can name its parts with
//! `torch.cuda.graph_annotations.mark_kernels`. In a trace of the replays, PyTorch writes these
//! names into the kernels (`export_chrome_trace(…, cuda_graph_annotations=…)`). If annotated
//! regions are nested, PyTorch records only the innermost name. Engines pass module paths as names.
//! A number in a module path is joined to the component before it:
//!
//! ```text
//! kernel   its name                below the graph launch
//! gemm     layers.0.attention.wq   layers.0 → attention → wq → gemm
//! softmax  layers.0.attention                           → softmax
//! add      layers.0                         → add
//! copy                             copy
//! ```

use super::sequences::Ran;
use crate::order::Order as _;
use crate::trace::{CapturedAs, EventId, Graft, GraftedCall, Trace};
use crate::tree::{CallId, CallTree};
use rustc_hash::FxHashMap;

/// The program parts in one replay, in preorder.
#[derive(Debug, Default)]
struct Parts<'n> {
    calls: Vec<(&'n str, u32)>,
    /// The GPU events that name a program part, each with the position of that part in `calls`.
    kernels: Vec<(EventId, u32)>,
}

impl<'n> Parts<'n> {
    /// The program parts named by the GPU events in one replay. Consecutive events that name the
    /// same part share one call. If graph nodes are recorded, GPU events are sorted by node: events
    /// on different streams overlap, so sorting them by time would mix the parts.
    fn of(trace: &'n Trace, ran: &[Ran]) -> Parts<'n> {
        let mut ran: Vec<&Ran> = ran.iter().collect();
        if ran.iter().all(|ran| ran.node.is_some()) {
            ran.order_by_key(|ran| ran.node);
        }
        let mut parts = Parts::default();
        let mut open: Vec<(&str, u32)> = Vec::new();
        for ran in ran {
            let Some(&name) = trace.regions().get(ran.event) else {
                open.clear();
                continue;
            };
            let path = path(trace.text(name));
            let common = open.iter().zip(&path).take_while(|((open, _), part)| open == *part);
            let common = common.count();
            open.truncate(common);
            for &part in &path[common..] {
                let position = parts.calls.len() as u32;
                parts.calls.push((part, open.len() as u32));
                open.push((part, position));
            }
            parts.kernels.extend(open.last().map(|&(_, position)| (ran.event, position)));
        }
        parts
    }
}

/// Synthetic capture traces for replays without a recorded capture. The synthetic traces contain
/// the program parts that are named in the kernels. There is one synthetic trace for each distinct
/// sequence of program parts.
pub(super) struct PartTraces {
    /// Number of recorded capture traces, which precede the synthetic traces in the list of
    /// sources.
    first: usize,
    traces: Vec<Trace>,
    known: FxHashMap<Vec<(String, u32)>, usize>,
}

impl PartTraces {
    pub(super) fn after(first: usize) -> PartTraces {
        PartTraces { first, traces: Vec::new(), known: FxHashMap::default() }
    }

    pub(super) fn traces(&self) -> &[Trace] {
        &self.traces
    }

    /// Returns the program parts that the kernels in one replay name. The caller inserts these
    /// parts below the graph launch. Returns `None` if the kernels name no program parts.
    pub(super) fn graft(&mut self, tree: &CallTree, launch: CallId, ran: &[Ran]) -> Option<Graft> {
        let parts = Parts::of(tree.trace(), ran);
        if parts.calls.is_empty() {
            return None;
        }
        let key = parts.calls.iter().map(|&(name, depth)| (name.to_owned(), depth)).collect();
        let source = *self.known.entry(key).or_insert_with(|| {
            let names = parts.calls.iter().map(|&(name, _)| name);
            self.traces.push(Trace::of_parts(tree.trace().source(), names));
            self.first + self.traces.len() - 1
        });
        let depths = parts.calls.iter().map(|&(_, depth)| depth);
        let events = self.traces[source - self.first].events();
        Some(Graft {
            known: CapturedAs::Part,
            launch: tree.event(launch).expect("a launch is an event"),
            source: source as u32,
            calls: events.zip(depths).map(|(event, depth)| GraftedCall { event, depth }).collect(),
            kernels: parts.kernels,
        })
    }
}

/// The parts of a module path, outermost first. A name that is not a module path is a single part.
fn path(name: &str) -> Vec<&str> {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if !name.split('.').all(is_part) {
        return vec![name];
    }
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    for part in name.split('.') {
        let end = start + part.len();
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        match parts.last_mut().filter(|_| is_number) {
            Some(last) => *last = &name[start - 1 - last.len()..end],
            None => parts.push(part),
        }
        start = end + 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn a_number_belongs_to_the_word_before_it() {
        assert_eq!(path("layers.0.attention.wq"), ["layers.0", "attention", "wq"]);
        assert_eq!(path("L.model.layers.12"), ["L", "model", "layers.12"]);
        assert_eq!(path("experts.3.0.up"), ["experts.3.0", "up"]);
        assert_eq!(path("0.conv"), ["0", "conv"]);
    }

    #[test]
    fn a_name_that_is_not_a_path_is_one_part() {
        for name in ["qkv_proj", "step 1.5 of 3", "a..b", ".a", "all-reduce.0"] {
            assert_eq!(path(name), [name]);
        }
    }
}
