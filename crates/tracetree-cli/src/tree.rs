//! `tracetree tree TRACE`: prints the call tree of one trace as text, or its links as a graph.

use super::captures::CaptureArgs;
use super::columns::fit;
use super::examples;
use super::load;
use super::outcome::Outcome;
use super::output::Console;
use super::tree_times::{Sort, Times};
use super::uid::EventRef;
use clap::Args;
use std::io::{self, Write};
use std::path::PathBuf;
use tracetree::analysis::memory::bytes;
use tracetree::analysis::memory::{MemoryPlace, MemoryUsage};
use tracetree::program::{Query, counted};
use tracetree::report::{Width, one_line, shorten};
use tracetree::trace::{Nanos, Note, Pattern};
use tracetree::tree::{CallId, CallKind, CallTree};
use tracetree::{Error, ErrorKind, Result};

/// Names are never shortened to fewer characters than this, however deep the call is.
const SHORTEST_NAME: usize = 12;

#[derive(Args)]
#[command(after_help = examples::TREE)]
pub(super) struct TreeArgs {
    /// The trace to print.
    trace: PathBuf,
    /// Also show calls that launch no GPU work.
    #[arg(long)]
    all: bool,
    /// Number of levels to show, from the threads down; with --uid, --include or --find, from the matching
    /// calls down.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Show only the call at this position in traceEvents, with the call's ancestors and descendants. For a captured
    /// call, write LAUNCH:UID, as shown in the tree.
    #[arg(long, value_name = "UID")]
    uid: Option<EventRef>,
    /// Show only calls whose name matches, with their ancestors and descendants.
    #[arg(long, value_name = "REGEX")]
    include: Option<Pattern>,
    /// Show only calls that match a path query, with their ancestors and descendants.
    ///
    /// Write the outermost part of the path first. Other calls may lie between the calls that match two consecutive
    /// parts. `*` matches any text:
    ///
    /// module("Block_*") / op("aten::linear") / kernel("*gemm*")
    #[arg(long, value_name = "QUERY", conflicts_with_all = ["uid", "include"], verbatim_doc_comment)]
    find: Option<Query>,
    /// Order of calls with the same parent.
    #[arg(long, value_name = "ORDER", default_value = "called")]
    sort: Sort,
    /// Print the links (launches, forward to backward, flows) as a Graphviz graph instead.
    #[arg(long, conflicts_with_all = ["all", "depth", "uid", "include", "find", "sort"])]
    dot: bool,
    #[command(flatten)]
    captures: CaptureArgs,
}

pub(super) fn run(args: &TreeArgs, console: &mut Console) -> Result<Outcome> {
    let tree = load::tree(&args.trace, &args.captures.source(), console)?;
    let notes: Vec<Note> = tree.notes().of_captures().cloned().collect();
    console.say_notes(&args.trace.display().to_string(), &notes);
    if args.dot {
        console.print(|out| out.write_all(tree.links().to_dot(&tree).as_bytes()))?;
        return Ok(Outcome::Done);
    }
    let view = View::new(&tree, args)?;
    let shown = view.shown();
    let width = console.width();
    console.print(|out| view.print(&shown, width, out))?;
    if let Some(remark) = view.remark(&shown) {
        console.say(remark);
    }
    Ok(Outcome::Done)
}

/// A call tree, and the options that select which of its calls are printed.
struct View<'a> {
    tree: &'a CallTree,
    args: &'a TreeArgs,
    /// The call given with `--uid`.
    top: Option<CallId>,
    /// The calls that match the query of `--find`.
    found: Option<Vec<CallId>>,
    /// Whether only calls with GPU work are shown.
    is_gpu_path: bool,
    /// With `--sort memory`, the bytes that each call allocates; otherwise empty.
    memory: Vec<i64>,
}

impl<'a> View<'a> {
    fn new(tree: &'a CallTree, args: &'a TreeArgs) -> Result<View<'a>> {
        let top = args.uid.map(|uid| call_at(tree, uid)).transpose()?;
        let found = args.find.as_ref().map(|query| query.find_some(tree)).transpose()?;
        // If the trace or the requested call has no GPU work, all calls are shown, because the filter would hide every
        // call.
        let has_gpu_work = match top {
            Some(call) => tree.is_gpu_path(call),
            None => tree.roots().any(|root| tree.is_gpu_path(root)),
        };
        let memory = if args.sort == Sort::Memory { allocated(tree)? } else { Vec::new() };
        let is_gpu_path = has_gpu_work && !args.all && memory.is_empty();
        Ok(View { tree, args, top, found, is_gpu_path, memory })
    }

    /// For each call of the tree, whether it is printed.
    fn shown(&self) -> Vec<bool> {
        let mut shown = vec![false; self.tree.len()];
        let depths = self.depths();
        let levels = self.args.depth.unwrap_or(usize::MAX);
        for chosen in self.chosen() {
            let deepest = depths[chosen.index()].saturating_add(levels);
            for call in self.tree.subtree(chosen).filter(|&call| self.is_in_view(call)) {
                shown[call.index()] |= depths[call.index()] < deepest;
            }
            for above in self.tree.ancestors(chosen) {
                shown[above.index()] = true;
            }
        }
        shown
    }

    /// The calls that the options select.
    fn chosen(&self) -> Vec<CallId> {
        let scope: Vec<CallId> = match self.top {
            Some(call) => vec![call],
            None => self.tree.roots().collect(),
        };
        if let Some(found) = &self.found {
            return found.iter().copied().filter(|&call| self.is_in_view(call)).collect();
        }
        let Some(pattern) = &self.args.include else { return scope };
        let mut chosen: Vec<CallId> = Vec::new();
        for call in scope.into_iter().flat_map(|call| self.tree.subtree(call)) {
            let inside = chosen.last().is_some_and(|&above| self.tree.is_below(call, above));
            if !inside && self.is_in_view(call) && pattern.matches(self.tree.name(call)) {
                chosen.push(call);
            }
        }
        chosen
    }

    fn is_in_view(&self, call: CallId) -> bool {
        match self.memory.get(call.index()) {
            Some(&bytes) => bytes > 0 || self.args.all,
            None => !self.is_gpu_path || self.tree.is_gpu_path(call),
        }
    }

    /// The depth of each call, in preorder. The depth is the number of ancestors.
    fn depths(&self) -> Vec<usize> {
        let mut depths: Vec<usize> = Vec::with_capacity(self.tree.len());
        for call in self.tree.calls() {
            let depth = self.tree.parent(call).map_or(0, |above| depths[above.index()] + 1);
            depths.push(depth);
        }
        depths
    }

    fn print(&self, shown: &[bool], width: Width, out: &mut dyn Write) -> io::Result<()> {
        let (depths, times) = (self.depths(), Times::of(self.tree));
        let order = times.in_order(self.tree, self.args.sort, &self.memory);
        for call in order.into_iter().filter(|call| shown[call.index()]) {
            let mut figures = figures(self.tree, call, &times);
            if let Some(&count) = self.memory.get(call.index()).filter(|&&count| count > 0) {
                figures += &format!(", allocates {}", bytes(count));
            }
            let name = one_line(self.tree.name(call));
            let depth = depths[call.index()];
            writeln!(out, "{}", line(&name, depth, &figures, width).trim_end())?;
        }
        Ok(())
    }

    /// A remark that explains why no call is printed, or why calls without GPU work are printed; `None` if no remark is
    /// needed.
    fn remark(&self, shown: &[bool]) -> Option<&'static str> {
        if self.tree.is_empty() {
            return Some("the trace contains no host calls and no GPU events");
        }
        let nothing = !shown.contains(&true);
        match (nothing, self.is_gpu_path, self.args.all) {
            (true, true, _) => {
                Some("no call on the GPU path matches; use --all to search all calls")
            }
            (true, false, _) => Some("no call matches"),
            (false, ..) if !self.memory.is_empty() => None,
            (false, false, false) if self.top.is_some() => {
                Some("this call launches no GPU work; all calls are shown")
            }
            (false, false, false) => Some("no GPU work in the trace; all calls are shown"),
            (false, ..) => None,
        }
    }
}

fn call_at(tree: &CallTree, uid: EventRef) -> Result<CallId> {
    let call = uid.event(tree.trace()).and_then(|event| tree.call_of(event));
    call.ok_or_else(|| {
        let message = format!("event {uid} is neither a host call nor a GPU event");
        Error::new(ErrorKind::Usage, tree.trace().source(), message).remedy(
            "uids are the positions of events in the file, from 0; the tree shows uids in brackets",
        )
    })
}

/// Formats a call with its figures. On a screen, deep calls are indented by at most a third of the screen width, and
/// names are shortened if the line does not fit.
fn line(name: &str, depth: usize, figures: &str, width: Width) -> String {
    if width.is_whole() {
        return format!("{:indent$}{name}{figures}", "", indent = 2 * depth);
    }
    let columns = width.columns();
    let indent = (2 * depth).min(columns / 3);
    let room = columns.saturating_sub(indent + figures.chars().count());
    let name = fit(name, room.max(SHORTEST_NAME));
    shorten(&format!("{:indent$}{name}{figures}", ""), columns).into_owned()
}

/// The figures that follow a call's name, such as ` [38] 120.5 µs, 2 GPU events, GPU 14.1 µs, self 14.1 µs`.
fn figures(tree: &CallTree, call: CallId, times: &Times) -> String {
    let mut text = String::new();
    if let Some(event) = tree.event(call) {
        text += &if tree.is_captured(call) {
            format!("  [{}] captured", tree.trace().uid_label(event))
        } else {
            format!("  [{}] {} µs", tree.trace().uid(event).0, tree.duration(call))
        };
    }
    let gpu_events = tree.gpu_events(call);
    if gpu_events > 0 && tree.kind(call) != CallKind::Gpu {
        text += &format!(", {}", counted(gpu_events as u64, "GPU event"));
        if let Some((total, own)) = times.gpu(call) {
            text += &format!(", GPU {total} µs");
            if own > Nanos::ZERO {
                text += &format!(", self {own} µs");
            }
        }
    }
    text
}

/// For each call, the bytes that the call and its descendants allocate on GPUs or, if no GPU has memory events, on the
/// host.
///
/// # Errors
/// Fails if the trace has no memory events.
fn allocated(tree: &CallTree) -> Result<Vec<i64>> {
    if tree.trace().memory().is_empty() {
        let source = tree.trace().source();
        return Err(Error::new(ErrorKind::Usage, source, "has no memory events")
            .remedy("record it using profile_memory=True"));
    }
    let usage = MemoryUsage::of(tree);
    let is_gpu = |place: MemoryPlace| matches!(place, MemoryPlace::Gpu(_));
    let has_gpu = usage.devices().any(|(place, _)| is_gpu(place));
    let mut bytes = vec![0i64; tree.len()];
    for (_, usage) in usage.devices().filter(|(place, _)| is_gpu(*place) == has_gpu) {
        for block in usage.blocks() {
            if let Some(call) = block.call {
                bytes[call.index()] = bytes[call.index()].saturating_add(block.bytes);
            }
        }
    }
    // Every call comes after its ancestors. In reverse order, the sum of a call is therefore complete before it is
    // added to the sum of its parent.
    let calls: Vec<_> = tree.calls().collect();
    for &call in calls.iter().rev() {
        if let Some(above) = tree.parent(call) {
            bytes[above.index()] = bytes[above.index()].saturating_add(bytes[call.index()]);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::line;
    use tracetree::report::Width;

    #[test]
    fn a_line_fits_the_screen_and_a_pipe_has_all_of_it() {
        let (name, figures) =
            ("torch/nn/modules/module.py(1773): _wrapped_call_impl", "  [38] 120.5 µs");
        for columns in [60, 80, 100, 200] {
            for depth in [0, 3, 60] {
                let text = line(name, depth, figures, Width::Screen(columns));
                assert!(text.chars().count() <= columns && text.ends_with(figures), "{text}");
            }
        }
        let whole = line(name, 40, figures, Width::Pipe(60));
        assert!(whole.ends_with(&format!("{name}{figures}")), "{whole}");
    }
}
